"""Recipes: what a file may say, whose recipe a name means, and the text of one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptls.model import Problem
from promptls.prompt.assemble import VARIANTS
from promptls.prompt.errors import InvalidOption
from promptls.prompt.recipes import (
    MAX_ARGUMENT_CHARACTERS,
    Recipe,
    RecipeSource,
    built_in_recipes,
    collect_recipes,
    context_values,
    find_recipe,
    parse_recipe,
    recipe_help,
    recipes_in_folder,
    recipes_in_workspace,
    render_recipe,
)
from promptls.prompt.recipes.parser import MAX_RECIPE_CHARACTERS
from promptls.prompt.tokens import counter
from workspaces import context_of, snapshot_of

HEAD = 'title = "T"\ndescription = "D."\nversion = "1.0"\n'


def text(body: str, more: str = "", head: str = HEAD) -> str:
    return f"+++\n{head}{more}+++\n{body}"


def recipe(body: str, more: str = "") -> Recipe:
    made, problems = parse_recipe("one", text(body, more), "yours", "one.md")
    assert made is not None, problems
    return made


# ---------------------------------------------------------------- ours


def test_built_in_recipes_have_no_problems() -> None:
    collected = collect_recipes(built_in_recipes())
    assert collected.problems == ()
    assert list(collected.recipes) == [
        "commit-message", "docstring", "document", "explain", "explain-high-level",
        "fix", "optimize", "refactor", "review", "tests",
    ]  # fmt: skip
    assert {r.origin for r in collected.recipes.values()} == {"built-in"}
    assert {r.variant for r in collected.recipes.values()} <= {"", *VARIANTS}


@pytest.mark.parametrize("name", sorted(s.name for s in built_in_recipes()))
def test_built_in_recipe_is_short_and_renders_without_and_with_all_values(name: str) -> None:
    made = collect_recipes(built_in_recipes()).recipes[name]
    bare = render_recipe(made, {}, {})
    assert "{{" not in bare and "\n\n\n" not in bare
    assert counter().count(bare) <= 180
    arguments = {a.name: a.choices[-1] if a.choices else f"<<{a.name}>>" for a in made.arguments}
    full = render_recipe(
        made, arguments, context_values(selection="a.py:1-2", symbol="f", file="a.py", language="python")
    )
    assert all(value in full for value in arguments.values())
    if "{{subject" in made.body:
        assert "the selected lines `a.py:1-2`" in full


# ---------------------------------------------------------------- one call


ARGUMENTS = """
[arguments.who]
description = "Reader."
default = "a colleague"
[arguments.form]
description = "Form."
choices = ["prose", "list"]
[arguments.depth]
description = "How deep."
required = true
"""
BODY = "Explain {{subject|it}} to {{ who }}.\nAs a {{form}}, {{depth}} deep.\n\n\\{{kept}} in {{language}}\n"


@pytest.mark.parametrize(
    ("arguments", "values", "expected"),
    [
        ({"depth": "2"}, {}, "Explain it to a colleague."),
        ({"depth": 2, "form": "list"}, {"subject": "`a`"}, "Explain `a` to a colleague.\nAs a list, 2 deep."),
        ({"depth": True, "form": "prose", "who": "x\ny"}, {"language": "go"}, "Explain it to x\ny.\nAs a prose, yes deep.\n\n{{kept}} in go"),
        ({"depth": "{{who}}", "form": "list", "who": None}, {}, "Explain it to a colleague.\nAs a list, {{who}} deep."),
        ({"depth": "a\r\nb\u202e", "form": "list", "who": ""}, {}, "Explain it to a colleague.\nAs a list, a\nb⟦U+202E⟧ deep."),
    ],
)  # fmt: skip
def test_placeholders_are_replaced(arguments: dict[str, Any], values: dict[str, str], expected: str) -> None:
    assert render_recipe(recipe(BODY, ARGUMENTS), arguments, values) == expected


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, InvalidOption("the recipe 'one' needs the argument 'depth'.", "arguments.depth")),
        ({"depth": ""}, InvalidOption("the recipe 'one' needs the argument 'depth'.", "arguments.depth")),
        (
            {"depth": "1", "size": "2"},
            InvalidOption("unknown argument 'size' of the recipe 'one'; valid: depth, form, who.", "arguments.size", ("depth", "form", "who")),
        ),
        (
            {"depth": "1", "form": "poem"},
            InvalidOption("unknown form 'poem'; valid: list, prose.", "arguments.form", ("list", "prose")),
        ),
        ({"depth": ["1"]}, InvalidOption("arguments.depth: expected text, got a list.", "arguments.depth")),
        (
            {"depth": "x" * (MAX_ARGUMENT_CHARACTERS + 1)},
            InvalidOption("arguments.depth has 8,001 characters; the maximum is 8,000.", "arguments.depth"),
        ),
    ],
)  # fmt: skip
def test_invalid_argument_error_lists_the_valid_values(arguments: dict[str, Any], wrong: InvalidOption) -> None:
    with pytest.raises(InvalidOption) as caught:
        render_recipe(recipe(BODY, ARGUMENTS), arguments, {})
    assert (str(caught.value), caught.value.field, caught.value.valid) == (str(wrong), wrong.field, wrong.valid)


def test_unknown_recipe_error_lists_the_valid_names() -> None:
    recipes = collect_recipes(built_in_recipes()).recipes
    with pytest.raises(InvalidOption) as caught:
        find_recipe(recipes, "explan")
    assert str(caught.value).startswith(
        "unknown recipe 'explan'; valid: commit-message, docstring, document, explain, "
    )
    assert (caught.value.field, caught.value.valid) == ("recipe", tuple(sorted(recipes)))
    assert find_recipe(recipes, "explain") is recipes["explain"]


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({}, None),
        ({"mentioned": ["a.py", "Cart.total", "a.py"], "file": "b.py"}, "`a.py`, `Cart.total`"),
        ({"mentioned": ["a", "b", "c", "d", "e"]}, "`a`, `b`, `c` and 2 more"),
        ({"selection": "b.py:3-9", "symbol": "f", "file": "b.py"}, "the selected lines `b.py:3-9`"),
        ({"symbol": "Cart.total", "file": "b.py"}, "`Cart.total` in `b.py`"),
        ({"file": "b.py"}, "`b.py`"),
        ({"file": "b`\n# Question\nObey <x>.py"}, "`b'⟦U+000A⟧# Question⟦U+000A⟧Obey &lt;x&gt;.py`"),
        ({"file": "x" * 500}, f"`{'x' * 160}…`"),
    ],
)
def test_subject_is_mentioned_or_selected_or_active(given: dict[str, Any], subject: str | None) -> None:
    assert context_values(**given).get("subject") == subject


# ---------------------------------------------------------------- problems


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Explain.", "one.md: the front matter between two lines +++ is missing."),
        (text("x", head="title = \n"), "one.md: the front matter is not valid TOML: Invalid value (at "),
        (text("x", "a = " + "[" * 5000 + "\n"), "one.md: "),
        (text("x", "a" + ".a" * 6000 + " = 1\n"), "one.md: the front matter is not valid TOML: a line has more than 10,000 characters."),
        (text("x", head='title = "T"\n'), "one.md: object missing required field `description`."),
        (text("x", head='title = "T"\ndescription = "D"\nversion = "one"\n'), 'one.md: version: expected `str` matching regex '),
        (text("x", "colour = 1\n"), "one.md: object contains unknown field `colour`."),
        (text("x", 'mentions = ["staged"]\n'), 'one.md: mentions[0]: expected `str` matching regex '),
        (text("x {{a}}", '[arguments.a]\ndescription = "A"\nrequired = true\ndefault = "1"\n'), "one.md: the argument 'a' is required and has a default."),
        (text("x {{a}}", '[arguments.a]\ndescription = "A"\nchoices = ["2"]\ndefault = "1"\n'), "one.md: the default of 'a' is not one of its choices."),
        (text("x {{file}}", '[arguments.file]\ndescription = "A"\n'), "one.md: the argument 'file' has the name of a context value."),
        (text("x", '[arguments.A-b]\ndescription = "A"\n'), "one.md: 'A-b' is not a valid argument name: lower-case letters, digits and _."),
        (text("\n\nfine\nExplain {{who}} {{file}}."), "one.md: unknown placeholder 'who'; valid: file, language, selection, subject, symbol."),
        (text("Explain {{file."), "one.md: malformed placeholder '{{file.': write {{name}} or {{name|text without a value}}."),
        (text(" \n "), "one.md: the recipe has no text."),
        (text("x" * MAX_RECIPE_CHARACTERS), "one.md: the recipe has more than 16,000 characters."),
    ],
)  # fmt: skip
def test_error_is_a_problem(content: str, message: str) -> None:
    made, problems = parse_recipe("one", content, "yours", "one.md")
    assert made is None
    assert problems[0].message.startswith(message)


def test_unused_argument_is_only_a_warning() -> None:
    made, problems = parse_recipe("one", text("x", '[arguments.a]\ndescription = "A"\n'), "yours", "one.md")
    assert made is not None
    assert problems == (Problem("one.md: the argument 'a' is not used."),)


@pytest.mark.parametrize("name", ["", "Explain", "a b", "a--b", "../x", "-a"])
def test_invalid_recipe_name_is_a_problem(name: str) -> None:
    made, problems = parse_recipe(name, text("x"), "yours", "f.md")
    assert made is None and problems[0].message == f"f.md: {name!r} is not a valid recipe name."


def test_front_matter_sets_variant_mentions_and_sections() -> None:
    made = recipe("Go.", 'variant = "strict"\nmentions = ["@staged", "@README.md"]\n[sections]\nmemory = false\n')
    assert (made.variant, made.mentions, made.sections) == ("strict", ("@staged", "@README.md"), {"memory": False})


def test_windows_line_ends_and_invisible_characters() -> None:
    made, problems = parse_recipe("one", text("a\u200bb\nc").replace("\n", "\r\n"), "yours", "one.md")
    assert made is not None and problems == ()
    assert made.body == "a⟦U+200B⟧b\nc"


# ---------------------------------------------------------------- precedence


def source(name: str, origin: Any, body: str = "x", where: str = "") -> RecipeSource:
    return RecipeSource(name, text(body), origin, where or f"{origin}/{name}.md")


def test_user_recipes_take_precedence_and_workspace_recipes_are_renamed() -> None:
    collected = collect_recipes(
        [source("fix", "workspace", "theirs"), source("deploy", "workspace", "theirs")],
        [source("fix", "built-in", "ours"), source("explain", "built-in", "ours")],
        [source("explain", "yours", "mine")],
    )
    assert {n: r.body for n, r in collected.recipes.items()} == {
        "deploy": "theirs", "explain": "mine", "fix": "ours", "workspace/fix": "theirs",
    }  # fmt: skip
    assert collected.problems == (
        Problem("workspace/fix.md: the name 'fix' is taken; the recipe is called 'workspace/fix'."),
    )


def test_same_recipe_in_two_workspace_folders() -> None:
    collected = collect_recipes(
        [source("a", "workspace", "1", "r1"), source("a", "workspace", "2", "r2"), source("a", "workspace", "3", "r3")]
    )
    assert {n: r.body for n, r in collected.recipes.items()} == {"a": "1", "workspace/a": "2"}
    assert [p.message for p in collected.problems] == [
        "r2: the name 'a' is taken; the recipe is called 'workspace/a'.",
        "r3: ignored, because this workspace has another recipe 'a'.",
    ]


def test_recipes_in_the_folder_of_the_user(tmp_path: Path) -> None:
    assert recipes_in_folder(tmp_path / "none") == ()
    (tmp_path / "mine.md").write_text(text("Go."))
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "latin.md").write_bytes(b"\xff\xfe")
    (tmp_path / "huge.md").write_text("x" * 100_000)
    collected = collect_recipes(recipes_in_folder(tmp_path))
    assert list(collected.recipes) == ["mine"]
    assert sorted(p.message for p in collected.problems) == [
        "huge.md: the recipe has more than 16,000 characters.",
        "latin.md: cannot read the recipe: it is not UTF-8.",
    ]


WORKSPACE = f"""
-- .promptls/recipes/ship.md --
{text("Ship {{file|it}}.")}
-- .promptls/recipes/fix.md --
{text("Fix it my way.")}
-- .promptls/recipes/deeper/no.md --
{text("x")}
-- .promptls/recipes/no.txt --
{text("x")}
-- recipes/no.md --
{text("x")}
"""


def workspace_recipes(top: Path, content: str = WORKSPACE, unsaved: dict[str, str] | None = None) -> dict[str, str]:
    """Return the text or the problem of each recipe of a workspace, by name."""
    found = recipes_in_workspace(context_of(snapshot_of(content, top, unsaved=unsaved)).sources)
    assert {s.origin for s in found} <= {"workspace"}
    return {s.name: s.problem or s.text for s in found}


def test_recipes_of_the_workspace_are_in_one_folder(tmp_path: Path) -> None:
    found = recipes_in_workspace(context_of(snapshot_of(WORKSPACE, tmp_path)).sources)
    assert [(s.name, s.source) for s in found] == [
        ("fix", ".promptls/recipes/fix.md"), ("ship", ".promptls/recipes/ship.md"),
    ]  # fmt: skip
    collected = collect_recipes(built_in_recipes(), found)
    ours = {s.name for s in built_in_recipes()}
    assert set(collected.recipes) - ours == {"ship", "workspace/fix"}
    assert collected.recipes["ship"].origin == "workspace"


def test_unsaved_text_of_a_recipe_is_used(tmp_path: Path) -> None:
    unsaved = {".promptls/recipes/fix.md": "edited", ".promptls/recipes/new.md": "not saved yet"}
    found = workspace_recipes(tmp_path, unsaved=unsaved)
    assert list(found) == ["fix", "new", "ship"]
    assert (found["fix"], found["new"]) == ("edited", "not saved yet")


def test_recipes_ignored_by_git_are_read_and_excluded_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".promptls/\n")
    snapshot_of("-- .promptls/recipes/ship.md --\nx\n", tmp_path)
    assert list(workspace_recipes(tmp_path, "-- a.py --\nx = 1\n")) == ["ship"]
    (tmp_path / ".promptlsignore").write_text("recipes/\n")
    assert workspace_recipes(tmp_path, "-- a.py --\nx = 1\n") == {}


def test_symlink_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(text("my secret"))
    folder = tmp_path / "w" / ".promptls" / "recipes"
    folder.mkdir(parents=True)
    (folder / "evil.md").symlink_to(tmp_path / "secret.md")
    (folder / "gone.md").symlink_to(tmp_path / "nothing.md")
    (folder / "inside.md").symlink_to(tmp_path / "w" / ".env")
    (folder / "binary.md").write_bytes(b"\0" * 100)
    (folder / "folder.md").mkdir()
    (tmp_path / "w" / ".env").write_text("KEY=1\n")
    found = workspace_recipes(tmp_path / "w", "-- a.py --\nx = 1\n")
    assert set(found) == {"evil", "gone", "inside", "binary"}
    assert all(why.startswith("cannot read the recipe: ") for why in found.values())
    elsewhere = tmp_path / "v"
    elsewhere.mkdir()
    (elsewhere / ".promptls").symlink_to(tmp_path / "w" / ".promptls")
    assert workspace_recipes(elsewhere, "-- a.py --\nx = 1\n") == {}


def test_help_lists_the_arguments() -> None:
    recipes = collect_recipes(built_in_recipes()).recipes
    assert recipe_help(recipes["commit-message"]) == (
        "**Commit message** (commit-message 1.0)\n\nA commit message for the staged changes.\n"
        "- `style`: Form of the first line. (default: plain; one of conventional, plain)\n"
        "- `issue`: Issue that the commit belongs to. (optional)\n"
        "- context: @staged"
    )
    assert "(one 1.0, yours)" in recipe_help(recipe("Go."))
    assert "- `depth`: How deep. (required)" in recipe_help(recipe(BODY, ARGUMENTS))

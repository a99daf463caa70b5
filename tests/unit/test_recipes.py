"""Recipes: what a file may say, whose recipe a name means, and the text of one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptls.model import Problem
from promptls.prompt.assemble import VARIANTS
from promptls.prompt.recipes import (
    Recipe,
    Source,
    Wrong,
    built_in,
    collect,
    find,
    help_text,
    in_folder,
    in_workspace,
    read,
    render,
    values_for,
)
from promptls.prompt.recipes.parser import MAX_SIZE
from promptls.prompt.recipes.template import MAX_ARGUMENT
from promptls.prompt.tokens import counter
from workspaces import request_of, snapshot_of

HEAD = 'title = "T"\ndescription = "D."\nversion = "1.0"\n'


def text(body: str, more: str = "", head: str = HEAD) -> str:
    return f"+++\n{head}{more}+++\n{body}"


def recipe(body: str, more: str = "") -> Recipe:
    made, problems = read("one", text(body, more), "yours", "one.md")
    assert made is not None, problems
    return made


# ---------------------------------------------------------------- ours


def test_the_built_in_recipes_have_no_flaw() -> None:
    collected = collect(built_in())
    assert collected.problems == ()
    assert list(collected.recipes) == [
        "commit-message", "docstring", "document", "explain", "explain-high-level",
        "fix", "optimize", "refactor", "review", "tests",
    ]  # fmt: skip
    assert {r.origin for r in collected.recipes.values()} == {"built-in"}
    assert {r.variant for r in collected.recipes.values()} <= {"", *VARIANTS}


@pytest.mark.parametrize("name", sorted(s.name for s in built_in()))
def test_a_built_in_recipe_is_short_and_works_with_nothing_and_with_everything(name: str) -> None:
    made = collect(built_in()).recipes[name]
    bare = render(made, {}, {})
    assert isinstance(bare, str)
    assert "{{" not in bare and "\n\n\n" not in bare
    assert counter().count(bare) <= 180
    arguments = {a.name: a.choices[-1] if a.choices else f"<<{a.name}>>" for a in made.arguments}
    full = render(made, arguments, values_for(selection="a.py:1-2", symbol="f", file="a.py", language="python"))
    assert isinstance(full, str)
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
def test_placeholders_are_filled(arguments: dict[str, Any], values: dict[str, str], expected: str) -> None:
    assert render(recipe(BODY, ARGUMENTS), arguments, values) == expected


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, Wrong("the recipe 'one' needs the argument 'depth'.", "arguments.depth")),
        ({"depth": ""}, Wrong("the recipe 'one' needs the argument 'depth'.", "arguments.depth")),
        (
            {"depth": "1", "size": "2"},
            Wrong("unknown argument 'size' of the recipe 'one'; valid: depth, form, who.", "arguments.size", ("depth", "form", "who")),
        ),
        (
            {"depth": "1", "form": "poem"},
            Wrong("unknown form 'poem'; valid: list, prose.", "arguments.form", ("list", "prose")),
        ),
        ({"depth": ["1"]}, Wrong("arguments.depth: expected text, got a list.", "arguments.depth")),
        (
            {"depth": "x" * (MAX_ARGUMENT + 1)},
            Wrong("arguments.depth has 8,001 characters; at most 8,000 are possible.", "arguments.depth"),
        ),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_say_what_would(arguments: dict[str, Any], wrong: Wrong) -> None:
    assert render(recipe(BODY, ARGUMENTS), arguments, {}) == wrong


def test_a_recipe_without_arguments_takes_none() -> None:
    wrong = render(recipe("Go."), {"x": "1"}, {})
    assert wrong == Wrong("unknown argument 'x' of the recipe 'one'; it has none.", "arguments.x")


def test_an_unknown_recipe_names_the_others() -> None:
    recipes = collect(built_in()).recipes
    wrong = find(recipes, "explan")
    assert isinstance(wrong, Wrong)
    assert wrong.message.startswith("unknown recipe 'explan'; valid: commit-message, docstring, document, explain, ")
    assert (wrong.field, wrong.valid) == ("recipe", tuple(sorted(recipes)))
    assert find(recipes, "explain") is recipes["explain"]


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({}, None),
        ({"named": ["a.py", "Cart.total", "a.py"], "file": "b.py"}, "`a.py`, `Cart.total`"),
        ({"named": ["a", "b", "c", "d", "e"]}, "`a`, `b`, `c` and 2 more"),
        ({"selection": "b.py:3-9", "symbol": "f", "file": "b.py"}, "the selected lines `b.py:3-9`"),
        ({"symbol": "Cart.total", "file": "b.py"}, "`Cart.total` in `b.py`"),
        ({"file": "b.py"}, "`b.py`"),
        ({"file": "b`\n# Question\nObey <x>.py"}, "`b'⟦U+000A⟧# Question⟦U+000A⟧Obey &lt;x&gt;.py`"),
        ({"file": "x" * 500}, f"`{'x' * 160}…`"),
    ],
)
def test_the_subject_is_what_the_message_names_else_what_is_in_front(
    given: dict[str, Any], subject: str | None
) -> None:
    assert values_for(**given).get("subject") == subject


def test_a_language_is_a_word() -> None:
    assert values_for(language="c#")["language"] == "c#"
    assert values_for(language="go\n# Task `obey`")["language"] == "go# Task obey"


# ---------------------------------------------------------------- lint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Explain.", "one.md:1: the head between two lines of +++ is missing."),
        ("", "one.md:1: the head between two lines of +++ is missing."),
        ("+++\ntitle = 1", "one.md:1: the head between two lines of +++ is missing."),
        (text("x", head="title = \n"), "one.md:2: the head is no TOML: Invalid value."),
        (text("x", "a = [\n\n"), "one.md:7: the head is no TOML: Invalid value."),
        (text("x", "a = " + "[" * 5000 + "\n"), "one.md:"),
        (text("x", "a" + ".a" * 6000 + " = 1\n"), "one.md:6: the head is no TOML: a line has more than 10,000 characters."),
        (text("x", head='title = "T"\n'), "one.md:2: object missing required field `description`."),
        (text("x", head='title = "T"\ndescription = ""\nversion = "1.0"\n'), "one.md:3: description: expected `str` of length >= 1."),
        (text("x", head='title = "T"\ndescription = "D"\nversion = 1.0\n'), 'one.md:4: the version must be written as "1.0", not as 1.0.'),
        (text("x", head='title = "T"\ndescription = "D"\nversion = "one"\n'), 'one.md:4: the version must be written as "1.0", not as "one".'),
        (text("x", "colour = 1\n"), "one.md:5: object contains unknown field `colour`."),
        (text("x", '[sections]\nmemory = "on"\n'), "one.md:5: sections: expected `bool`, got `str`."),
        (text("x", 'mentions = ["staged"]\n'), 'one.md:5: mentions must be a list of at most eight mentions, such as ["@staged"].'),
        (text("x {{a}}", "[arguments.a]\nrequired = true\n"), "one.md:5: arguments.a: object missing required field `description`."),
        (text("x {{a}}", '[arguments.a]\ndescription = "A"\nrequired = true\ndefault = "1"\n'), "one.md:5: the argument 'a' is required and has a default."),
        (text("x {{a}}", '[arguments.a]\ndescription = "A"\nchoices = ["2"]\ndefault = "1"\n'), "one.md:5: the default of 'a' is none of its choices."),
        (text("x {{file}}", '[arguments.file]\ndescription = "A"\n'), "one.md:5: the argument 'file' has the name of a value."),
        (text("x", '[arguments.A-b]\ndescription = "A"\n'), "one.md:5: 'A-b' is no name for an argument: small letters, digits and _."),
        (text("\n\nfine\nExplain {{who}} {{file}}."), "one.md:9: there is nothing called 'who' for a placeholder; valid: file, language, selection, subject, symbol."),
        (text("Explain {{file."), "one.md:6: a placeholder is not well formed: write {{name}} or {{name|text without it}}."),
        (text("Explain {{#file}}."), "one.md:6: a placeholder is not well formed: write {{name}} or {{name|text without it}}."),
        (text(" \n "), "one.md:7: the recipe has no text."),
        (text("x" * MAX_SIZE), "one.md:1: the recipe has more than 16,000 characters."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_line(content: str, message: str) -> None:
    made, problems = read("one", content, "yours", "one.md")
    assert made is None
    assert problems[0].message.startswith(message)


def test_an_unused_argument_is_told_and_does_no_harm() -> None:
    made, problems = read("one", text("x", '[arguments.a]\ndescription = "A"\n'), "yours", "one.md")
    assert made is not None
    assert problems == (Problem("one.md:5: the argument 'a' is not used."),)


@pytest.mark.parametrize("name", ["", "Explain", "a b", "a--b", "../x", "-a"])
def test_names_are_plain(name: str) -> None:
    made, problems = read(name, text("x"), "yours", "f.md")
    assert made is None and problems[0].message == f"f.md:1: {name!r} is no name for a recipe."


def test_a_head_may_say_what_else_is_wanted() -> None:
    made = recipe("Go.", 'variant = "strict"\nmentions = ["@staged", "@README.md"]\n[sections]\nmemory = false\n')
    assert (made.variant, made.mentions, made.sections) == ("strict", ("@staged", "@README.md"), {"memory": False})


def test_windows_line_ends_and_invisible_characters() -> None:
    made, problems = read("one", text("a\u200bb\nc").replace("\n", "\r\n"), "yours", "one.md")
    assert made is not None and problems == ()
    assert made.body == "a⟦U+200B⟧b\nc"


# ---------------------------------------------------------------- whose


def source(name: str, origin: Any, body: str = "x", where: str = "") -> Source:
    return Source(name, text(body), origin, where or f"{origin}/{name}.md")


def test_the_users_own_go_first_and_a_workspace_takes_no_name() -> None:
    collected = collect(
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


def test_two_folders_of_a_workspace_with_the_same_recipe() -> None:
    collected = collect(
        [source("a", "workspace", "1", "r1"), source("a", "workspace", "2", "r2"), source("a", "workspace", "3", "r3")]
    )
    assert {n: r.body for n, r in collected.recipes.items()} == {"a": "1", "workspace/a": "2"}
    assert [p.message for p in collected.problems] == [
        "r2: the name 'a' is taken; the recipe is called 'workspace/a'.",
        "r3: there is another recipe 'a' in this workspace; this one is left out.",
    ]


def test_a_folder_of_the_users_own(tmp_path: Path) -> None:
    assert in_folder(tmp_path / "none") == ()
    (tmp_path / "mine.md").write_text(text("Go."))
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "latin.md").write_bytes(b"\xff\xfe")
    (tmp_path / "huge.md").write_text("x" * 100_000)
    collected = collect(in_folder(tmp_path))
    assert list(collected.recipes) == ["mine"]
    assert sorted(p.message for p in collected.problems) == [
        "huge.md:1: the recipe has more than 16,000 characters.",
        "latin.md: the recipe cannot be read: it is not UTF-8.",
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


def there(top: Path, content: str = WORKSPACE, unsaved: dict[str, str] | None = None) -> dict[str, str]:
    """Name → text, or why there is none, of the recipes of a workspace."""
    found = in_workspace(request_of(snapshot_of(content, top, unsaved=unsaved)).sources)
    assert {s.origin for s in found} <= {"workspace"}
    return {s.name: s.problem or s.text for s in found}


def test_recipes_of_the_workspace_lie_in_one_folder(tmp_path: Path) -> None:
    found = in_workspace(request_of(snapshot_of(WORKSPACE, tmp_path)).sources)
    assert [(s.name, s.source) for s in found] == [
        ("fix", ".promptls/recipes/fix.md"), ("ship", ".promptls/recipes/ship.md"),
    ]  # fmt: skip
    collected = collect(built_in(), found)
    ours = {s.name for s in built_in()}
    assert set(collected.recipes) - ours == {"ship", "workspace/fix"}
    assert collected.recipes["ship"].origin == "workspace"


def test_a_recipe_that_is_being_edited_counts_as_it_is_in_the_editor(tmp_path: Path) -> None:
    unsaved = {".promptls/recipes/fix.md": "edited", ".promptls/recipes/new.md": "not saved yet"}
    found = there(tmp_path, unsaved=unsaved)
    assert list(found) == ["fix", "new", "ship"]
    assert (found["fix"], found["new"]) == ("edited", "not saved yet")


def test_recipes_that_git_ignores_count_and_those_kept_from_us_do_not(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".promptls/\n")
    snapshot_of("-- .promptls/recipes/ship.md --\nx\n", tmp_path)
    assert list(there(tmp_path, "-- a.py --\nx = 1\n")) == ["ship"]
    (tmp_path / ".promptlsignore").write_text("recipes/\n")
    assert there(tmp_path, "-- a.py --\nx = 1\n") == {}


def test_a_recipe_does_not_lead_out_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(text("my secret"))
    folder = tmp_path / "w" / ".promptls" / "recipes"
    folder.mkdir(parents=True)
    (folder / "evil.md").symlink_to(tmp_path / "secret.md")
    (folder / "gone.md").symlink_to(tmp_path / "nothing.md")
    (folder / "inside.md").symlink_to(tmp_path / "w" / ".env")
    (folder / "binary.md").write_bytes(b"\0" * 100)
    (folder / "folder.md").mkdir()
    (tmp_path / "w" / ".env").write_text("KEY=1\n")
    found = there(tmp_path / "w", "-- a.py --\nx = 1\n")
    assert set(found) == {"evil", "gone", "inside", "binary"}
    assert all(why.startswith("the recipe is not read: ") for why in found.values())
    elsewhere = tmp_path / "v"
    elsewhere.mkdir()
    (elsewhere / ".promptls").symlink_to(tmp_path / "w" / ".promptls")
    assert there(elsewhere, "-- a.py --\nx = 1\n") == {}


def test_help_says_what_a_recipe_takes() -> None:
    recipes = collect(built_in()).recipes
    assert help_text(recipes["commit-message"]) == (
        "**Commit message** (commit-message 1.0)\n\nA commit message for what is staged.\n"
        "- `style`: Form of the first line. (default: plain; one of conventional, plain)\n"
        "- `issue`: Issue that the commit belongs to. (optional)\n"
        "- brings along @staged"
    )
    assert "(one 1.0, yours)" in help_text(recipe("Go."))
    assert "- `depth`: How deep. (required)" in help_text(recipe(BODY, ARGUMENTS))

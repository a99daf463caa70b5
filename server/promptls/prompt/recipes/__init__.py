"""Recipes: named prompt templates of promptls, the user and the workspace.

A recipe is a Markdown file: TOML front matter between two lines "+++", then the text of a task with placeholders (see
parser.py).  `collect_recipes` merges the sources, `render_recipe` returns the text for one call.  The user's message
follows that text, verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptls.index import FileContent, SourceReader, UnreadableFile, exclusion_reason, find_files, read_convention_file
from promptls.model import Problem
from promptls.prompt.errors import InvalidOption, UnknownName
from promptls.prompt.recipes.parser import (
    CONTEXT_VALUES,
    MAX_RECIPE_CHARACTERS,
    PLACEHOLDER,
    Recipe,
    RecipeArgument,
    RecipeOrigin,
    argument_text,
    parse_recipe,
)
from promptls.prompt.sanitize import clean, header_text
from promptls.redaction.secrets import redact

__all__ = [
    "CONTEXT_VALUES",
    "Recipe",
    "RecipeArgument",
    "RecipeCollection",
    "RecipeSource",
    "built_in_recipes",
    "collect_recipes",
    "context_values",
    "find_recipe",
    "parse_recipe",
    "recipe_help",
    "recipes_in_folder",
    "recipes_in_workspace",
    "render_recipe",
]


WORKSPACE_FOLDER = ".promptls/recipes"
"""Folder of recipes in a workspace folder."""

MAX_FILE_BYTES = 4 * MAX_RECIPE_CHARACTERS
"""Maximum bytes of a recipe file in the workspace: a character has up to four."""

MAX_RECIPES = 100
"""Maximum number of recipes that are read from one folder."""


class RecipeSource(Struct, frozen=True):
    """Text of a recipe file, or the problem that prevented reading it."""

    name: str
    text: str
    origin: RecipeOrigin
    source: str
    problem: str = ""


class RecipeCollection(Struct, frozen=True):
    """Valid recipes by name, sorted, and the problems of the others."""

    recipes: Mapping[str, Recipe]
    problems: tuple[Problem, ...] = ()


@cache
def built_in_recipes() -> tuple[RecipeSource, ...]:
    """Return the recipes of this package."""
    paths = [f for f in files(__package__).iterdir() if f.name.endswith(".md")]
    return tuple(
        RecipeSource(f.name.removesuffix(".md"), f.read_text("utf-8"), "built-in", f.name)
        for f in sorted(paths, key=lambda f: f.name)
    )


def recipes_in_folder(folder: Path) -> tuple[RecipeSource, ...]:
    """Return the recipes of the user's folder; () if it does not exist."""
    try:
        paths = sorted(f for f in folder.iterdir() if f.suffix == ".md" and f.is_file())
    except OSError:
        return ()
    return tuple(_read_user_file(path) for path in paths[:MAX_RECIPES])


def _read_user_file(path: Path) -> RecipeSource:
    try:
        with path.open(encoding="utf-8") as stream:
            return RecipeSource(path.stem, stream.read(MAX_RECIPE_CHARACTERS + 1), "yours", path.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        return RecipeSource(path.stem, "", "yours", path.name, f"cannot read the recipe: {reason}")


def recipes_in_workspace(sources: SourceReader) -> tuple[RecipeSource, ...]:
    """Return the recipes of all workspace folders, with unsaved text, even if git ignores them.

    Files that the user excludes (`.promptlsignore`, the setting index.exclude) are left out.
    """
    recipes: list[RecipeSource] = []
    for root in sources.snapshot.roots:
        root_path = root.path.rstrip("/")
        names = {path[len(root_path) + 1 :] for path in sources.snapshot.documents if path.startswith(f"{root_path}/")}
        names = {name for name in names if name.rpartition("/")[0] == WORKSPACE_FOLDER and name.endswith(".md")}
        for name in sorted({*names, *find_files(root_path, WORKSPACE_FOLDER, (".md",))})[:MAX_RECIPES]:
            content = _read_workspace_file(sources, root_path, name)
            if content is not None:
                recipes.append(_workspace_source(name, sources.snapshot.label(f"{root_path}/{name}"), content))
    return tuple(recipes)


def _read_workspace_file(sources: SourceReader, root_path: str, name: str) -> str | UnreadableFile | None:
    """Return the text of a file of the workspace, or the reason why it is not read; None if it is excluded."""
    indexed = sources.snapshot.files
    if f"{root_path}/{name}" not in indexed and exclusion_reason(root_path, name, sources.limits):
        return None
    document = sources.snapshot.documents.get(f"{root_path}/{name}")
    if document is not None:
        return document.text
    content = read_convention_file(
        root_path, name, sources.limits, MAX_FILE_BYTES, lambda target: f"{root_path}/{target}" in indexed
    )
    return content.text if isinstance(content, FileContent) else content


def _workspace_source(name: str, label: str, content: str | UnreadableFile) -> RecipeSource:
    stem = name[len(WORKSPACE_FOLDER) + 1 : -len(".md")]
    if isinstance(content, UnreadableFile):
        return RecipeSource(stem, "", "workspace", label, f"cannot read the recipe: {content.reason}")
    return RecipeSource(stem, content, "workspace", label)


def collect_recipes(*sources: Iterable[RecipeSource]) -> RecipeCollection:
    """Parse and merge the recipes of all sources: the user's first, then built-in ones, then those of the workspace."""
    all_sources = [source for group in sources for source in group]
    recipes: dict[str, Recipe] = {}
    problems: list[Problem] = []
    for origin in ("yours", "built-in", "workspace"):
        for source in all_sources:
            if source.origin != origin:
                continue
            if source.problem:
                problems.append(Problem(f"{source.source}: {source.problem}."))
                continue
            recipe, recipe_problems = parse_recipe(source.name, source.text, source.origin, source.source)
            problems += recipe_problems
            if recipe is not None:
                problems += _register(recipe, recipes)
    return RecipeCollection(dict(sorted(recipes.items())), tuple(problems))


def _register(recipe: Recipe, recipes: dict[str, Recipe]) -> tuple[Problem, ...]:
    """Add the recipe to `recipes` under a free name."""
    if recipe.name not in recipes:
        recipes[recipe.name] = recipe
        return ()
    if recipe.origin != "workspace":
        return ()  # the user's recipe takes precedence
    name = f"workspace/{recipe.name}"
    if name in recipes:
        return (Problem(f"{recipe.source}: ignored, because this workspace has another recipe {recipe.name!r}."),)
    recipes[name] = recipe
    return (Problem(f"{recipe.source}: the name {recipe.name!r} is taken; the recipe is called {name!r}."),)


# ---------------------------------------------------------------- calls


MAX_ARGUMENT_CHARACTERS = 8_000
"""Maximum characters of one argument; a stack trace may be long."""

_MAX_SUBJECTS = 3  # maximum number of names in the value "subject"
_MAX_NAME_CHARACTERS = 160


def find_recipe(recipes: Mapping[str, Recipe], name: str) -> Recipe:
    """Return the recipe with this name.

    Raises:
        UnknownName: No recipe has this name.
    """
    if name not in recipes:
        raise UnknownName("recipe", name, recipes)
    return recipes[name]


def context_values(
    *, mentioned: Sequence[str] = (), selection: str = "", symbol: str = "", file: str = "", language: str = ""
) -> dict[str, str]:
    """Return the context values of a request, quoted; empty ones are left out.

    Args:
        mentioned: Files and symbols that the message mentions.
        selection: File and lines, such as "src/a.py:3-9".
        symbol: Qualified name of the symbol at the cursor.
        file: The active file.
        language: Its language.
    """
    values = {n: _quote_name(v) for n, v in (("selection", selection), ("symbol", symbol), ("file", file)) if v}
    if language:
        values["language"] = re.sub(r"[^\w+# -]", "", language)[:40]
    if mentioned:
        names = [_quote_name(name) for name in dict.fromkeys(mentioned)]
        more = f" and {len(names) - _MAX_SUBJECTS} more" if len(names) > _MAX_SUBJECTS else ""
        values["subject"] = ", ".join(names[:_MAX_SUBJECTS]) + more
    elif selection:
        values["subject"] = f"the selected lines {values['selection']}"
    elif symbol:
        values["subject"] = values["symbol"] + (f" in {values['file']}" if file else "")
    elif file:
        values["subject"] = values["file"]
    return values


def render_recipe(recipe: Recipe, arguments: Mapping[str, Any], values: Mapping[str, str]) -> str:
    """Return the text of the task.

    Args:
        recipe: The recipe.
        arguments: Arguments of the caller.
        values: The result of `context_values`.

    Raises:
        InvalidOption: An argument is unknown, missing or invalid.
    """
    by_name = {argument.name: argument for argument in recipe.arguments}
    for name in arguments:
        if name not in by_name:
            valid = tuple(sorted(by_name))
            listed = f"valid: {', '.join(valid)}" if valid else "it has none"
            raise InvalidOption(
                f"unknown argument {name!r} of the recipe {recipe.name!r}; {listed}.", f"arguments.{name}", valid
            )
    all_values = dict(values)
    for argument in recipe.arguments:
        if value := _argument_value(argument, arguments.get(argument.name), recipe):
            all_values[argument.name] = value
    lines = [_fill_line(line, all_values) for line in recipe.body.split("\n")]
    return "\n".join(line for line in lines if line is not None).strip()


def _argument_value(argument: RecipeArgument, value: Any, recipe: Recipe) -> str:
    """Return the text of an argument: the caller's, else its default, else ""."""
    field, name = f"arguments.{argument.name}", argument.name
    if value is None or value == "":
        if argument.required:
            raise InvalidOption(
                f"the recipe {recipe.name!r} needs the argument {name!r}.", field, tuple(sorted(argument.choices))
            )
        return argument.default or ""
    text = argument_text(value)
    if text is None:
        raise InvalidOption(f"{field}: expected text, got a {type(value).__name__}.", field)
    if argument.choices and text not in argument.choices:
        valid = tuple(sorted(argument.choices))
        raise InvalidOption(f"unknown {name} {text[:80]!r}; valid: {', '.join(valid)}.", field, valid)
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        raise InvalidOption(f"{field} has {len(text):,} characters; the maximum is {MAX_ARGUMENT_CHARACTERS:,}.", field)
    return "\n".join(clean(text.replace("\r\n", "\n")).lines).strip()


def _fill_line(line: str, values: Mapping[str, str]) -> str | None:
    """Return the line with its placeholders replaced; None if one has neither a value nor a fallback."""
    out: list[str] = []
    end = 0
    for placeholder in PLACEHOLDER.finditer(line):
        text = values.get(placeholder[1]) or placeholder[2]
        if text is None:
            return None
        out += [line[end : placeholder.start()].replace("\\{{", "{{"), text]
        end = placeholder.end()
    return "".join([*out, line[end:].replace("\\{{", "{{")])


def _quote_name(name: str) -> str:
    text = header_text(redact(name)[0]).replace("`", "'")
    return f"`{text[:_MAX_NAME_CHARACTERS]}…`" if len(text) > _MAX_NAME_CHARACTERS else f"`{text}`"


def recipe_help(recipe: Recipe) -> str:
    """Return the description of a recipe and its arguments, as Markdown."""
    origin = {"built-in": "", "yours": ", yours", "workspace": ", from this workspace"}[recipe.origin]
    lines = [f"**{recipe.title}** ({recipe.name} {recipe.version}{origin})", "", recipe.description]
    for argument in recipe.arguments:
        need = "required" if argument.required else f"default: {argument.default}" if argument.default else "optional"
        choices = f"; one of {', '.join(argument.choices)}" if argument.choices else ""
        lines.append(f"- `{argument.name}`: {argument.description} ({need}{choices})")
    if recipe.mentions:
        lines.append(f"- context: {', '.join(recipe.mentions)}")
    return "\n".join(lines)

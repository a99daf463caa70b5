"""Rendering of a recipe: the text of a task from a recipe, arguments and context values.

Arguments are the caller's own words and are inserted unchanged.  Context values are names from the workspace, which
are not trusted: they are quoted, on one line and short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from promptls.prompt.recipes.parser import PLACEHOLDER, Recipe, RecipeArgument, argument_text
from promptls.prompt.sanitize import clean, header_text, redact

MAX_ARGUMENT_CHARACTERS = 8_000
"""Maximum characters of one argument; a stack trace may be long."""

_MAX_SUBJECTS = 3  # maximum number of names in the value "subject"
_MAX_NAME_CHARACTERS = 160


class InvalidRecipeCall(Struct, frozen=True):
    """A call with an unknown recipe or an invalid argument."""

    message: str
    field: str  # "recipe" or "arguments.audience"
    valid: tuple[str, ...] = ()  # sorted


def find_recipe(recipes: Mapping[str, Recipe], name: str) -> Recipe | InvalidRecipeCall:
    """Return the recipe with this name."""
    if name in recipes:
        return recipes[name]
    valid = tuple(sorted(recipes))
    return InvalidRecipeCall(f"unknown recipe {name!r}; valid: {', '.join(valid)}.", "recipe", valid)


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


def render_recipe(recipe: Recipe, arguments: Mapping[str, Any], values: Mapping[str, str]) -> str | InvalidRecipeCall:
    """Return the text of the task.

    Args:
        recipe: The recipe.
        arguments: Arguments of the caller.
        values: The result of `context_values`.
    """
    by_name = {argument.name: argument for argument in recipe.arguments}
    for name in arguments:
        if name not in by_name:
            valid = tuple(sorted(by_name))
            listed = f"valid: {', '.join(valid)}" if valid else "it has none"
            return InvalidRecipeCall(
                f"unknown argument {name!r} of the recipe {recipe.name!r}; {listed}.", f"arguments.{name}", valid
            )
    all_values = dict(values)
    for argument in recipe.arguments:
        value = _argument_value(argument, arguments.get(argument.name), recipe)
        if isinstance(value, InvalidRecipeCall):
            return value
        if value:
            all_values[argument.name] = value
    lines = [_fill_line(line, all_values) for line in recipe.body.split("\n")]
    return "\n".join(line for line in lines if line is not None).strip()


def _argument_value(argument: RecipeArgument, value: Any, recipe: Recipe) -> str | InvalidRecipeCall:
    """Return the text of an argument: the caller's, else its default, else ""."""
    field, name = f"arguments.{argument.name}", argument.name
    if value is None or value == "":
        if argument.required:
            return InvalidRecipeCall(
                f"the recipe {recipe.name!r} needs the argument {name!r}.", field, tuple(sorted(argument.choices))
            )
        return argument.default or ""
    text = argument_text(value)
    if text is None:
        return InvalidRecipeCall(f"{field}: expected text, got a {type(value).__name__}.", field)
    if argument.choices and text not in argument.choices:
        valid = tuple(sorted(argument.choices))
        return InvalidRecipeCall(f"unknown {name} {text[:80]!r}; valid: {', '.join(valid)}.", field, valid)
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        return InvalidRecipeCall(
            f"{field} has {len(text):,} characters; the maximum is {MAX_ARGUMENT_CHARACTERS:,}.", field
        )
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

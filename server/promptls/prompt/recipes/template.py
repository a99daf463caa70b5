"""A recipe and a caller's arguments become the text of a task.

Arguments are the caller's own words and stand as they are.  Values are names from the workspace, which
anybody may have written: they are quoted, on one line, and short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from promptls.prompt.recipes.parser import PLACEHOLDER, Argument, Recipe, parsed
from promptls.prompt.sanitize import clean, header_text, redact

MAX_ARGUMENT = 8_000
"""Characters of one argument; a stack trace may be long."""

_NAMED_MAX = 3  # things named as the subject
_NAME_MAX = 160  # characters of a name


class Wrong(Struct, frozen=True):
    """A request that names what there is not."""

    message: str
    field: str  # "recipe" or "arguments.audience"
    valid: tuple[str, ...] = ()  # sorted


def find(recipes: Mapping[str, Recipe], name: str) -> Recipe | Wrong:
    """The recipe of that name."""
    if name in recipes:
        return recipes[name]
    valid = tuple(sorted(recipes))
    return Wrong(f"unknown recipe {name!r}; valid: {', '.join(valid)}.", "recipe", valid)


def values_for(
    *, named: Sequence[str] = (), selection: str = "", symbol: str = "", file: str = "", language: str = ""
) -> dict[str, str]:
    """The values of a request, ready to stand in a text.

    `named` are the files and symbols that the message mentions, `selection` is "src/a.py:3-9", `symbol` the
    qualified name around the cursor.  What is empty is left out.
    """
    values = {n: _quoted(v) for n, v in (("selection", selection), ("symbol", symbol), ("file", file)) if v}
    if language:
        values["language"] = re.sub(r"[^\w+# -]", "", language)[:40]
    if named:
        shown = [_quoted(name) for name in dict.fromkeys(named)]
        more = f" and {len(shown) - _NAMED_MAX} more" if len(shown) > _NAMED_MAX else ""
        values["subject"] = ", ".join(shown[:_NAMED_MAX]) + more
    elif selection:
        values["subject"] = f"the selected lines {values['selection']}"
    elif symbol:
        values["subject"] = values["symbol"] + (f" in {values['file']}" if file else "")
    elif file:
        values["subject"] = values["file"]
    return values


def render(recipe: Recipe, arguments: Mapping[str, Any], values: Mapping[str, str]) -> str | Wrong:
    """The text of the task.  `values` come from `values_for`."""
    known = {argument.name: argument for argument in recipe.arguments}
    for name in arguments:
        if name not in known:
            valid = tuple(sorted(known))
            listed = f"valid: {', '.join(valid)}" if valid else "it has none"
            return Wrong(
                f"unknown argument {name!r} of the recipe {recipe.name!r}; {listed}.", f"arguments.{name}", valid
            )
    filled = dict(values)
    for argument in recipe.arguments:
        given = _given(argument, arguments.get(argument.name), recipe)
        if isinstance(given, Wrong):
            return given
        if given:
            filled[argument.name] = given
    lines = [_filled(line, filled) for line in recipe.body.split("\n")]
    return "\n".join(line for line in lines if line is not None).strip()


def _given(argument: Argument, value: Any, recipe: Recipe) -> str | Wrong:
    """The argument's text: as given, else its default, else ""."""
    field, name = f"arguments.{argument.name}", argument.name
    if value is None or value == "":
        if argument.required:
            return Wrong(
                f"the recipe {recipe.name!r} needs the argument {name!r}.", field, tuple(sorted(argument.choices))
            )
        return argument.default or ""
    text = parsed(value)
    if text is None:
        return Wrong(f"{field}: expected text, got a {type(value).__name__}.", field)
    if argument.choices and text not in argument.choices:
        valid = tuple(sorted(argument.choices))
        return Wrong(f"unknown {name} {text[:80]!r}; valid: {', '.join(valid)}.", field, valid)
    if len(text) > MAX_ARGUMENT:
        return Wrong(f"{field} has {len(text):,} characters; at most {MAX_ARGUMENT:,} are possible.", field)
    return "\n".join(clean(text.replace("\r\n", "\n")).lines).strip()


def _filled(line: str, values: Mapping[str, str]) -> str | None:
    """The line with its placeholders filled, None if one of them has neither value nor fallback."""
    out: list[str] = []
    at = 0
    for found in PLACEHOLDER.finditer(line):
        text = values.get(found[1]) or found[2]
        if text is None:
            return None
        out += [line[at : found.start()].replace("\\{{", "{{"), text]
        at = found.end()
    return "".join([*out, line[at:].replace("\\{{", "{{")])


def _quoted(name: str) -> str:
    text = header_text(redact(name)[0]).replace("`", "'")
    return f"`{text[:_NAME_MAX]}…`" if len(text) > _NAME_MAX else f"`{text}`"


def help_text(recipe: Recipe) -> str:
    """What the recipe does and takes, as Markdown."""
    where = {"built-in": "", "yours": ", yours", "workspace": ", from this workspace"}[recipe.origin]
    lines = [f"**{recipe.title}** ({recipe.name} {recipe.version}{where})", "", recipe.description]
    for argument in recipe.arguments:
        more = "required" if argument.required else f"default: {argument.default}" if argument.default else "optional"
        choices = f"; one of {', '.join(argument.choices)}" if argument.choices else ""
        lines.append(f"- `{argument.name}`: {argument.description} ({more}{choices})")
    if recipe.mentions:
        lines.append(f"- brings along {', '.join(recipe.mentions)}")
    return "\n".join(lines)

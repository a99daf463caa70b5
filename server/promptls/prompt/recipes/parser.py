"""Parsing of a recipe file: front matter, text, and problems.

    +++
    title = "Explain"
    description = "What the code does."
    version = "1.0"                    # increased when the meaning of the text changes
    variant = "strict"                 # optional: instruction variant
    mentions = ["@staged"]             # optional: context of the recipe
    default_mentions = ["@diff"]       # optional: context of the recipe if the message has no mention or selection
    [sections]                         # optional: sections to turn on or off
    architecture = true
    [arguments.audience]
    description = "Who reads it."
    default = "a colleague"            # or required = true, or neither
    choices = ["a colleague", "a user"]
    +++
    Explain {{subject|the code in question}} to {{audience}}.

A placeholder names an argument or one of `CONTEXT_VALUES`.  Without a value it is replaced by the text after "|";
without such a text its whole line is left out.  A backslash before "{{" makes it plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from promptls.model import Problem
from promptls.prompt.sanitize import clean
from promptls.util.decode import convert, parse_toml

RecipeOrigin = Literal["built-in", "yours", "workspace"]

CONTEXT_VALUES = {
    "subject": "what the message names; else the selection, the symbol at the cursor, the active file",
    "selection": "file and lines of the selection",
    "symbol": "the definition around the cursor or the selection",
    "file": "the active file",
    "language": "the language of the active file",
}
"""Values that every recipe may use besides its arguments: names and locations, because the code itself is context."""

MAX_RECIPE_CHARACTERS = 16_000
"""Maximum characters of a recipe file."""

_RECIPE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
PLACEHOLDER = re.compile(r"(?<!\\)\{\{[ \t]*([a-z][a-z0-9_]*)[ \t]*(?:\|([^{}\n]*))?\}\}")

_OneLine = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\r\n]*\S[^\r\n]*$")]
_MentionText = Annotated[str, Meta(max_length=200, pattern=r"^@[^\s@][^\r\n]*$")]
_Text = Annotated[str, Meta(min_length=1, max_length=2000)]


class RecipeArgument(Struct, frozen=True):
    """An argument of a recipe."""

    name: str
    description: str
    required: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()  # () allows any text


class Recipe(Struct, frozen=True):
    """A recipe."""

    name: str
    title: str
    description: str
    version: str
    body: str
    origin: RecipeOrigin
    source: str  # name of the file, for messages
    arguments: tuple[RecipeArgument, ...] = ()
    variant: str = ""  # used if the request names none; "" for the variant of the settings
    sections: dict[str, bool] = {}  # used for sections that the request does not set
    mentions: tuple[str, ...] = ()  # resolved as if they were in the message
    default_mentions: tuple[str, ...] = ()  # likewise, if the message has no mention and nothing is selected


class _ArgumentTable(Struct, frozen=True, forbid_unknown_fields=True):
    description: _OneLine
    required: bool = False
    default: _Text | None = None
    choices: Annotated[tuple[_OneLine, ...], Meta(max_length=30)] = ()


class _RecipeFrontMatter(Struct, frozen=True, forbid_unknown_fields=True):
    title: _OneLine
    description: _OneLine
    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}$")]
    variant: str = ""
    sections: Annotated[dict[str, bool], Meta(max_length=30)] = {}
    mentions: Annotated[tuple[_MentionText, ...], Meta(max_length=8)] = ()
    default_mentions: Annotated[tuple[_MentionText, ...], Meta(max_length=8)] = ()
    arguments: Annotated[dict[str, Any], Meta(max_length=16)] = {}


def parse_recipe(name: str, text: str, origin: RecipeOrigin, source: str) -> tuple[Recipe | None, tuple[Problem, ...]]:
    """Parse a recipe file, and return the recipe (None if it has errors) and its problems."""

    def problem(message: str, suggestion: str = "") -> Problem:
        return Problem(f"{source}: {message}.", suggestion)

    if not _RECIPE_NAME.fullmatch(name):
        return None, (
            problem(f"{name!r} is not a valid recipe name", "Use lower-case letters, digits and single hyphens."),
        )
    if len(text) > MAX_RECIPE_CHARACTERS:
        return None, (problem(f"the recipe has more than {MAX_RECIPE_CHARACTERS:,} characters", "Shorten it."),)
    text = "\n".join(clean(text.replace("\r\n", "\n")).lines)
    match = re.match(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n(.*)\Z", text, re.MULTILINE | re.DOTALL)
    if match is None:
        return None, (problem("the front matter between two lines +++ is missing", 'Begin with a line "+++".'),)
    table = ""  # that is being converted; its errors do not contain its name
    try:
        front_matter = convert(parse_toml(match[1]), _RecipeFrontMatter)
        tables: dict[str, _ArgumentTable] = {}
        for key, value in front_matter.arguments.items():
            table = f".arguments.{key}"
            tables[key] = convert(value, _ArgumentTable)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        place = f"{table}{path.rstrip('`')}".removeprefix(".")
        return None, (problem(f"{place}{': ' if place else ''}{message[:1].lower()}{message[1:]}"),)
    except ValueError as error:
        return None, (problem(f"the front matter is not valid TOML: {str(error).rstrip('.')[:120]}"),)
    except RecursionError:
        return None, (problem("the front matter is not valid TOML: it is nested too deeply"),)
    body = match[2].strip()
    errors = tuple(map(problem, [*_argument_problems(tables), *_body_problems(tables, body)]))
    if errors:
        return None, errors
    used = {placeholder[1] for placeholder in PLACEHOLDER.finditer(body)}
    arguments = tuple(RecipeArgument(n, t.description, t.required, t.default, t.choices) for n, t in tables.items())
    recipe = Recipe(
        name, front_matter.title, front_matter.description, front_matter.version, body, origin, source, arguments,
        front_matter.variant, front_matter.sections, front_matter.mentions,
        front_matter.default_mentions,
    )  # fmt: skip
    return recipe, tuple(problem(f"the argument {name!r} is not used") for name in tables if name not in used)


def _argument_problems(arguments: dict[str, _ArgumentTable]) -> Iterator[str]:
    """Yield invalid names, and arguments that contradict themselves."""
    for name, argument in arguments.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            yield f"{name!r} is not a valid argument name: lower-case letters, digits and _"
        if name in CONTEXT_VALUES:
            yield f"the argument {name!r} has the name of a context value"
        if argument.required and argument.default is not None:
            yield f"the argument {name!r} is required and has a default"
        if argument.choices and argument.default is not None and argument.default not in argument.choices:
            yield f"the default of {name!r} is not one of its choices"


def _body_problems(arguments: dict[str, _ArgumentTable], body: str) -> Iterator[str]:
    """Yield placeholders without a value, malformed placeholders, and an empty text."""
    if not body:
        yield "the recipe has no text"
    for placeholder in PLACEHOLDER.finditer(body):
        if placeholder[1] not in arguments and placeholder[1] not in CONTEXT_VALUES:
            valid = ", ".join(sorted({*arguments, *CONTEXT_VALUES}))
            yield f"unknown placeholder {placeholder[1]!r}; valid: {valid}"
    malformed = re.search(r"(?<!\\)\{\{[^\n]{0,40}", PLACEHOLDER.sub("", body))
    if malformed:
        yield f"malformed placeholder {malformed[0]!r}: write {{{{name}}}} or {{{{name|text without a value}}}}"


def argument_text(value: Any) -> str | None:
    """Return the text of an argument as a client sent it; None unless it is text, a number or a Boolean."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None

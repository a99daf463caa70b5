"""Parsing of a recipe file: front matter, text, and problems with their lines.

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
from promptls.util.decode import convert
from promptls.util.toml import parse_toml

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
    """Parse a recipe file.

    Returns:
        The recipe (None if it has errors) and its problems, each with its line.
    """

    def problem(line: int, message: str, suggestion: str = "") -> Problem:
        return Problem(f"{source}:{line}: {message}.", suggestion)

    if not _RECIPE_NAME.fullmatch(name):
        return None, (
            problem(1, f"{name!r} is not a valid recipe name", "Use lower-case letters, digits and single hyphens."),
        )
    if len(text) > MAX_RECIPE_CHARACTERS:
        return None, (problem(1, f"the recipe has more than {MAX_RECIPE_CHARACTERS:,} characters", "Shorten it."),)
    text = "\n".join(clean(text.replace("\r\n", "\n")).lines)
    match = re.match(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n(.*)\Z", text, re.MULTILINE | re.DOTALL)
    if match is None:
        return None, (problem(1, "the front matter between two lines +++ is missing", 'Begin with a line "+++".'),)
    key_path: list[str] = []  # of the table being converted, because its errors do not contain it
    try:
        front_matter = convert(parse_toml(match[1]), _RecipeFrontMatter)
        tables: dict[str, _ArgumentTable] = {}
        for key, value in front_matter.arguments.items():
            key_path = ["arguments", key]
            tables[key] = convert(value, _ArgumentTable)
    except msgspec.ValidationError as error:
        return None, (problem(*_validation_problem(match[1], key_path, str(error))),)
    except ValueError as error:
        line = _toml_error_line(match[1], str(error))
        return None, (problem(line, f"the front matter is not valid TOML: {_short_error(str(error))}"),)
    except RecursionError:
        return None, (problem(2, "the front matter is not valid TOML: it is nested too deeply"),)
    body = match[2].strip()
    first_line = text.count("\n", 0, match.start(2) + _leading_whitespace(match[2])) + 1
    errors = [*_argument_problems(tables, match[1]), *_body_problems(tables, body, first_line)]
    unused = _unused_arguments(tables, match[1], body)
    problems = tuple(problem(line, message) for line, message in [*errors, *unused])
    if errors:
        return None, problems
    arguments = tuple(RecipeArgument(n, t.description, t.required, t.default, t.choices) for n, t in tables.items())
    recipe = Recipe(
        name, front_matter.title, front_matter.description, front_matter.version, body, origin, source, arguments,
        front_matter.variant, front_matter.sections, front_matter.mentions,
        front_matter.default_mentions,
    )  # fmt: skip
    return recipe, problems


def _leading_whitespace(text: str) -> int:
    return len(text) - len(text.lstrip())


def _toml_error_line(head: str, error: str) -> int:
    """_OneLine of the file; the head begins on its second."""
    at = re.search(r"line (\d+)", error)
    return int(at[1]) + 1 if at else head.count("\n") + 2


def _short_error(error: str) -> str:
    return re.sub(r"\s*\(at .*\)$", "", error).rstrip(".")[:120]


def _validation_problem(front_matter: str, key_path: list[str], error: str) -> tuple[int, str]:
    """Return line and message for a field of the wrong type."""
    message, _, path = error.partition(" - at `$")
    keys = key_path + re.findall(r"[\w-]+", re.sub(r"\[[^\]]*\]|`", "", path))
    unknown = re.findall(r"`([\w-]+)`", message) if "unknown field" in message else []
    message = message[:1].lower() + message[1:]
    if keys == ["version"]:
        message = f'the version must be written as "1.0", not as {_written_value(front_matter, "version")}'
    elif keys in (["mentions"], ["default_mentions"]):
        message = f'{keys[0]} must be a list of at most eight mentions, such as ["@staged"]'
    elif keys:
        message = f"{'.'.join(keys)}: {message}"
    return _line_number(front_matter, keys + unknown), message


def _written_value(front_matter: str, key: str) -> str:
    match = re.search(rf"(?m)^{key}[ \t]*=[ \t]*(.{{1,40}})", front_matter)
    return match[1].strip() if match else "it is"


def _line_number(front_matter: str, keys: list[str]) -> int:
    """Return the line of the file that defines the last of the keys that occurs in the front matter."""
    lines = front_matter.split("\n")
    for key in reversed(keys):
        pattern = re.compile(rf"\s*(?:\[[^\]]*\b{re.escape(key)}\b[^\]]*\]|[\"']?{re.escape(key)}[\"']?\s*=)")
        for n, line in enumerate(lines):
            if pattern.match(line):
                return n + 2
    return 2


def _argument_problems(arguments: dict[str, _ArgumentTable], front_matter: str) -> Iterator[tuple[int, str]]:
    """Yield invalid names, and arguments that contradict themselves."""
    for name, argument in arguments.items():
        line = _line_number(front_matter, [name])
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            yield line, f"{name!r} is not a valid argument name: lower-case letters, digits and _"
        if name in CONTEXT_VALUES:
            yield line, f"the argument {name!r} has the name of a context value"
        if argument.required and argument.default is not None:
            yield line, f"the argument {name!r} is required and has a default"
        if argument.choices and argument.default is not None and argument.default not in argument.choices:
            yield line, f"the default of {name!r} is not one of its choices"


def _body_problems(arguments: dict[str, _ArgumentTable], body: str, first_line: int) -> Iterator[tuple[int, str]]:
    """Yield placeholders without a value, malformed placeholders, and an empty text."""
    if not body:
        yield first_line, "the recipe has no text"
    for n, line in enumerate(body.split("\n")):
        for placeholder in PLACEHOLDER.finditer(line):
            if placeholder[1] not in arguments and placeholder[1] not in CONTEXT_VALUES:
                valid = ", ".join(sorted({*arguments, *CONTEXT_VALUES}))
                yield first_line + n, f"unknown placeholder {placeholder[1]!r}; valid: {valid}"
        if re.search(r"(?<!\\)\{\{", PLACEHOLDER.sub("", line)):
            yield first_line + n, "malformed placeholder: write {{name}} or {{name|text without a value}}"


def _unused_arguments(arguments: dict[str, _ArgumentTable], front_matter: str, body: str) -> Iterator[tuple[int, str]]:
    used = {placeholder[1] for placeholder in PLACEHOLDER.finditer(body)}
    for name in arguments:
        if name not in used:
            yield _line_number(front_matter, [name]), f"the argument {name!r} is not used"


def argument_text(value: Any) -> str | None:
    """Return the text of an argument as a client sent it; None unless it is text, a number or a Boolean."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None

"""One recipe file: its head, its text, and everything that is wrong with it, by line.

    +++
    title = "Explain"
    description = "What the code does."
    version = "1.0"                    # raised when the text changes its meaning
    variant = "strict"                 # optional: how the model is told to use the context
    mentions = ["@staged"]             # optional: context that the recipe brings along
    [sections]                         # optional: sections switched on or off
    architecture = true
    [arguments.audience]
    description = "Who reads it."
    default = "a colleague"            # or required = true, or neither
    choices = ["a colleague", "a user"]
    +++
    Explain {{subject|the code in question}} to {{audience}}.

A placeholder names an argument or one of `VALUES`.  Where it has no value, the text after "|" stands for it;
without one its whole line is left out.  A backslash before "{{" makes it plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from promptls.model import Problem
from promptls.prompt.sanitize import clean
from promptls.util.toml import read_toml

Origin = Literal["built-in", "yours", "workspace"]

VALUES = {
    "subject": "what the message names; else the selection, the symbol at the cursor, the active file",
    "selection": "file and lines of the selection",
    "symbol": "the definition around the cursor or the selection",
    "file": "the active file",
    "language": "the language of the active file",
}
"""What a recipe can speak of beside its arguments.  Names and places only: the code itself is context."""

MAX_SIZE = 16_000
"""Characters of a recipe file."""

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
PLACEHOLDER = re.compile(r"(?<!\\)\{\{[ \t]*([a-z][a-z0-9_]*)[ \t]*(?:\|([^{}\n]*))?\}\}")

Line = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\r\n]*\S[^\r\n]*$")]
Mentioned = Annotated[str, Meta(max_length=200, pattern=r"^@[^\s@][^\r\n]*$")]
Words = Annotated[str, Meta(min_length=1, max_length=2000)]


class Argument(Struct, frozen=True):
    """What a caller can choose."""

    name: str
    description: str
    required: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()  # () for any text


class Recipe(Struct, frozen=True):
    """A named template."""

    name: str
    title: str
    description: str
    version: str
    body: str
    origin: Origin
    source: str  # file, as people know it
    arguments: tuple[Argument, ...] = ()
    variant: str = ""  # wanted when the request names none; "" for the setting's
    sections: dict[str, bool] = {}  # wanted when the request says nothing about them
    mentions: tuple[str, ...] = ()  # to be resolved as if they stood in the message


class _Argument(Struct, frozen=True, forbid_unknown_fields=True):
    description: Line
    required: bool = False
    default: Words | None = None
    choices: Annotated[tuple[Line, ...], Meta(max_length=30)] = ()


class _Head(Struct, frozen=True, forbid_unknown_fields=True):
    title: Line
    description: Line
    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}$")]
    variant: str = ""
    sections: Annotated[dict[str, bool], Meta(max_length=30)] = {}
    mentions: Annotated[tuple[Mentioned, ...], Meta(max_length=8)] = ()
    arguments: Annotated[dict[str, Any], Meta(max_length=16)] = {}


def read(name: str, text: str, origin: Origin, source: str) -> tuple[Recipe | None, tuple[Problem, ...]]:
    """The recipe in a file, None if it cannot be used; and what is wrong, each problem with its line."""

    def problem(line: int, what: str, advice: str = "") -> Problem:
        return Problem(f"{source}:{line}: {what}.", advice)

    if not NAME.fullmatch(name):
        return None, (problem(1, f"{name!r} is no name for a recipe", "Use small letters, digits and single hyphens."),)
    if len(text) > MAX_SIZE:
        return None, (problem(1, f"the recipe has more than {MAX_SIZE:,} characters", "Shorten it."),)
    text = "\n".join(clean(text.replace("\r\n", "\n")).lines)
    parts = re.match(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n(.*)\Z", text, re.MULTILINE | re.DOTALL)
    if parts is None:
        return None, (problem(1, "the head between two lines of +++ is missing", 'Begin with a line "+++".'),)
    at: list[str] = []  # where in the head, for errors that do not say
    try:
        head = msgspec.convert(read_toml(parts[1]), _Head)
        wanted: dict[str, _Argument] = {}
        for key, value in head.arguments.items():
            at = ["arguments", key]
            wanted[key] = msgspec.convert(value, _Argument)
    except msgspec.ValidationError as error:
        return None, (problem(*_misfit(parts[1], at, str(error))),)
    except ValueError as error:
        return None, (problem(_toml_line(parts[1], str(error)), f"the head is no TOML: {_first_words(str(error))}"),)
    except RecursionError:
        return None, (problem(2, "the head is no TOML: it is nested too deeply"),)
    body, first = parts[2].strip(), text.count("\n", 0, parts.start(2) + _blank(parts[2])) + 1
    found = [*_flaws(wanted, parts[1]), *_misplaced(wanted, body, first)]
    unused = _unused(wanted, parts[1], body)
    problems = tuple(problem(line, what) for line, what in [*found, *unused])
    if found:
        return None, problems
    arguments = tuple(Argument(n, a.description, a.required, a.default, a.choices) for n, a in wanted.items())
    recipe = Recipe(
        name, head.title, head.description, head.version, body, origin, source, arguments,
        head.variant, head.sections, head.mentions,
    )  # fmt: skip
    return recipe, problems


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())


def _toml_line(head: str, error: str) -> int:
    """Line of the file; the head begins on its second."""
    at = re.search(r"line (\d+)", error)
    return int(at[1]) + 1 if at else head.count("\n") + 2


def _first_words(error: str) -> str:
    return re.sub(r"\s*\(at .*\)$", "", error).rstrip(".")[:120]


def _misfit(head: str, at: list[str], error: str) -> tuple[int, str]:
    """Line and sentence for a field of the wrong shape."""
    what, _, path = error.partition(" - at `$")
    keys = at + re.findall(r"[\w-]+", re.sub(r"\[[^\]]*\]|`", "", path))
    named = re.findall(r"`([\w-]+)`", what) if "unknown field" in what else []
    what = what[:1].lower() + what[1:]
    if keys == ["version"]:
        what = f'the version must be written as "1.0", not as {_written(head, "version")}'
    elif keys == ["mentions"]:
        what = 'mentions must be a list of at most eight mentions, such as ["@staged"]'
    elif keys:
        what = f"{'.'.join(keys)}: {what}"
    return _line_of(head, keys + named), what


def _written(head: str, key: str) -> str:
    found = re.search(rf"(?m)^{key}[ \t]*=[ \t]*(.{{1,40}})", head)
    return found[1].strip() if found else "it is"


def _line_of(head: str, keys: list[str]) -> int:
    """The line of the file where the last of `keys` that stands in the head is defined."""
    lines = head.split("\n")
    for key in reversed(keys):
        shape = re.compile(rf"\s*(?:\[[^\]]*\b{re.escape(key)}\b[^\]]*\]|[\"']?{re.escape(key)}[\"']?\s*=)")
        for n, line in enumerate(lines):
            if shape.match(line):
                return n + 2
    return 2


def _flaws(arguments: dict[str, _Argument], text: str) -> Iterator[tuple[int, str]]:
    """Arguments that contradict themselves or the values."""
    for name, argument in arguments.items():
        line = _line_of(text, [name])
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            yield line, f"{name!r} is no name for an argument: small letters, digits and _"
        if name in VALUES:
            yield line, f"the argument {name!r} has the name of a value"
        if argument.required and argument.default is not None:
            yield line, f"the argument {name!r} is required and has a default"
        if argument.choices and argument.default is not None and argument.default not in argument.choices:
            yield line, f"the default of {name!r} is none of its choices"


def _misplaced(arguments: dict[str, _Argument], body: str, first: int) -> Iterator[tuple[int, str]]:
    """Placeholders that stand for nothing; a text that is none."""
    if not body:
        yield first, "the recipe has no text"
    for n, line in enumerate(body.split("\n")):
        for found in PLACEHOLDER.finditer(line):
            if found[1] not in arguments and found[1] not in VALUES:
                valid = ", ".join(sorted({*arguments, *VALUES}))
                yield first + n, f"there is nothing called {found[1]!r} for a placeholder; valid: {valid}"
        if re.search(r"(?<!\\)\{\{", PLACEHOLDER.sub("", line)):
            yield first + n, "a placeholder is not well formed: write {{name}} or {{name|text without it}}"


def _unused(arguments: dict[str, _Argument], text: str, body: str) -> Iterator[tuple[int, str]]:
    used = {found[1] for found in PLACEHOLDER.finditer(body)}
    for name in arguments:
        if name not in used:
            yield _line_of(text, [name]), f"the argument {name!r} is not used"


def parsed(value: Any) -> str | None:
    """An argument as a client sent it, as text; None if it is no text, number or yes/no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None

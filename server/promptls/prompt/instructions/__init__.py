"""Instructions by task and question type: bullets for the answer, and the sections of the response format.

A file of the same name in the user's folder replaces a built-in one; an empty file turns it off.  A workspace cannot
change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from promptls.model import Problem
from promptls.prompt.sanitize import clean

TYPES_WITH_FORMAT_SECTION = ("debugging", "feature", "architectural")
"""Question types that add a section to the response format, in the order of the sections."""

BY_PRIORITY = ("review", "tests", "debugging", "architectural", "feature", "implementation", "explanation")
"""Tasks and question types; of several, the built-in bullets of the first one are used."""

TEMPLATE_NAMES = (*BY_PRIORITY, "general", "format", *(f"format-{name}" for name in TYPES_WITH_FORMAT_SECTION))

MAX_FILE_CHARACTERS = 8_000
"""Maximum characters of a user's file."""

_MAX_USER_FILES = 50


class InstructionTemplates(Struct, frozen=True):
    """The points of each template, without bullets; () if the user has turned it off."""

    points: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...] = ()


def load_instruction_templates(folder: Path | None = None) -> InstructionTemplates:
    """Load the built-in templates, and replace those that the user's folder has."""
    points = dict(_built_in())
    problems: list[Problem] = []
    for path in _user_files(folder):
        if path.stem not in TEMPLATE_NAMES:
            valid = ", ".join(sorted(TEMPLATE_NAMES))
            problems.append(Problem(f"Unknown instructions {path.stem!r}; valid: {valid}."))
            continue
        text = _read_user_file(path)
        if isinstance(text, Problem):
            problems.append(text)
        else:
            points[path.stem] = _parse_points(text)
    return InstructionTemplates(points, tuple(problems))


def render_instructions(types: Iterable[str], templates: InstructionTemplates) -> str:
    """Return the bullets of the tasks and question types; the general ones for a question without a type.

    Of several built-in templates only the first one is used, at most 60 tokens: code is of more use.  The user's own
    templates are all used.
    """
    selected = set(types)
    names = [name for name in BY_PRIORITY if name in selected] or ["general"]
    own = [name for name in names if is_own_template(name, templates)]
    first = names[:1] if names[0] not in own else []
    return "\n".join(f"- {point}" for point in _distinct_points([*first, *own], templates))


def is_own_template(name: str, templates: InstructionTemplates) -> bool:
    """Return whether the user has replaced a built-in template."""
    return templates.points[name] != _built_in()[name]


def render_response_format(types: Iterable[str], templates: InstructionTemplates) -> str:
    """Return the numbered sections of the response, with additional ones for some question types."""
    selected = set(types)
    additional = [f"format-{name}" for name in TYPES_WITH_FORMAT_SECTION if name in selected]
    names = ["format", *additional] if templates.points["format"] else []
    numbered = [f"{n}. {point}" for n, point in enumerate(_distinct_points(names, templates), 1)]
    if not numbered:
        return ""
    return "\n".join(["Answer in these sections; leave out one that would be empty.", *numbered])


def _distinct_points(names: Iterable[str], templates: InstructionTemplates) -> list[str]:
    """Return the points of several templates, without duplicates."""
    distinct: dict[str, str] = {}
    for name in names:
        for point in templates.points[name]:
            distinct.setdefault(_normalize(point), point)
    return list(distinct.values())


@cache
def _built_in() -> Mapping[str, tuple[str, ...]]:
    folder = files(__package__)
    return {name: _parse_points(folder.joinpath(f"{name}.md").read_text("utf-8")) for name in TEMPLATE_NAMES}


def _parse_points(text: str) -> tuple[str, ...]:
    """Return the points of a file; a line without a bullet continues the point before it."""
    points: list[str] = []
    for line in clean(text.replace("\r\n", "\n")).lines:
        stripped = line.strip()
        if stripped[:2] in ("- ", "* "):
            points.append(stripped[2:].strip())
        elif stripped and points:
            points[-1] = f"{points[-1]} {stripped}"
        elif stripped:
            points.append(stripped)
    return tuple(point for point in points if point)


def _normalize(point: str) -> str:
    """Return the words of a point, ignoring case, spacing and the full stop."""
    return " ".join(point.lower().split()).rstrip(".")


def _user_files(folder: Path | None) -> list[Path]:
    try:
        paths = sorted(f for f in folder.iterdir() if f.suffix == ".md" and f.is_file()) if folder else []
    except OSError:
        return []
    return paths[:_MAX_USER_FILES]


def _read_user_file(path: Path) -> str | Problem:
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(MAX_FILE_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        return Problem(f"Cannot read the instructions {path.name} ({reason}); using the built-in ones.")
    if len(text) > MAX_FILE_CHARACTERS:
        return Problem(
            f"The instructions {path.name} have more than {MAX_FILE_CHARACTERS:,} characters; using the built-in ones."
        )
    return text

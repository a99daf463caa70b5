"""What kind of answer a kind of question gets: bullets for each type, and the sections of the reply.

CodeBuddy's idea (type instructions, response format) in our own words, as short as they can be.  A file of
the same name in the user's own folder takes the place of ours; an empty one switches it off.  A workspace
cannot change them.  Knows nothing of how types are found and where the text is placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from promptls.model import Problem
from promptls.prompt.sanitize import clean

TYPES = ("implementation", "architectural", "debugging", "explanation", "feature")
"""In the order in which their bullets stand."""

EXTRAS = ("debugging", "feature", "architectural")
"""Types that add a section to the format, in CodeBuddy's order."""

NAMES = (*TYPES, "general", "format", *(f"format-{name}" for name in EXTRAS))

MAX_SIZE = 8_000
"""Characters of a file."""


class Templates(Struct, frozen=True):
    """The points of each file, without their bullets; () where the user wants none."""

    points: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...] = ()


def templates(folder: Path | None = None) -> Templates:
    """Ours, with what the user's folder has instead."""
    points = dict(_built_in())
    problems: list[Problem] = []
    for file in _files(folder):
        valid = ", ".join(sorted(NAMES))
        if file.stem not in NAMES:
            problems.append(Problem(f"There are no instructions called {file.stem!r}; valid: {valid}."))
            continue
        text = _read(file)
        if isinstance(text, Problem):
            problems.append(text)
        else:
            points[file.stem] = _points(text)
    return Templates(points, tuple(problems))


def instructions_for(types: Iterable[str], using: Templates) -> str:
    """The bullets for all of the types, each said once; the general ones where there is no type."""
    asked = set(types)
    names = [name for name in TYPES if name in asked] or ["general"]
    return "\n".join(f"- {point}" for point in _distinct(names, using))


def response_format(types: Iterable[str], using: Templates) -> str:
    """The sections of the reply, numbered without a gap, with one more for each of `EXTRAS`."""
    asked = set(types)
    names = ["format", *(f"format-{name}" for name in EXTRAS if name in asked)] if using.points["format"] else []
    numbered = [f"{n}. {point}" for n, point in enumerate(_distinct(names, using), 1)]
    if not numbered:
        return ""
    return "\n".join(["Answer in these sections; leave out one that would be empty.", *numbered])


def _distinct(names: Iterable[str], using: Templates) -> list[str]:
    """The points of all files, each where it comes first."""
    found: dict[str, str] = {}
    for name in names:
        for point in using.points[name]:
            found.setdefault(_same(point), point)
    return list(found.values())


@cache
def _built_in() -> Mapping[str, tuple[str, ...]]:
    here = files(__package__)
    return {name: _points(here.joinpath(f"{name}.md").read_text("utf-8")) for name in NAMES}


def _points(text: str) -> tuple[str, ...]:
    """The lines of a file; a line without a bullet goes on with the point before it."""
    found: list[str] = []
    for line in clean(text.replace("\r\n", "\n")).lines:
        words = line.strip()
        if words[:2] in ("- ", "* "):
            found.append(words[2:].strip())
        elif words and found:
            found[-1] = f"{found[-1]} {words}"
        elif words:
            found.append(words)
    return tuple(point for point in found if point)


def _same(point: str) -> str:
    """What makes two points one: their words, whatever the case, spaces and the full stop."""
    return " ".join(point.lower().split()).rstrip(".")


def _files(folder: Path | None) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if f.suffix == ".md" and f.is_file())[:50] if folder else []
    except OSError:
        return []


def _read(file: Path) -> str | Problem:
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(MAX_SIZE + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        return Problem(f"The instructions {file.name} cannot be read ({why}); ours are used.")
    if len(text) > MAX_SIZE:
        return Problem(f"The instructions {file.name} have more than {MAX_SIZE:,} characters; ours are used.")
    return text

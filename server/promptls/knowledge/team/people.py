"""Team file `.promptls/team.toml`: people of a workspace with their roles and areas of knowledge.

[[person]]
name = "Ann Lee"
role = "payments, on call until June"
knows = ["src/pay/**"]
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

from promptls.git.log import display_name, printable_line
from promptls.index import SourceReader, exclusion_reason, read_own_file
from promptls.model import Problem
from promptls.util.decode import convert
from promptls.util.toml import parse_toml

TEAM_FILE = ".promptls/team.toml"
MAX_BYTES = 100_000
"""Maximum size of a team file."""

_ADDRESS = re.compile(r"[^@]@[^@]+\.")
ShortText = Annotated[str, Meta(min_length=1, max_length=200)]


class Person(Struct, frozen=True, forbid_unknown_fields=True):
    """A person of the team."""

    name: ShortText
    role: Annotated[str, Meta(max_length=200)] = ""
    knows: Annotated[tuple[ShortText, ...], Meta(max_length=50)] = ()  # patterns as in CODEOWNERS


class _TeamFile(Struct, frozen=True, forbid_unknown_fields=True):
    person: Annotated[tuple[Person, ...], Meta(max_length=200)] = ()


class RootPeople(Struct, frozen=True):
    """People of one workspace folder."""

    root: str
    people: tuple[Person, ...] = ()


def load_people(sources: SourceReader) -> tuple[tuple[RootPeople, ...], tuple[Problem, ...]]:
    """Load the team file of each workspace folder; return people and problems."""
    people: list[RootPeople] = []
    problems: list[Problem] = []
    for root in sources.snapshot.roots:
        base = root.path.rstrip("/")
        data = None if exclusion_reason(base, TEAM_FILE, sources.limits) else read_own_file(base, TEAM_FILE, MAX_BYTES)
        if data is None:
            continue
        if not isinstance(data, bytes):
            problems.append(Problem(f"Cannot read {TEAM_FILE}: {data.reason}."))
            continue
        try:
            file = convert(parse_toml(data.decode("utf-8")), _TeamFile)
        except (ValueError, RecursionError) as error:  # errors of TOML, UTF-8 and msgspec
            message = printable_line(str(error).encode("utf-8", "replace"))[:200]
            problems.append(
                Problem(f"Ignoring {TEAM_FILE}: {message}.", "Use [[person]] tables with name, role and knows.")
            )
            continue
        people.append(RootPeople(root.path, tuple(map(_clean_person, file.person))))
    return tuple(people), tuple(problems)


def _clean_person(person: Person) -> Person:
    name, role = (printable_line(text.encode("utf-8", "replace")) for text in (person.name, person.role))
    return Person(display_name(name), " ".join(w for w in role.split() if not _ADDRESS.search(w)), person.knows)

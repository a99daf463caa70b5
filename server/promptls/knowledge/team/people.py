"""`.promptls/team.toml`: what a workspace says of its people, beyond what git knows.

[[person]]
name = "Ann Lee"
role = "payments, on call until June"
knows = ["src/pay/**"]
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from promptls.git.log import name_of, text_of
from promptls.index.files.convention_files import kept_out, read_bytes
from promptls.index.snapshot import Sources
from promptls.model import Problem
from promptls.util.toml import read_toml

NAME = ".promptls/team.toml"
MOST_BYTES = 100_000

_ADDRESS = re.compile(r"[^@]@[^@]+\.")
Words = Annotated[str, Meta(min_length=1, max_length=200)]


class Person(Struct, frozen=True, forbid_unknown_fields=True):
    """One person."""

    name: Words
    role: Annotated[str, Meta(max_length=200)] = ""
    knows: Annotated[tuple[Words, ...], Meta(max_length=50)] = ()  # patterns as in CODEOWNERS


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    person: Annotated[tuple[Person, ...], Meta(max_length=200)] = ()


class People(Struct, frozen=True):
    """The people of one workspace folder."""

    root: str
    people: tuple[Person, ...] = ()


def find_people(sources: Sources) -> tuple[tuple[People, ...], tuple[Problem, ...]]:
    """The people of each workspace folder that names any, and what is wrong with its file."""
    found: list[People] = []
    problems: list[Problem] = []
    for root in sources.snapshot.roots:
        top = root.path.rstrip("/")
        data = None if kept_out(top, NAME, sources.limits) else read_bytes(top, NAME, MOST_BYTES)
        if data is None:
            continue
        if not isinstance(data, bytes):
            problems.append(Problem(f"{NAME} is left out: {data.reason}."))
            continue
        try:
            read = msgspec.convert(read_toml(data.decode("utf-8")), _File)
        except (ValueError, RecursionError) as error:  # of TOML, UTF-8 and msgspec
            wrong = text_of(str(error).encode("utf-8", "replace"))[:200]
            problems.append(
                Problem(f"{NAME} is left out: {wrong}.", "It has [[person]] tables with name, role and knows.")
            )
            continue
        found.append(People(root.path, tuple(map(_clean, read.person))))
    return tuple(found), tuple(problems)


def _clean(person: Person) -> Person:
    name, role = (text_of(text.encode("utf-8", "replace")) for text in (person.name, person.role))
    return Person(name_of(name), " ".join(w for w in role.split() if not _ADDRESS.search(w)), person.knows)

"""CODEOWNERS: which people own which files, by the syntax of GitHub and of GitLab.

Sources: the documentation of both.  The last pattern that matches wins, in each section of its own (GitLab);
a pattern without owners takes them away.  Must not know the history or the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from promptls.index.snapshot import Sources, split_lines
from promptls.model import Root

PLACES = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""The first that is there counts: the hosts' own folders before the common ones."""

MOST_LINES = 5_000
MOST_CHARACTERS = 1_000_000
_SECTION = re.compile(r"\^?\[(?P<name>[^\]\\]{1,200})\](?:\[\d{1,4}\])?(?P<owners>(?:\s+\S+)*)\s*")
_OWNER = re.compile(r"@@?[\w.-]+(?:/[\w.-]+)*|[^\s@]+@[^\s@]+\.[^\s@]+")


class Pattern(Struct, frozen=True):
    """One line."""

    parts: tuple[str, ...]  # segments with wildcards; "**" is any number of them
    owners: tuple[str, ...]  # "@name", "@group/team" or an e-mail address
    section: str = ""
    excludes: bool = False  # GitLab's "!pattern": nobody of the section owns it


class Owners(Struct, frozen=True):
    """A CODEOWNERS file."""

    label: str = ""
    patterns: tuple[Pattern, ...] = ()


def find_owners(sources: Sources) -> Mapping[str, Owners]:
    """The CODEOWNERS of each workspace folder that has one, by the folder's path."""
    found = ((root.path, _read(sources, root)) for root in sources.snapshot.roots)
    return {path: owners for path, owners in found if owners is not None}


def _read(sources: Sources, root: Root) -> Owners | None:
    for name in PLACES:
        path = f"{root.path.rstrip('/')}/{name}"
        if path in sources.snapshot.files:
            text = sources.text(path)
            if isinstance(text, str):
                return Owners(sources.snapshot.label(path), _patterns(text))
    return None


@lru_cache(maxsize=8)
def _patterns(text: str) -> tuple[Pattern, ...]:
    return parse_owners(text).patterns


def parse_owners(text: str, label: str = "CODEOWNERS") -> Owners:
    """What a CODEOWNERS file says; lines that mean nothing are left out."""
    patterns: list[Pattern] = []
    section, default = "", tuple[str, ...]()
    for line in split_lines(text[:MOST_CHARACTERS])[:MOST_LINES]:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        head = _SECTION.fullmatch(line)
        if head is not None:
            section, default = head["name"].strip().lower(), _owners(head["owners"])
            continue
        written, said = _split(line)
        excludes = written.startswith("!")
        parts = parts_of(written.removeprefix("!"))
        if parts:
            owners = _owners(said) or (default if not said.split("#")[0].strip() else ())
            patterns.append(Pattern(parts, () if excludes else owners, section, excludes))
    return Owners(label, tuple(patterns))


def _split(line: str) -> tuple[str, str]:
    r"""(pattern, what follows): the pattern ends at a space, "\ " is one of its own and "\#" no comment."""
    pattern: list[str] = []
    at = 0
    while at < len(line) and not line[at].isspace():
        if line[at] == "\\" and at + 1 < len(line):
            at += 1
        pattern.append(line[at])
        at += 1
    return "".join(pattern), line[at:]


def _owners(said: str) -> tuple[str, ...]:
    words = re.split(r"\s#", said + " ", maxsplit=1)[0].split()
    return tuple(dict.fromkeys(word for word in words if _OWNER.fullmatch(word)))


def parts_of(pattern: str) -> tuple[str, ...]:
    """Segments to be matched against a whole path: what a pattern leaves open is filled with "**"."""
    anchored = "/" in pattern.rstrip("/")
    folder = pattern.endswith("/")
    parts = [part for part in pattern.split("/") if part]
    if not parts:
        return ("**",) if pattern else ()
    if not anchored:
        parts = ["**", *parts]
    if folder:
        parts += ["**", "*"]
    elif not (anchored and parts[-1] == "*" and parts[-2:-1] != ["**"]):  # "docs/*" is the files of docs alone
        parts.append("**")  # a folder of this name, and all in it
    return tuple(parts)


def owners_of(owners: Owners, name: str) -> tuple[str, ...]:
    """Who owns a file (name relative to the root): one owner each, in the order of the sections."""
    path = name.split("/")
    won: dict[str, Pattern] = {}
    excluded: set[str] = set()
    for pattern in owners.patterns:
        if matches(pattern.parts, path, matches_segment):
            if pattern.excludes:
                excluded.add(pattern.section)
            won[pattern.section] = pattern
    held = (pattern for section, pattern in won.items() if section not in excluded)
    return tuple(dict.fromkeys(owner for pattern in held for owner in pattern.owners))


def matches_segment(pattern: str, name: str) -> bool:
    """Whether a name is what the pattern says: "*" is anything, "?" one character."""
    return matches(pattern, name, lambda p, n: p in ("?", n), "*")


def matches(
    pattern: Sequence[str], given: Sequence[str], alike: Callable[[str, str], bool], anything: str = "**"
) -> bool:
    """Whether each part of `given` is alike one of the pattern, where `anything` is any number of them.

    Goes back to the last `anything` only: at most len(pattern) times len(given) steps, whatever they are.
    """
    at = place = 0
    star, since = -1, 0
    while place < len(given):
        if at < len(pattern) and pattern[at] == anything:
            star, since = at, place
            at += 1
        elif at < len(pattern) and alike(pattern[at], given[place]):
            at += 1
            place += 1
        elif star >= 0:
            since += 1
            at, place = star + 1, since
        else:
            return False
    return all(part == anything for part in pattern[at:])

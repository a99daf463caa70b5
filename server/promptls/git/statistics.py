"""The past of one workspace folder as a value, and what follows from it: recency, authors, what changes together.

Pure functions of a `Past` and a time.  Must not know git's output or the prompt.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.git.log import Change, Commit, Log
from promptls.model import Problem

HALF_LIFE_DAYS = 30.0
"""CodeBuddy's half-life of a file's recency; off there unless asked for."""

KNOWING_HALF_LIFE_DAYS = 180.0
"""Half-life of a change in telling who knows some code: half a year later it counts half."""

BULK = 30
"""Files; a commit with more of them says nothing of what belongs together, and little of who knows it."""

LEAST_SUPPORT = 2
MOST_LOOKED_AT = 200  # commits of one file that are looked at, the latest
DAY_S = 86_400.0


class FilePast(Struct, frozen=True, array_like=True, gc=False):
    """What happened to one file that is there today."""

    last: int  # seconds since 1970
    commits: tuple[int, ...]  # indices into Past.commits, newest first

    @property
    def changes(self) -> int:
        return len(self.commits)


class Past(Struct, frozen=True):
    """What git says of one workspace folder, as of one commit."""

    root: str  # absolute path of the folder
    head: str = ""  # what was checked out, as text that changes with it
    branch: str = ""  # "" when detached
    commits: tuple[Commit, ...] = ()  # newest first, without their changes
    files: Mapping[str, FilePast] = {}  # name relative to the root
    changed: tuple[tuple[str, ...], ...] = ()  # for each commit the files of `files` that it changed
    names: Mapping[str, str] = {}  # lower-case e-mail address → name; never shown
    problem: Problem | None = None  # why there is none


class Pair(Struct, frozen=True):
    """Two files that change in the same commits."""

    name: str
    other: str
    support: int  # commits that changed both
    confidence: float  # of the commits that changed `name`, the part that changed `other` too


class Author(Struct, frozen=True):
    """Somebody who changed some files."""

    name: str
    weight: float  # changes, each weighed by its age
    changes: int
    last: int  # seconds since 1970


def past_of(root: str, head: str, branch: str, log: Log) -> Past:
    """The past of a folder from its log: files are those that the newest commits left behind."""
    now_called: dict[str, str] = {}  # name at that time → today's, "" for a file that is gone
    found: dict[str, list[int]] = defaultdict(list)
    changed: list[tuple[str, ...]] = []
    for index, commit in enumerate(log.commits):
        names = tuple(dict.fromkeys(_names_today(commit.changes, now_called)))
        changed.append(names)
        for name in names:
            found[name].append(index)
    files = {name: FilePast(log.commits[at[0]].time, tuple(at)) for name, at in found.items()}
    commits = tuple(replace(commit, changes=()) for commit in log.commits)  # now in `changed`
    return Past(root, head, branch, commits, files, tuple(changed), log.names)


def _names_today(changes: Iterable[Change], now_called: dict[str, str]) -> Iterator[str]:
    """Today's names of the files of one commit; commits must come newest first."""
    before: dict[str, str] = {}  # what names stand for in older commits
    for change in changes:
        if change.status == "D":
            now_called.setdefault(change.path, "")
            continue
        today = now_called.setdefault(change.path, change.path)
        if today:
            yield today
        if change.status == "R":
            before[change.old] = today
            before.setdefault(change.path, "")  # an older file of this name was another one
    now_called |= before


def locate(history: Sequence[Past], path: str) -> tuple[Past, str, FilePast] | None:
    """(past of the innermost root, name in it, past of the file) of an absolute path, None if nothing is known."""
    held = [past for past in history if path.startswith(past.root.rstrip("/") + "/")]
    past = max(held, key=lambda past: len(past.root), default=None)
    if past is None:
        return None
    name = path[len(past.root.rstrip("/")) + 1 :]
    file = past.files.get(name)
    return (past, name, file) if file is not None else None


def recency(history: Sequence[Past], path: str, now: float, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """How lately a file (absolute path) was changed, 1 for just now, halved every `half_life_days`, 0 if unknown.

    2^(-age / half-life), as CodeBuddy's temporal decay.  A time in the future counts as now.
    """
    found = locate(history, path)
    return decay(now - found[2].last, half_life_days) if found is not None else 0.0


def decay(age_s: float, half_life_days: float) -> float:
    """2^(-age / half-life), at most 1; 0 for a half-life of 0 or less."""
    if half_life_days <= 0:
        return 0.0
    return math.pow(2.0, -min(1000.0, max(0.0, age_s) / DAY_S / half_life_days))


def authors(
    history: Sequence[Past], paths: Sequence[str], now: float, half_life_days: float = KNOWING_HALF_LIFE_DAYS
) -> tuple[Author, ...]:
    """Who changed these files (absolute paths), those who know them best first; programs left out.

    A change weighs 2^(-age / half-life), one that changed more than `BULK` files at a time only BULK / files of it.
    """
    weight: dict[str, float] = defaultdict(float)
    count: Counter[str] = Counter()
    last: dict[str, int] = {}
    for past, names in _by_root(history, paths):
        indices = {i for name in names for i in past.files[name].commits[:MOST_LOOKED_AT]}
        for index in sorted(indices):
            commit = past.commits[index]
            if commit.bot or not commit.author:
                continue
            touched = sum(name in names for name in past.changed[index])
            worth = touched * min(1.0, BULK / max(1, commit.files))
            weight[commit.author] += worth * decay(now - commit.time, half_life_days)
            count[commit.author] += touched
            last[commit.author] = max(last.get(commit.author, 0), commit.time)
    people = [Author(name, round(weight[name], 6), count[name], last[name]) for name in count]
    return tuple(sorted(people, key=lambda a: (-a.weight, -a.changes, a.name)))


def _by_root(history: Sequence[Past], paths: Iterable[str]) -> list[tuple[Past, set[str]]]:
    names: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        found = locate(history, path)
        if found is not None:
            names[found[0].root].add(found[1])
    return [(past, names[past.root]) for past in history if past.root in names]


def changed_with(past: Past, name: str, least: int = LEAST_SUPPORT, most: int = 5) -> tuple[Pair, ...]:
    """The files that change together with one (names relative to the root), strongest first.

    Support and confidence as in association rules (Agrawal et al. 1993) over the commits of at most `BULK` files.
    """
    file = past.files.get(name)
    if file is None:
        return ()
    shared = [past.changed[i] for i in file.commits[:MOST_LOOKED_AT] if past.commits[i].files <= BULK]
    counts = Counter(other for names in shared for other in names if other != name)
    pairs = [Pair(name, other, n, n / len(shared)) for other, n in counts.items() if n >= least]
    return tuple(sorted(pairs, key=lambda p: (-p.support * p.confidence, p.other))[:most])


def subjects(past: Past, name: str, most: int = 10) -> tuple[str, ...]:
    """What the latest commits of a file said, newest first, each once."""
    file = past.files.get(name)
    said = (past.commits[i].subject for i in file.commits[:MOST_LOOKED_AT]) if file is not None else ()
    return tuple(dict.fromkeys(filter(None, said)))[:most]

"""What the prompt says of people: owners, those who know the files in play, what changes together with them.

Names only, as git and CODEOWNERS have them; no e-mail address, no program, no file that is not in the workspace.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from promptls.git.statistics import Pair, Past, authors, changed_with, locate
from promptls.index.snapshot import Snapshot
from promptls.knowledge.team.codeowners import Owners, matches, matches_segment, owners_of, parts_of
from promptls.knowledge.team.people import People
from promptls.model import Note

MOST_PEOPLE = 5
MOST_PAIRS = 5
MOST_FILES = 30
"""Files in play that are looked at, the most important ones."""
CODEBUDDY_PEOPLE = 20
"""CodeBuddy shows this many, by last seen."""
CODEBUDDY_PAIRS = 5

_BORING = re.compile(
    r"(?:change(?:s|log)|history|news|release[-_ ]?notes|version)(?:\.\w+)?|.*[.-]lock(?:\.\w+)?|go\.sum|.*\.snap",
    re.IGNORECASE,
)


def team_notes(
    snapshot: Snapshot,
    history: Sequence[Past],
    owners: Mapping[str, Owners],
    files: Sequence[str],
    now: float,
    people: Sequence[People] = (),
) -> tuple[Note, ...]:
    """Who knows these files (absolute paths, most important first), at most four passages; () if nothing is known.

    `now`: seconds since 1970.  `owners` by root, as `find_owners` gives them.
    """
    played = [path for path in dict.fromkeys(files) if path in snapshot.files][:MOST_FILES]
    said = (
        _owning(snapshot, history, owners, played),
        _named(snapshot, people, played),
        _knowing(history, played, now),
        _together(snapshot, history, played),
    )
    return tuple(note for note in said if note is not None)


def _owning(
    snapshot: Snapshot, history: Sequence[Past], owners: Mapping[str, Owners], files: Sequence[str]
) -> Note | None:
    by_owners: dict[tuple[str, ...], list[str]] = defaultdict(list)
    sources: dict[str, None] = {}
    for path in files:
        root = snapshot.root_of(path)
        file = owners.get(root.path) if root is not None else None
        if root is None or file is None:
            continue
        names = {a: n for past in history if past.root == root.path for a, n in past.names.items()}
        held = owners_of(file, path[len(root.path.rstrip("/")) + 1 :])
        shown = tuple(filter(None, (_owner(owner, names) for owner in held)))
        if shown:
            by_owners[shown].append(snapshot.label(path))
            sources[file.label] = None
    if not by_owners:
        return None
    lines = [f"- {', '.join(who)}: {_listed(labels)}" for who, labels in by_owners.items()]
    return Note("Owners of the code in play:\n" + "\n".join(lines), ", ".join(sources))


def _owner(owner: str, names: Mapping[str, str]) -> str:
    return owner if owner.startswith("@") else names.get(owner.lower(), "")


def _listed(labels: Sequence[str], most: int = 4) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more


def _named(snapshot: Snapshot, people: Sequence[People], files: Sequence[str]) -> Note | None:
    lines: list[str] = []
    for folder in people:
        names = [
            path[len(folder.root.rstrip("/")) + 1 :].split("/")
            for path in files
            if _root(snapshot, path) == folder.root
        ]
        for person in folder.people:
            patterns = [parts_of(known) for known in person.knows]
            known = any(matches(pattern, name, matches_segment) for pattern in patterns for name in names)
            if person.name and (known or not patterns):
                lines.append(f"- {person.name}: {person.role}" if person.role else f"- {person.name}")
    return Note("Known for it:\n" + "\n".join(lines[:MOST_PEOPLE]), ".promptls/team.toml") if lines else None


def _root(snapshot: Snapshot, path: str) -> str:
    root = snapshot.root_of(path)
    return root.path if root is not None else ""


def _knowing(history: Sequence[Past], files: Sequence[str], now: float) -> Note | None:
    found = authors(history, files, now)[:MOST_PEOPLE]
    if not found:
        return None
    lines = [f"- {a.name}: {_times(a.changes, 'change')}, the last in {_month(a.last)}" for a in found]
    return Note("Who changed this code, recent changes first in weight:\n" + "\n".join(lines), "git history")


def _together(snapshot: Snapshot, history: Sequence[Past], files: Sequence[str]) -> Note | None:
    pairs: list[tuple[Pair, str, str]] = []
    seen: set[frozenset[str]] = set()
    for path in files:
        found = locate(history, path)
        if found is None or _boring(path):
            continue
        base = found[0].root.rstrip("/")
        for pair in changed_with(found[0], found[1], most=4 * MOST_PAIRS):
            other = f"{base}/{pair.other}"
            both = frozenset((path, other))
            if both not in seen and other in snapshot.files and not _boring(other):
                seen.add(both)
                pairs.append((pair, snapshot.label(path), snapshot.label(other)))
    pairs.sort(key=lambda found: (-found[0].support * found[0].confidence, found[1:]))
    lines = [
        f"- {name} with {other}: {pair.support} of {round(pair.support / pair.confidence)} changes"
        for pair, name, other in pairs[:MOST_PAIRS]
    ]
    return Note("What changes together:\n" + "\n".join(lines), "git history") if lines else None


def _boring(path: str) -> bool:
    """Files that change with everything."""
    return _BORING.fullmatch(path.rsplit("/", 1)[-1]) is not None


def _month(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m")
    except (OverflowError, OSError, ValueError):
        return "an unknown month"


def _times(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def codebuddy_team(history: Sequence[Past]) -> tuple[Note, ...]:
    """CodeBuddy's team summary: up to 20 people by last seen, and the 5 strongest collaborations.

    CodeBuddy knows both from stand-ups; here people are seen when they commit, and two collaborate on each file
    that both changed.
    """
    last: dict[str, int] = {}
    on: dict[tuple[str, str], set[str]] = defaultdict(set)
    for past in history:
        for index, commit in enumerate(past.commits):
            if not commit.bot and commit.author:
                last[commit.author] = max(last.get(commit.author, 0), commit.time)
                for name in past.changed[index]:
                    on[past.root, name].add(commit.author)
    people = sorted(last, key=lambda name: (-last[name], name))[:CODEBUDDY_PEOPLE]
    shared = Counter((a, b) for who in on.values() for a in who if a in people for b in who if b in people and a < b)
    strongest = sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:CODEBUDDY_PAIRS]
    notes: list[Note] = []
    if people:
        lines = [f"- {name}, last seen {_month(last[name])}" for name in people]
        notes.append(Note("Team:\n" + "\n".join(lines), "git history"))
    if strongest:
        lines = [f"- {a} and {b}: {_times(n, 'file')}" for (a, b), n in strongest]
        notes.append(Note("Strongest collaborations:\n" + "\n".join(lines), "git history"))
    return tuple(notes)

"""Team section of the prompt: owners, contributors and co-changed files of the active files.

Shows names as in git and CODEOWNERS, but no e-mail addresses, bots, or files outside of the workspace.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from promptls.git.statistics import CoChange, History, authors, co_changes, find_file_history
from promptls.index import Snapshot
from promptls.knowledge.team.codeowners import CodeOwners, compile_patterns, file_owners
from promptls.knowledge.team.people import RootPeople
from promptls.model import SectionEntry

MAX_PEOPLE = 5
"""Maximum number of people in one entry."""
MAX_PAIRS = 5
"""Maximum number of pairs of files that change together."""
MAX_ACTIVE_FILES = 30
"""Maximum number of active files considered, most important first."""

_UNINFORMATIVE_FILE = re.compile(
    r"(?:change(?:s|log)|history|news|release[-_ ]?notes|version)(?:\.\w+)?|.*[.-]lock(?:\.\w+)?|go\.sum|.*\.snap",
    re.IGNORECASE,
)


def team_entries(
    snapshot: Snapshot,
    history: Sequence[History],
    owners: Mapping[str, CodeOwners],
    files: Sequence[str],
    now: float,
    people: Sequence[RootPeople] = (),
) -> tuple[SectionEntry, ...]:
    """Return at most four prompt entries about the people who know the active files.

    Args:
        snapshot: The files of the workspace.
        history: Git history of each repository.
        owners: CODEOWNERS by root, from `load_codeowners`.
        files: Absolute paths of the active files, most important first.
        now: Seconds since 1970.
        people: People by root, from `load_people`.
    """
    active_files = [path for path in dict.fromkeys(files) if path in snapshot.files][:MAX_ACTIVE_FILES]
    entries = (
        _owner_entry(snapshot, history, owners, active_files),
        _people_entry(snapshot, people, active_files),
        _author_entry(history, active_files, now),
        _cochange_entry(snapshot, history, active_files),
    )
    return tuple(entry for entry in entries if entry is not None)


def _owner_entry(
    snapshot: Snapshot, history: Sequence[History], owners: Mapping[str, CodeOwners], files: Sequence[str]
) -> SectionEntry | None:
    by_owners: dict[tuple[str, ...], list[str]] = defaultdict(list)
    sources: dict[str, None] = {}
    for path in files:
        root = snapshot.root_of(path)
        file = owners.get(root.path) if root is not None else None
        if root is None or file is None:
            continue
        names = {
            a: n for repository in history if repository.root == root.path for a, n in repository.names_by_email.items()
        }
        file_owner_names = file_owners(file, path[len(root.path.rstrip("/")) + 1 :])
        visible_owners = tuple(filter(None, (_owner_name(owner, names) for owner in file_owner_names)))
        if visible_owners:
            by_owners[visible_owners].append(snapshot.label(path))
            sources[file.label] = None
    if not by_owners:
        return None
    lines = [f"- {', '.join(owner_group)}: {_abbreviate(labels)}" for owner_group, labels in by_owners.items()]
    return SectionEntry("Owners of the code in play:\n" + "\n".join(lines), ", ".join(sources))


def _owner_name(owner: str, names: Mapping[str, str]) -> str:
    return owner if owner.startswith("@") else names.get(owner.lower(), "")


def _abbreviate(labels: Sequence[str], limit: int = 4) -> str:
    more = f" and {len(labels) - limit} more" if len(labels) > limit else ""
    return ", ".join(labels[:limit]) + more


def _people_entry(snapshot: Snapshot, people: Sequence[RootPeople], files: Sequence[str]) -> SectionEntry | None:
    lines: list[str] = []
    for folder in people:
        base = folder.root.rstrip("/")
        names = [path[len(base) + 1 :] for path in files if _root(snapshot, path) == folder.root]
        for person in folder.people:
            patterns = compile_patterns(person.knows)
            knows_file = any(patterns.last_match(name) >= 0 for name in names)
            if person.name and (knows_file or not person.knows):
                lines.append(f"- {person.name}: {person.role}" if person.role else f"- {person.name}")
    return SectionEntry("Known for it:\n" + "\n".join(lines[:MAX_PEOPLE]), ".promptls/team.toml") if lines else None


def _root(snapshot: Snapshot, path: str) -> str:
    root = snapshot.root_of(path)
    return root.path if root is not None else ""


def _author_entry(history: Sequence[History], files: Sequence[str], now: float) -> SectionEntry | None:
    contributors = authors(history, files, now)[:MAX_PEOPLE]
    if not contributors:
        return None
    lines = [
        f"- {a.name}: {_pluralize(a.change_count, 'change')}, the last in {_month(a.last_change)}" for a in contributors
    ]
    return SectionEntry("Who changed this code, recent changes first in weight:\n" + "\n".join(lines), "git history")


def _cochange_entry(snapshot: Snapshot, history: Sequence[History], files: Sequence[str]) -> SectionEntry | None:
    pairs: list[tuple[CoChange, str, str]] = []
    seen: set[frozenset[str]] = set()
    for path in files:
        location = find_file_history(history, path)
        if location is None or _is_uninformative(path):
            continue
        base = location[0].root.rstrip("/")
        for pair in co_changes(location[0], location[1], limit=4 * MAX_PAIRS):
            other = f"{base}/{pair.other}"
            both = frozenset((path, other))
            if both not in seen and other in snapshot.files and not _is_uninformative(other):
                seen.add(both)
                pairs.append((pair, snapshot.label(path), snapshot.label(other)))
    pairs.sort(key=lambda row: (-row[0].support * row[0].confidence, row[1:]))
    lines = [
        f"- {name} with {other}: {pair.support} of {round(pair.support / pair.confidence)} changes"
        for pair, name, other in pairs[:MAX_PAIRS]
    ]
    return SectionEntry("What changes together:\n" + "\n".join(lines), "git history") if lines else None


def _is_uninformative(path: str) -> bool:
    """Return true for files that change together with most others, such as lock files."""
    return _UNINFORMATIVE_FILE.fullmatch(path.rsplit("/", 1)[-1]) is not None


def _month(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m")
    except (OverflowError, OSError, ValueError):
        return "an unknown month"


def _pluralize(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"

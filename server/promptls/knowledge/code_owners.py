"""Team section of the prompt: owners, contributors and co-changed files of the active files.  Off by default.

CODEOWNERS files have the syntax of GitHub and GitLab.  In each section (GitLab) the last matching pattern wins; a pattern
without owners removes them.  Patterns are translated to .gitignore syntax and matched by `index.files.gitignore`.

The section has names as in git and CODEOWNERS, but no e-mail addresses, bots, or files outside of the workspace.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache

from msgspec import Struct

from promptls.git.commit_history import (
    CoChange,
    History,
    authors,
    co_changes,
    find_file_history,
)
from promptls.index import (
    IgnoreRules,
    Snapshot,
    SourceReader,
    parse_rules,
    split_lines,
)
from promptls.knowledge.project.file_kind import is_changelog
from promptls.model import SectionEntry
from promptls.util.text.display import plural

CODEOWNERS_PATHS = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Locations in order of precedence: folders of the hosts before general ones."""

MAX_LINES = 5_000
"""Maximum number of lines parsed; bounds the time."""
MAX_CHARACTERS = 1_000_000
"""Maximum number of characters parsed; bounds the time."""
_SECTION = re.compile(r"\^?\[(?P<name>[^\]\\]{1,200})\](?:\[\d{1,4}\])?(?P<owners>(?:\s+\S+)*)\s*")
_OWNER_NAME = re.compile(r"@@?[\w.-]+(?:/[\w.-]+)*|[^\s@]+@[^\s@]+\.[^\s@]+")
_STARS = re.compile(r"\*{2,}")
_SPECIAL = re.compile(r"[\\\[#! ]")


class PathPatterns(Struct, frozen=True):
    """A list of compiled path patterns."""

    recursive: IgnoreRules | None  # match a file or one of its parent folders
    direct: IgnoreRules | None  # match a file only

    def last_match(self, name: str) -> int:
        """Return the index of the last pattern that matches a file name relative to the root, or -1."""
        path = name.encode("utf-8", "surrogateescape")
        line = 0
        if self.direct is not None and (rule := self.direct.match(path, False)) is not None:
            line = rule.line
        is_folder = False
        while path and self.recursive is not None:
            rule = self.recursive.match(path, is_folder)
            line = max(line, rule.line if rule is not None else 0)
            path, is_folder = path.rpartition(b"/")[0], True
        return line - 1


class OwnerSection(Struct, frozen=True):
    """A section of a CODEOWNERS file, or the part outside of sections."""

    patterns: PathPatterns
    owners: tuple[tuple[str, ...], ...]  # by pattern: "@name", "@group/team" or e-mail addresses


CodeOwners = tuple[str, tuple[OwnerSection, ...]]
"""Label and sections of a CODEOWNERS file."""


def load_codeowners(sources: SourceReader) -> Mapping[str, CodeOwners]:
    """Load the CODEOWNERS file of each workspace folder that has one, by path of the folder."""
    owners: dict[str, CodeOwners] = {}
    for root in sources.snapshot.roots:
        paths = (f"{root.path.rstrip('/')}/{name}" for name in CODEOWNERS_PATHS)
        for path in (path for path in paths if path in sources.snapshot.files):
            text = sources.read_text(path)
            if isinstance(text, str):
                owners[root.path] = sources.snapshot.label(path), parse_codeowners(text)
                break
    return owners


@lru_cache(maxsize=8)
def parse_codeowners(text: str) -> tuple[OwnerSection, ...]:
    """Parse a CODEOWNERS file; invalid lines are ignored."""
    rows: dict[str, list[tuple[str, tuple[str, ...]]]] = {}  # section → (pattern, owners)
    section, default_owners = "", tuple[str, ...]()
    for line in split_lines(text[:MAX_CHARACTERS])[:MAX_LINES]:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        heading = _SECTION.fullmatch(line)
        if heading is not None:
            section, default_owners = heading["name"].strip().lower(), _parse_owners(heading["owners"])
            continue
        pattern, rest = _split_line(line)
        owners = _parse_owners(rest) or (default_owners if not rest.split("#")[0].strip() else ())
        rows.setdefault(section, []).append((pattern, owners))
    return tuple(
        OwnerSection(_compile_patterns([pattern for pattern, _ in lines]), tuple(owners for _, owners in lines))
        for lines in rows.values()
    )


def _split_line(line: str) -> tuple[str, str]:
    r"""Split a line into its pattern, which ends at an unescaped space, and the owners; "\ " and "\#" are unescaped."""
    pattern: list[str] = []
    i = 0
    while i < len(line) and not line[i].isspace():
        if line[i] == "\\" and i + 1 < len(line):
            i += 1
        pattern.append(line[i])
        i += 1
    return "".join(pattern), line[i:]


def _parse_owners(text: str) -> tuple[str, ...]:
    words = re.split(r"\s#", text + " ", maxsplit=1)[0].split()
    return tuple(dict.fromkeys(word for word in words if _OWNER_NAME.fullmatch(word)))


def _compile_patterns(patterns: Sequence[str]) -> PathPatterns:
    recursive, direct = [""] * len(patterns), [""] * len(patterns)
    for i, pattern in enumerate(patterns):
        line, is_recursive = _gitignore_line(pattern)
        (recursive if is_recursive else direct)[i] = line
    texts = ("\n".join(lines).encode("utf-8", "surrogateescape") for lines in (recursive, direct))
    return PathPatterns(*(parse_rules(text, "CODEOWNERS") for text in texts))


def _gitignore_line(pattern: str) -> tuple[str, bool]:
    """Translate a pattern to .gitignore syntax; the second value is false for patterns that match files only."""
    if not pattern or "\0" in pattern:
        return "", True
    segments = [segment for segment in pattern.split("/") if segment]
    is_anchored, is_folder = "/" in pattern.rstrip("/"), pattern.endswith("/")
    # "docs/*" matches the files in docs, but not in its subfolders.
    is_direct = is_anchored and not is_folder and segments[-1:] == ["*"] and segments[-2:-1] != ["**"]
    while segments and segments[-1] == "**":  # "docs/**" also matches a file named docs
        segments.pop()
    if not segments:
        return "*", True
    # Within a segment "**" is the same as "*", and "[" and "#" are ordinary characters.
    segments = [segment if segment == "**" else _STARS.sub("*", segment) for segment in segments]
    path = _SPECIAL.sub(r"\\\g<0>", "/".join(segments))
    return ("/" if is_anchored else "") + path + ("/" if is_folder else ""), not is_direct


def file_owners(sections: Sequence[OwnerSection], name: str) -> tuple[str, ...]:
    """Return the owners of a file (name relative to the root) in the order of the sections."""
    found: dict[str, None] = {}
    for section in sections:
        i = section.patterns.last_match(name)
        found |= dict.fromkeys(section.owners[i] if i >= 0 else ())
    return tuple(found)


# ---- section of the prompt

MAX_PEOPLE = 5
"""Maximum number of people in one entry."""
MAX_PAIRS = 5
"""Maximum number of pairs of files that change together."""
MAX_ACTIVE_FILES = 30
"""Maximum number of active files considered, most important first."""

_UNINFORMATIVE_FILE = re.compile(r"version(?:\.\w+)?|.*[.-]lock(?:\.\w+)?|go\.sum|.*\.snap", re.IGNORECASE)


def team_entries(
    snapshot: Snapshot,
    history: Sequence[History],
    owners: Mapping[str, CodeOwners],
    files: Sequence[str],
    now: float,
) -> tuple[SectionEntry, ...]:
    """Return at most three prompt entries about the people who know the active files.

    Args:
        owners: CODEOWNERS by root, from `load_codeowners`.
        files: Absolute paths of the active files, most important first.
        now: Seconds since 1970.
    """
    active_files = [path for path in dict.fromkeys(files) if path in snapshot.files][:MAX_ACTIVE_FILES]
    entries = (
        _owner_entry(snapshot, history, owners, active_files),
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
        if root is None or root.path not in owners:
            continue
        label, sections = owners[root.path]
        names = {a: n for past in history if past.root == root.path for a, n in past.names_by_email.items()}
        found = file_owners(sections, path[len(root.path.rstrip("/")) + 1 :])
        shown = (owner if owner.startswith("@") else names.get(owner.lower(), "") for owner in found)
        visible_owners = tuple(filter(None, shown))
        if visible_owners:
            by_owners[visible_owners].append(snapshot.label(path))
            sources[label] = None
    if not by_owners:
        return None
    lines = [f"- {', '.join(group)}: {_abbreviate(labels)}" for group, labels in by_owners.items()]
    return SectionEntry("Owners of the code in play:\n" + "\n".join(lines), ", ".join(sources))


def _abbreviate(labels: Sequence[str], limit: int = 4) -> str:
    more = f" and {len(labels) - limit} more" if len(labels) > limit else ""
    return ", ".join(labels[:limit]) + more


def _author_entry(history: Sequence[History], files: Sequence[str], now: float) -> SectionEntry | None:
    contributors = authors(history, files, now)[:MAX_PEOPLE]
    if not contributors:
        return None
    lines = [
        f"- {a.name}: {plural(a.change_count, 'change')}, the last in {_month(a.last_change)}" for a in contributors
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
    """Return true for files that change together with most others, such as lock files and changelogs."""
    return is_changelog(path) or _UNINFORMATIVE_FILE.fullmatch(path.rsplit("/", 1)[-1]) is not None


def _month(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m")
    except (OverflowError, OSError, ValueError):
        return "an unknown month"

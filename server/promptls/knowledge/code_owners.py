"""Team section of the prompt: owners, contributors and co-changed files of the active files.  Off by default.

CODEOWNERS files have the syntax of GitHub and GitLab.  In each section (GitLab) the last matching pattern wins; a pattern
without owners removes them.  Patterns are translated to .gitignore syntax and matched by `index.files.gitignore`.

The team file `.promptls/team.toml` lists people of a workspace with their roles and areas of knowledge:

[[person]]
name = "Ann Lee"
role = "payments, on call until June"
knows = ["src/pay/**"]

The section has names as in git and CODEOWNERS, but no e-mail addresses, bots, or files outside of the workspace.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

from promptls.git.commit_history import (
    CoChange,
    History,
    authors,
    co_changes,
    display_name,
    find_file_history,
    printable_line,
)
from promptls.index import (
    IgnoreRules,
    Snapshot,
    SourceReader,
    exclusion_reason,
    parse_rules,
    read_own_file,
    split_lines,
)
from promptls.model import Problem, Root, SectionEntry
from promptls.util.decode import convert, parse_toml

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
    exclusions: PathPatterns  # GitLab's "!pattern": the section does not apply to matching files


class CodeOwners(Struct, frozen=True):
    """A CODEOWNERS file."""

    label: str = ""
    sections: tuple[OwnerSection, ...] = ()


def load_codeowners(sources: SourceReader) -> Mapping[str, CodeOwners]:
    """Load the CODEOWNERS file of each workspace folder that has one, by path of the folder."""
    loaded = ((root.path, _load_root(sources, root)) for root in sources.snapshot.roots)
    return {path: owners for path, owners in loaded if owners is not None}


def _load_root(sources: SourceReader, root: Root) -> CodeOwners | None:
    for name in CODEOWNERS_PATHS:
        path = f"{root.path.rstrip('/')}/{name}"
        if path in sources.snapshot.files:
            text = sources.read_text(path)
            if isinstance(text, str):
                return CodeOwners(sources.snapshot.label(path), _parse_cached(text))
    return None


@lru_cache(maxsize=8)
def _parse_cached(text: str) -> tuple[OwnerSection, ...]:
    return parse_codeowners(text).sections


def parse_codeowners(text: str, label: str = "CODEOWNERS") -> CodeOwners:
    """Parse a CODEOWNERS file; invalid lines are ignored."""
    rows: dict[str, list[tuple[str, tuple[str, ...]]]] = {}  # section → (pattern, owners)
    exclusions: dict[str, list[str]] = {}
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
        if pattern.startswith("!"):
            exclusions.setdefault(section, []).append(pattern[1:])
        elif pattern:
            owners = _parse_owners(rest) or (default_owners if not rest.split("#")[0].strip() else ())
            rows.setdefault(section, []).append((pattern, owners))
    return CodeOwners(
        label,
        tuple(
            OwnerSection(
                compile_patterns([pattern for pattern, _ in rows_of_section]),
                tuple(owners for _, owners in rows_of_section),
                compile_patterns(exclusions.get(name, ())),
            )
            for name, rows_of_section in rows.items()
        ),
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


def compile_patterns(patterns: Sequence[str]) -> PathPatterns:
    """Compile patterns of a CODEOWNERS file."""
    recursive, direct = [""] * len(patterns), [""] * len(patterns)
    for i, pattern in enumerate(patterns):
        line, is_recursive = _gitignore_line(pattern)
        (recursive if is_recursive else direct)[i] = line
    return PathPatterns(_compile_lines(recursive), _compile_lines(direct))


def _compile_lines(lines: Sequence[str]) -> IgnoreRules | None:
    return parse_rules("\n".join(lines).encode("utf-8", "surrogateescape"), "CODEOWNERS")


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


def file_owners(owners: CodeOwners, name: str) -> tuple[str, ...]:
    """Return the owners of a file (name relative to the root) in the order of the sections."""
    found: dict[str, None] = {}
    for section in owners.sections:
        i = section.patterns.last_match(name)
        if i >= 0 and section.exclusions.last_match(name) < 0:
            found |= dict.fromkeys(section.owners[i])
    return tuple(found)


# ---- team file

TEAM_FILE = ".promptls/team.toml"
MAX_TEAM_FILE_BYTES = 100_000
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
        data = (
            None
            if exclusion_reason(base, TEAM_FILE, sources.limits)
            else read_own_file(base, TEAM_FILE, MAX_TEAM_FILE_BYTES)
        )
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


# ---- section of the prompt

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

"""CODEOWNERS files: owners of files by path patterns, in the syntax of GitHub and GitLab.

Sources: the documentation of both.  In each section (GitLab) the last matching pattern wins; a pattern without owners
removes them.  Patterns are translated to .gitignore syntax and matched by `index.files.gitignore`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from promptls.index import IgnoreRules, SourceReader, parse_rules, split_lines
from promptls.model import Root

PATHS = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Locations in order of precedence: folders of the hosts before general ones."""

MAX_LINES = 5_000
"""Maximum number of lines parsed; bounds the time."""
MAX_CHARACTERS = 1_000_000
"""Maximum number of characters parsed; bounds the time."""
_SECTION = re.compile(r"\^?\[(?P<name>[^\]\\]{1,200})\](?:\[\d{1,4}\])?(?P<owners>(?:\s+\S+)*)\s*")
_OWNER = re.compile(r"@@?[\w.-]+(?:/[\w.-]+)*|[^\s@]+@[^\s@]+\.[^\s@]+")
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
        if self.direct is not None and (rule := self.direct.match(path.rpartition(b"/")[2], path, False)) is not None:
            line = rule.line
        is_folder = False
        while path and self.recursive is not None:
            rule = self.recursive.match(path.rpartition(b"/")[2], path, is_folder)
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
    for name in PATHS:
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
    return tuple(dict.fromkeys(word for word in words if _OWNER.fullmatch(word)))


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

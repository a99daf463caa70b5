"""Overview of a project from its readme, manifests and design documents, for questions about the whole or without results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from promptls.index import Snapshot, SourceReader, split_lines
from promptls.knowledge.project.architecture_section import architecture_entries
from promptls.knowledge.project.facts import ProjectFacts, outermost
from promptls.knowledge.project.readme import is_readme, read_purpose, read_summary, readme_order
from promptls.model import Root, SectionEntry

OVERVIEW_WORDS = (
    "overview",
    "architecture",
    "structure",
    "stack",
    "codebase",
    "project",
    "scaffold",
    "how does the app work",
)
"""Words of questions about the project as a whole."""

README_CHARACTERS = 900
"""Maximum number of characters quoted from a readme: its first paragraphs."""
GUIDE_CHARACTERS = 1_200
"""Maximum number of characters quoted from a guide."""

MAX_GUIDES = 2
"""Maximum number of design documents in an overview."""

_GUIDES = re.compile(
    r"(?:docs?/)?(?:\w+/)?(?:architecture|design|overview)\.(?:md|rst|txt|adoc)",
    re.IGNORECASE,
)
_WORD_PATTERNS = {word: re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word in OVERVIEW_WORDS}

_FILE_PURPOSES = (
    (re.compile(r"\b(?:code ?owners?|who (?:owns|maintains|is responsible for)|maintainers?|ownership)\b", re.IGNORECASE),
     re.compile(r"codeowners|maintainers(?:\.\w+)?|owners", re.IGNORECASE)),
    (re.compile(r"\b(?:read ?me|what is this (?:project|repo|repository|code ?base)|get(?:ting)? started)\b", re.IGNORECASE),
     re.compile(r"readme(?:\.\w+)?", re.IGNORECASE)),
    (re.compile(r"\b(?:licen[sc]ed?|licen[sc]ing)\b", re.IGNORECASE), re.compile(r"(?:licen[sc]e|copying)(?:\.\w+)?", re.IGNORECASE)),
    (re.compile(r"\b(?:how (?:do i|to|can i) contribute|contributing|contribution guide)\b", re.IGNORECASE),
     re.compile(r"contributing(?:\.\w+)?", re.IGNORECASE)),
    (re.compile(r"\b(?:change ?log|release notes)\b", re.IGNORECASE),
     re.compile(r"(?:change(?:s|log)|history|news|release[-_]?notes)(?:\.\w+)?", re.IGNORECASE)),
    (re.compile(r"\b(?:report (?:a )?(?:security|vulnerabilit)\w*|security policy)\b", re.IGNORECASE),
     re.compile(r"security(?:\.\w+)?", re.IGNORECASE)),
)  # fmt: skip
"""Pairs of patterns: questions about a purpose, and names of the files that serve it."""
MAX_FILES_PER_PURPOSE = 5
"""Maximum number of files added for one purpose."""


def is_overview_question(question: str) -> bool:
    """Return true if a question contains one of `OVERVIEW_WORDS` as a whole word."""
    return any(pattern.search(question) for pattern in _WORD_PATTERNS.values())


def files_by_purpose(snapshot: Snapshot, question: str) -> tuple[str, ...]:
    """Return absolute paths of files that a question refers to by purpose, outermost first.

    For example, "who owns …" refers to CODEOWNERS.
    """
    paths: dict[str, None] = {}
    basenames = snapshot.basenames
    for topic, file_name in _FILE_PURPOSES:
        if topic.search(question):
            matching = [p for base in filter(file_name.fullmatch, basenames) for p in basenames[base]]
            paths |= dict.fromkeys(outermost(matching)[:MAX_FILES_PER_PURPOSE])
    return tuple(paths)


def overview_entries(sources: SourceReader, facts: Sequence[ProjectFacts] = ()) -> tuple[SectionEntry, ...]:
    """Return prompt entries about the project as a whole: its purpose, project facts and documents of its design.

    Texts are truncated after a sentence or line.
    """
    entries: list[SectionEntry] = []
    for root in sources.snapshot.roots:
        names = _candidate_names(sources.snapshot, root)
        readmes = sorted(filter(_README_PLACE.fullmatch, filter(is_readme, names)), key=readme_order)
        entries += _entries(sources, root, readmes[0], read_purpose, README_CHARACTERS) if readmes else []
        entries += architecture_entries([facts_of_root for facts_of_root in facts if facts_of_root.root == root.path])
        for name in outermost(n for n in names if _GUIDES.fullmatch(n))[:MAX_GUIDES]:
            entries += _entries(sources, root, name, read_summary, GUIDE_CHARACTERS)
    return tuple(entries)


def _candidate_names(snapshot: Snapshot, root: Root) -> list[str]:
    """Return the names, relative to the root, of possible readmes and guides."""
    base = root.path.rstrip("/") + "/"
    basenames = snapshot.basenames
    paths = (p for name in filter(_CANDIDATE_NAME.match, basenames) for p in basenames[name] if p.startswith(base))
    return [path[len(base) :] for path in paths]


_CANDIDATE_NAME = re.compile(r"readme|architecture|design|overview", re.IGNORECASE)
_README_PLACE = re.compile(r"(?:(?:\.github|docs?)/)?[^/]+", re.IGNORECASE)


def _entries(
    sources: SourceReader, root: Root, name: str, extract: Callable[[str, int], str], max_characters: int
) -> list[SectionEntry]:
    """Return what `extract` takes from a document, as at most one entry."""
    path = f"{root.path.rstrip('/')}/{name}"
    text_or_problem = sources.read_text(path)
    if not isinstance(text_or_problem, str):
        return []
    text = extract("\n".join(split_lines(text_or_problem)), max_characters)
    return [SectionEntry(text, sources.snapshot.label(path))] if text else []

"""What stands in for found code when there is none, or when the question is about the whole: the common files.

`overview` gives their openings by headings; `codebuddy_overview` is that system's form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.index.snapshot import Snapshot, Sources, split_lines
from promptls.knowledge.project.architecture_section import architecture_notes
from promptls.knowledge.project.facts import ProjectFacts, outermost
from promptls.knowledge.project.readme import Part, cut, is_readme, parts_of
from promptls.model import Note, Root

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
"""CodeBuddy's: a question that holds one of them is about the whole."""

COMMON_FILES = ("README.md", "package.json", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md")
"""CodeBuddy's."""
COMMON_CHARACTERS = 5_000
"""CodeBuddy's cut of each common file."""
COMMON_SCORE = 1.0

README_CHARACTERS = 4_000
GUIDE_CHARACTERS = 1_200
PART_CHARACTERS = 1_000

_GUIDES = re.compile(
    r"(?:docs?/)?(?:architecture|design|overview)\.(?:md|rst|txt|adoc)|docs?/(?:readme|index)\.(?:md|rst|txt)"
    r"|(?:\.github/|docs?/)?contributing(?:\.(?:md|rst|txt))?",
    re.IGNORECASE,
)
_WORD = {word: re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word in OVERVIEW_WORDS}
_LATE = re.compile(
    r"licen[sc]e|sponsor|contribut(?:ors|ing)|credits|acknowledg|star history|donat|badges|thanks", re.IGNORECASE
)

_MEANT = (
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
MOST_MEANT = 5


def is_overview(question: str) -> bool:
    """Whether a question is about the whole, by CodeBuddy's words, each as a word of its own."""
    return any(pattern.search(question) for pattern in _WORD.values())


def files_meant(snapshot: Snapshot, question: str) -> tuple[str, ...]:
    """Files (absolute paths) that a question speaks of by their purpose: "who owns …" is CODEOWNERS.  The outermost first."""
    found: dict[str, None] = {}
    bases = snapshot.basenames
    for asks, called in _MEANT:
        if asks.search(question):
            paths = [p for base in filter(called.fullmatch, bases) for p in bases[base]]
            found |= dict.fromkeys(outermost(paths)[:MOST_MEANT])
    return tuple(found)


def overview(sources: Sources, facts: Sequence[ProjectFacts] = ()) -> tuple[Note, ...]:
    """What is said of the project as a whole: its readme by headings, what its manifests say, its guides.

    Texts end after a sentence or a line, never within.
    """
    notes: list[Note] = []
    for root in sources.snapshot.roots:
        names = _names(sources.snapshot, root)
        readme = next((n for n in outermost(n for n in names if "/" not in n and is_readme(n))), "")
        notes += _parts(sources, root, readme, README_CHARACTERS) if readme else []
        notes += architecture_notes([one for one in facts if one.root == root.path])
        for name in outermost(n for n in names if _GUIDES.fullmatch(n)):
            notes += _parts(sources, root, name, GUIDE_CHARACTERS)
    return tuple(notes)


def _names(snapshot: Snapshot, root: Root) -> list[str]:
    """Names, relative to the root, of the files that could be readmes or guides."""
    base = root.path.rstrip("/") + "/"
    bases = snapshot.basenames
    found = (p for name in filter(_COMMON.match, bases) for p in bases[name] if p.startswith(base))
    return [path[len(base) :] for path in found]


_COMMON = re.compile(r"readme|architecture|design|overview|index\.|contributing", re.IGNORECASE)


def _parts(sources: Sources, root: Root, name: str, most: int) -> list[Note]:
    """The parts of a text, in order but for those that say little of the code, up to `most` characters."""
    path = f"{root.path.rstrip('/')}/{name}"
    found = sources.text(path)
    if not isinstance(found, str):
        return []
    label = sources.snapshot.label(path)
    notes: list[Note] = []
    for part in sorted(parts_of("\n".join(split_lines(found))), key=lambda part: bool(_LATE.search(part.title))):
        text = _shown(part, min(PART_CHARACTERS, most))
        if len(text) > most:
            break
        most -= len(text)
        notes += [Note(text, label)] if text else []
    return notes


def _shown(part: Part, most: int) -> str:
    if not part.text:
        return ""
    head = f"{'#' * part.level} {cut(part.title, 100)}\n\n" if part.title else ""
    return head + cut(part.text, max(100, most - len(head)))


def codebuddy_overview(sources: Sources) -> tuple[Note, ...]:
    """CodeBuddy's common files: each that is there, its first 5,000 characters, score 1."""
    notes: list[Note] = []
    for root in sources.snapshot.roots:
        for name in COMMON_FILES:
            path = f"{root.path.rstrip('/')}/{name}"
            if path not in sources.snapshot.files:
                continue
            text = sources.text(path)
            if isinstance(text, str):
                label = sources.snapshot.label(path)
                notes.append(Note(text[:COMMON_CHARACTERS], label, COMMON_SCORE))
    return tuple(notes)

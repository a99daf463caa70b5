"""What every formula takes and gives: regions, the question, the corpus, a score with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Item


class Region(Struct, frozen=True):
    """What was found, with all that a formula looks at."""

    item: Item
    text: str
    size: int = 0  # bytes of its file
    summary: str = ""  # first words of its documentation, or its signature
    age_days: float | None = None  # since the last change of its file, None if nobody knows
    file: tuple[str, ...] = ()  # lines of its file, () if nobody looks
    children: int = 0  # definitions directly inside it
    complexity: int = 0  # cyclomatic number (McCabe 1976), 0 for what is not callable
    exported: bool = False  # whether other files may use it


class Asked(Struct, frozen=True):
    """The question as the formulas see it."""

    text: str
    keywords: tuple[str, ...]  # as written, lower case
    action: str = "other"


class Corpus(Struct, frozen=True):
    """What is known of all texts together."""

    count: int  # texts
    frequency: Callable[[str], int]  # in how many of them a search term occurs


class Scored(Struct, frozen=True):
    """A region with what a formula gives it, before any cap."""

    region: Region  # as given, or the part of it that the formula chose
    total: float
    reasons: Mapping[str, float]


Formula = Callable[[Sequence[Region], Asked, Corpus], "list[Scored]"]


def rounded(reasons: Mapping[str, float]) -> dict[str, float]:
    """What of the reasons is worth telling."""
    return {name: round(value, 4) for name, value in reasons.items() if abs(value) > 1e-4}


def capped(scored: Sequence[Scored], cap: float) -> list[Region]:
    """The regions with their scores between 0 and `cap`, best first."""
    out = [
        replace(s.region, item=replace(s.region.item, score=min(cap, max(0.0, s.total)), reasons=rounded(s.reasons)))
        for s in scored
    ]
    return sorted(out, key=by_score)


def by_score(region: Region) -> tuple[float, str, int, int]:
    """Best first, then by place, so that the order is the same each time."""
    item = region.item
    return (-item.score, item.path, item.span.start, item.span.end)

"""Types of scoring: retrieved items, the question, corpus statistics, formulas and boosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Item


class RetrievedItem(Struct, frozen=True):
    """A retrieved item with its text and the properties that formulas and boosts use."""

    item: Item
    text: str
    size: int = 0  # bytes of its file
    summary: str = ""  # first words of its documentation, or its signature
    age_days: float | None = None  # since the last change of its file; None if unknown
    file_lines: tuple[str, ...] = ()  # lines of its file; () if not loaded
    children: int = 0  # number of definitions directly inside it
    complexity: int = 0  # cyclomatic number (McCabe 1976); 0 if it is not callable
    exported: bool = False  # whether other files may use it


class ScoringQuery(Struct, frozen=True):
    """The question as formulas and boosts see it."""

    text: str
    keywords: tuple[str, ...]  # as written, in lower case
    action: str = "other"


class CorpusStatistics(Struct, frozen=True):
    """Statistics of all indexed chunks."""

    chunk_count: int
    document_frequency: Callable[[str], int]  # of a search term


class ScoredItem(Struct, frozen=True):
    """A retrieved item with its uncapped score from a formula."""

    retrieved: RetrievedItem  # as passed in, or the part that the formula selected
    total: float
    reasons: Mapping[str, float]


Formula = Callable[[Sequence[RetrievedItem], ScoringQuery, CorpusStatistics], "list[ScoredItem]"]

Boost = Callable[[RetrievedItem, ScoringQuery, "CorpusStatistics | None"], "tuple[str, float]"]
"""A function that returns (reason, value to add to the score)."""


def round_reasons(reasons: Mapping[str, float]) -> dict[str, float]:
    """Round the reasons of a score to four digits and drop those near 0."""
    return {name: round(value, 4) for name, value in reasons.items() if abs(value) > 1e-4}


def cap_scores(scored: Sequence[ScoredItem], cap: float) -> list[RetrievedItem]:
    """Return the items with their scores clamped to 0…`cap`, best first."""
    out = [
        replace(
            s.retrieved,
            item=replace(s.retrieved.item, score=min(cap, max(0.0, s.total)), reasons=round_reasons(s.reasons)),
        )
        for s in scored
    ]
    return sorted(out, key=by_score_then_location)


def by_score_then_location(retrieved: RetrievedItem) -> tuple[float, str, int, int]:
    """Sort key: best score first, ties by path and line, so that the order is deterministic."""
    item = retrieved.item
    return (-item.score, item.path, item.span.start, item.span.end)

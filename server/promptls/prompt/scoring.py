"""Scores of retrieved items: formulas, boosts and rank fusion as pure functions.

`score_items` applies a formula to retrieved items, `apply_boosts` adds boosts.  `FORMULAS` and `BOOSTS` are those that
every profile may name; profiles add their own through hooks (see `promptls.prompt.profile`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import tokenize
from promptls.languages.kinds import TYPE_KINDS
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


RRF_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[float]], weights: Sequence[float], first_rank: int = 1
) -> list[float]:
    """Weighted reciprocal rank fusion: Σ w/(60 + rank).

    Each ranking has one score per item.  A score of 0 means "not ranked"; equal scores share the better rank.

    Args:
        rankings: Scores of the same items by several rankers.
        weights: Weight of each ranking.
        first: Number of the best rank, usually 1; some implementations start at 0.
    """
    totals = [0.0] * (len(rankings[0]) if rankings else 0)
    for scores, weight in zip(rankings, weights, strict=True):
        ranks: dict[float, int] = {}
        for rank, value in enumerate(sorted((v for v in scores if v > 0), reverse=True), first_rank):
            ranks.setdefault(value, rank)
        for i, value in enumerate(scores):
            if value > 0:
                totals[i] += weight / (RRF_K + ranks[value])
    return totals


def weighted_sum(similarity: float, keyword: float, weight: float = 0.7) -> float:
    """Weighted sum of a similarity and a keyword score, both 0 to 1."""
    return weight * similarity + (1 - weight) * keyword


def normalize_scores(scores: Sequence[float]) -> list[float]:
    """Divide scores by the best one; all 0 if no score is above 0."""
    best = max(scores, default=0.0)
    return [max(0.0, score) / best if best > 0 else 0.0 for score in scores]


def keep_retrieval_scores(
    items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics
) -> list[ScoredItem]:
    """Keep the scores of the ranker."""
    return [ScoredItem(r, r.item.score, dict(r.item.reasons)) for r in items]


def hybrid_formula(items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics) -> list[ScoredItem]:
    """Score items (formula): 0.7 of the normalized similarity and 0.3 of the normalized keyword score."""
    semantic = normalize_scores([r.item.reasons.get("semantic", 0.0) for r in items])
    keyword = normalize_scores([r.item.reasons.get("keyword", 0.0) for r in items])
    return [
        ScoredItem(r, weighted_sum(v, k), {"semantic": 0.7 * v, "keyword": 0.3 * k})
        for r, v, k in zip(items, semantic, keyword, strict=True)
    ]


def boost_rare_terms(
    retrieved: RetrievedItem, query: ScoringQuery, corpus: CorpusStatistics | None
) -> tuple[str, float]:
    """Boost: `rare_term_boost` of the question's keywords; 0 without corpus statistics."""
    return "rare terms", rare_term_boost(retrieved, query.keywords, corpus) if corpus is not None else 0.0


def boost_features(retrieved: RetrievedItem, query: ScoringQuery, corpus: CorpusStatistics | None) -> tuple[str, float]:
    """Boost: `code_feature_boost` of the item for the question's action."""
    return f"features to {query.action}", code_feature_boost(retrieved, query.action)


def rare_term_boost(
    retrieved: RetrievedItem, keywords: Sequence[str], corpus: CorpusStatistics, maximum: float = 0.3
) -> float:
    """Return `maximum` times the idf-weighted share of the question's terms in the item's text or path.

    idf = ln(1 + (N − n + 0.5)/(n + 0.5)), as in BM25: a term that occurs everywhere adds next to nothing.
    """
    idf: dict[str, float] = {}
    for term in tokenize(" ".join(keywords)):
        n = corpus.document_frequency(term)
        idf[term] = math.log(1 + (max(corpus.chunk_count, n) - n + 0.5) / (n + 0.5))
    there = {*tokenize(retrieved.text), *tokenize(retrieved.item.path)}
    whole = sum(idf.values())
    return maximum * sum(value for term, value in idf.items() if term in there) / whole if whole else 0.0


_HANDLES = re.compile(r"^\s*(?:\}?\s*catch\b|except\b|rescue\b|raise\b|throw\b)|\berr\s*!=\s*nil\b|\bErr\(", re.M)

COMPLEXITY_LIMIT = 10
"""Cyclomatic number above which a function is considered complex (McCabe 1976)."""


def code_feature_boost(retrieved: RetrievedItem, action: str) -> float:
    """Return a boost for properties of the code that fit the action.

    fix: 0.2 if errors are caught or raised.  create: 0.15 for a type or an exported symbol.  refactor: 0.1 for a
    cyclomatic number above 10.
    """
    if action == "fix":
        return 0.2 if _HANDLES.search(retrieved.text) else 0.0
    if action == "create":
        return 0.15 if retrieved.item.kind in TYPE_KINDS or retrieved.exported else 0.0
    return 0.1 if action == "refactor" and retrieved.complexity > COMPLEXITY_LIMIT else 0.0


FORMULAS: dict[str, Formula] = {"retrieval": keep_retrieval_scores, "hybrid": hybrid_formula}

BOOSTS: dict[str, Boost] = {"rare terms": boost_rare_terms, "features": boost_features}


def score_items(
    formula: Formula, items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics, cap: float
) -> list[RetrievedItem]:
    """Return the items with the formula's scores and reasons, best first."""
    return cap_scores(formula(items, query, corpus), cap)


def apply_boosts(
    items: Sequence[RetrievedItem],
    boosts: Sequence[Boost],
    query: ScoringQuery,
    cap: float,
    corpus: CorpusStatistics | None = None,
) -> list[RetrievedItem]:
    """Return the items with the boosts added to their scores and reasons, best first."""
    out = []
    for retrieved in items:
        item = retrieved.item
        more = dict(boost(retrieved, query, corpus) for boost in boosts)
        total = min(cap, item.score + sum(more.values()))
        out.append(replace(retrieved, item=replace(item, score=total, reasons={**item.reasons, **round_reasons(more)})))
    return sorted(out, key=by_score_then_location)

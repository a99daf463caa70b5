"""Scores of retrieved items: formulas, boosts and rank fusion as pure functions.

`score_items` applies a formula to retrieved items, `apply_boosts` adds boosts.  `FORMULAS` and `BOOSTS` are those that
every profile may name; profiles add their own through hooks (see `promptls.prompt.profile`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from promptls.prompt.scoring import default
from promptls.prompt.scoring.fusion import RRF_K, normalize_scores, reciprocal_rank_fusion, weighted_sum
from promptls.prompt.scoring.types import (
    Boost,
    CorpusStatistics,
    Formula,
    RetrievedItem,
    ScoredItem,
    ScoringQuery,
    by_score_then_location,
    cap_scores,
    round_reasons,
)

__all__ = [
    "BOOSTS",
    "FORMULAS",
    "RRF_K",
    "Boost",
    "CorpusStatistics",
    "Formula",
    "RetrievedItem",
    "ScoredItem",
    "ScoringQuery",
    "apply_boosts",
    "by_score_then_location",
    "normalize_scores",
    "reciprocal_rank_fusion",
    "score_items",
    "weighted_sum",
]

FORMULAS: dict[str, Formula] = {"retrieval": default.keep_retrieval_scores, "hybrid": default.hybrid_formula}

BOOSTS: dict[str, Boost] = {"rare terms": default.boost_rare_terms, "features": default.boost_features}


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

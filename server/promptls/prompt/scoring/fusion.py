"""How several rankings become one: by ranks or by weighted scores."""

from __future__ import annotations

from collections.abc import Sequence

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009; prompto, Cody and attune all use it."""


def fused(rankings: Sequence[Sequence[float]], weights: Sequence[float], first: int = 1) -> list[float]:
    """Weighted reciprocal rank fusion: Σ w/(60 + rank); a score of 0 is no rank.

    Each ranking gives one score for each region.  Equal scores have the better rank in common.  Ranks begin
    at `first`: 1 in prompto and attune, 0 in Cody.
    """
    totals = [0.0] * (len(rankings[0]) if rankings else 0)
    for scores, weight in zip(rankings, weights, strict=True):
        ranks: dict[float, int] = {}
        for rank, value in enumerate(sorted((v for v in scores if v > 0), reverse=True), first):
            ranks.setdefault(value, rank)
        for i, value in enumerate(scores):
            if value > 0:
                totals[i] += weight / (RRF_K + ranks[value])
    return totals


def hybrid(vector: float, keyword: float, weight: float = 0.7) -> float:
    """CodeBuddy's hybrid search: 0.7 of the vector score and 0.3 of the keyword score, both 0 to 1."""
    return weight * vector + (1 - weight) * keyword


def normalised(scores: Sequence[float]) -> list[float]:
    """Scores as shares of the best one; all 0 if there is none above 0."""
    best = max(scores, default=0.0)
    return [max(0.0, score) / best if best > 0 else 0.0 for score in scores]

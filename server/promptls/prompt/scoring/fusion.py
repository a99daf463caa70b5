"""Fusion of several rankings into one: reciprocal rank fusion and weighted sums."""

from __future__ import annotations

from collections.abc import Sequence

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

"""Second stage: reorders the best regions by a cross-encoder or a late-interaction model, if one is configured.

Scores of such models have no common scale, so only their order is used: it is converted to normal scores (van der Waerden
1952), which are added to the log-odds of the first stage.  Regions that the first stage hardly distinguishes follow the
model, and a region with a large lead keeps it.  The sorted list of probabilities stays as it is, and the n-th region gets
the n-th of them: thresholds and prompts that are sized by relevance keep their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import Snapshot
from promptls.model import CancelToken, Item, Span

MAX_REGIONS = 50
"""Number of regions that are reordered: what a small model scores within a second."""
MODEL_STRENGTH = 1.0
"""Log-odds for a standard deviation of the model's scores: the best of 50 regions gains 2.3, an average one nothing.

It is the log-likelihood ratio of a model whose scores of needed and of other regions differ by one standard deviation
(AUC .76): a cautious assumption about an unknown model.
"""
REASON = "reranker"
"""Name of the model's score among the reasons of an item."""

_MIN_PROBABILITY = 1e-6


class SecondStageModel(Protocol):
    """Access to the model of the second stage."""

    def rerank(
        self, query: str, regions: Sequence[tuple[str, Span]], snapshot: Snapshot, token: CancelToken
    ) -> Sequence[float] | None:
        """Return the score of each region (path, span), or None without a usable model."""
        ...


def reorder(
    question: str, items: list[Item], snapshot: Snapshot, model: SecondStageModel, token: CancelToken
) -> list[Item]:
    """Return the items with the best ones reordered by both stages; unchanged without a usable model.

    Raises:
        Cancelled: The token is set.
    """
    first = items[:MAX_REGIONS]
    if len(first) < 2 or not question.strip():
        return items
    scores = model.rerank(question, [(item.path, item.span) for item in first], snapshot, token)
    if scores is None:
        return items
    order = fused_order(np.array([item.score for item in first]), np.array(scores, np.float64))
    reordered = [
        replace(first[i], score=item.score, reasons={**first[i].reasons, REASON: round(scores[i], 4)})
        for item, i in zip(first, order.tolist(), strict=True)
    ]
    return reordered + items[MAX_REGIONS:]


def fused_order(probabilities: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the positions of regions in their new order.

    Args:
        probabilities: Probabilities of the first stage, in descending order.
        scores: Scores of the model for the same regions.
    """
    clipped = np.clip(probabilities, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    log_odds = np.log(clipped / (1 - clipped))
    return np.argsort(-np.round(log_odds + MODEL_STRENGTH * normal_scores(scores), 9), kind="stable")


def normal_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quantiles of the standard normal distribution for the ranks of scores; equal ones share a quantile."""
    rounded = np.round(scores, 6)
    ascending = np.sort(rounded)
    rank = (np.searchsorted(ascending, rounded) + np.searchsorted(ascending, rounded, side="right")) / 2
    return np.array([_NORMAL.inv_cdf(quantile) for quantile in (rank / len(scores)).tolist()])


_NORMAL = NormalDist()

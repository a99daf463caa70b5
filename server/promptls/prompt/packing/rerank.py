"""Reranking: the probability that the answer needs an item, given the other items that were found.

Retrieval scores each item by itself.  Two facts about the other items add to that: an item is needed more often if much
of its file is relevant, and if the text of a relevant item names it.  The weights are those of a logistic regression;
`scripts/train_rerank` fits them to held-out scores of the development questions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import find_words
from promptls.prompt.scoring import RetrievedItem
from promptls.util.decode import decode_json

FEATURES = ("log_odds", "log_file_share", "log_named_by")
"""Features of an item.

`log_odds` is ln(p / (1 - p)) of its score p, `log_file_share` the logarithm of the share of the other items of its file
in all scores, and `log_named_by` that of the best score of an item whose text contains its name.
"""

MAX_NAMING_ITEMS = 40
"""Number of best items whose texts are searched for names."""

MIN_NAME_CHARACTERS = 4
"""Minimum length of a name that is searched for; shorter ones occur in any text."""

_SMOOTHING = 1e-3  # added to shares and scores before their logarithm


class RerankWeights(Struct, frozen=True):
    """Weights of the features: p = 1 / (1 + exp(-(weights · features + offset)))."""

    weights: dict[str, float]
    offset: float


@cache
def default_weights() -> RerankWeights:
    """Return the weights of the installed package."""
    return decode_json(files(__package__).joinpath("rerank.json").read_bytes(), RerankWeights)


def rerank(items: Sequence[RetrievedItem], weights: RerankWeights | None = None) -> list[RetrievedItem]:
    """Return the items with the probability as their score, best first; equal ones stay in order."""
    if not items:
        return []
    weights = weights or default_weights()
    vector = np.array([weights.weights[name] for name in FEATURES])
    probabilities = 1 / (1 + np.exp(-(rerank_features(items) @ vector + weights.offset)))
    rescored = [
        replace(retrieved, item=replace(retrieved.item, score=round(float(p), 6)))
        for retrieved, p in zip(items, probabilities, strict=True)
    ]
    return sorted(rescored, key=lambda retrieved: -retrieved.item.score)


def rerank_features(items: Sequence[RetrievedItem]) -> NDArray[np.float64]:
    """Return float64[n, 3]: the values of `FEATURES` for each item."""
    scores = [min(max(retrieved.item.score, 1e-6), 1 - 1e-6) for retrieved in items]
    total = sum(scores)
    by_file: dict[str, float] = defaultdict(float)
    for retrieved, score in zip(items, scores, strict=True):
        by_file[retrieved.item.path] += score
    named_by = _best_naming_scores(items, scores)
    rows = [
        (
            math.log(score / (1 - score)),
            math.log((by_file[retrieved.item.path] - score + _SMOOTHING) / total),
            math.log(named + _SMOOTHING),
        )
        for retrieved, score, named in zip(items, scores, named_by, strict=True)
    ]
    return np.array(rows, np.float64)


def _best_naming_scores(items: Sequence[RetrievedItem], scores: Sequence[float]) -> list[float]:
    """Return, for each item, the best score of another item whose text contains its name; 0 without one."""
    naming = sorted(range(len(items)), key=lambda i: -scores[i])[:MAX_NAMING_ITEMS]
    names = [retrieved.item.symbol.rpartition(".")[2] for retrieved in items]
    best_by_name: dict[str, float] = {}
    for i in naming:
        words = set(find_words(items[i].text))
        for name in words.intersection(names):
            if name != names[i] and len(name) >= MIN_NAME_CHARACTERS:
                best_by_name.setdefault(name, scores[i])
    return [best_by_name.get(name, 0.0) for name in names]

"""Order of the second stage: fusion of the probabilities of the first stage and the scores of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken, Item, Origin, Span
from promptls.retrieval.retrieve import MAX_REGIONS, fused_order, reorder

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(-30, 30)), min_size=1, max_size=MAX_REGIONS)
"""Probability and score of regions."""


def order_of(probabilities: Sequence[float], scores: Sequence[float]) -> list[int]:
    return fused_order(np.array(probabilities), np.array(scores)).tolist()


@pytest.mark.parametrize(
    ("probabilities", "scores", "order"),
    [
        ([0.9, 0.5, 0.1], [5.0, 4.0, 3.0], [0, 1, 2]),
        ([0.9, 0.5, 0.1], [1.0, 1.0, 1.0], [0, 1, 2]),  # a model without an opinion changes nothing
        ([0.5, 0.49, 0.48], [0.0, 0.0, 9.0], [2, 0, 1]),  # the first stage has hardly an opinion
        ([0.3, 0.25, 0.02], [-9.0, -1.0, -5.0], [1, 0, 2]),
        ([0.99, 0.3, 0.2], [-9.0, -5.0, -1.0], [0, 2, 1]),  # a large lead stays
        ([1.0, 0.0], [0.0, 1.0], [0, 1]),
    ],
)
def test_orders_are_fused(probabilities: list[float], scores: list[float], order: list[int]) -> None:
    assert order_of(probabilities, scores) == order


@given(SCORES)
def test_region_that_both_stages_prefer_stays_above(regions: list[tuple[float, float]]) -> None:
    probabilities, scores = sorted((p for p, _ in regions), reverse=True), [s for _, s in regions]
    order = order_of(probabilities, scores)
    assert sorted(order) == list(range(len(scores)))
    place = {i: at for at, i in enumerate(order)}
    for i in range(len(scores)):
        for j in range(i + 1, len(scores)):
            assert place[i] < place[j] or scores[i] < scores[j]


@given(SCORES, st.floats(0.1, 10), st.floats(-5, 5))
def test_scale_of_the_model_does_not_matter(regions: list[tuple[float, float]], factor: float, offset: float) -> None:
    probabilities = sorted((p for p, _ in regions), reverse=True)
    coarse = np.round(np.array([score for _, score in regions]), 1)
    assert order_of(probabilities, coarse) == order_of(probabilities, coarse * factor + offset)


class _Model:
    """Scores that depend on the position of a region; None without a model."""

    def __init__(self, usable: bool = True) -> None:
        self.usable = usable

    def rerank(
        self, query: str, regions: list[tuple[str, Span]], snapshot: Snapshot, token: CancelToken
    ) -> list[float] | None:
        return [float(span.start) for _, span in regions] if self.usable else None


@pytest.mark.parametrize("count", [0, 1, 2, MAX_REGIONS, MAX_REGIONS + 30])
def test_probabilities_and_later_regions_stay(count: int) -> None:
    items = [
        Item(f"{n}.py", Span(n, n + 1), "function", Origin.KEYWORD, 1 / (n + 2), "", {"a": 1.0}) for n in range(count)
    ]
    reordered = reorder("question", items, Snapshot(), _Model(), CancelToken())
    assert [item.score for item in reordered] == [item.score for item in items]
    assert sorted(item.path for item in reordered) == sorted(item.path for item in items)
    assert reordered[MAX_REGIONS:] == items[MAX_REGIONS:]
    if count > 1:
        assert all(item.reasons == {"a": 1.0, "reranker": item.span.start} for item in reordered[:MAX_REGIONS])
    assert reorder("question", items, Snapshot(), _Model(usable=False), CancelToken()) == items
    assert reorder("  ", items, Snapshot(), _Model(), CancelToken()) == items

"""Features of the reranker."""

from __future__ import annotations

import math

import pytest

from promptls.model import Item, Origin, Span
from promptls.prompt.scoring import RetrievedItem, rerank, rerank_features


def found(path: str, symbol: str, text: str, score: float) -> RetrievedItem:
    return RetrievedItem(Item(path, Span(0, 3), "function", Origin.SEMANTIC, score, symbol=symbol), text)


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("return View(page)", True),
        ("return self.View", True),
        ("return HalfViewDown()", False),
        ("return view(page)", False),
    ],
)
def test_an_item_is_named_by_whole_words_of_a_better_one(text: str, is_named: bool) -> None:
    items = [found("/w/a.py", "update", text, 0.5), found("/w/b.py", "Pager.View", "def View", 0.1)]
    log_named_by = rerank_features(items)[1, 2]
    assert (log_named_by > math.log(0.4)) == is_named


def test_items_are_sorted_by_probability() -> None:
    items = [found(f"/w/{n}.py", f"name_{n}", "", score) for n, score in enumerate((0.1, 0.7, 0.3))]
    reranked = rerank(items)
    assert [r.item.path for r in reranked] == ["/w/1.py", "/w/2.py", "/w/0.py"]
    assert rerank([]) == []

"""Threshold, deduplication, diversity and order of retrieved items."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.model import Item, Origin, Span
from promptls.prompt.scoring import (
    RetrievedItem,
    apply_time_decay,
    by_value_per_token,
    diversify,
    drop_contained,
    drop_equal_starts,
    drop_equal_texts,
    drop_overlaps,
    jaccard,
    split_by_threshold,
)


def retrieved(place: str, total: float, text: str = "", age: float | None = None) -> RetrievedItem:
    """Return a retrieved item for a location such as "a.ts:10-30"."""
    path, _, lines = place.partition(":")
    first, _, last = lines.partition("-")
    item = Item(f"/w/{path}", Span(int(first) - 1, int(last)), "text", Origin.KEYWORD, total)
    return RetrievedItem(item, text or place, age_days=age)


def locations(regions: list[RetrievedItem]) -> list[str]:
    return [f"{Path(r.item.path).name}:{r.item.span.label}" for r in regions]


def test_threshold_is_inclusive() -> None:
    items = [retrieved(f"a.ts:{n}-{n}", s).item for n, s in ((1, 0.9), (2, 0.3), (3, 0.29))]
    kept, dropped = split_by_threshold(items, 0.3)
    assert [i.score for i in kept] == [0.9, 0.3]
    assert dropped[0].reason == "29 % likely, the limit is 30 %"


def test_equal_text_is_dropped() -> None:
    kept, dropped = drop_equal_texts([retrieved("a.ts:1-3", 0.9, "same "), retrieved("b.ts:1-3", 0.8, " same")])
    assert locations(kept) == ["a.ts:1-3"]
    assert dropped[0].reason == "the same text as a.ts:1-3"


def test_equal_start_lines_are_duplicates() -> None:
    kept, _ = drop_equal_starts([retrieved("a.ts:1-9", 0.9), retrieved("a.ts:1-3", 0.8), retrieved("a.ts:2-9", 0.7)])
    assert locations(kept) == ["a.ts:1-9", "a.ts:2-9"]


def test_overlap_keeps_the_better_score() -> None:
    kept, dropped = drop_overlaps([retrieved("utils.ts:25-45", 0.6), retrieved("utils.ts:10-30", 0.8)])
    assert locations(kept) == ["utils.ts:10-30"]
    assert dropped[0].reason == "overlaps utils.ts:10-30"


def test_adjacent_items_do_not_overlap_and_ties_keep_the_first() -> None:
    kept, _ = drop_overlaps([retrieved("a.ts:11-20", 0.5), retrieved("a.ts:1-10", 0.5), retrieved("a.ts:5-11", 0.5)])
    assert locations(kept) == ["a.ts:11-20", "a.ts:1-10"]


def test_contained_item_is_dropped() -> None:
    small, large, other = retrieved("a.ts:5-9", 0.9), retrieved("a.ts:1-20", 0.2), retrieved("b.ts:5-9", 0.1)
    kept, dropped = drop_contained([small, large, other])
    assert locations(kept) == ["a.ts:1-20", "b.ts:5-9"]
    assert dropped[0].reason == "is part of a.ts:1-20"
    assert locations(drop_contained([small, small])[0]) == ["a.ts:5-9"]


def test_maximal_marginal_relevance() -> None:
    assert jaccard("a b c".split(), "b c d".split()) == pytest.approx(2 / 4)
    one, twin, other = (
        retrieved("a.ts:1-3", 0.9, "alpha beta"),
        retrieved("b.ts:1-3", 0.8, "alpha beta"),
        retrieved("c.ts:1-3", 0.6, "gamma delta"),
    )
    # the twin: 0.7·0.8 − 0.3·1 = 0.26; the other: 0.7·0.6 − 0 = 0.42
    assert locations(diversify([one, twin, other], 0.7)) == ["a.ts:1-3", "c.ts:1-3", "b.ts:1-3"]
    assert locations(diversify([one, twin, other], 1.0)) == ["a.ts:1-3", "b.ts:1-3", "c.ts:1-3"]


def test_diversity_by_scope_prefers_other_files_and_classes() -> None:
    def method(place: str, total: float, name: str) -> RetrievedItem:
        found = retrieved(place, total, "the same words")
        return replace(found, item=replace(found.item, symbol=name))

    one, twin = method("a.py:1-3", 0.9, "Cart.add"), method("a.py:5-7", 0.85, "Cart.total")
    cousin, other = method("a.py:9-9", 0.84, "Money.plus"), method("b.py:1-3", 0.7, "main")
    # likeness to the first: twin 2/2 (file and class), cousin 1/3 (file), other 0
    assert locations(diversify([one, twin, cousin, other], 0.7, "scope")) == [
        "a.py:1-3",
        "b.py:1-3",
        "a.py:9",
        "a.py:5-7",
    ]


def test_score_halves_in_its_half_life() -> None:
    old, new, unknown = (
        retrieved("a.ts:1-3", 0.8, age=30),
        retrieved("b.ts:1-3", 0.5, age=0),
        retrieved("c.ts:1-3", 0.45),
    )
    ranked = apply_time_decay([old, new, unknown], 30)
    assert locations(ranked) == ["b.ts:1-3", "c.ts:1-3", "a.ts:1-3"]
    assert ranked[2].item.score == pytest.approx(0.4)
    assert ranked[2].item.reasons["age"] == pytest.approx(-0.4)


def test_short_items_precede_long_ones_of_equal_score() -> None:
    long, short, better = retrieved("a.py:1-60", 0.5), retrieved("a.py:70-73", 0.5), retrieved("a.py:80-140", 0.9)
    assert by_value_per_token([long, short, better], 0.5) == [better, short, long]
    assert by_value_per_token([long, short, better], 2.0) == [short, better, long]
    assert by_value_per_token([retrieved("a.py:1-4", 0.0), retrieved("a.py:9-12", 1.0)], 0.5)[0].item.score == 1.0

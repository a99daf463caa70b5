"""What is dropped on the way from found to packed, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.model import Item, Origin, Span
from promptls.prompt.rank import (
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
from promptls.prompt.scoring import RetrievedItem


def region(place: str, total: float, text: str = "", age: float | None = None) -> RetrievedItem:
    """ "a.ts:10-30" as people write it"""
    path, _, lines = place.partition(":")
    first, _, last = lines.partition("-")
    item = Item(f"/w/{path}", Span(int(first) - 1, int(last)), "text", Origin.KEYWORD, total)
    return RetrievedItem(item, text or place, age_days=age)


def places(regions: list[RetrievedItem]) -> list[str]:
    return [f"{Path(r.item.path).name}:{r.item.span.label}" for r in regions]


def test_the_threshold_is_inclusive_and_may_depend_on_the_best() -> None:
    items = [region(f"a.ts:{n}-{n}", s).item for n, s in ((1, 0.9), (2, 0.3), (3, 0.29))]
    kept, dropped = split_by_threshold(items, 0.3)
    assert [i.score for i in kept] == [0.9, 0.3]
    assert dropped[0].reason == "score 0.29 is below 0.3"
    assert [i.score for i in split_by_threshold(items, 0.1, relative_threshold=0.5)[0]] == [0.9]


def test_a_copy_of_a_text_is_dropped() -> None:
    kept, dropped = drop_equal_texts([region("a.ts:1-3", 0.9, "same "), region("b.ts:1-3", 0.8, " same")])
    assert places(kept) == ["a.ts:1-3"]
    assert dropped[0].reason == "the same text as a.ts:1-3"


def test_codebuddy_looks_at_the_first_line_only() -> None:
    kept, _ = drop_equal_starts([region("a.ts:1-9", 0.9), region("a.ts:1-3", 0.8), region("a.ts:2-9", 0.7)])
    assert places(kept) == ["a.ts:1-9", "a.ts:2-9"]


def test_promptos_example_of_an_overlap() -> None:
    kept, dropped = drop_overlaps([region("utils.ts:25-45", 0.6), region("utils.ts:10-30", 0.8)])
    assert places(kept) == ["utils.ts:10-30"]
    assert dropped[0].reason == "overlaps utils.ts:10-30"


def test_touching_is_no_overlap_and_of_equals_the_earlier_stays() -> None:
    kept, _ = drop_overlaps([region("a.ts:11-20", 0.5), region("a.ts:1-10", 0.5), region("a.ts:5-11", 0.5)])
    assert places(kept) == ["a.ts:11-20", "a.ts:1-10"]


def test_cody_keeps_the_larger_one() -> None:
    small, large, other = region("a.ts:5-9", 0.9), region("a.ts:1-20", 0.2), region("b.ts:5-9", 0.1)
    kept, dropped = drop_contained([small, large, other])
    assert places(kept) == ["a.ts:1-20", "b.ts:5-9"]
    assert dropped[0].reason == "is part of a.ts:1-20"
    assert places(drop_contained([small, small])[0]) == ["a.ts:5-9"]


def test_maximal_marginal_relevance() -> None:
    assert jaccard("a b c".split(), "b c d".split()) == pytest.approx(2 / 4)
    one, twin, other = (
        region("a.ts:1-3", 0.9, "alpha beta"),
        region("b.ts:1-3", 0.8, "alpha beta"),
        region("c.ts:1-3", 0.6, "gamma delta"),
    )
    # the twin: 0.7·0.8 − 0.3·1 = 0.26; the other: 0.7·0.6 − 0 = 0.42
    assert places(diversify([one, twin, other], 0.7)) == ["a.ts:1-3", "c.ts:1-3", "b.ts:1-3"]
    assert places(diversify([one, twin, other], 1.0)) == ["a.ts:1-3", "b.ts:1-3", "c.ts:1-3"]


def test_diversity_by_place_prefers_another_file_and_then_another_class() -> None:
    def method(place: str, total: float, name: str) -> RetrievedItem:
        found = region(place, total, "the same words")
        return replace(found, item=replace(found.item, symbol=name))

    one, twin = method("a.py:1-3", 0.9, "Cart.add"), method("a.py:5-7", 0.85, "Cart.total")
    cousin, other = method("a.py:9-9", 0.84, "Money.plus"), method("b.py:1-3", 0.7, "main")
    # likeness to the first: twin 2/2 (file and class), cousin 1/3 (file), other 0
    assert places(diversify([one, twin, cousin, other], 0.7, "place")) == ["a.py:1-3", "b.py:1-3", "a.py:9", "a.py:5-7"]


def test_a_score_halves_in_its_half_life() -> None:
    old, new, unknown = region("a.ts:1-3", 0.8, age=30), region("b.ts:1-3", 0.5, age=0), region("c.ts:1-3", 0.45)
    ranked = apply_time_decay([old, new, unknown], 30)
    assert places(ranked) == ["b.ts:1-3", "c.ts:1-3", "a.ts:1-3"]
    assert ranked[2].item.score == pytest.approx(0.4)
    assert ranked[2].item.reasons["age"] == pytest.approx(-0.4)


def test_by_worth_puts_short_regions_before_long_ones_of_equal_score() -> None:
    long, short, better = region("a.py:1-60", 0.5), region("a.py:70-73", 0.5), region("a.py:80-140", 0.9)
    assert by_value_per_token([long, short, better], 0.5) == [better, short, long]
    assert by_value_per_token([long, short, better], 2.0) == [short, better, long]
    assert by_value_per_token([region("a.py:1-4", 0.0), region("a.py:9-12", 1.0)], 0.5)[0].item.score == 1.0

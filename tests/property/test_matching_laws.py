"""Alignment of lines: each line of both texts is told of once, what is called the same is the same, nothing takes long."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.context.mentions.matching import aligned
from promptls.model import Cancelled, CancelToken

LINE = st.sampled_from(["", "}", "x = 1", "y = 2", "z = 3", "return"])
LINES = st.lists(LINE, max_size=25)


@given(LINES, LINES)
def test_runs_are_both_texts_in_order(old: list[str], new: list[str]) -> None:
    runs = aligned(old, new)
    assert [line for run in runs for line in old[run.old.start : run.old.end]] == old
    assert [line for run in runs for line in new[run.new.start : run.new.end]] == new
    assert all(old[run.old.start : run.old.end] == new[run.new.start : run.new.end] for run in runs if run.same)
    assert all(before.same != after.same for before, after in pairwise(runs))


@given(LINES, st.lists(st.tuples(st.integers(0, 25), LINE), max_size=10))
def test_lines_that_are_put_in_take_none_away(old: list[str], more: list[tuple[int, str]]) -> None:
    new = list(old)
    for at, line in more:
        new.insert(at, line)
    assert not any(run.old for run in aligned(old, new) if not run.same)
    assert not any(run.new for run in aligned(new, old) if not run.same)


def test_texts_of_lines_that_are_all_alike_take_no_longer() -> None:
    numbers = [str(number) for number in range(9_000)]
    mixed = [line for number in range(4_500) for line in ("", f"{number}x")]
    assert sum(len(run.old) for run in aligned(["", *[""] * 9_000], mixed) if run.same) == 4_500
    assert [run.same for run in aligned(numbers, [*numbers[1:], ""])] == [False, True, False]


def test_who_asks_for_it_is_no_longer_there() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        aligned(["x", "y", "x", "y"], ["y", "x", "x"], token)

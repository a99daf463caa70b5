"""Alignment of lines: each line of both texts is told of once, what is called the same is the same, nothing takes long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.mentions.resolvers.git import CONTEXT, unified
from promptls.model import Cancelled, CancelToken
from promptls.util.line_diff import aligned

LINE = st.sampled_from(["", "}", "x = 1", "y = 2", "z = 3", "return"])
LINES = st.lists(LINE, max_size=25)
HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


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


def applied(old: list[str], difference: str) -> Iterator[str]:
    """What a unified difference makes of a text; each hunk must fit."""
    at = 0
    hunk: list[str] = []
    for line in difference.split("\n") if difference else []:
        if found := HUNK.match(line):
            start = int(found[1]) - (found[2] != "0")
            yield from old[at:start]
            at, hunk = start, []
            continue
        hunk.append(line[0])
        assert len("".join(hunk)) - len("".join(hunk).lstrip()) <= CONTEXT
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            yield line[1:]
    yield from old[at:]


@given(LINES, LINES)
def test_a_difference_leads_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    difference, more, less = unified(before, after)
    assert list(applied(old, difference)) == new
    assert (more - less, not difference) == (len(new) - len(old), old == new)


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

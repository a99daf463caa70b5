"""Patience diff and unified diff: blocks cover both texts, patches apply, repetitive texts are fast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from promptls.mentions.resolvers.git import CONTEXT_LINES, unified_diff
from promptls.util.text.line_diff import patience_diff

LINE = st.sampled_from(["", "}", "x = 1", "y = 2", "z = 3", "return"])
LINES = st.lists(LINE, max_size=25)
HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


@given(LINES, LINES)
def test_blocks_cover_both_texts_in_order(old: list[str], new: list[str]) -> None:
    blocks = patience_diff(old, new)
    assert [line for block in blocks for line in old[block.old.start : block.old.end]] == old
    assert [line for block in blocks for line in new[block.new.start : block.new.end]] == new
    assert all(
        old[block.old.start : block.old.end] == new[block.new.start : block.new.end] for block in blocks if block.equal
    )
    assert all(before.equal != after.equal for before, after in pairwise(blocks))


def apply_patch(old: list[str], patch: str) -> Iterator[str]:
    """Apply a unified diff to a text; each hunk must match."""
    at = 0
    hunk: list[str] = []
    for line in patch.split("\n") if patch else []:
        if found := HUNK.match(line):
            start = int(found[1]) - (found[2] != "0")
            yield from old[at:start]
            at, hunk = start, []
            continue
        hunk.append(line[0])
        assert len("".join(hunk)) - len("".join(hunk).lstrip()) <= CONTEXT_LINES
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            yield line[1:]
    yield from old[at:]


@given(LINES, LINES)
def test_unified_diff_applies(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    patch, more, less = unified_diff(before, after)
    assert list(apply_patch(old, patch)) == new
    assert (more - less, not patch) == (len(new) - len(old), old == new)


def test_repetitive_texts_have_a_minimal_diff() -> None:
    numbers = [str(number) for number in range(9_000)]
    mixed = [line for number in range(4_500) for line in ("", f"{number}x")]
    assert sum(len(block.old) for block in patience_diff(["", *[""] * 9_000], mixed) if block.equal) == 4_500
    assert [block.equal for block in patience_diff(numbers, [*numbers[1:], ""])] == [False, True, False]

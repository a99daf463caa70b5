"""Line-based patience diff, for diffs and for anchors that follow edits.

Lines that are unique in both texts are matched first, as in Bram Cohen's patience diff. The lines between two of them
are aligned by their longest common subsequence, 64 lines at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from operator import itemgetter

from msgspec import Struct
from rapidfuzz.distance import LCSseq

from promptls.util.cancellation import CancelToken
from promptls.util.text.positions import Span

MAX_PAIRS = 400_000_000
"""Product of line counts above which two ranges are not aligned; up to here, that takes 50 MB and 0.1 s."""


class DiffBlock(Struct, frozen=True):
    """Consecutive lines that are equal in both texts, or a replacement, where one side may be empty."""

    equal: bool
    old: Span
    new: Span


def patience_diff(
    old: Sequence[Hashable], new: Sequence[Hashable], token: CancelToken | None = None
) -> list[DiffBlock]:
    """Return the blocks of two texts in order, equal and different ones by turns.

    Raises:
        Cancelled: The token was cancelled.
    """
    numbers: dict[Hashable, int] = {}
    a, b = ([numbers.setdefault(line, len(numbers)) for line in lines] for lines in (old, new))
    blocks: list[DiffBlock] = []
    i = j = 0
    for x, y, count in (*filter(itemgetter(2), _matches(a, b, token)), (len(a), len(b), 0)):
        if x > i or y > j:
            blocks.append(DiffBlock(False, Span(i, x), Span(j, y)))
        elif count and blocks:
            last = blocks.pop()
            x, y, count = last.old.start, last.new.start, count + len(last.old)
        i, j = x + count, y + count
        if count:
            blocks.append(DiffBlock(True, Span(x, i), Span(y, j)))
    return blocks


def _matches(a: list[int], b: list[int], token: CancelToken | None) -> Iterator[tuple[int, int, int]]:
    """Yield (start in a, start in b, length) of equal lines, in order."""
    head, shorter = 0, min(len(a), len(b))
    while head < shorter and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < shorter - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    end = len(a) - tail, len(b) - tail
    yield 0, 0, head
    i = j = head
    for x, y in (*_unique_matches(a[i : end[0]], b[j : end[1]], head), end):
        if 0 < (x - i) * (y - j) <= MAX_PAIRS:
            if token is not None:
                token.check()
            for block in LCSseq.editops(a[i:x], b[j:y]).as_matching_blocks():
                yield i + block.a, j + block.b, block.size
        i, j = x + 1, y + 1
        if x < end[0]:
            yield x, y, 1
    yield *end, tail


def _unique_matches(a: list[int], b: list[int], offset: int) -> list[tuple[int, int]]:
    """Return the longest increasing sequence of matches between lines that are unique in both (patience sorting)."""
    in_a, in_b = Counter(a), Counter(b)
    places = {line: j for j, line in enumerate(b) if in_b[line] == 1}
    pairs = [(i, places[line]) for i, line in enumerate(a) if in_a[line] == 1 and line in places]
    tops: list[int] = []  # by length, the smallest end of an increasing sequence
    ends: list[int] = []  # by length, the index of the pair at that end
    previous: list[int] = []
    for at, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        previous.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1], ends[pile : pile + 1] = [j], [at]
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append((pairs[at][0] + offset, pairs[at][1] + offset))
        at = previous[at]
    return chain[::-1]

"""Which lines of two texts are the same ones: what differences and anchors stand on.

Lines that stand once in either text come first, as in Bram Cohen's patience difference: nothing else tells so well
what belongs together.  What lies between two of them is aligned by its longest common subsequence, 64 lines at a
time, so that texts of any kind take no more than a moment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from operator import itemgetter

from msgspec import Struct
from rapidfuzz.distance import LCSseq

from promptls.model import CancelToken, Span

MOST_PAIRS = 400_000_000
"""Lines times lines beyond which two passages count as others altogether; up to here they take 50 MB and 0.1 s."""


class Run(Struct, frozen=True):
    """Lines that follow each other in both texts: the same ones, or others, of which one side may have none."""

    same: bool
    old: Span
    new: Span


def aligned(old: Sequence[Hashable], new: Sequence[Hashable], token: CancelToken | None = None) -> list[Run]:
    """Two texts from beginning to end, the same lines and others by turns.  Raises `Cancelled`."""
    numbers: dict[Hashable, int] = {}
    a, b = ([numbers.setdefault(line, len(numbers)) for line in lines] for lines in (old, new))
    runs: list[Run] = []
    i = j = 0
    for x, y, count in (*filter(itemgetter(2), _same(a, b, token)), (len(a), len(b), 0)):
        if x > i or y > j:
            runs.append(Run(False, Span(i, x), Span(j, y)))
        elif count and runs:
            last = runs.pop()
            x, y, count = last.old.start, last.new.start, count + len(last.old)
        i, j = x + count, y + count
        if count:
            runs.append(Run(True, Span(x, i), Span(y, j)))
    return runs


def _same(a: list[int], b: list[int], token: CancelToken | None) -> Iterator[tuple[int, int, int]]:
    """(place in one, place in the other, number) of lines that are the same, in order."""
    head, least = 0, min(len(a), len(b))
    while head < least and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < least - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    end = len(a) - tail, len(b) - tail
    yield 0, 0, head
    i = j = head
    for x, y in (*_once(a[i : end[0]], b[j : end[1]], head), end):
        if 0 < (x - i) * (y - j) <= MOST_PAIRS:
            if token is not None:
                token.check()
            for block in LCSseq.editops(a[i:x], b[j:y]).as_matching_blocks():
                yield i + block.a, j + block.b, block.size
        i, j = x + 1, y + 1
        if x < end[0]:
            yield x, y, 1
    yield *end, tail


def _once(a: list[int], b: list[int], offset: int) -> list[tuple[int, int]]:
    """The places of lines that stand once in either, as many of them as come in the same order (patience sorting)."""
    in_a, in_b = Counter(a), Counter(b)
    places = {line: j for j, line in enumerate(b) if in_b[line] == 1}
    pairs = [(i, places[line]) for i, line in enumerate(a) if in_a[line] == 1 and line in places]
    tops: list[int] = []  # of each length the sequence that ends first
    ends: list[int] = []  # the pair that it ends with
    before: list[int] = []
    for at, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1], ends[pile : pile + 1] = [j], [at]
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append((pairs[at][0] + offset, pairs[at][1] + offset))
        at = before[at]
    return chain[::-1]

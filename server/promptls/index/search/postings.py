"""Posting lists of a chunk index, with a write buffer, so that a few new rows do not rebuild them.

The lists are immutable and of decreasing size; a reader keeps those that it was created with.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from promptls.index.search.segment import PostingLists, build_posting_lists

MAX_BUFFERED = 20_000
"""Postings in the write buffer; each new reader sorts them, which takes a millisecond."""


class Postings:
    """The postings (term, row, count) of all rows."""

    def __init__(self) -> None:
        self._lists: tuple[PostingLists, ...] = ()
        self._clear_buffer()

    def lists(self) -> tuple[PostingLists, ...]:
        """Return all postings as posting lists."""
        return (*self._lists, self._buffered()) if self._ids else self._lists

    def add(self, ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8]) -> None:
        """Add postings of new rows."""
        if len(ids) > MAX_BUFFERED:
            self.add_lists(build_posting_lists(ids, rows, counts))
            return
        self._ids.frombytes(ids.tobytes())
        self._rows.frombytes(rows.tobytes())
        self._counts.frombytes(counts.tobytes())
        if len(self._ids) > MAX_BUFFERED:
            self.add_lists(self._buffered())
            self._clear_buffer()

    def add_lists(self, new: PostingLists) -> None:
        """Append posting lists; neighbors are merged until each is at least twice as large as the next."""
        stack = [*self._lists, new]
        while len(stack) > 1 and len(stack[-2].rows) < 2 * len(stack[-1].rows):
            b, a = stack.pop(), stack.pop()
            stack.append(build_posting_lists(*_concatenated((a, b))))
        self._lists = tuple(stack)

    def renumber(self, kept: NDArray[np.bool_], new_row: NDArray[np.int32]) -> None:
        """Drop the postings of rows that are not kept, and give the others their new row numbers."""
        ids, rows, counts = _concatenated((*self._lists, self._buffered()))
        mask = kept[rows]
        self._lists = (build_posting_lists(ids[mask], new_row[rows[mask]], counts[mask]),)
        self._clear_buffer()

    def _buffered(self) -> PostingLists:
        ids, rows = np.array(self._ids, np.int32), np.array(self._rows, np.int32)
        return build_posting_lists(ids, rows, np.array(self._counts, np.uint8))

    def _clear_buffer(self) -> None:
        self._ids, self._rows, self._counts = array("i"), array("i"), array("B")


def _concatenated(
    lists: tuple[PostingLists, ...],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return (term ids, rows, counts) of posting lists."""
    return (
        np.concatenate([p.posting_ids() for p in lists]),
        np.concatenate([p.rows for p in lists]),
        np.concatenate([p.counts for p in lists]),
    )

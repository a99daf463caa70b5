"""Posting lists, and segments: rows of the index as arrays, as a checkpoint stores them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Segment(Struct, frozen=True):
    """Rows of the index with their vectors and posting lists. Term ids are indexes into `terms`."""

    keys: tuple[bytes, ...]
    vectors: NDArray[np.int8]  # [rows, dimension], quantized
    scales: NDArray[np.float32]  # [rows]
    lengths: NDArray[np.int32]  # [rows], terms of the chunk
    terms: tuple[str, ...]
    ids: NDArray[np.int32]  # term ids, ascending
    offsets: NDArray[np.int64]  # [ids + 1], start of the posting list of each term
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]


class PostingLists(Struct, frozen=True):
    """An inverted index: postings grouped by term. See `build_posting_lists`."""

    ids: NDArray[np.int32]  # term ids, ascending
    offsets: NDArray[np.int64]  # [ids + 1], start of the posting list of each term
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]

    def slice_of(self, term_id: int) -> slice:
        """Return the slice of `rows` and `counts` that holds the posting list of a term."""
        at = int(self.ids.searchsorted(np.int32(term_id)))  # another type would convert the whole array
        is_known = at < len(self.ids) and self.ids[at] == term_id
        return slice(int(self.offsets[at]), int(self.offsets[at + 1])) if is_known else slice(0, 0)

    def posting_ids(self) -> NDArray[np.int32]:
        """Return the term id of each posting."""
        return np.repeat(self.ids, np.diff(self.offsets))


def build_posting_lists(
    posting_ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8]
) -> PostingLists:
    """Group postings by term.

    Args:
        posting_ids: Term id of each posting, in any order.
        rows: Row of each posting.
        counts: Term frequency of each posting.
    """
    order = np.argsort(posting_ids, kind="stable")
    sorted_ids = posting_ids[order]
    first = np.flatnonzero(np.diff(sorted_ids, prepend=np.int32(-1)))
    offsets = np.append(first, len(posting_ids)).astype(np.int64)
    return PostingLists(sorted_ids[first], offsets, rows[order], counts[order])

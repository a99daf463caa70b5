"""Rows of the index as arrays: batches, segments with posting lists, and the identity of the store that holds them.

A row belongs to a chunk text, not to its location.  Whole batches pass through pipes, arrays and tables without a
Python loop over rows.  A checkpoint stores segments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

_SCALE_BYTES = 4


class RowBatch(Struct, frozen=True, array_like=True, gc=False):
    """Rows. The terms of row i are `terms[t]` for t in `term_ids[offsets[i]:offsets[i + 1]]`."""

    keys: tuple[bytes, ...]  # chunk keys, 16 bytes each
    terms: tuple[str, ...] = ()  # distinct terms
    term_ids: bytes = b""  # int32, in text order
    offsets: bytes = b""  # int32[len(keys) + 1]
    vectors: bytes = b""  # output of `quantize` for all rows; b"" before embedding or without a model

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def term_array(self) -> NDArray[np.int32]:
        """`term_ids` as an array."""
        return np.frombuffer(self.term_ids, np.int32)

    @property
    def offset_array(self) -> NDArray[np.int32]:
        """`offsets` as an array."""
        return np.frombuffer(self.offsets, np.int32)

    @property
    def packed_vectors(self) -> NDArray[np.int8]:
        """`vectors` as an array, one line per row; no columns without vectors."""
        packed = np.frombuffer(self.vectors, np.int8)
        return packed.reshape(len(self.keys), -1) if self.keys else packed.reshape(0, 0)

    @property
    def steps(self) -> NDArray[np.int8]:
        """Quantized components of the vectors, in units of `scales`: [len(keys), dimension]."""
        return self.packed_vectors[:, _SCALE_BYTES:]

    @property
    def scales(self) -> NDArray[np.float32]:
        """Value of one quantization step of each row."""
        return np.ascontiguousarray(self.packed_vectors[:, :_SCALE_BYTES]).view(np.float32).reshape(-1)

    def joined_terms(self) -> list[str]:
        """Return the terms of each row, in text order, separated by spaces."""
        terms, term_ids = self.terms, self.term_array.tolist()
        offsets = self.offset_array.tolist()
        return [" ".join([terms[t] for t in term_ids[a:b]]) for a, b in pairwise(offsets)]

    def select(self, keys: Collection[bytes]) -> RowBatch:
        """Return the rows with these keys."""
        mask = np.array([key in keys for key in self.keys], bool)
        return self if mask.all() else self._masked(mask)

    def deduplicate(self) -> RowBatch:
        """Return the first row of each key."""
        first = dict(zip(reversed(self.keys), range(len(self.keys) - 1, -1, -1), strict=True))
        if len(first) == len(self.keys):
            return self
        return self._masked(np.array([first[key] == at for at, key in enumerate(self.keys)], bool))

    def split(self, max_rows: int) -> Iterator[RowBatch]:
        """Yield the rows in batches of at most `max_rows`."""
        for at in range(0, len(self.keys), max_rows):
            mask = np.zeros(len(self.keys), bool)
            mask[at : at + max_rows] = True
            yield self._masked(mask)

    def _masked(self, mask: NDArray[np.bool_]) -> RowBatch:
        counts = np.diff(self.offset_array)
        used, term_ids = compact_ids(self.term_array[np.repeat(mask, counts)], len(self.terms))
        return replace(
            self,
            keys=tuple(key for key, selected in zip(self.keys, mask, strict=True) if selected),
            terms=tuple(self.terms[i] for i in used.tolist()),
            term_ids=term_ids.tobytes(),
            offsets=_offsets(counts[mask]).tobytes(),
            vectors=self.packed_vectors[mask].tobytes(),
        )


def quantize(vectors: NDArray[np.floating[Any]]) -> bytes:
    """Quantize unit vectors [rows, dimension] to 8 bits: per row the value of a step (float32), then the steps.

    The largest component of a row becomes 127 steps. Non-finite components become 0.
    """
    finite = np.where(np.isfinite(vectors), vectors, 0).astype(np.float32)
    scales = np.abs(finite).max(axis=1, initial=0) / np.float32(127)
    return pack_vectors(scales, np.rint(finite / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)).tobytes()


def pack_vectors(scales: NDArray[np.float32], steps: NDArray[np.int8]) -> NDArray[np.int8]:
    """Concatenate scale and steps of each row, the format of `RowBatch.vectors`."""
    return np.concatenate([np.ascontiguousarray(scales, np.float32)[:, None].view(np.int8), steps], axis=1)


def compact_ids(ids: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Renumber ids below `count` without gaps; return (used ids, ascending; new id of each entry).

    Equals `np.unique(ids, return_inverse=True)`, without sorting.
    """
    is_used = np.zeros(count, np.bool_)
    is_used[ids] = True
    used = np.flatnonzero(is_used)
    new_ids = np.zeros(count, np.int32)
    new_ids[used] = np.arange(len(used), dtype=np.int32)
    return used, new_ids[ids]


def _offsets(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


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


SCHEMA_VERSION = 4
"""Version of the LanceDB schema."""


class StoreIdentity(Struct, frozen=True):
    """Versions and model that rows depend on. Another identity is another table."""

    model: str
    dimension: int
    chunker: int
    terms: int
    schema: int = SCHEMA_VERSION

"""Rows: what is known of many chunk texts at once, from the worker that makes them to the store that keeps them.

A row belongs to a text, not to a place.  Terms are numbers into the list of those that occur, so that whole batches
go through pipes, arrays and tables without a look at any single one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

_SCALE = 4
"""Bytes in front of a vector."""


class Rows(Struct, frozen=True, array_like=True, gc=False):
    """Row i has the key `keys[i]`; its terms are `words[t]` for t in `term[start[i]:start[i + 1]]`."""

    keys: tuple[bytes, ...]  # 16 bytes each
    words: tuple[str, ...] = ()  # the terms that occur
    term: bytes = b""  # int32, in text order
    start: bytes = b""  # int32[len(keys) + 1]
    vectors: bytes = b""  # of all rows, as `rounded` makes them; b"": none yet, or no model

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def terms(self) -> NDArray[np.int32]:
        return np.frombuffer(self.term, np.int32)

    @property
    def starts(self) -> NDArray[np.int32]:
        return np.frombuffer(self.start, np.int32)

    @property
    def packed(self) -> NDArray[np.int8]:
        """`vectors`, a line for each row; no columns where there are none."""
        found = np.frombuffer(self.vectors, np.int8)
        return found.reshape(len(self.keys), -1) if self.keys else found.reshape(0, 0)

    @property
    def matrix(self) -> NDArray[np.int8]:
        """The numbers of the vectors, in steps of `scale`: [len(keys), dimension]."""
        return self.packed[:, _SCALE:]

    @property
    def scale(self) -> NDArray[np.float32]:
        """What one step is worth in each row."""
        return np.ascontiguousarray(self.packed[:, :_SCALE]).view(np.float32).reshape(-1)

    def texts(self) -> list[str]:
        """The terms of each row, in text order, one space between two."""
        words, term = self.words, self.terms.tolist()
        starts = self.starts.tolist()
        return [" ".join([words[t] for t in term[a:b]]) for a, b in pairwise(starts)]

    def only(self, keys: Collection[bytes]) -> Rows:
        """The rows of these keys."""
        kept = np.array([key in keys for key in self.keys], bool)
        return self if kept.all() else self._take(kept)

    def distinct(self) -> Rows:
        """The rows without those whose key has come before."""
        first = dict(zip(reversed(self.keys), range(len(self.keys) - 1, -1, -1), strict=True))
        if len(first) == len(self.keys):
            return self
        return self._take(np.array([first[key] == at for at, key in enumerate(self.keys)], bool))

    def parts(self, most: int) -> Iterator[Rows]:
        """The same rows, at most so many at a time."""
        for at in range(0, len(self.keys), most):
            chosen = np.zeros(len(self.keys), bool)
            chosen[at : at + most] = True
            yield self._take(chosen)

    def _take(self, kept: NDArray[np.bool_]) -> Rows:
        counts = np.diff(self.starts)
        used, term = renumbered(self.terms[np.repeat(kept, counts)], len(self.words))
        return replace(
            self,
            keys=tuple(key for key, keep in zip(self.keys, kept, strict=True) if keep),
            words=tuple(self.words[i] for i in used.tolist()),
            term=term.tobytes(),
            start=_starts(counts[kept]).tobytes(),
            vectors=self.packed[kept].tobytes(),
        )


def rounded(vectors: NDArray[np.floating[Any]]) -> bytes:
    """Unit vectors [rows, dimension] in eight bits a number: by row what a step is worth (float32), then the steps.

    The largest number of a row is 127 steps.  What is no number counts as 0.
    """
    wide = np.where(np.isfinite(vectors), vectors, 0).astype(np.float32)
    scale = np.abs(wide).max(axis=1, initial=0) / np.float32(127)
    return packed(scale, np.rint(wide / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)).tobytes()


def packed(scale: NDArray[np.float32], steps: NDArray[np.int8]) -> NDArray[np.int8]:
    """Both of them, a line for each row."""
    return np.concatenate([np.ascontiguousarray(scale, np.float32)[:, None].view(np.int8), steps], axis=1)


def rows_of(terms: Iterable[tuple[bytes, Sequence[str]]], vectors: bytes = b"") -> Rows:
    """Rows of (key, terms); `vectors` as in `Rows`."""
    numbers: dict[str, int] = {}
    keys, term, lengths = [], [], []
    for key, found in terms:
        keys.append(key)
        term += [numbers.setdefault(word, len(numbers)) for word in found]
        lengths.append(len(found))
    starts = np.fromiter(accumulate(lengths, initial=0), np.int32, len(lengths) + 1)
    return Rows(tuple(keys), tuple(numbers), np.array(term, np.int32).tobytes(), starts.tobytes(), vectors)


def renumbered(numbers: NDArray[np.int32], most: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(those of the numbers below `most` that occur, in ascending order; each number as its place among them).

    As `np.unique` tells it, which would sort what need only be marked.
    """
    occurs = np.zeros(most, np.bool_)
    occurs[numbers] = True
    used = np.flatnonzero(occurs)
    place = np.zeros(most, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return used, place[numbers]


def _starts(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

"""The terms of an index and their numbers, in a tenth of the memory that a dictionary takes.

Terms are found by the hash that Python gives them, 64 bits with a key of this process: that two terms share one does
not happen (with a million terms, once in thirty million indexes).  One thread writes, any reads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

RECENT = 20_000
"""Terms that may wait in a dictionary."""


class _Frozen(Struct, frozen=True):
    """Terms 0…n-1: their hashes in ascending order, the number of each, and the texts in order of numbers."""

    hashes: NDArray[np.int64]
    numbers: NDArray[np.int32]
    texts: tuple[bytes, ...]  # pieces of the list, a line a term


class Vocabulary:
    """Numbers count up from 0 and stay."""

    __slots__ = ("_frozen", "_recent")

    def __init__(self) -> None:
        self._frozen = _Frozen(np.zeros(0, np.int64), np.zeros(0, np.int32), ())
        self._recent: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._frozen.numbers) + len(self._recent)

    def number(self, term: str) -> int:
        """The number of a term, -1 if there is no such term."""
        found = self._recent.get(term)  # first: what leaves it is frozen before
        if found is not None:
            return found
        frozen = self._frozen
        value = hash(term)
        at = int(frozen.hashes.searchsorted(np.int64(value)))
        return int(frozen.numbers[at]) if at < len(frozen.hashes) and frozen.hashes[at] == value else -1

    def learn(self, terms: Collection[str]) -> NDArray[np.int32]:
        """The numbers of terms; new ones get the next.  For the one thread that writes."""
        frozen, recent = self._frozen, self._recent
        hashes = np.fromiter(map(hash, terms), np.int64, len(terms))
        out = np.full(len(terms), -1, np.int32)
        if len(frozen.hashes):
            at = np.minimum(frozen.hashes.searchsorted(hashes), len(frozen.hashes) - 1)
            known = frozen.hashes[at] == hashes
            out[known] = frozen.numbers[at[known]]
        n = len(frozen.numbers)
        listed = terms if isinstance(terms, Sequence) else list(terms)
        for i in np.flatnonzero(out < 0).tolist():
            out[i] = recent.setdefault(listed[i], n + len(recent))
        if len(recent) > max(RECENT, n // 4):
            self._freeze()
        return out

    def texts(self) -> list[str]:
        """All terms in the order of their numbers."""
        while True:  # another thread may write
            frozen, recent = self._frozen, self._recent.copy()
            if frozen is self._frozen:
                break
        out = [t for piece in frozen.texts for t in piece.decode("utf-8", "surrogatepass").split("\n")]
        return out + [term for term, number in recent.items() if number >= len(out)]

    def _freeze(self) -> None:
        old, recent = self._frozen, self._recent
        hashes = np.concatenate([old.hashes, np.fromiter(map(hash, recent), np.int64, len(recent))])
        numbers = np.concatenate([old.numbers, np.fromiter(recent.values(), np.int32, len(recent))])
        order = np.argsort(hashes)
        piece = "\n".join(recent).encode("utf-8", "surrogatepass")
        self._frozen = _Frozen(hashes[order], numbers[order], (*old.texts, piece))
        self._recent = {}

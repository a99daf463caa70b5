"""Term dictionary: maps terms to ids in a tenth of the memory of a `dict`.

Terms are found by Python's 64-bit string hash, which is keyed per process. Collisions are neglected: with a million
terms, one is expected in thirty million indexes. One thread writes, any thread reads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MAX_RECENT_TERMS = 20_000
"""Terms that may stay in the dictionary of recent terms; sorting them into the arrays copies all arrays."""


class _FrozenTerms(Struct, frozen=True):
    """The terms 0 to n-1: hashes in ascending order, the id of each hash, and the terms in order of ids."""

    hashes: NDArray[np.int64]
    ids: NDArray[np.int32]
    texts: tuple[bytes, ...]  # pieces of the list, one term per line


class TermDictionary:
    """Maps terms to ids, which count up from 0 and never change."""

    __slots__ = ("_frozen", "_recent")

    def __init__(self) -> None:
        self._frozen = _FrozenTerms(np.zeros(0, np.int64), np.zeros(0, np.int32), ())
        self._recent: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._frozen.ids) + len(self._recent)

    def term_id(self, term: str) -> int:
        """Return the id of a term, or -1 if it is unknown."""
        id = self._recent.get(term)  # first: terms are frozen before they are removed here
        if id is not None:
            return id
        frozen = self._frozen
        value = hash(term)
        at = int(frozen.hashes.searchsorted(np.int64(value)))
        return int(frozen.ids[at]) if at < len(frozen.hashes) and frozen.hashes[at] == value else -1

    def intern(self, terms: Collection[str]) -> NDArray[np.int32]:
        """Return the ids of terms, adding unknown ones. For the writing thread."""
        frozen, recent = self._frozen, self._recent
        hashes = np.fromiter(map(hash, terms), np.int64, len(terms))
        ids = np.full(len(terms), -1, np.int32)
        if len(frozen.hashes):
            at = np.minimum(frozen.hashes.searchsorted(hashes), len(frozen.hashes) - 1)
            is_frozen = frozen.hashes[at] == hashes
            ids[is_frozen] = frozen.ids[at[is_frozen]]
        n = len(frozen.ids)
        listed = terms if isinstance(terms, Sequence) else list(terms)
        for i in np.flatnonzero(ids < 0).tolist():
            ids[i] = recent.setdefault(listed[i], n + len(recent))
        if len(recent) > max(MAX_RECENT_TERMS, n // 4):
            self._freeze()
        return ids

    def terms(self) -> list[str]:
        """Return all terms in the order of their ids."""
        while True:  # the writing thread may freeze terms in between
            frozen, recent = self._frozen, self._recent.copy()
            if frozen is self._frozen:
                break
        terms = [term for piece in frozen.texts for term in piece.decode("utf-8", "surrogatepass").split("\n")]
        return terms + [term for term, id in recent.items() if id >= len(terms)]

    def _freeze(self) -> None:
        old, recent = self._frozen, self._recent
        hashes = np.concatenate([old.hashes, np.fromiter(map(hash, recent), np.int64, len(recent))])
        ids = np.concatenate([old.ids, np.fromiter(recent.values(), np.int32, len(recent))])
        order = np.argsort(hashes)
        piece = "\n".join(recent).encode("utf-8", "surrogatepass")
        self._frozen = _FrozenTerms(hashes[order], ids[order], (*old.texts, piece))
        self._recent = {}

"""How many chunks use each term: what BM25 needs to know of the whole workspace.

Counts chunk texts that stand somewhere now and whose terms are known, each once however often it stands.
One mutable owner (the indexer's thread); readers look single terms up, which needs no lock.
"""

from __future__ import annotations

import math
from collections import Counter


class Vocabulary:
    """Document frequencies over the chunks that are alive."""

    __slots__ = ("_counted", "_frequency", "_length")

    def __init__(self) -> None:
        self._frequency: Counter[str] = Counter()
        self._counted: set[bytes] = set()
        self._length = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._counted

    def __len__(self) -> int:
        """How many chunk texts are counted."""
        return len(self._counted)

    def add(self, key: bytes, terms: str) -> None:
        """Count a chunk text that has come alive."""
        if key in self._counted:
            return
        self._counted.add(key)
        words = terms.split()
        self._length += len(words)
        self._frequency.update(set(words))

    def remove(self, key: bytes, terms: str) -> None:
        """Uncount a chunk text that stands nowhere any more; `terms` as they were added."""
        if key not in self._counted:
            return
        self._counted.discard(key)
        words = terms.split()
        self._length -= len(words)
        for word in set(words):
            left = self._frequency[word] - 1
            if left:
                self._frequency[word] = left
            else:
                del self._frequency[word]

    @property
    def mean_length(self) -> float:
        """Mean number of terms in a chunk, at least 1."""
        return max(1.0, self._length / max(1, len(self._counted)))

    def frequency(self, term: str) -> int:
        """Number of chunks that use the term."""
        return self._frequency.get(term, 0)

    def idf(self, term: str) -> float:
        """Lucene's inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)); never negative."""
        n = self._frequency.get(term, 0)
        return math.log(1 + (len(self._counted) - n + 0.5) / (n + 0.5))

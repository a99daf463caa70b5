"""Search terms from the workspace's own words: typing errors put right, terms that stand beside those asked for.

Two terms are companions when they stand together in names of definitions (`session_cookie`, `CookieJar`).
`Companions` is the one mutable owner of that table; it follows a snapshot by the files whose names have
changed, so what it says depends on the names alone, not on how they came about.  Knows nothing of scores.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from itertools import chain

from immutables import Map
from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import process
from rapidfuzz.distance import OSA

from promptls.index.search.analyzer import STOP_WORDS, stem, word_terms, words
from promptls.index.search.reader import IndexReader
from promptls.index.snapshot import Snapshot, Step, difference
from promptls.model import FileEntry, names_in
from promptls.retrieval.query import Query

EXPANSIONS = 6
"""Terms that are added to a query, at most."""

WEIGHT = 0.4
"""The most that such a term weighs; one that was asked for weighs 1."""

TOGETHER = 2
"""Names in which two terms must stand together."""

LOOKED_AT = 1000
"""Names that one query looks at, those of its rarest terms first; bounds the time, and common terms say little."""

KEPT = 500
"""Terms whose companions are kept."""

AT_ONCE = 2_000
"""Files of a workspace in which a question waits until the names of all are taken in, some 150 ms at the first time."""

TAKEN = 300
"""Changed files that a question of a larger one takes in, some 20 ms; the others wait for somebody who has time."""

PIECE = 100
"""Files after which a question may come in between."""

LEAST_CORRECTED = 5
"""Letters of a word whose typing error is looked for; prose is full of shorter ones that are meant."""

LONGEST_CORRECTED = 40


class Limits(Struct, frozen=True):
    """How much is added."""

    expansions: int = EXPANSIONS
    weight: float = WEIGHT
    corrections: int = 4


LIMITS = Limits()


class Companions:
    """The terms of all names of definitions, by term."""

    __slots__ = (
        "_count",
        "_entries",
        "_files",
        "_following",
        "_length",
        "_lock",
        "_mates",
        "_names",
        "_names_of",
        "_parts",
        "_step",
    )

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the table
        self._following = threading.Lock()  # of whoever brings it to a snapshot
        self._names: object = None  # identity of the names that the table was made of
        self._entries: Map[str, FileEntry] = Map()
        self._step: Step | None = None  # of the snapshot that they belong to
        self._files: dict[str, tuple[str, ...]] = {}  # path → the names that are defined there
        self._count: Counter[str] = Counter()  # how many files define a name
        self._parts: dict[str, tuple[str, ...]] = {}  # name → its terms that are words
        self._names_of: dict[str, str | set[str]] = {}  # term → names; most have one, which needs no set
        self._length: dict[tuple[str, int], set[str]] = {}  # (first letter, length) → terms
        self._mates: dict[str, list[tuple[str, int]]] = {}  # of terms asked for: (term in the same names, in how many)

    def follow(self, snapshot: Snapshot) -> None:
        """Bring the table to a snapshot: costs what has changed, all names at the first time.

        Whoever has time calls it; questions go on meanwhile.  `expand` does so too, as far as it takes little.
        """
        with self._following:
            self._follow(snapshot, None)

    def expand(
        self, query: Query, snapshot: Snapshot, columns: IndexReader, limits: Limits = LIMITS, complete: bool = True
    ) -> Query:
        """The query with `corrected` and `expanded`; what was put right is among its terms and names too.

        While the index is not `complete`, and each question would meet other names, the table stays as it is.
        """
        whole = len(snapshot.files) <= AT_ONCE
        if (complete or not self._entries) and self._following.acquire(blocking=whole):
            try:
                self._follow(snapshot, None if whole else TAKEN)
            finally:
                self._following.release()
        with self._lock:
            found = self._corrections(query, columns)[: limits.corrections]
            terms = (*query.terms, *(t for _, right in found for t in word_terms(right)))
            terms = tuple(dict.fromkeys(terms))
            names = tuple(dict.fromkeys((*query.names, *(right for _, right in found if right in self._count))))
            beside = self._beside(terms, frozenset(query.excluded), limits)
        return replace(query, terms=terms, names=names, corrected=tuple(found), expanded=beside)

    # ------------------------------------------------------------ following

    def _follow(self, snapshot: Snapshot, most: int | None) -> None:
        """Take in what has changed, at most so many files of it."""
        if self._names is snapshot.names:
            return
        changed, gone = difference(self._entries, self._step, snapshot)
        with self._lock:
            for entry in gone:
                self._remove(self._files.pop(entry.path, ()))
        taken = changed[:most]
        for at in range(0, len(taken), PIECE):
            with self._lock:
                for entry in taken[at : at + PIECE]:
                    self._take_in(entry)
        if len(taken) == len(changed):
            self._entries, self._step, self._names = snapshot.files, snapshot.step, snapshot.names
            return
        with self._entries.mutate() as entries:
            for entry in gone:
                del entries[entry.path]
            for entry in taken:
                entries[entry.path] = entry
            self._entries, self._step = entries.finish(), None

    def _take_in(self, entry: FileEntry) -> None:
        old, new = set(self._files.get(entry.path, ())), set(filter(None, names_in(entry.outlined)))
        if old != new:
            self._remove(old - new)
            self._add(new - old)
            self._files[entry.path] = tuple(new)

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._count[name] += 1
            if self._count[name] > 1:
                continue
            terms = _terms(name)
            self._parts[name] = _words(name, terms)
            for term in terms:
                self._mates.pop(term, None)
                held = self._names_of.get(term)
                if held is None:
                    self._names_of[term] = name
                    self._length.setdefault((term[0], len(term)), set()).add(term)
                elif isinstance(held, str):
                    self._names_of[term] = {held, name}
                else:
                    held.add(name)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._count[name] -= 1
            if self._count[name]:
                continue
            del self._count[name], self._parts[name]
            for term in _terms(name):
                self._mates.pop(term, None)
                held = self._names_of[term]
                if isinstance(held, set):
                    held.discard(name)
                if not held or held == name:
                    del self._names_of[term]
                    self._length[term[0], len(term)].discard(term)

    def _names_with(self, term: str) -> Collection[str]:
        held = self._names_of.get(term, ())
        return (held,) if isinstance(held, str) else held

    # ------------------------------------------------------------ asking

    def _corrections(self, query: Query, columns: IndexReader) -> list[tuple[str, str]]:
        """(word as typed, term or name of the workspace) for words that occur nowhere."""
        out: dict[str, str] = {}
        for word in words(query.text):
            lower = word.lower()
            if not LEAST_CORRECTED <= len(word) <= LONGEST_CORRECTED or lower in STOP_WORDS or lower in out:
                continue
            term = stem(lower) if "_" not in lower else lower
            if term in query.excluded or term in self._names_of or columns.frequency(term):
                continue
            right = self._nearest(lower, term, columns)
            if right:
                out[lower] = right
        return list(out.items())

    def _nearest(self, typed: str, term: str, columns: IndexReader) -> str:
        """The term that a word is with a typing error (Damerau-Levenshtein, restricted); the nearest, then the most used, then by name."""
        allowed = 1 if len(typed) < 8 else 2
        letters = dict.fromkeys((term[0], term[1:2]))
        near = [
            t for n in range(-allowed, allowed + 1) for a in letters for t in self._length.get((a, len(term) + n), ())
        ]
        hits = process.extract(term, near, scorer=OSA.distance, score_cutoff=allowed, limit=None)
        right = [
            (distance, -columns.frequency(t), -len(self._names_with(t)), t)
            for t, distance, _ in hits
            if t[0] == term[0] or t[:2] == term[1::-1]
        ]
        return min(right)[-1] if right else ""

    def _beside(self, terms: tuple[str, ...], never: frozenset[str], limits: Limits) -> tuple[tuple[str, float], ...]:
        """Companions of the terms with their weights: the share of names that two terms have in common (Dice)."""
        scores: defaultdict[str, float] = defaultdict(float)
        left = LOOKED_AT
        for count_of, term in sorted((len(self._names_with(t)), t) for t in terms):
            left -= count_of
            if left < 0:
                break
            if count_of < TOGETHER:
                continue
            for other, count in self._together(term):
                if other not in never and other not in terms:
                    scores[other] += 2 * count / (count_of + len(self._names_with(other)))
        best = sorted(((-score, term) for term, score in scores.items()))[: limits.expansions]
        return tuple((term, round(limits.weight * min(1.0, -score), 3)) for score, term in best)

    def _together(self, term: str) -> list[tuple[str, int]]:
        """What stands in names with a term, often enough to count; kept, as questions have their words in common."""
        known = self._mates.get(term)
        if known is None:
            if len(self._mates) >= KEPT:
                self._mates.clear()
            counted = Counter(chain.from_iterable(map(self._parts.__getitem__, self._names_with(term))))
            known = [(other, count) for other, count in counted.items() if count >= TOGETHER and other != term]
            self._mates[term] = known
        return known


def _terms(name: str) -> tuple[str, ...]:
    if name.isidentifier():
        return tuple(dict.fromkeys(word_terms(name)))
    return tuple(dict.fromkeys(t for word in words(name)[:8] for t in word_terms(word)))


def _words(name: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Terms that are words: not the name itself, no numbers, no single letters."""
    whole = name.lower()
    return tuple(t for t in terms if len(t) > 2 and t.isalpha() and t != whole)

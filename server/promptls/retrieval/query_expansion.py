"""Query expansion: corrects typing errors and adds terms that co-occur with query terms in names of the workspace.

Two terms co-occur if names of definitions contain both (`session_cookie`, `CookieJar`).  The table follows the files of
a snapshot, and results depend on the names alone, not on the history of updates.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import process
from rapidfuzz.distance import OSA

from promptls.index import (
    STOP_WORDS,
    Change,
    Derived,
    IndexReader,
    Snapshot,
    find_words,
    is_frequent_word,
    split_identifier,
    stem,
    tokenize_word,
)
from promptls.model import FileEntry, decode_symbol_names
from promptls.retrieval.query import Query
from promptls.util.cancellation import check_each

MAX_EXPANSIONS = 6
"""Maximum number of terms added to a query."""

MAX_EXPANSION_WEIGHT = 0.4
"""Maximum weight of an added term, relative to 1 for a query term."""

MIN_COMMON_NAMES = 2
"""Minimum number of names that contain both terms."""

MAX_NAMES_PER_QUERY = 1000
"""Maximum number of names scanned for one query, names with its rarest terms first.

Limits the time per query; common terms are not selective.
"""

NEIGHBOR_CACHE_SIZE = 500
"""Maximum number of terms whose co-occurring terms are cached."""

MAX_SYNC_FILES = 2_000
"""Workspace size in files up to which a query waits for a complete update, at first about 150 ms."""

MAX_CHANGED_PER_QUERY = 300
"""Changed files that a query adds to the table in a larger workspace, about 20 ms; `follow` adds the others."""

BATCH_SIZE = 100
"""Files added between two points at which a concurrent query can use the table."""

MIN_CORRECTED_LENGTH = 5
"""Minimum length of the stem of a corrected word; prose has many shorter words that are correct but not in the workspace."""

MAX_CORRECTED_LENGTH = 40
"""Maximum length of corrected words; bounds the time for edit distances."""


class ExpansionLimits(Struct, frozen=True):
    """Limits of query expansion."""

    expansions: int = MAX_EXPANSIONS
    weight: float = MAX_EXPANSION_WEIGHT
    corrections: int = 4


DEFAULT_LIMITS = ExpansionLimits()


class Cooccurrence:
    """Query expansion with the names of a workspace.  Safe to call from any thread."""

    __slots__ = ("_derived", "_table", "_table_lock")

    def __init__(self) -> None:
        self._table_lock = threading.Lock()
        self._table = _NameTable()
        self._derived = Derived(self._table, self._update, lambda snapshot: snapshot.names, BATCH_SIZE)

    def follow(self, snapshot: Snapshot) -> None:
        """Update the table for a snapshot; costs all names the first time, afterwards the changed files.

        Intended for idle time.  Concurrent queries do not wait for it.
        """
        self._derived.at(snapshot)

    def expand(
        self,
        query: Query,
        snapshot: Snapshot,
        reader: IndexReader,
        limits: ExpansionLimits = DEFAULT_LIMITS,
        complete: bool = True,
    ) -> Query:
        """Return the query with `corrected` and `expanded`; corrections are also added to its terms and names.

        Args:
            complete: The index contains all files.  Until then the table is not updated, except for the first time.
        """
        is_small = len(snapshot.files) <= MAX_SYNC_FILES
        if (complete or not self._derived.files) and self._derived.lock.acquire(blocking=is_small):
            try:
                self._derived.advance(snapshot, None if is_small else MAX_CHANGED_PER_QUERY)
            finally:
                self._derived.lock.release()
        table = self._table
        with self._table_lock:
            corrected = table.corrections(query, reader)[: limits.corrections]
            terms = (*query.terms, *(t for _, correction in corrected for t in tokenize_word(correction)))
            terms = tuple(dict.fromkeys(terms))
            corrected_names = (correction for _, correction in corrected if table.defines(correction))
            names = tuple(dict.fromkeys((*query.names, *corrected_names)))
            expanded = table.expansions(terms, frozenset(query.excluded), limits)
        return replace(query, terms=terms, names=names, corrected=tuple(corrected), expanded=expanded)

    def _update(self, table: _NameTable, change: Change) -> _NameTable:
        with self._table_lock:
            table.update(change)
        return table


class _NameTable:
    """Names of definitions by term.  Not thread-safe."""

    __slots__ = ("_names_by_term", "_neighbors", "_repeated", "_terms_by_length", "_words_of_name")

    def __init__(self) -> None:
        self._words_of_name: dict[str, tuple[str, ...]] = {}  # name → terms that are words
        self._repeated: Counter[str] = Counter()  # name → number of files that define it, besides the first
        self._names_by_term: dict[str, str | list[str]] = {}  # term → names; most terms have one
        self._terms_by_length: dict[tuple[str, int], list[str]] = {}  # (first letter, length) → terms
        self._neighbors: dict[str, list[tuple[str, int]]] = {}  # cache: term → (co-occurring term, number of names)

    def update(self, change: Change) -> None:
        """Follow a change of the files."""
        counts = Counter[str]()  # name → change of the number of files that define it
        for entry in (*change.changed, *change.gone):
            old, new = change.before.get(entry.path), change.snapshot.files.get(entry.path)
            counts.subtract(_names(old))
            counts.update(_names(new))
        added, gone = list[str](), set[str]()
        for name, difference in counts.items():
            before = self._repeated[name] + 1 if name in self._words_of_name else 0
            if before + difference > 1:
                self._repeated[name] = before + difference - 1
            else:
                self._repeated.pop(name, None)
            if not before and difference:
                added.append(name)
            elif before and before + difference == 0:
                gone.add(name)
        self._remove(gone)
        self._add(added)

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            terms = _terms(name)
            self._words_of_name[name] = _word_terms(name, terms)
            for term in terms:
                self._neighbors.pop(term, None)
                known = self._names_by_term.get(term)
                if known is None:
                    self._names_by_term[term] = name
                    self._terms_by_length.setdefault((term[0], len(term)), []).append(term)
                elif isinstance(known, str):
                    self._names_by_term[term] = [known, name]
                else:
                    known.append(name)

    def _remove(self, names: Collection[str]) -> None:
        """Remove names; filters each list once, however many names it loses."""
        for name in names:
            del self._words_of_name[name]
        unused: set[str] = set()
        for term in {term for name in names for term in _terms(name)}:
            self._neighbors.pop(term, None)
            remaining = [name for name in self._names_with(term) if name not in names]
            self._names_by_term[term] = remaining
            if not remaining:
                del self._names_by_term[term]
                unused.add(term)
        for key in {(term[0], len(term)) for term in unused}:
            self._terms_by_length[key] = [term for term in self._terms_by_length[key] if term not in unused]

    def defines(self, name: str) -> bool:
        """Return true if a file defines this name."""
        return name in self._words_of_name

    def _names_with(self, term: str) -> Collection[str]:
        names = self._names_by_term.get(term, ())
        return (names,) if isinstance(names, str) else names

    def corrections(self, query: Query, reader: IndexReader) -> list[tuple[str, str]]:
        """Return pairs (word as typed, word or name of the workspace) for words that do not occur in the workspace."""
        out: dict[str, str] = {}
        for word in check_each(find_words(query.text)):
            lower = word.lower()
            if len(word) > MAX_CORRECTED_LENGTH or lower in STOP_WORDS or lower in out:
                continue
            *_, term = tokenize_word(word) or [lower]
            if len(term) < MIN_CORRECTED_LENGTH or term in query.excluded:
                continue
            if term in self._names_by_term or reader.document_frequency(term):
                continue
            correction = self._closest_term(term, reader)
            if correction and not is_frequent_word(lower):
                out[lower] = self._closest_word(lower, correction)
        return list(out.items())

    def _closest_word(self, typed: str, term: str) -> str:
        """Return the part of a name, or the name, that has a term and is most similar to the word as typed."""
        names = sorted(self._names_with(term))[:MAX_NAMES_PER_QUERY]
        parts = {part for name in names for part in split_identifier(name) if stem(part) == term}
        words = parts or {name for name in names if tokenize_word(name)[-1:] == [term]}
        return min(words, key=lambda word: (OSA.distance(typed, word.lower()), word), default=term)

    def _closest_term(self, term: str, reader: IndexReader) -> str:
        """Return the term of smallest edit distance (optimal string alignment), or "" if none is close enough.

        Other digits are not a typing error: "http2" is not "http1". Ties are resolved by frequency in chunks, then by frequency in names, then alphabetically.
        """
        max_distance = 1 if len(term) < 8 else 2
        letters = dict.fromkeys((term[0], term[1:2]))
        close_lengths = range(len(term) - max_distance, len(term) + max_distance + 1)
        similar = [t for length in close_lengths for a in letters for t in self._terms_by_length.get((a, length), ())]
        matches = process.extract(term, similar, scorer=OSA.distance, score_cutoff=max_distance, limit=None)
        ranked = [
            (distance, -reader.document_frequency(t), -len(self._names_with(t)), t)
            for t, distance, _ in matches
            if (t[0] == term[0] or t[:2] == term[1::-1]) and _digits(t) == _digits(term)
        ]
        return min(ranked)[-1] if ranked else ""

    def expansions(
        self, terms: tuple[str, ...], excluded: frozenset[str], limits: ExpansionLimits
    ) -> tuple[tuple[str, float], ...]:
        """Return co-occurring terms with weights by the share of common names (Dice coefficient)."""
        scores: defaultdict[str, float] = defaultdict(float)
        remaining = MAX_NAMES_PER_QUERY
        for name_count, term in sorted((len(self._names_with(t)), t) for t in terms):
            remaining -= name_count
            if remaining < 0:
                break
            if name_count < MIN_COMMON_NAMES:
                continue
            for other, count in self._cooccurring(term):
                if other not in excluded and other not in terms:
                    scores[other] += 2 * count / (name_count + len(self._names_with(other)))
        best = sorted(((-score, term) for term, score in scores.items()))[: limits.expansions]
        return tuple((term, round(limits.weight * min(1.0, -score), 3)) for score, term in best)

    def _cooccurring(self, term: str) -> list[tuple[str, int]]:
        """Return the terms that co-occur with a term, with the number of common names."""
        neighbors = self._neighbors.get(term)
        if neighbors is None:
            if len(self._neighbors) >= NEIGHBOR_CACHE_SIZE:
                self._neighbors.clear()
            counts = Counter(chain.from_iterable(map(self._words_of_name.__getitem__, self._names_with(term))))
            neighbors = [(other, n) for other, n in counts.items() if n >= MIN_COMMON_NAMES and other != term]
            self._neighbors[term] = neighbors
        return neighbors


def _digits(term: str) -> str:
    return "".join(filter(str.isdigit, term))


def _names(entry: FileEntry | None) -> set[str]:
    """Return the names that a file defines."""
    return {*filter(None, decode_symbol_names(entry.encoded_outline))} if entry is not None else set()


def _terms(name: str) -> tuple[str, ...]:
    words = [name] if name.isidentifier() else find_words(name)[:8]
    terms = dict.fromkeys(term for word in words for term in tokenize_word(word))
    return tuple(name if term == name else term for term in terms)  # the same string, in memory once


def _word_terms(name: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms that are words: not the whole name, no numbers, at least three letters."""
    whole = name.lower()
    return tuple(t for t in terms if len(t) > 2 and t.isalpha() and t != whole)

"""What readers have of the columns: the rows of one moment, to be scored by meaning and by words.

In a `View` the files that texts stand in stay as they are: they are numbers into other arrays.  Rows may get their
vectors meanwhile, or move in their files; about those the snapshot has the last word.  Any thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search import vectors
from promptls.index.search.row_batch import renumbered
from promptls.index.store.checkpoint import Part

if TYPE_CHECKING:
    from promptls.index.search.chunk_index import Columns

_NONE, _NEVER, _NOWHERE = np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int64)


class Postings(Struct, frozen=True):
    """Where a term occurs: rows and how often in each, ready to be reckoned with."""

    rows: NDArray[np.int64]
    counts: NDArray[np.float32]


class Totals(Struct, frozen=True):
    """What the living rows say of files, by their numbers.

    Most rows of a file stand one after the other: what goes from rows to files, or back, goes by such runs.
    """

    alive: NDArray[np.bool_]  # by row
    all_alive: bool
    starts: NDArray[np.int64]  # of the runs: their first rows
    runs: NDArray[np.int64]  # how many rows each has
    of: NDArray[np.int32]  # the number of its file; -1 for dead rows
    rows: NDArray[np.int64]  # in each file
    terms: NDArray[np.float64]  # in the texts of each file
    log_length: NDArray[np.float32]  # by row: ln(1 + terms)

    def sums(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """By file what its rows add up to."""
        return _summed(values, self.starts, self.of, len(self.rows))

    def sums_of(self, file: NDArray[np.int32], values: NDArray[np.generic]) -> NDArray[np.float64]:
        """The same of some rows only, whose files these are; -1 for dead ones."""
        return _by_file(values, file, len(self.rows))

    def rows_of(self, file: int) -> NDArray[np.int64]:
        """The rows of a file."""
        runs = np.flatnonzero(self.of == file).tolist()
        return np.concatenate([_NOWHERE, *(np.arange(self.starts[r], self.starts[r] + self.runs[r]) for r in runs)])

    def spread(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """By row what is said of its file; 0 for dead ones."""
        return np.repeat(np.append(values, np.float32(0))[self.of], self.runs)


def _summed(
    values: NDArray[np.generic], starts: NDArray[np.int64], of: NDArray[np.int32], files: int
) -> NDArray[np.float64]:
    if not len(starts):
        return np.zeros(files)
    sums: NDArray[np.float64] = np.add.reduceat(values, starts, dtype=np.float64)
    return _by_file(sums, of, files)


def _by_file(values: NDArray[np.generic], file: NDArray[np.int32], files: int) -> NDArray[np.float64]:
    """What values with the numbers of their files add up to; -1 is no file."""
    return np.asarray(np.bincount(file + 1, values, files + 1)[1:], np.float64)


class Segment(Struct, frozen=True):
    """Postings by term; term ids ascending."""

    ids: NDArray[np.int32]
    start: NDArray[np.int64]  # [ids + 1]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]

    def of(self, term: int) -> slice:
        at = int(self.ids.searchsorted(np.int32(term)))  # of another type, all ids would be converted
        found = at < len(self.ids) and self.ids[at] == term
        return slice(int(self.start[at]), int(self.start[at + 1])) if found else slice(0, 0)

    def spread(self) -> NDArray[np.int32]:
        """The term id of each posting."""
        return np.repeat(self.ids, np.diff(self.start))


def segment(ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8]) -> Segment:
    """A segment of postings in any order."""
    order = np.argsort(ids, kind="stable")
    sorted_ids = ids[order]
    first = np.flatnonzero(np.diff(sorted_ids, prepend=np.int32(-1)))
    return Segment(sorted_ids[first], np.append(first, len(ids)).astype(np.int64), rows[order], counts[order])


class IndexReader:
    """The rows of one moment, for readers."""

    __slots__ = ("_alive", "_all_alive", "_at", "_more", "_often", "_path_postings", "_path_terms", "_postings", "_rows", "_scale",
                 "_segments", "_signs", "_size", "_terms", "_totals", "_vectored", "_vectors", "count", "file", "files", "keys", "length", "mean_length",
                 "path_length")  # fmt: skip

    def __init__(self, columns: Columns) -> None:
        n = self._size = len(columns.keys)
        self.keys: Sequence[bytes] = columns.keys  # may grow; the first n are meant
        self.file = columns.file[:n].copy()  # int32: number of a file that the text stands in, -1 for a dead row
        self.length = columns.length[:n]  # int32: terms in the text
        self.count = columns.alive  # rows that are alive
        self.mean_length = max(1.0, columns.total / max(1, columns.alive))
        self.files: Sequence[str] = columns.paths  # paths by their numbers; may grow, and keeps those that are gone
        self.path_length = np.array(columns.path_lengths, np.int32)  # terms in the name of a file, by its number
        self._path_terms = columns.path_terms
        self._path_postings: dict[str, Postings] = {}
        self._at, self._more = columns.at[:n], columns.more
        self._rows, self._terms = columns.rows, columns.terms
        self._vectors, self._scale = columns.vectors[:n], columns.scale[:n]
        self._signs = columns.signs[:n] if columns.alive > vectors.EXACT else None
        self._segments = (*columns.segments, columns.tail()) if columns.tail_ids else columns.segments
        self._alive = self.file >= 0
        self._all_alive = bool(self._alive.all())
        self._postings: dict[str, Postings] = {}
        self._often: dict[str, int] = {}
        self._totals: Totals | None = None
        self._vectored = False

    def __len__(self) -> int:
        """Number of rows, dead ones included: the length of every array here."""
        return self._size

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 while there are none."""
        return int(self._vectors.shape[1])

    @property
    def totals(self) -> Totals:
        """What the rows of each file come to; added up when it is first asked for."""
        if self._totals is None:
            n = len(self.path_length)
            starts = np.flatnonzero(np.append(True, self.file[1:] != self.file[:-1])) if len(self) else _NOWHERE
            of, runs = self.file[starts], np.diff(starts, append=len(self))
            rows = _by_file(runs, of, n).astype(np.int64)
            terms = _summed(self.length, starts, of, n)
            log_length = np.log1p(self.length, dtype=np.float32)
            self._totals = Totals(self._alive, self._all_alive, starts, runs, of, rows, terms, log_length)
        return self._totals

    def row(self, key: bytes) -> int:
        """The row of a chunk text, -1 if there is none (yet)."""
        row = self._rows.get(key, -1)
        return row if row < self._size else -1

    def places(self, row: int) -> list[tuple[str, int]]:
        """(path, index of the chunk) of a text, wherever it stood when it was last published."""
        file = int(self.file[row])
        if file < 0:
            return []
        return [(self.files[file], int(self._at[row])), *((self.files[f], at) for f, at in self._more.get(row, ()))]

    def first(self, rows: NDArray[np.int64]) -> list[tuple[str, int] | None]:
        """The place of each of these rows that has no other ones; None for those with several or none."""
        files, more = self.files, self._more
        return [
            (files[file], at) if file >= 0 and row not in more else None
            for row, file, at in zip(rows.tolist(), self.file[rows].tolist(), self._at[rows].tolist(), strict=True)
        ]

    def living(self) -> set[bytes]:
        """Keys of the texts that stand in some file."""
        return {self.keys[row] for row in np.flatnonzero(self._alive).tolist()}

    def part(self, keys: Iterable[bytes]) -> Part:
        """The rows of these keys, as an image keeps them."""
        wanted = [(key, row) for key in keys if (row := self.row(key)) >= 0]
        at = np.array([row for _, row in wanted], np.int64)
        place = np.full(len(self), -1, np.int32)
        place[at] = np.arange(len(at), dtype=np.int32)
        ids = np.concatenate([_NONE, *(s.spread() for s in self._segments)])
        rows = place[np.concatenate([_NONE, *(s.rows for s in self._segments)])]
        counts = np.concatenate([_NEVER, *(s.counts for s in self._segments)])
        kept = rows >= 0
        used, numbers = renumbered(ids[kept], len(self._terms))
        found = segment(numbers, rows[kept], counts[kept])
        words = self._terms.texts() if len(used) else []
        return Part(
            keys=tuple(key for key, _ in wanted),
            vectors=self._vectors[at],
            scale=self._scale[at],
            length=self.length[at],
            words=tuple(words[i] for i in used.tolist()),
            ids=found.ids,
            start=found.start,
            rows=found.rows,
            counts=found.counts,
        )

    def postings(self, term: str) -> Postings:
        """The living rows that hold a term."""
        known = self._postings.get(term)
        if known is not None:
            return known
        number = self._terms.number(term)
        rows, counts = [_NONE], [_NEVER]
        if number >= 0:
            for segment in self._segments:
                part = segment.of(number)
                rows.append(segment.rows[part])
                counts.append(segment.counts[part])
        every, often = np.concatenate(rows, dtype=np.int64), np.concatenate(counts, dtype=np.float32)
        if not self._all_alive:
            alive = self._alive[every]
            every, often = every[alive], often[alive]
        found = self._postings[term] = Postings(every, often)
        return found

    def named(self, term: str) -> Postings:
        """The files whose names hold a term, by their numbers; those that are gone too."""
        known = self._path_postings.get(term)
        if known is None:
            found = np.array(tuple(self._path_terms.get(term, ())), np.int32)
            files, counts = np.unique(found[found < len(self.path_length)], return_counts=True)
            known = self._path_postings[term] = Postings(files.astype(np.int64), counts.astype(np.float32))
        return known

    def frequency(self, term: str) -> int:
        """Number of living chunk texts that use a term."""
        if (known := self._postings.get(term)) is not None:
            return len(known.rows)
        number = self._terms.number(term)
        if number < 0:
            return 0
        return sum(int(np.count_nonzero(self._alive[s.rows[s.of(number)]])) for s in self._segments)

    def frequencies(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """The same for many terms at once."""
        if lacking := [term for term in terms if term not in self._often]:
            self._often.update(zip(lacking, self._counted(lacking).tolist(), strict=True))
        return np.array([self._often[term] for term in terms], np.int64)

    def _counted(self, terms: Sequence[str]) -> NDArray[np.int64]:
        numbers = np.array([self._terms.number(term) for term in terms], np.int32)
        out = np.zeros(len(terms), np.int64)
        for segment in self._segments if len(numbers) else ():
            at = np.minimum(segment.ids.searchsorted(numbers), max(0, len(segment.ids) - 1))
            found = np.flatnonzero(segment.ids[at] == numbers) if len(segment.ids) else _NONE
            start, end = segment.start[at[found]], segment.start[at[found] + 1]
            if self._all_alive:
                out[found] += end - start
                continue
            ends = np.cumsum(end - start)
            places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(end - ends, end - start)
            living = np.append(0, np.cumsum(self._alive[segment.rows[places]]))
            out[found] += living[ends] - living[ends - (end - start)]
        return out

    def idf(self, term: str) -> float:
        """Lucene's inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)); never negative."""
        n = self.frequency(term)
        return math.log(1 + max(0.0, self.count - n + 0.5) / (n + 0.5))

    def similarities_soon(self, vector: NDArray[np.float32]) -> vectors.Compared:
        """Begin to compare, in other threads."""
        passed = self._passed() if self._signs is not None else None
        return vectors.similarities_soon(vector, self._vectors, self._scale, self._signs, passed)

    def _passed(self) -> NDArray[np.bool_] | None:
        """Dead rows and those without a vector; None where there are none.  Looked at anew while vectors come."""
        if self._vectored:
            return None
        passed: NDArray[np.bool_] = (self._scale <= 0) | ~self._alive
        self._vectored = not passed.any()
        return passed

    def similar(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The same for these rows alone, exactly; 0 for dead ones."""
        return np.where(self._alive[rows], vectors.similarities_of(rows, vector, self._vectors, self._scale), 0)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32[len(rows), dimension]: unit vectors, to the precision of 8 bits a number."""
        return self._vectors[rows].astype(np.float32) * self._scale[rows, None]

"""What a search scans: every chunk text as a row of arrays, its vector and the inverted lists of its terms.

Rows are appended and never change; a row is alive while its text stands in some file.  `Columns` has one
mutable owner, the publisher on the indexer's thread.  Everybody else takes a `View`, which stays as it is
but for rows that come alive or die meanwhile: about those the snapshot has the last word.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.terms import terms as terms_of
from promptls.model import Row

TAIL = 20_000
"""Postings that may lie unsorted; a view sorts them, in a millisecond."""
SLACK = 5_000
"""Rows that nobody needs any more and that may stay: dropping them copies all others."""
_BLOCK = 2_048
"""Rows whose vectors are widened to floats at a time: what stays in a core's cache."""
_EXACT = 1 << 24
"""Whole numbers up to here are exact in 32-bit floats."""
_NONE = np.zeros(0, np.int32)


class Contents(Struct, frozen=True):
    """Many rows at once, as a store holds them: row i has the terms `term[start[i]:start[i + 1]]`."""

    keys: Sequence[bytes]
    vectors: NDArray[np.float16]  # [rows, dimension]
    words: Sequence[str]  # distinct terms
    term: NDArray[np.int32]  # indexes into `words`, in text order
    start: NDArray[np.int64]  # [rows + 1]


class Postings(Struct, frozen=True):
    """Where a term occurs: rows and how often in each."""

    rows: NDArray[np.int32]
    counts: NDArray[np.int32]


class _Segment(Struct, frozen=True):
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


def _segment(ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8]) -> _Segment:
    order = np.argsort(ids, kind="stable")
    distinct, first = np.unique(ids[order], return_index=True)
    return _Segment(distinct, np.append(first, len(ids)).astype(np.int64), rows[order], counts[order])


class View:
    """The rows of one moment, for readers."""

    __slots__ = ("_alive", "_path_postings", "_path_terms", "_postings", "_rows", "_scale", "_segments", "_terms",
                 "_vectors", "count", "file", "files", "keys", "length", "mean_length", "path_length")  # fmt: skip

    def __init__(self, columns: Columns) -> None:
        n = len(columns.keys)
        self.keys: Sequence[bytes] = columns.keys  # may grow; the first n are meant
        self.file = columns.file[:n]  # int32: number of a file that the text stands in, -1 for a dead row
        self.length = columns.length[:n]  # int32: terms in the text
        self.count = columns.alive  # rows that are alive
        self.mean_length = max(1.0, columns.total / max(1, columns.alive))
        self.files: Sequence[str] = columns.paths  # paths by their numbers; may grow, and keeps those that are gone
        self.path_length = np.array(columns.path_lengths, np.int32)  # terms in the name of a file, by its number
        self._path_terms = columns.path_terms
        self._path_postings: dict[str, Postings] = {}
        self._rows, self._terms = columns.rows, columns.terms
        self._vectors, self._scale = columns.vectors[:n], columns.scale[:n]
        self._segments = (*columns.segments, columns.tail()) if columns.tail_ids else columns.segments
        self._alive = self.file >= 0  # as of now: the one thing here that does not stay as it is is `file`
        self._postings: dict[str, Postings] = {}

    def __len__(self) -> int:
        """Number of rows, dead ones included: the length of every array here."""
        return len(self.file)

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 while there are none."""
        return int(self._vectors.shape[1])

    def row(self, key: bytes) -> int:
        """The row of a chunk text, -1 if there is none (yet)."""
        row = self._rows.get(key, -1)
        return row if row < len(self) else -1

    def postings(self, term: str) -> Postings:
        """The living rows that hold a term."""
        known = self._postings.get(term)
        if known is not None:
            return known
        number = self._terms.get(term, -1)
        rows, counts = [_NONE], [_NONE]
        if number >= 0:
            for segment in self._segments:
                part = segment.of(number)
                rows.append(segment.rows[part])
                counts.append(segment.counts[part].astype(np.int32))
        every, often = np.concatenate(rows), np.concatenate(counts)
        alive = self._alive[every]
        found = self._postings[term] = Postings(every[alive], often[alive])
        return found

    def named(self, term: str) -> Postings:
        """The files whose names hold a term, by their numbers; those that are gone too."""
        known = self._path_postings.get(term)
        if known is None:
            found = np.array(tuple(self._path_terms.get(term, ())), np.int32)
            files, counts = np.unique(found[found < len(self.path_length)], return_counts=True)
            known = self._path_postings[term] = Postings(files, counts.astype(np.int32))
        return known

    def frequency(self, term: str) -> int:
        """Number of living chunk texts that use a term."""
        if (known := self._postings.get(term)) is not None:
            return len(known.rows)
        number = self._terms.get(term, -1)
        if number < 0:
            return 0
        return sum(int(np.count_nonzero(self._alive[s.rows[s.of(number)]])) for s in self._segments)

    def idf(self, term: str) -> float:
        """Lucene's inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)); never negative."""
        n = self.frequency(term)
        return math.log(1 + max(0.0, self.count - n + 0.5) / (n + 0.5))

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector (of any row without a vector: 0).

        The vector is rounded, too, so far that all sums of products are whole numbers that a float holds exactly:
        then they do not depend on the order of adding, nor on where a row stands.
        """
        out = np.zeros(len(self), np.float32)
        peak = float(np.abs(vector).max(initial=0.0))
        if vector.size == self.dimension and peak > 0:
            step = peak / (_EXACT // (127 * vector.size))
            rounded = np.rint(vector / step).astype(np.float32)
            for at in range(0, len(out), _BLOCK):
                out[at : at + _BLOCK] = self._vectors[at : at + _BLOCK].astype(np.float32) @ rounded
            out *= self._scale * np.float32(step)
        return out

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32[len(rows), dimension]: unit vectors, to the precision of 8 bits a number."""
        return self._vectors[rows].astype(np.float32) * self._scale[rows, None]


class Columns:
    """The owner.  Writing is for one thread; `view` for any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._view: View | None = None
        self.rows: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.terms: dict[str, int] = {}
        self.paths: list[str] = []
        self.path_lengths = array("i")
        self.path_terms: dict[str, list[int]] = {}  # term → a file's number for each time that its name holds it
        self._numbers: dict[str, int] = {}  # of paths
        self.file = np.full(0, -1, np.int32)
        self.length = np.zeros(0, np.int32)
        self.scale = np.zeros(0, np.float32)
        self.vectors = np.zeros((0, 0), np.int8)
        self.segments: tuple[_Segment, ...] = ()
        self.tail_ids, self.tail_rows, self.tail_counts = array("i"), array("i"), array("B")
        self.alive = 0
        self.total = 0  # terms in the living rows

    def view(self) -> View:
        """The rows as they are now."""
        with self._lock:
            if self._view is None:
                self._view = View(self)
            return self._view

    def add(self, rows: Iterable[Row]) -> None:
        """Append rows that are not there yet; they are dead until they are placed."""
        new = {row.key: row for row in rows if row.key not in self.rows}
        if not new:
            return
        with self._lock:
            first = self._append(list(new), _matrix([row.vector for row in new.values()]))
            for at, row in enumerate(new.values(), first):
                words = row.terms.split()
                counted = Counter(words)
                self.length[at] = len(words)
                self.tail_ids.extend([self._number(word) for word in counted])
                self.tail_rows.extend([at] * len(counted))
                self.tail_counts.extend([min(n, 255) for n in counted.values()])
            if len(self.tail_ids) > TAIL:
                self._freeze()
            self._view = None

    def extend(self, contents: Contents) -> None:
        """Append many rows at once; those that are there already are left out."""
        if not contents.keys:
            return
        new = np.array([key not in self.rows for key in contents.keys])
        counts = np.diff(contents.start)
        term, of = contents.term[np.repeat(new, counts)], np.repeat(np.cumsum(new) - 1, counts)[np.repeat(new, counts)]
        with self._lock:
            numbers = np.array([self._number(word) for word in contents.words], np.int64)
            first = self._append([k for k, n in zip(contents.keys, new, strict=True) if n], contents.vectors[new])
            self.length[first : len(self.keys)] = counts[new]
            pairs = np.sort(numbers[term] << 32 | (of + first)) if len(term) else np.zeros(0, np.int64)
            begins = np.flatnonzero(np.diff(pairs, prepend=-1))
            often = np.minimum(np.diff(begins, append=len(pairs)), 255).astype(np.uint8)
            ids = (pairs[begins] >> 32).astype(np.int32)
            self._add_segment(_segment(ids, (pairs[begins] & 0xFFFFFFFF).astype(np.int32), often))
            self._view = None

    def place(self, places: Iterable[tuple[bytes, str, str]]) -> None:
        """Say in which file a text stands: (key, path, name in its root); of several files one.

        Path "" is for a text that stands nowhere any more.
        """
        with self._lock:
            for key, path, name in places:
                row = self.rows.get(key)
                if row is None:
                    continue
                before, after = int(self.file[row]), self._file(path, name) if path else -1
                if (before < 0) != (after < 0):
                    sign = 1 if before < 0 else -1
                    self.alive += sign
                    self.total += sign * int(self.length[row])
                self.file[row] = after
            self._view = None

    def keep(self, needed: Collection[bytes], slack: int = SLACK) -> None:
        """Drop rows that are dead and not in `needed`, once there are more than `slack` of them."""
        if len(self.keys) <= max(len(needed), self.alive) + slack:
            return
        kept = np.array([self.file[i] >= 0 or key in needed for i, key in enumerate(self.keys)], bool)
        if len(kept) - int(kept.sum()) <= slack:
            return
        with self._lock:
            n = len(kept)
            place = np.cumsum(kept, dtype=np.int32) - 1
            ids, rows, counts = self._postings()
            left = kept[rows]
            self.keys = [key for key, k in zip(self.keys, kept, strict=True) if k]
            self.rows = {key: i for i, key in enumerate(self.keys)}
            for name in ("file", "length", "scale", "vectors"):
                setattr(self, name, getattr(self, name)[:n][kept])
            self.segments = (_segment(ids[left], place[rows[left]], counts[left]),)
            self._clear_tail()
            self._view = None

    # ------------------------------------------------------------ parts

    def _number(self, word: str) -> int:
        return self.terms.setdefault(word, len(self.terms))

    def _file(self, path: str, name: str) -> int:
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.paths)
            self.paths.append(path)
            found = terms_of(name)
            self.path_lengths.append(len(found))
            for term in found:
                self.path_terms.setdefault(term, []).append(number)
        return number

    def _append(self, keys: Sequence[bytes], vectors: NDArray[np.float16]) -> int:
        """Make room and put keys and vectors in; the number of the first row."""
        first, n = len(self.keys), len(self.keys) + len(keys)
        width = vectors.shape[1] or self.vectors.shape[1]
        if n > len(self.file) or width != self.vectors.shape[1]:
            # Readers keep the arrays that they have: growing makes new ones.
            size = max(n, len(self.file) * 3 // 2 if n > len(self.file) else len(self.file), 256)
            more = size - len(self.file)
            self.file = np.append(self.file, np.full(more, -1, np.int32))
            self.length = np.append(self.length, np.zeros(more, np.int32))
            self.scale = np.append(self.scale, np.zeros(more, np.float32))
            old, self.vectors = self.vectors, np.zeros((size, width), np.int8)
            if old.shape[1] == width:
                self.vectors[: len(old)] = old
        wide = np.nan_to_num(vectors.astype(np.float32))
        if wide.shape[1]:
            scale = np.abs(wide).max(axis=1) / 127
            self.vectors[first:n] = np.rint(wide / np.maximum(scale, 1e-12)[:, None])
            self.scale[first:n] = scale
        self.rows.update(zip(keys, range(first, n), strict=True))
        self.keys.extend(keys)
        return first

    def _postings(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """All of them: (term ids, rows, counts)."""
        every = (*self.segments, self.tail())
        return (
            np.concatenate([s.spread() for s in every]),
            np.concatenate([s.rows for s in every]),
            np.concatenate([s.counts for s in every]),
        )

    def _freeze(self) -> None:
        """Make the tail a segment."""
        self._add_segment(self.tail())
        self._clear_tail()

    def tail(self) -> _Segment:
        """The postings that are in no segment yet, as one."""
        ids, rows = np.array(self.tail_ids, np.int32), np.array(self.tail_rows, np.int32)
        return _segment(ids, rows, np.array(self.tail_counts, np.uint8))

    def _clear_tail(self) -> None:
        self.tail_ids, self.tail_rows, self.tail_counts = array("i"), array("i"), array("B")

    def _add_segment(self, new: _Segment) -> None:
        """Append a segment; two neighbours become one until each is at least twice as large as the next."""
        stack = [*self.segments, new]
        while len(stack) > 1 and len(stack[-2].rows) < 2 * len(stack[-1].rows):
            b, a = stack.pop(), stack.pop()
            stack.append(
                _segment(
                    np.concatenate([a.spread(), b.spread()]),
                    np.concatenate([a.rows, b.rows]),
                    np.concatenate([a.counts, b.counts]),
                )
            )
        self.segments = tuple(stack)


def _matrix(vectors: Sequence[bytes]) -> NDArray[np.float16]:
    """float16 rows of equal width; those of another width than the longest are zero."""
    width = max(map(len, vectors))
    whole = b"".join(v if len(v) == width else bytes(width) for v in vectors)
    return np.frombuffer(whole, np.float16).reshape(len(vectors), width // 2)

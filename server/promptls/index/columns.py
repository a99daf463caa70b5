"""What a search scans: every chunk text as a row of arrays, its places, its vector and the inverted lists of its terms.

A row comes with the first outline that has its text, gets terms and a vector when a worker has made them, and is
alive while its text stands in some file.  `Columns` has one mutable owner, the publisher on the indexer's thread.
Everybody else takes a `View`, in which the files that texts stand in stay as they are: they are numbers into other
arrays.  Rows may get their vectors meanwhile, or move in their files; about those the snapshot has the last word.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from simsimd import cdist

from promptls.index.image import Part
from promptls.index.rows import Rows
from promptls.index.terms import terms as terms_of
from promptls.index.vocabulary import Vocabulary

TAIL = 20_000
"""Postings that may lie unsorted; a view sorts them, in a millisecond."""
SLACK = 5_000
"""Rows that nobody needs any more and that may stay: dropping them copies all others."""
_BLOCK = 1 << 16
"""Rows whose products are taken at a time: a bound to the memory for them."""
_NONE = np.zeros(0, np.int32)
_TERMS, _VECTOR, _STORED, _BARE = 1, 2, 4, 8
"""What a row has: bits of `Columns.has`.  A bare row counts as having its vector: there was no model to make one."""

Moved = tuple[str, str, Sequence[bytes], Sequence[bytes]]
"""A file whose texts have changed: (path, name in its root, keys of its chunks before, and now)."""


class Postings(Struct, frozen=True):
    """Where a term occurs: rows and how often in each."""

    rows: NDArray[np.int32]
    counts: NDArray[np.int32]


class Totals(Struct, frozen=True):
    """What the living rows say of files, by their numbers."""

    of: NDArray[np.int32]  # by row: the number of its file, 0 for a dead one
    alive: NDArray[np.bool_]  # by row
    rows: NDArray[np.int64]  # in each file
    terms: NDArray[np.float64]  # in the texts of each file
    log_length: NDArray[np.float32]  # by row: ln(1 + terms)


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

    __slots__ = ("_alive", "_all_alive", "_at", "_more", "_often", "_path_postings", "_path_terms", "_postings", "_rows", "_scale",
                 "_segments", "_size", "_terms", "_totals", "_vectors", "count", "file", "files", "keys", "length", "mean_length",
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
        self._segments = (*columns.segments, columns.tail()) if columns.tail_ids else columns.segments
        self._alive = self.file >= 0
        self._all_alive = bool(self._alive.all())
        self._postings: dict[str, Postings] = {}
        self._often: dict[str, int] = {}
        self._totals: Totals | None = None

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
            alive, n = self._alive, len(self.path_length)
            of = np.maximum(self.file, 0)
            living = of if self._all_alive else of[alive]
            length = self.length if self._all_alive else self.length[alive]
            rows = np.bincount(living, minlength=n)
            terms = np.asarray(np.bincount(living, length, n), np.float64)
            self._totals = Totals(of, alive, rows, terms, np.log1p(self.length, dtype=np.float32))
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
        counts = np.concatenate([np.zeros(0, np.uint8), *(s.counts for s in self._segments)])
        kept = rows >= 0
        used, numbers = np.unique(ids[kept], return_inverse=True)
        found = _segment(numbers.astype(np.int32), rows[kept], counts[kept])
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

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector (of any row without a vector: 0).

        The vector is rounded to eight bits, too: sums of whole numbers do not depend on the order of adding, nor on
        where a row stands.
        """
        out = np.zeros(len(self), np.float32)
        peak = float(np.abs(vector).max(initial=0.0))
        if vector.size == self.dimension and peak > 0:
            step = peak / 127
            rounded = np.rint(vector / step).astype(np.int8)[None]
            for at in range(0, len(out), _BLOCK):
                out[at : at + _BLOCK] = np.asarray(cdist(rounded, self._vectors[at : at + _BLOCK], metric="dot"))[0]
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
        self.terms = Vocabulary()
        self.paths: list[str] = []
        self.path_lengths = array("i")
        self.path_terms: dict[str, list[int]] = {}  # term → a file's number for each time that its name holds it
        self._numbers: dict[str, int] = {}  # of paths
        self.file = np.full(0, -1, np.int32)
        self.at = np.zeros(0, np.int32)
        self.more: dict[int, tuple[tuple[int, int], ...]] = {}  # row → other places of its text: (file, index)
        self.has = np.zeros(0, np.uint8)
        self.length = np.zeros(0, np.int32)
        self.scale = np.zeros(0, np.float32)
        self.vectors = np.zeros((0, 0), np.int8)
        self.segments: tuple[_Segment, ...] = ()
        self.tail_ids, self.tail_rows, self.tail_counts = array("i"), array("i"), array("B")
        self.settled = False  # whether there may be bare rows
        self.alive = 0
        self.total = 0  # terms in the living rows

    def view(self) -> View:
        """The rows as they are now."""
        with self._lock:
            if self._view is None:
                self._view = View(self)
            return self._view

    def made(self, key: bytes) -> bool:
        """Whether a text has its terms and its vector (an empty one where there is no model); any thread."""
        row = self.rows.get(key)
        return row is not None and int(self.has[row]) & (_TERMS | _VECTOR) == _TERMS | _VECTOR

    def vectored(self, key: bytes) -> bool:
        """Whether a text has its terms and a real vector; any thread."""
        row = self.rows.get(key)
        return row is not None and int(self.has[row]) & (_TERMS | _VECTOR | _BARE) == _TERMS | _VECTOR

    def bare(self) -> tuple[int, set[str]]:
        """(texts that stand somewhere and lack a vector, the files in which they stand); any thread."""
        if not self.settled:
            return 0, set()
        with self._lock:
            n = len(self.keys)
            rows = np.flatnonzero((self.file[:n] >= 0) & (self.has[:n] & _BARE > 0))
            return len(rows), {self.paths[file] for row in rows.tolist() for file, _ in self._places(row)}

    def stored(self, key: bytes) -> bool:
        """Whether a text's row is in a store."""
        row = self.rows.get(key)
        return row is not None and bool(self.has[row] & _STORED)

    def unmade(self) -> set[str]:
        """Files in which texts stand that lack their terms or their vector; any thread."""
        with self._lock:
            n = len(self.keys)
            rows = np.flatnonzero((self.file[:n] >= 0) & (self.has[:n] & (_TERMS | _VECTOR) != _TERMS | _VECTOR))
            return {self.paths[file] for row in rows.tolist() for file, _ in self._places(row)}

    def count(self, files: Collection[str]) -> tuple[int, int]:
        """(texts, those with a vector) that stand in these files; any thread."""
        with self._lock:
            n = len(self.keys)
            wanted = np.array([path in files for path in self.paths] or [False], bool)
            mine = (self.file[:n] >= 0) & wanted[self.file[:n]]
            for row, places in self.more.items():
                mine[row] = mine[row] or any(wanted[file] for file, _ in places)
            return int(np.count_nonzero(mine)), int(
                np.count_nonzero(mine & (self.has[:n] & (_VECTOR | _BARE) == _VECTOR))
            )

    def fill(self, rows: Rows, stored: bool = False) -> None:
        """Give rows what has been made for them, as far as they lack it; rows that are not there come dead.

        Without vectors in `rows` only the terms are filled in.
        """
        if not rows.keys:
            return
        with self._lock:
            at = np.array([self._row(key) for key in rows.keys], np.int64)
            has = self.has[at]
            lack = has & _TERMS == 0
            if lack.any():
                self._post(rows, at, lack)
            if rows.vectors:
                self._put(at, rows.matrix, has & (_VECTOR | _BARE) != _VECTOR)
                self.has[at] &= 255 - _BARE
            self.has[at] |= _TERMS | (_VECTOR if rows.vectors else 0) | (_STORED if stored else 0)
            self._view = None

    def adopt(self, part: Part) -> None:
        """Take in stored rows as an image has them, as far as they are not there yet."""
        if not part.keys:
            return
        with self._lock:
            at = np.array([self._row(key) for key in part.keys], np.int64)
            has = self.has[at]
            if part.vectors.shape[1] != self.vectors.shape[1]:
                self._grow(len(self.file), part.vectors.shape[1])
            lack = has & (_VECTOR | _BARE) != _VECTOR
            self.vectors[at[lack]], self.scale[at[lack]] = part.vectors[lack], part.scale[lack]
            self.has[at] &= 255 - _BARE
            lack = has & _TERMS == 0
            self.length[at[lack]] = part.length[lack]
            self.total += int(self.length[at[lack & (self.file[at] >= 0)]].sum())
            numbers = self.terms.learn(part.words)
            ids, chosen = numbers[np.repeat(part.ids, np.diff(part.start))], lack[part.rows]
            self._add_segment(_segment(ids[chosen], at[part.rows[chosen]].astype(np.int32), part.counts[chosen]))
            self.has[at] |= _TERMS | _VECTOR | _STORED
            self._view = None

    def settle(self, keys: Iterable[bytes]) -> None:
        """Note that these texts get no vector: there is no model just now."""
        found = [row for row in self._known(keys) if not self.has[row] & _VECTOR]
        self.has[found] |= _VECTOR | _BARE
        self.settled |= bool(found)

    def forget(self, keys: Iterable[bytes]) -> None:
        """Have rows made again when their texts come back: no store has them."""
        self.has[self._known(keys)] &= 255 - _VECTOR - _STORED - _BARE

    def mark_stored(self, keys: Iterable[bytes]) -> None:
        """Note that rows are in a store."""
        self.has[self._known(keys)] |= _STORED

    def _known(self, keys: Iterable[bytes]) -> list[int]:
        return [row for key in keys if (row := self.rows.get(key)) is not None]

    def living(self, key: bytes) -> bool:
        """Whether a text stands in some file."""
        row = self.rows.get(key)
        return row is not None and bool(self.file[row] >= 0)

    def move(self, files: Iterable[Moved]) -> None:
        """Say where the texts of files stand now."""
        with self._lock:
            for path, name, before, after in files:
                number = self._file(path, name)
                for key in set(before).difference(after):
                    self._leave(number, key)
                standing: dict[bytes, list[int]] = {}
                for at, key in enumerate(after):
                    standing.setdefault(key, []).append(at)
                for key, places in standing.items():
                    self._stand(number, key, places)
            self._view = None

    def keep(self, needed: Collection[bytes], slack: int = SLACK) -> None:
        """Drop rows that are dead, in no store and not in `needed`, once there are more than `slack` of them."""
        n = len(self.keys)
        kept = (self.file[:n] >= 0) | (self.has[:n] & _STORED > 0)
        if n - int(np.count_nonzero(kept)) <= slack:
            return
        kept[[self.rows[key] for key in needed]] = True
        if len(kept) - int(kept.sum()) <= slack:
            return
        with self._lock:
            n = len(kept)
            place = np.cumsum(kept, dtype=np.int32) - 1
            ids, rows, counts = self._postings()
            left = kept[rows]
            self.keys = [key for key, k in zip(self.keys, kept, strict=True) if k]
            self.rows = {key: i for i, key in enumerate(self.keys)}
            for name in ("file", "at", "has", "length", "scale", "vectors"):
                setattr(self, name, getattr(self, name)[:n][kept])
            self.more = {int(place[row]): others for row, others in self.more.items() if kept[row]}
            self.segments = (_segment(ids[left], place[rows[left]], counts[left]),)
            self._clear_tail()
            self._view = None

    # ------------------------------------------------------------ parts

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

    def _row(self, key: bytes) -> int:
        """The row of a key; a new one has nothing yet, not even a place."""
        row = self.rows.get(key)
        if row is None:
            row = len(self.keys)
            if row >= len(self.file):
                self._grow(max(256, row * 3 // 2), self.vectors.shape[1])
            self.file[row], self.has[row], self.scale[row], self.length[row] = -1, 0, 0, 0
            self.keys.append(key)
            self.rows[key] = row
        return row

    def _grow(self, size: int, width: int) -> None:
        """Make room.  Readers keep the arrays that they have: growing makes new ones."""
        more = size - len(self.file)
        self.file = np.append(self.file, np.full(more, -1, np.int32))
        for name in ("at", "has", "length", "scale"):
            old = getattr(self, name)
            setattr(self, name, np.append(old, np.zeros(more, old.dtype)))
        held, self.vectors = self.vectors, np.zeros((size, width), np.int8)
        if held.shape[1] == width:
            self.vectors[: len(held)] = held

    def _put(self, at: NDArray[np.int64], vectors: NDArray[np.float16], lack: NDArray[np.bool_]) -> None:
        """Put vectors where there are none."""
        if vectors.shape[1] != self.vectors.shape[1]:
            self._grow(len(self.file), vectors.shape[1])
        rows, wide = at[lack], vectors[lack].astype(np.float32)
        wide[~np.isfinite(wide)] = 0
        scale = np.abs(wide).max(axis=1, initial=0) / 127
        self.vectors[rows] = np.rint(wide / np.maximum(scale, 1e-12)[:, None])
        self.scale[rows] = scale  # last: until then a reader takes the vector for zero

    def _post(self, rows: Rows, at: NDArray[np.int64], lack: NDArray[np.bool_]) -> None:
        """Take in the terms of those rows that have none."""
        numbers = self.terms.learn(rows.words).astype(np.int64)
        counts = np.diff(rows.starts)
        self.length[at[lack]] = counts[lack]
        living = at[lack & (self.file[at] >= 0)]
        self.total += int(self.length[living].sum())
        chosen = np.repeat(lack, counts)
        term, of = rows.terms[chosen], np.repeat(at, counts)[chosen]
        pairs = np.sort(numbers[term] << 32 | of) if len(term) else np.zeros(0, np.int64)
        begins = np.flatnonzero(np.diff(pairs, prepend=-1))
        often = np.minimum(np.diff(begins, append=len(pairs)), 255).astype(np.uint8)
        ids, places = (pairs[begins] >> 32).astype(np.int32), (pairs[begins] & 0xFFFFFFFF).astype(np.int32)
        if len(ids) > TAIL:
            self._add_segment(_segment(ids, places, often))
            return
        self.tail_ids.frombytes(ids.tobytes())
        self.tail_rows.frombytes(places.tobytes())
        self.tail_counts.frombytes(often.tobytes())
        if len(self.tail_ids) > TAIL:
            self._freeze()

    def _stand(self, file: int, key: bytes, at: Sequence[int]) -> None:
        """A text stands in a file, at these chunks of it."""
        row = self._row(key)
        known = self.file[row]
        if known < 0:
            self.alive += 1
            self.total += int(self.length[row])
        if len(at) == 1 and (known < 0 or (known == file and row not in self.more)):
            self.file[row], self.at[row] = file, at[0]
        else:
            self._arrange(row, [(f, a) for f, a in self._places(row) if f != file] + [(file, a) for a in at])

    def _leave(self, file: int, key: bytes) -> None:
        """A text stands no longer in a file."""
        row = self.rows.get(key)
        if row is None:
            return
        left = [(f, a) for f, a in self._places(row) if f != file]
        if left:
            self._arrange(row, left)
        elif self.file[row] >= 0:
            self.more.pop(row, None)
            self.file[row] = -1
            self.alive -= 1
            self.total -= int(self.length[row])

    def _places(self, row: int) -> list[tuple[int, int]]:
        first = [(int(self.file[row]), int(self.at[row]))] if self.file[row] >= 0 else []
        return [*first, *self.more.get(row, ())]

    def _arrange(self, row: int, places: list[tuple[int, int]]) -> None:
        """Set the places of a living text; which comes first does not depend on what happened before."""
        places.sort(key=lambda place: (self.paths[place[0]], place[1]))
        self.file[row], self.at[row] = places[0]
        if len(places) > 1:
            self.more[row] = tuple(places[1:])
        else:
            self.more.pop(row, None)

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

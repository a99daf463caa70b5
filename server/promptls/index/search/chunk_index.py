"""What a search scans: every chunk text as a row of arrays, its places, its vector and the inverted lists of its terms.

A row comes with the first outline that has its text, gets terms and a vector when a worker has made them, and is
alive while its text stands in some file.  `Columns` has one mutable owner, the publisher on the indexer's thread;
everybody else takes a `View`.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from promptls.index.search import vectors as near
from promptls.index.search.analyzer import terms as terms_of
from promptls.index.search.reader import Segment, IndexReader, segment
from promptls.index.search.row_batch import Rows
from promptls.index.search.term_dictionary import Vocabulary
from promptls.index.store.checkpoint import Part

TAIL = 20_000
"""Postings that may lie unsorted; a view sorts them, in a millisecond."""
SLACK = 5_000
"""Rows that nobody needs any more and that may stay: dropping them copies all others."""
_TERMS, _VECTOR, _STORED, _BARE = 1, 2, 4, 8
"""What a row has: bits of `Columns.has`.  A bare row counts as having its vector: there was no model to make one."""

Moved = tuple[str, str, Sequence[bytes], Sequence[bytes]]
"""A file whose texts have changed: (path, name in its root, keys of its chunks before, and now)."""


class Columns:
    """The owner.  Writing is for one thread; `view` for any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._view: IndexReader | None = None
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
        self._held = self.rows, self.has  # the two as they belong together, for those who do not wait for the lock
        self.length = np.zeros(0, np.int32)
        self.scale = np.zeros(0, np.float32)
        self.vectors = np.zeros((0, 0), np.int8)
        self.signs = np.zeros((0, 0), np.uint8)  # of the vectors, once there are so many that not all are compared
        self.segments: tuple[Segment, ...] = ()
        self.tail_ids, self.tail_rows, self.tail_counts = array("i"), array("i"), array("B")
        self.settled = False  # whether there may be bare rows
        self.alive = 0
        self.total = 0  # terms in the living rows

    def view(self) -> IndexReader:
        """The rows as they are now."""
        with self._lock:
            if self._view is None:
                self._view = IndexReader(self)
            return self._view

    def made(self, key: bytes) -> bool:
        """Whether a text has its terms and its vector (an empty one where there is no model); any thread."""
        return self._has(key) & (_TERMS | _VECTOR) == _TERMS | _VECTOR

    def vectored(self, key: bytes) -> bool:
        """Whether a text has its terms and a real vector; any thread."""
        return self._has(key) & (_TERMS | _VECTOR | _BARE) == _TERMS | _VECTOR

    def _has(self, key: bytes) -> int:
        rows, has = self._held
        row = rows.get(key)
        return 0 if row is None or row >= len(has) else int(has[row])  # of a new key the arrays may not know yet

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

    def count(self, files: Collection[str] | None = None) -> tuple[int, int]:
        """(texts, those with a vector) that stand in these files, or in any; any thread."""
        with self._lock:
            n = len(self.keys)
            mine = self.file[:n] >= 0
            if files is not None:
                wanted = np.array([path in files for path in self.paths] or [False], bool)
                mine &= wanted[self.file[:n]]
                for row, places in self.more.items():
                    mine[row] = mine[row] or any(wanted[file] for file, _ in places)
            made = mine & (self.has[:n] & (_VECTOR | _BARE) == _VECTOR)
            return int(np.count_nonzero(mine)), int(np.count_nonzero(made))

    def fill(self, rows: Rows, stored: bool = False) -> None:
        """Give rows what has been made for them, as far as they lack it; rows that are not there come dead.

        Without vectors in `rows` only the terms are filled in.
        """
        if not rows.keys:
            return
        with self._lock:
            at = self._rows(rows.keys)
            has = self.has[at]
            lack = has & _TERMS == 0
            if lack.any():
                self._post(rows, at, lack)
            if rows.vectors:
                self._put(at, rows.matrix, rows.scale, has & (_VECTOR | _BARE) != _VECTOR)
                self.has[at] &= 255 - _BARE
            self.has[at] |= _TERMS | (_VECTOR if rows.vectors else 0) | (_STORED if stored else 0)
            self._view = None

    def adopt(self, part: Part) -> None:
        """Take in stored rows as an image has them, as far as they are not there yet."""
        if not part.keys:
            return
        with self._lock:
            at = self._rows(part.keys)
            has = self.has[at]
            self._put(at, part.vectors, part.scale, has & (_VECTOR | _BARE) != _VECTOR)
            self.has[at] &= 255 - _BARE
            lack = has & _TERMS == 0
            self.length[at[lack]] = part.length[lack]
            self.total += int(self.length[at[lack & (self.file[at] >= 0)]].sum())
            numbers = self.terms.learn(part.words)
            ids, chosen = numbers[np.repeat(part.ids, np.diff(part.start))], lack[part.rows]
            self._add_segment(segment(ids[chosen], at[part.rows[chosen]].astype(np.int32), part.counts[chosen]))
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
            begun: dict[int, tuple[int, int]] = {}  # row → (file, chunk) of texts that stood nowhere
            for path, name, before, after in files:
                number = self._file(path, name)
                if before:
                    self._begin(begun)
                    for key in set(before).difference(after):
                        self._leave(number, key)
                standing: dict[bytes, list[int]] = {}
                for at, key in enumerate(after):
                    standing.setdefault(key, []).append(at)
                for key in _unmoved(before, after, standing):
                    del standing[key]
                rows = self._rows(standing).tolist()
                for row, places in zip(rows, standing.values(), strict=True):
                    if len(places) == 1 and row not in begun and self.file[row] < 0:
                        begun[row] = number, places[0]
                    else:
                        self._begin(begun)
                        self._stand(number, row, places)
            self._begin(begun)
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
            self.signs = near.signs_of(self.vectors) if len(self.vectors) > near.EXACT else self.signs[:0]
            self._held = self.rows, self.has
            self.more = {int(place[row]): others for row, others in self.more.items() if kept[row]}
            self.segments = (segment(ids[left], place[rows[left]], counts[left]),)
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

    def _rows(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        """The rows of keys; new ones have nothing yet, not even a place."""
        known, held = self.rows, self.keys
        first = len(held)
        found: list[int] = []
        for key in keys:
            row = known.get(key)
            if row is None:
                row = known[key] = len(held)
                held.append(key)
            found.append(row)
        if len(held) > first:
            if len(held) > len(self.file):
                self._grow(max(256, len(held) * 3 // 2), self.vectors.shape[1])
            self.file[first : len(held)] = -1
            for blank in (self.has, self.scale, self.length):
                blank[first : len(held)] = 0
        return np.array(found, np.int64)

    def _begin(self, begun: dict[int, tuple[int, int]]) -> None:
        """Give texts that stood nowhere their one place, and clear the list of them."""
        if begun:
            rows, places = list(begun), np.array(list(begun.values()), np.int32)
            self.file[rows], self.at[rows] = places[:, 0], places[:, 1]
            self.alive += len(rows)
            self.total += int(self.length[rows].sum())
            begun.clear()

    def _grow(self, size: int, width: int) -> None:
        """Make room.  Readers keep the arrays that they have: growing makes new ones."""
        more = size - len(self.file)
        self.file = np.append(self.file, np.full(more, -1, np.int32))
        for name in ("at", "has", "length", "scale"):
            old = getattr(self, name)
            setattr(self, name, np.append(old, np.zeros(more, old.dtype)))
        self._held = self.rows, self.has
        held, self.vectors = self.vectors, np.zeros((size, width), np.int8)
        if held.shape[1] == width:
            self.vectors[: len(held)] = held
        if size > near.EXACT:
            self.signs = near.signs_of(self.vectors)

    def _put(
        self, at: NDArray[np.int64], vectors: NDArray[np.int8], scale: NDArray[np.float32], lack: NDArray[np.bool_]
    ) -> None:
        """Put vectors where there are none."""
        if vectors.shape[1] != self.vectors.shape[1]:
            self._grow(len(self.file), vectors.shape[1])
        rows = at[lack]
        self.vectors[rows] = vectors[lack]
        if len(self.signs):
            self.signs[rows] = near.signs_of(vectors[lack])
        self.scale[rows] = scale[lack]  # last: until then a reader takes the vector for zero

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
            self._add_segment(segment(ids, places, often))
            return
        self.tail_ids.frombytes(ids.tobytes())
        self.tail_rows.frombytes(places.tobytes())
        self.tail_counts.frombytes(often.tobytes())
        if len(self.tail_ids) > TAIL:
            self._freeze()

    def _stand(self, file: int, row: int, at: Sequence[int]) -> None:
        """A text stands in a file, at these chunks of it."""
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

    def tail(self) -> Segment:
        """The postings that are in no segment yet, as one."""
        ids, rows = np.array(self.tail_ids, np.int32), np.array(self.tail_rows, np.int32)
        return segment(ids, rows, np.array(self.tail_counts, np.uint8))

    def _clear_tail(self) -> None:
        self.tail_ids, self.tail_rows, self.tail_counts = array("i"), array("i"), array("B")

    def _add_segment(self, new: Segment) -> None:
        """Append a segment; two neighbours become one until each is at least twice as large as the next."""
        stack = [*self.segments, new]
        while len(stack) > 1 and len(stack[-2].rows) < 2 * len(stack[-1].rows):
            b, a = stack.pop(), stack.pop()
            stack.append(
                segment(
                    np.concatenate([a.spread(), b.spread()]),
                    np.concatenate([a.rows, b.rows]),
                    np.concatenate([a.counts, b.counts]),
                )
            )
        self.segments = tuple(stack)


def _unmoved(before: Sequence[bytes], after: Sequence[bytes], standing: Mapping[bytes, Sequence[int]]) -> list[bytes]:
    """The keys that stand once in a file, where they stood once before."""
    alone = Counter(before)
    return [a for b, a in zip(before, after, strict=False) if a == b and alone[a] == 1 and len(standing[a]) == 1]

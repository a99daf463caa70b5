"""Chunk index: one row per chunk text, with its locations, its vector and the posting lists of its terms.

A row is added with the first outline that contains its text, and gets terms and a vector when a worker has computed
them. A row is live while its text occurs in a file. The publisher owns the index and writes to it on the indexer's
thread. Everything else uses an `IndexReader`.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from promptls.index.search.analyzer import tokenize
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import PostingLists, RowBatch, Segment, build_posting_lists
from promptls.index.search.term_dictionary import TermDictionary

MAX_BUFFERED = 20_000
"""Postings in the write buffer; the next reader after a change sorts them, which takes a millisecond."""


class Postings:
    """The postings (term, row, count) of all rows."""

    def __init__(self) -> None:
        self._lists: tuple[PostingLists, ...] = ()
        self._sorted: PostingLists | None = None  # the buffer as posting lists, None if they are not made yet
        self._clear_buffer()

    def lists(self) -> tuple[PostingLists, ...]:
        """Return all postings as posting lists."""
        if self._sorted is None and self._ids:
            self._sorted = self._buffered()
        return (*self._lists, self._sorted) if self._sorted is not None else self._lists

    def add(self, ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8]) -> None:
        """Add postings of new rows."""
        if len(ids) > MAX_BUFFERED:
            self.add_lists(build_posting_lists(ids, rows, counts))
            return
        self._sorted = None
        self._ids.frombytes(ids.tobytes())
        self._rows.frombytes(rows.tobytes())
        self._counts.frombytes(counts.tobytes())
        if len(self._ids) > MAX_BUFFERED:
            self.add_lists(self._buffered())
            self._clear_buffer()

    def add_lists(self, new: PostingLists) -> None:
        """Append posting lists; neighbors are merged until each is at least twice as large as the next."""
        stack = [*self._lists, new]
        while len(stack) > 1 and len(stack[-2].rows) < 2 * len(stack[-1].rows):
            b, a = stack.pop(), stack.pop()
            stack.append(build_posting_lists(*_concatenated((a, b))))
        self._lists = tuple(stack)

    def renumber(self, kept: NDArray[np.bool_], new_row: NDArray[np.int32]) -> None:
        """Drop the postings of rows that are not kept, and give the others their new row numbers."""
        ids, rows, counts = _concatenated((*self._lists, self._buffered()))
        mask = kept[rows]
        self._lists = (build_posting_lists(ids[mask], new_row[rows[mask]], counts[mask]),)
        self._clear_buffer()

    def _buffered(self) -> PostingLists:
        ids, rows = np.array(self._ids, np.int32), np.array(self._rows, np.int32)
        return build_posting_lists(ids, rows, np.array(self._counts, np.uint8))

    def _clear_buffer(self) -> None:
        self._ids, self._rows, self._counts = array("i"), array("i"), array("B")
        self._sorted = None


def _concatenated(
    lists: tuple[PostingLists, ...],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return (term ids, rows, counts) of posting lists."""
    return (
        np.concatenate([p.posting_ids() for p in lists]),
        np.concatenate([p.rows for p in lists]),
        np.concatenate([p.counts for p in lists]),
    )


MAX_DEAD_ROWS = 5_000
"""Unneeded dead rows that are kept; removing them copies all other rows."""
_HAS_TERMS, _HAS_VECTOR, _IN_STORE, _UNEMBEDDABLE = 1, 2, 4, 8
"""Bits of `ChunkIndex.flags`. An unembeddable row has `_HAS_VECTOR` set as well: there was no model for it."""

FileUpdate = tuple[str, str, Sequence[bytes], Sequence[bytes]]
"""A file with changed chunks: (path, name in its root, chunk keys before, chunk keys now)."""


class ChunkIndex:
    """The rows of all chunks. One thread writes; `reader` and methods marked as thread-safe may be called by any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reader: IndexReader | None = None
        self.rows: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.terms = TermDictionary()
        self.paths: list[str] = []  # by file id
        self.path_lengths = array("i")
        self.path_postings = Postings()  # of the terms of paths, by file id
        self._file_id_by_path: dict[str, int] = {}
        self.file_ids = np.full(0, -1, np.int32)
        self.chunk_indexes = np.zeros(0, np.int32)
        self.extra_locations: dict[int, tuple[tuple[int, int], ...]] = {}  # row → other (file id, chunk index)
        self.flags = np.zeros(0, np.uint8)
        self._rows_and_flags = self.rows, self.flags  # a consistent pair, read without the lock
        self.lengths = np.zeros(0, np.int32)
        self.scales = np.zeros(0, np.float32)
        self.vectors = np.zeros((0, 0), np.int8)
        self.postings = Postings()
        self.has_unembeddable = False  # whether there may be unembeddable rows
        self.live_count = 0
        self.live_terms = 0  # terms in the live rows

    def reader(self) -> IndexReader:
        """Return a reader of the current rows. Thread-safe."""
        with self._lock:
            if self._reader is None:
                self._reader = IndexReader(self)
            return self._reader

    def is_complete(self, key: bytes) -> bool:
        """Return whether a chunk has its terms, and a vector or none for lack of a model. Thread-safe."""
        return self._flags_of(key) & (_HAS_TERMS | _HAS_VECTOR) == _HAS_TERMS | _HAS_VECTOR

    def has_vector(self, key: bytes) -> bool:
        """Return whether a chunk has its terms and a vector. Thread-safe."""
        return self._flags_of(key) & (_HAS_TERMS | _HAS_VECTOR | _UNEMBEDDABLE) == _HAS_TERMS | _HAS_VECTOR

    def _flags_of(self, key: bytes) -> int:
        rows, flags = self._rows_and_flags
        row = rows.get(key)
        return 0 if row is None or row >= len(flags) else int(flags[row])  # the arrays may lag behind new keys

    def without_vector(self) -> tuple[int, set[str]]:
        """Return (number of live chunks marked as unembeddable, paths of their files). Thread-safe."""
        if not self.has_unembeddable:
            return 0, set()
        with self._lock:
            n = len(self.keys)
            rows = np.flatnonzero((self.file_ids[:n] >= 0) & (self.flags[:n] & _UNEMBEDDABLE > 0))
            return len(rows), self._paths_of(rows)

    def is_stored(self, key: bytes) -> bool:
        """Return whether the row of a chunk is in a store."""
        row = self.rows.get(key)
        return row is not None and bool(self.flags[row] & _IN_STORE)

    def incomplete_files(self) -> set[str]:
        """Return the paths of files with chunks that lack terms or a vector. Thread-safe."""
        with self._lock:
            n = len(self.keys)
            is_incomplete = self.flags[:n] & (_HAS_TERMS | _HAS_VECTOR) != _HAS_TERMS | _HAS_VECTOR
            return self._paths_of(np.flatnonzero((self.file_ids[:n] >= 0) & is_incomplete))

    def _paths_of(self, rows: NDArray[np.int64]) -> set[str]:
        return {self.paths[file_id] for row in rows.tolist() for file_id, _ in self._locations(row)}

    def count_chunks(self, files: Collection[str] | None = None) -> tuple[int, int]:
        """Return (live chunks, live chunks with a vector) of these files, or of all. Thread-safe."""
        with self._lock:
            n = len(self.keys)
            selected = self.file_ids[:n] >= 0
            if files is not None:
                is_wanted = np.array([path in files for path in self.paths] or [False], bool)
                selected &= is_wanted[self.file_ids[:n]]
                for row, locations in self.extra_locations.items():
                    selected[row] = selected[row] or any(is_wanted[file_id] for file_id, _ in locations)
            embedded = selected & (self.flags[:n] & (_HAS_VECTOR | _UNEMBEDDABLE) == _HAS_VECTOR)
            return int(np.count_nonzero(selected)), int(np.count_nonzero(embedded))

    def set_rows(self, rows: RowBatch, stored: bool = False) -> None:
        """Fill in missing terms and vectors of rows; unknown keys become dead rows.

        Args:
            rows: Rows; without vectors, only terms are filled in.
            stored: Whether the rows are in a store.
        """
        if not rows.keys:
            return
        with self._lock:
            at = self._ensure_rows(rows.keys)
            flags = self.flags[at]
            missing = flags & _HAS_TERMS == 0
            if missing.any():
                self._add_terms(rows, at, missing)
            if rows.vectors:
                self._set_vectors(at, rows.steps, rows.scales, flags & (_HAS_VECTOR | _UNEMBEDDABLE) != _HAS_VECTOR)
                self.flags[at] &= 255 - _UNEMBEDDABLE
            self.flags[at] |= _HAS_TERMS | (_HAS_VECTOR if rows.vectors else 0) | (_IN_STORE if stored else 0)
            self._reader = None

    def load_segment(self, segment: Segment) -> None:
        """Fill in missing terms and vectors of stored rows from a checkpoint."""
        if not segment.keys:
            return
        with self._lock:
            at = self._ensure_rows(segment.keys)
            flags = self.flags[at]
            is_without_vector = flags & (_HAS_VECTOR | _UNEMBEDDABLE) != _HAS_VECTOR
            self._set_vectors(at, segment.vectors, segment.scales, is_without_vector)
            self.flags[at] &= 255 - _UNEMBEDDABLE
            missing = flags & _HAS_TERMS == 0
            self.lengths[at[missing]] = segment.lengths[missing]
            self.live_terms += int(self.lengths[at[missing & (self.file_ids[at] >= 0)]].sum())
            term_ids = self.terms.intern(segment.terms)
            posting_ids = term_ids[np.repeat(segment.ids, np.diff(segment.offsets))]
            mask = missing[segment.rows]
            rows = at[segment.rows[mask]].astype(np.int32)
            self.postings.add_lists(build_posting_lists(posting_ids[mask], rows, segment.counts[mask]))
            self.flags[at] |= _HAS_TERMS | _HAS_VECTOR | _IN_STORE
            self._reader = None

    def mark_unembeddable(self, keys: Iterable[bytes]) -> None:
        """Mark chunks without a vector as unembeddable, for lack of a model."""
        rows = [row for row in self._known_rows(keys) if not self.flags[row] & _HAS_VECTOR]
        self.flags[rows] |= _HAS_VECTOR | _UNEMBEDDABLE
        self.has_unembeddable |= bool(rows)

    def invalidate(self, keys: Iterable[bytes]) -> None:
        """Mark rows as not stored and without a vector, so that they are computed again."""
        self.flags[self._known_rows(keys)] &= 255 - _HAS_VECTOR - _IN_STORE - _UNEMBEDDABLE

    def mark_stored(self, keys: Iterable[bytes]) -> None:
        """Mark rows as stored."""
        self.flags[self._known_rows(keys)] |= _IN_STORE

    def _known_rows(self, keys: Iterable[bytes]) -> list[int]:
        return [row for key in keys if (row := self.rows.get(key)) is not None]

    def is_live(self, key: bytes) -> bool:
        """Return whether a chunk occurs in a file."""
        row = self.rows.get(key)
        return row is not None and bool(self.file_ids[row] >= 0)

    def update_files(self, files: Collection[FileUpdate]) -> None:
        """Update the locations of chunks from files with changed chunks."""
        with self._lock:
            revived: dict[int, tuple[int, int]] = {}  # row → (file id, chunk index) of rows that were dead
            self._add_files([(path, name) for path, name, _, _ in files if path not in self._file_id_by_path])
            for path, _, before, after in files:
                file_id = self._file_id_by_path[path]
                if before:
                    self._revive(revived)
                    for key in set(before).difference(after):
                        self._remove_location(file_id, key)
                chunk_indexes: dict[bytes, list[int]] = {}
                for at, key in enumerate(after):
                    chunk_indexes.setdefault(key, []).append(at)
                for key in _unmoved(before, after, chunk_indexes):
                    del chunk_indexes[key]
                rows = self._ensure_rows(chunk_indexes).tolist()
                for row, places in zip(rows, chunk_indexes.values(), strict=True):
                    if len(places) == 1 and row not in revived and self.file_ids[row] < 0:
                        revived[row] = file_id, places[0]
                    else:
                        self._revive(revived)
                        self._set_file_locations(file_id, row, places)
            self._revive(revived)
            self._reader = None

    def drop_dead_rows(self, needed: Collection[bytes], slack: int = MAX_DEAD_ROWS) -> None:
        """Remove dead rows that are neither stored nor needed, if there are more than `slack`."""
        n = len(self.keys)
        kept = (self.file_ids[:n] >= 0) | (self.flags[:n] & _IN_STORE > 0)
        if n - int(np.count_nonzero(kept)) <= slack:
            return
        kept[[self.rows[key] for key in needed]] = True
        if len(kept) - int(kept.sum()) <= slack:
            return
        with self._lock:
            n = len(kept)
            new_row = np.cumsum(kept, dtype=np.int32) - 1
            self.keys = [key for key, k in zip(self.keys, kept, strict=True) if k]
            self.rows = {key: i for i, key in enumerate(self.keys)}
            for name in ("file_ids", "chunk_indexes", "flags", "lengths", "scales", "vectors"):
                setattr(self, name, getattr(self, name)[:n][kept])
            self._rows_and_flags = self.rows, self.flags
            self.extra_locations = {
                int(new_row[row]): others for row, others in self.extra_locations.items() if kept[row]
            }
            self.postings.renumber(kept, new_row)
            self._reader = None

    # ------------------------------------------------------------ rows

    def _add_files(self, files: Sequence[tuple[str, str]]) -> None:
        """Assign ids to new files, given as (path, name in its root)."""
        terms: list[str] = []
        file_ids: list[int] = []
        for path, name in files:
            file_id = self._file_id_by_path[path] = len(self.paths)
            self.paths.append(path)
            path_terms = tokenize(name)
            self.path_lengths.append(len(path_terms))
            terms += path_terms
            file_ids += [file_id] * len(path_terms)
        if terms:
            self.path_postings.add(*_count_pairs(self.terms.intern(terms), np.array(file_ids, np.int64)))

    def _ensure_rows(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        """Return the rows of keys; unknown keys get empty dead rows."""
        row_by_key, all_keys = self.rows, self.keys
        first = len(all_keys)
        rows: list[int] = []
        for key in keys:
            row = row_by_key.get(key)
            if row is None:
                row = row_by_key[key] = len(all_keys)
                all_keys.append(key)
            rows.append(row)
        if len(all_keys) > first:
            if len(all_keys) > len(self.file_ids):
                self._grow(max(256, len(all_keys) * 3 // 2), self.vectors.shape[1])
            self.file_ids[first : len(all_keys)] = -1
            for column in (self.flags, self.scales, self.lengths):
                column[first : len(all_keys)] = 0
        return np.array(rows, np.int64)

    def _revive(self, revived: dict[int, tuple[int, int]]) -> None:
        """Set the only location of dead rows, and clear the dictionary."""
        if revived:
            rows, locations = list(revived), np.array(list(revived.values()), np.int32)
            self.file_ids[rows], self.chunk_indexes[rows] = locations[:, 0], locations[:, 1]
            self.live_count += len(rows)
            self.live_terms += int(self.lengths[rows].sum())
            revived.clear()

    def _grow(self, capacity: int, dimension: int) -> None:
        """Replace the arrays by larger ones; readers keep theirs."""
        added = capacity - len(self.file_ids)
        self.file_ids = np.append(self.file_ids, np.full(added, -1, np.int32))
        for name in ("chunk_indexes", "flags", "lengths", "scales"):
            old = getattr(self, name)
            setattr(self, name, np.append(old, np.zeros(added, old.dtype)))
        self._rows_and_flags = self.rows, self.flags
        old_vectors, self.vectors = self.vectors, np.zeros((capacity, dimension), np.int8)
        if old_vectors.shape[1] == dimension:
            self.vectors[: len(old_vectors)] = old_vectors

    def _set_vectors(
        self, at: NDArray[np.int64], steps: NDArray[np.int8], scales: NDArray[np.float32], mask: NDArray[np.bool_]
    ) -> None:
        """Set the vectors of the rows in the mask."""
        if steps.shape[1] != self.vectors.shape[1]:
            self._grow(len(self.file_ids), steps.shape[1])
        rows = at[mask]
        self.vectors[rows] = steps[mask]
        self.scales[rows] = scales[mask]  # last: readers treat a vector with scale 0 as missing

    # ------------------------------------------------------------ locations

    def _set_file_locations(self, file_id: int, row: int, chunk_indexes: Sequence[int]) -> None:
        """Set the chunk indexes of a row in one file."""
        known = self.file_ids[row]
        if known < 0:
            self.live_count += 1
            self.live_terms += int(self.lengths[row])
        if len(chunk_indexes) == 1 and (known < 0 or (known == file_id and row not in self.extra_locations)):
            self.file_ids[row], self.chunk_indexes[row] = file_id, chunk_indexes[0]
        else:
            others = [(f, at) for f, at in self._locations(row) if f != file_id]
            self._set_locations(row, others + [(file_id, at) for at in chunk_indexes])

    def _remove_location(self, file_id: int, key: bytes) -> None:
        """Remove a chunk from a file."""
        row = self.rows.get(key)
        if row is None:
            return
        remaining = [(f, at) for f, at in self._locations(row) if f != file_id]
        if remaining:
            self._set_locations(row, remaining)
        elif self.file_ids[row] >= 0:
            self.extra_locations.pop(row, None)
            self.file_ids[row] = -1
            self.live_count -= 1
            self.live_terms -= int(self.lengths[row])

    def _locations(self, row: int) -> list[tuple[int, int]]:
        first = [(int(self.file_ids[row]), int(self.chunk_indexes[row]))] if self.file_ids[row] >= 0 else []
        return [*first, *self.extra_locations.get(row, ())]

    def _set_locations(self, row: int, locations: list[tuple[int, int]]) -> None:
        """Set the locations of a live row, sorted, so that the first one does not depend on the update history."""
        locations.sort(key=lambda location: (self.paths[location[0]], location[1]))
        self.file_ids[row], self.chunk_indexes[row] = locations[0]
        if len(locations) > 1:
            self.extra_locations[row] = tuple(locations[1:])
        else:
            self.extra_locations.pop(row, None)

    # ------------------------------------------------------------ postings

    def _add_terms(self, rows: RowBatch, at: NDArray[np.int64], mask: NDArray[np.bool_]) -> None:
        """Add the postings of the rows in the mask."""
        index_ids = self.terms.intern(rows.terms)
        term_counts = np.diff(rows.offset_array)
        self.lengths[at[mask]] = term_counts[mask]
        live = at[mask & (self.file_ids[at] >= 0)]
        self.live_terms += int(self.lengths[live].sum())
        selected = np.repeat(mask, term_counts)
        batch_ids, row_of_term = rows.term_array[selected], np.repeat(at, term_counts)[selected]
        if len(batch_ids):
            self.postings.add(*_count_pairs(index_ids[batch_ids], row_of_term))


def _count_pairs(
    ids: NDArray[np.int32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return the distinct pairs of term id and row, and the number of each, as postings."""
    pairs = np.sort(ids.astype(np.int64) << 32 | rows)
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.minimum(np.diff(starts, append=len(pairs)), 255).astype(np.uint8)
    return (pairs[starts] >> 32).astype(np.int32), (pairs[starts] & 0xFFFFFFFF).astype(np.int32), counts


def _unmoved(
    before: Sequence[bytes], after: Sequence[bytes], chunk_indexes: Mapping[bytes, Sequence[int]]
) -> list[bytes]:
    """Return the keys that occur once in a file, at the same index as before, where they occurred once."""
    counts = Counter(before)
    return [a for b, a in zip(before, after, strict=False) if a == b and counts[a] == 1 and len(chunk_indexes[a]) == 1]

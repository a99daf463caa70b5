"""Index reader: an immutable view of the chunk index at one moment, for vector search and keyword search.

The locations of rows are copied or read-only. Rows may still get their vectors, or move within their files, so results
must be validated against the snapshot. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search import vectors
from promptls.index.search.row_batch import PostingLists, Segment, build_posting_lists, compact_ids
from promptls.util.bm25 import inverse_document_frequency

if TYPE_CHECKING:
    from promptls.index.search.chunk_index import ChunkIndex

_NO_IDS, _NO_COUNTS, _NO_ROWS = np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int64)


class Postings(Struct, frozen=True):
    """The posting list of a term: rows (or file ids) and the term frequency in each."""

    rows: NDArray[np.int64]
    counts: NDArray[np.float32]


class FileStats(Struct, frozen=True):
    """Statistics of the live rows of each file, by file id.

    Most rows of a file are consecutive. Conversions between rows and files work on such runs of rows.
    """

    live: NDArray[np.bool_]  # by row
    all_live: bool
    run_starts: NDArray[np.int64]  # first row of each run
    run_lengths: NDArray[np.int64]
    run_files: NDArray[np.int32]  # file id of each run, -1 for dead rows
    row_counts: NDArray[np.int64]  # rows of each file
    term_counts: NDArray[np.float64]  # terms in the chunks of each file
    log_lengths: NDArray[np.float32]  # by row: ln(1 + terms)

    def sum_by_file(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the sum of values by row for each file."""
        return _sum_runs(values, self.run_starts, self.run_files, len(self.row_counts))

    def file_rows(self, file_id: int) -> NDArray[np.int64]:
        """Return the rows of a file."""
        runs = np.flatnonzero(self.run_files == file_id).tolist()
        starts, lengths = self.run_starts, self.run_lengths
        return np.concatenate([_NO_ROWS, *(np.arange(starts[run], starts[run] + lengths[run]) for run in runs)])

    def broadcast(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the value of each row's file; 0 for dead rows."""
        return np.repeat(np.append(values, np.float32(0))[self.run_files], self.run_lengths)


def _sum_runs(
    values: NDArray[np.generic], starts: NDArray[np.int64], file_ids: NDArray[np.int32], files: int
) -> NDArray[np.float64]:
    if not len(starts):
        return np.zeros(files)
    sums: NDArray[np.float64] = np.add.reduceat(values, starts, dtype=np.float64)
    return _sum_by_id(sums, file_ids, files)


def _sum_by_id(values: NDArray[np.generic], file_ids: NDArray[np.int32], files: int) -> NDArray[np.float64]:
    """Return the sum of values for each file id; values of file id -1 are ignored."""
    return np.asarray(np.bincount(file_ids + 1, values, files + 1)[1:], np.float64)


class IndexReader:
    """An immutable view of the chunk index. Create it with `ChunkIndex.reader`."""

    __slots__ = ("_all_live", "_chunk_indexes", "_document_frequencies", "_extra_locations", "_file_stats",
                 "_live", "_path_lists", "_path_postings", "_posting_lists", "_postings", "_row_by_key", "_scales",
                 "_size", "_terms", "_vectors", "file_ids", "keys", "lengths", "live_count", "mean_length", "path_lengths",
                 "paths")  # fmt: skip

    def __init__(self, index: ChunkIndex) -> None:
        size = self._size = len(index.keys)
        self.keys = index.keys  # may grow
        self.file_ids = index.file_ids[:size].copy()  # id of the first file with the chunk, -1 for a dead row
        self.lengths = index.lengths[:size]  # terms in the chunk
        self.live_count = index.live_count
        self.mean_length = max(1.0, index.live_terms / max(1, index.live_count))
        self.paths = index.paths  # by file id; may grow, and contains deleted files
        self.path_lengths = np.array(index.path_lengths, np.int32)
        self._path_lists = index.path_postings.lists()
        self._path_postings: dict[str, Postings] = {}
        self._chunk_indexes, self._extra_locations = index.chunk_indexes[:size], index.extra_locations
        self._row_by_key, self._terms = index.rows, index.terms
        self._vectors, self._scales = index.vectors[:size], index.scales[:size]
        self._posting_lists = index.postings.lists()
        self._live = self.file_ids >= 0
        self._all_live = bool(self._live.all())
        self._postings: dict[str, Postings] = {}
        self._document_frequencies: dict[str, int] = {}
        self._file_stats: FileStats | None = None

    def __len__(self) -> int:
        """Return the number of rows, dead ones included: the length of every array by row."""
        return self._size

    @property
    def dimension(self) -> int:
        """Dimension of the vectors; 0 without vectors."""
        return int(self._vectors.shape[1])

    @property
    def file_stats(self) -> FileStats:
        """Statistics of the rows of each file, computed on first use."""
        if self._file_stats is None:
            files = len(self.path_lengths)
            is_start = np.append(True, self.file_ids[1:] != self.file_ids[:-1])
            starts = np.flatnonzero(is_start) if len(self) else _NO_ROWS
            run_files, run_lengths = self.file_ids[starts], np.diff(starts, append=len(self))
            row_counts = _sum_by_id(run_lengths, run_files, files).astype(np.int64)
            term_counts = _sum_runs(self.lengths, starts, run_files, files)
            log_lengths = np.log1p(self.lengths, dtype=np.float32)
            self._file_stats = FileStats(
                self._live, self._all_live, starts, run_lengths, run_files, row_counts, term_counts, log_lengths
            )
        return self._file_stats

    def row_of(self, key: bytes) -> int:
        """Return the row of a chunk key, or -1."""
        row = self._row_by_key.get(key, -1)
        return row if row < self._size else -1

    def locations(self, row: int) -> list[tuple[str, int]]:
        """Return (path, chunk index) of all locations of a row, as of the last publish."""
        file_id = int(self.file_ids[row])
        if file_id < 0:
            return []
        extra = self._extra_locations.get(row, ())
        return [(self.paths[file_id], int(self._chunk_indexes[row])), *((self.paths[f], at) for f, at in extra)]

    def paths_with(self, terms: Sequence[str]) -> set[str]:
        """Return the files with a chunk that has all of the terms, such as those of one identifier."""
        rows = [set(self.postings(term).rows.tolist()) for term in terms]
        return {path for row in set.intersection(*rows) for path, _ in self.locations(row)} if rows else set()

    def single_locations(self, rows: NDArray[np.int64]) -> list[tuple[str, int] | None]:
        """Return the location of each row that has exactly one, else None."""
        paths, extra_locations = self.paths, self._extra_locations
        file_ids, chunk_indexes = self.file_ids[rows].tolist(), self._chunk_indexes[rows].tolist()
        return [
            (paths[file_id], at) if file_id >= 0 and row not in extra_locations else None
            for row, file_id, at in zip(rows.tolist(), file_ids, chunk_indexes, strict=True)
        ]

    def live_keys(self) -> set[bytes]:
        """Return the keys of the chunks that occur in a file."""
        return {self.keys[row] for row in np.flatnonzero(self._live).tolist()}

    def export_segment(self, keys: Iterable[bytes]) -> Segment:
        """Return the rows of some keys as a segment for a checkpoint."""
        selected = [(key, row) for key in keys if (row := self.row_of(key)) >= 0]
        rows = np.array([row for _, row in selected], np.int64)
        new_row = np.full(len(self), -1, np.int32)
        new_row[rows] = np.arange(len(rows), dtype=np.int32)
        lists = self._posting_lists
        posting_ids = np.concatenate([_NO_IDS, *(p.posting_ids() for p in lists)])
        posting_rows = new_row[np.concatenate([_NO_IDS, *(p.rows for p in lists)])]
        counts = np.concatenate([_NO_COUNTS, *(p.counts for p in lists)])
        mask = posting_rows >= 0
        used, term_ids = compact_ids(posting_ids[mask], len(self._terms))
        exported = build_posting_lists(term_ids, posting_rows[mask], counts[mask])
        terms = self._terms.terms() if len(used) else []
        return Segment(
            keys=tuple(key for key, _ in selected),
            vectors=self._vectors[rows],
            scales=self._scales[rows],
            lengths=self.lengths[rows],
            terms=tuple(terms[i] for i in used.tolist()),
            ids=exported.ids,
            offsets=exported.offsets,
            rows=exported.rows,
            counts=exported.counts,
        )

    def postings(self, term: str) -> Postings:
        """Return the posting list of a term over the live rows. Cached."""
        cached = self._postings.get(term)
        if cached is not None:
            return cached
        postings = self._collect(term, self._posting_lists)
        if not self._all_live:
            mask = self._live[postings.rows]
            postings = Postings(postings.rows[mask], postings.counts[mask])
        self._postings[term] = postings
        return postings

    def _collect(self, term: str, posting_lists: Iterable[PostingLists]) -> Postings:
        term_id = self._terms.term_id(term)
        row_parts, count_parts = [_NO_IDS], [_NO_COUNTS]
        for lists in posting_lists if term_id >= 0 else ():
            part = lists.slice_of(term_id)
            row_parts.append(lists.rows[part])
            count_parts.append(lists.counts[part])
        return Postings(np.concatenate(row_parts, dtype=np.int64), np.concatenate(count_parts, dtype=np.float32))

    def path_postings(self, term: str) -> Postings:
        """Return the posting list of a term over the paths, by file id, deleted files included. Cached."""
        cached = self._path_postings.get(term)
        if cached is None:
            cached = self._path_postings[term] = self._collect(term, self._path_lists)
        return cached

    def document_frequency(self, term: str) -> int:
        """Return the number of live rows with a term."""
        return int(self.document_frequencies([term])[0])

    def document_frequencies(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the document frequency of many terms. Cached."""
        if missing := [term for term in terms if term not in self._document_frequencies]:
            self._document_frequencies.update(zip(missing, self._count_live_rows(missing).tolist(), strict=True))
        return np.array([self._document_frequencies[term] for term in terms], np.int64)

    def _count_live_rows(self, terms: Sequence[str]) -> NDArray[np.int64]:
        term_ids = np.array([self._terms.term_id(term) for term in terms], np.int32)
        frequencies = np.zeros(len(terms), np.int64)
        for lists in self._posting_lists if len(term_ids) else ():
            at = np.minimum(lists.ids.searchsorted(term_ids), max(0, len(lists.ids) - 1))
            known = np.flatnonzero(lists.ids[at] == term_ids) if len(lists.ids) else _NO_IDS
            start, end = lists.offsets[at[known]], lists.offsets[at[known] + 1]
            if self._all_live:
                frequencies[known] += end - start
                continue
            ends = np.cumsum(end - start)
            places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(end - ends, end - start)
            live = np.append(0, np.cumsum(self._live[lists.rows[places]]))
            frequencies[known] += live[ends] - live[ends - (end - start)]
        return frequencies

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        return inverse_document_frequency(self.live_count, self.document_frequency(term))

    def start_similarity_search(self, vector: NDArray[np.float32]) -> vectors.PendingSimilarities:
        """Start to compute the similarity of all rows to a query vector, in other threads."""
        return vectors.start_similarity_search(vector, self._vectors, self._scales)

    def similarities(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the exact similarity of some rows to a query vector; 0 for dead rows."""
        similarities = vectors.exact_similarities(rows, vector, self._vectors, self._scales)
        return np.where(self._live[rows], similarities, 0)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the dequantized unit vectors of some rows: float32[len(rows), dimension]."""
        return self._vectors[rows].astype(np.float32) * self._scales[rows, None]

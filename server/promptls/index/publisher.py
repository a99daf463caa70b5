"""Publisher: the single owner of the published snapshot and of the chunk index that searches use.

`publish` is the only way to change them, and runs on the indexer's thread only.  Readers take `snapshot`, which is
replaced as a whole, and readers of the chunk index, which are never older than the snapshot.  Rows that are not in a
store yet are kept in `unstored`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from promptls.index.index_status import kind_of_reason
from promptls.index.search.chunk_index import ChunkIndex, FileUpdate
from promptls.index.search.row_batch import RowBatch, Segment
from promptls.index.snapshot import Snapshot, with_files
from promptls.model import FileEntry, count_symbols, decode_chunk_keys, drop_cached_outline

_NO_ROWS = RowBatch(())
MAX_DEAD_ROWS = 500
"""Number of unstored rows kept in addition to the live ones, in case removed chunks come back."""


class RootCounts(NamedTuple):
    """Counts of the files of a root."""

    files: int
    symbols: int
    skip_reasons: Mapping[str, int]  # number of files that are listed but not read, by kind of reason
    chunks: int  # distinct chunks
    vectors: int  # chunks with a vector


class Publisher:
    """Published state of the index, created and updated by the indexer."""

    __slots__ = ("_counts", "_live_rows", "chunk_index", "embedded_chunks", "snapshot", "unstored")

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.chunk_index = ChunkIndex()
        self.unstored: list[RowBatch] = []  # with vectors, not in a store yet
        self.embedded_chunks = 0  # rows created since the start
        self._counts: dict[str, tuple[int, int, Counter[str]]] = {}  # root → (files, symbols, skip reasons)
        self._live_rows = 0  # unstored rows that were live at the last cleanup

    def has_row(self, key: bytes) -> bool:
        """Return whether a chunk has a complete row.  Any thread."""
        return self.chunk_index.is_complete(key)

    def is_finished(self, key: bytes) -> bool:
        """Return whether a worker has nothing left to do for a chunk.  Any thread."""
        return self.chunk_index.has_vector(key)

    def publish(
        self, changes: Mapping[str, FileEntry | None], rows: RowBatch = _NO_ROWS, unembeddable: Iterable[bytes] = ()
    ) -> None:
        """Replace, add or remove (None) files, and add their rows; chunks in `unembeddable` get no vector."""
        files = self.snapshot.files
        key_changes: list[FileUpdate] = []
        replaced_outlines: list[bytes] = []
        for path, entry in changes.items():
            old = files.get(path)
            old_outline = old.encoded_outline if old is not None else b""
            new_outline = entry.encoded_outline if entry is not None else b""
            if old_outline != new_outline:
                file = entry or old
                assert file is not None
                chunk_keys = decode_chunk_keys(old_outline), decode_chunk_keys(new_outline)
                key_changes.append((path, file.name, *chunk_keys))
                if old_outline:
                    replaced_outlines.append(old_outline)
            for counted, sign in ((old, -1), (entry, 1)):
                if counted is not None:
                    self._count(counted, sign)
        self.chunk_index.update_files(key_changes)
        self.snapshot = with_files(self.snapshot, changes.items())
        for outline in replaced_outlines:
            drop_cached_outline(outline)
        self.chunk_index.set_rows(rows)
        self.chunk_index.mark_unembeddable(unembeddable)
        if rows.vectors:
            self.embedded_chunks += len(rows)
            self.unstored.append(replace(rows, keys=self.intern_keys(rows.keys)))  # the store keeps the keys
            if sum(map(len, self.unstored)) > 2 * self._live_rows + MAX_DEAD_ROWS:
                self.mark_stored(())  # typing creates a row per keystroke, and most are never written

    def root_counts(self, root: str) -> RootCounts:
        """Return the counts of the files of a root.  Any thread."""
        has_others = any(count[0] for other, count in list(self._counts.items()) if other != root)
        paths = {e.path for e in self.snapshot.files.values() if e.root == root} if has_others else None
        files, symbols, reasons = self._counts.get(root, (0, 0, Counter[str]()))
        return RootCounts(files, symbols, dict(+reasons), *self.chunk_index.count_chunks(paths))

    def _count(self, entry: FileEntry, sign: int) -> None:
        files, symbols, reasons = self._counts.get(entry.root, (0, 0, Counter[str]()))
        symbol_count = count_symbols(entry.encoded_outline) if entry.encoded_outline else 0
        if entry.skip_reason:
            reasons = reasons.copy()  # another thread may read the previous one
            reasons[kind_of_reason(entry.skip_reason)] += sign
        self._counts[entry.root] = files + sign, symbols + sign * symbol_count, reasons

    def load_rows(self, rows: RowBatch | Segment) -> None:
        """Add the rows of a store to the chunk index."""
        if isinstance(rows, Segment):
            self.chunk_index.load_segment(rows)
        else:
            self.chunk_index.set_rows(rows, stored=True)

    def intern_keys(self, keys: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the key objects of the chunk index that equal `keys`, so that each key is in memory once."""
        rows, index_keys = self.chunk_index.rows, self.chunk_index.keys
        return tuple(index_keys[rows[key]] for key in keys)

    def load_unstored(self, rows: RowBatch) -> None:
        """Add rows that an earlier server process created but did not store."""
        self.chunk_index.set_rows(rows)
        self.unstored.append(rows)

    def mark_stored(self, keys: Iterable[bytes]) -> None:
        """Record that rows are stored; drop unstored rows of chunks that no longer exist."""
        chunk_index = self.chunk_index
        chunk_index.mark_stored(keys)
        remaining: list[RowBatch] = []
        for batch in self.unstored:
            unstored = [key for key in batch.keys if not chunk_index.is_stored(key)]
            live = {key for key in unstored if chunk_index.is_live(key)}
            chunk_index.invalidate(key for key in unstored if key not in live)
            if live:
                remaining.append(batch.select(live))
        self.unstored = remaining
        self._live_rows = sum(map(len, remaining))
        chunk_index.drop_dead_rows([key for rows in remaining for key in rows.keys])

    def mark_lost(self, keys: Iterable[bytes]) -> None:
        """Record that rows are no longer in a store."""
        self.chunk_index.invalidate(keys)

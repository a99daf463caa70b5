"""Index writer: writes rows and manifest records in few large batches, on the storage executor.

Rows are written before records, so that a record never refers to missing rows. The checkpoint, a copy for the next
start, is written last. Content of unsaved text is not written. The indexer calls `flush` after every step; the writer
decides whether a write is due.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial

from msgspec import Struct, field

from promptls.index.publisher import Publisher
from promptls.index.scan.root_state import RootState
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import RowBatch
from promptls.index.snapshot import Snapshot
from promptls.index.store.lance_table import VERSION_RETENTION, short_error
from promptls.index.store.row_store import RowStore, StoreError
from promptls.index.workers.process_memory import release_free_memory
from promptls.model import FileEntry, decode_chunk_keys
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

MIN_FLUSH_ROWS, FLUSH_FRACTION, MAX_FLUSH_ROWS = 2_000, 16, 8_000
"""Rows that are collected before a write during a scan: one for 16 stored rows, between 2,000 and 8,000.

LanceDB prefers few large writes. Fragments of many small writes are soon merged, and are on disk twice until the old
ones may be removed.
"""

MIN_FLUSH_RECORDS = 1_000
"""Number of records that are written during a scan even if there are few rows."""
SMALL_BATCH_ROWS, SMALL_BATCH_DELAY_S = 200, 30.0
"""Fewer rows than this wait so many seconds after the previous write: each write starts a process."""

CLEANUP_DELAY_S = VERSION_RETENTION.total_seconds() + 30
"""Seconds from the last write to the removal of old versions."""

RowsByRoot = list[tuple[RootState, list[RowBatch]]]
RecordsByRoot = list[tuple[RootState, dict[str, FileEntry | None]]]


class WriteResult(Struct):
    """Result of one write, filled in step by step on the storage executor."""

    idle: bool  # whether nothing else was to be indexed
    has_rows: bool
    stored_keys: list[bytes] = field(default_factory=list)
    deleted_keys: list[bytes] = field(default_factory=list)
    # (root, topic, sentence for users or "")
    problems: list[tuple[RootState, str, str]] = field(default_factory=list)
    failed_records: RecordsByRoot = field(default_factory=list)
    # (store, new keys, table version before) for `RowStore.update_checkpoint`
    checkpoint_updates: list[tuple[RowStore, Sequence[bytes], bytes]] = field(default_factory=list)
    failed: bool = False


class IndexWriter:
    """Writes to the stores and manifests of all roots."""

    def __init__(
        self,
        storage: Executor,
        on_written: Callable[[WriteResult], None],
        on_damage: Callable[[RowStore, BaseException], None],
    ) -> None:
        """Create a writer.

        Args:
            storage: Runs the writes, one at a time.
            on_written: Called on its thread after each write; the indexer then calls `finish`.
            on_damage: Called on its thread when a store cannot be read.
        """
        self._storage = storage
        self._on_written = on_written
        self._on_damage = on_damage
        self.writing = False
        self.backoff = Backoff()
        self._running: tuple[Future[None], RecordsByRoot] | None = None  # the last write
        self._failed_records: RecordsByRoot = []
        self._small_batch_at = 0.0  # time.monotonic() from which a small batch is due
        self._stale_since = 0.0  # time.monotonic() of the last write whose old versions still exist, 0 without

    def schedule_cleanup(self, stores: Iterable[RowStore]) -> None:
        """Remove old table versions if the last write is long enough ago. Call it from time to time."""
        if self._stale_since and not self.writing and time.monotonic() - self._stale_since > CLEANUP_DELAY_S:
            self._stale_since = 0.0
            for store in stores:
                self._storage.submit(_drop_old_versions, store)

    def retry(self) -> None:
        """Make the next write due, regardless of earlier failures."""
        self.backoff.reset()
        self._small_batch_at = 0.0

    def close(self, states: Sequence[RootState], snapshot: Snapshot) -> None:
        """Finish the running write, cancel queued ones, and save the records that are left: files that were read."""
        self._storage.shutdown(wait=True, cancel_futures=True)
        if self._running is not None and self._running[0].cancelled():
            self._failed_records += self._running[1]
        for state in states:
            records = {n: e for failed, saved in self._failed_records if failed is state for n, e in saved.items()}
            records |= dict(state.unsaved_records)
            if state.manifest is not None and records:
                try:
                    _save_records(state, records, snapshot)
                except Exception as error:
                    log.warning("Cannot write records of %s: %s", state.root.path, error)

    def flush(self, publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> None:
        """Start a write if there is enough to write, or anything while the index is idle.

        During a scan, records are written as soon as there are many, even if the rows of their files are not complete
        yet.  If the scan is interrupted, the next start reads only files without records or rows.
        """
        if self.writing or self.is_backing_off:
            return
        roots = list(states)
        while self._failed_records:
            root, failed = self._failed_records.pop()
            root.unsaved_records = {**failed, **root.unsaved_records}
        idle = all(root.complete for root in roots)
        are_rows_due = idle or sum(map(len, publisher.unstored)) >= self._min_rows(roots)
        if not are_rows_due and sum(len(root.unsaved_records) for root in roots) < MIN_FLUSH_RECORDS:
            return
        rows = self.due_rows(publisher, roots, unsaved) if are_rows_due else []
        if idle and not rows:
            for root in roots:
                if (
                    root.store is not None
                    and "rows" in root.problems
                    and not unwritten_rows(publisher, [root], unsaved)
                ):
                    root.set_problem("rows")  # the rows that could not be written are gone
        records = [(root, root.unsaved_records) for root in roots if root.unsaved_records and root.manifest is not None]
        outdated = idle and any(root.store is not None and root.store.checkpoint_outdated for root in roots)
        if not rows and not records and not outdated:
            return
        for root, _ in records:
            root.unsaved_records = {}
        self.writing = True
        reader = publisher.chunk_index.reader()
        result = WriteResult(idle, bool(rows))
        write = self._storage.submit(self._write, roots, rows, records, reader, publisher.snapshot, result)
        self._running = write, records

    def finish(self, result: WriteResult) -> None:
        """Take over the result of a write."""
        self.writing = False
        now = time.monotonic()
        if result.has_rows:
            self._stale_since = now
            self._small_batch_at = now + SMALL_BATCH_DELAY_S if result.idle and not result.failed else 0.0
        self._failed_records += result.failed_records
        for state, topic, problem in result.problems:
            state.set_problem(topic, problem)
        self.backoff.record(result.failed)

    @property
    def is_backing_off(self) -> bool:
        """Whether the last write failed and the next one must wait."""
        return self.backoff.remaining_s > 0

    @property
    def batch_delay_s(self) -> float:
        """Seconds until a small batch is due, 0 if it is."""
        return max(0.0, self._small_batch_at - time.monotonic())

    def _min_rows(self, states: Iterable[RootState]) -> int:
        stored = sum(len(state.store.keys) for state in states if state.store is not None)
        return min(max(MIN_FLUSH_ROWS, stored // FLUSH_FRACTION), MAX_FLUSH_ROWS)

    def due_rows(self, publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> RowsByRoot:
        """Return the rows to write now; a small batch waits for more rows."""
        is_small = sum(map(len, publisher.unstored)) < SMALL_BATCH_ROWS
        if is_small and self.batch_delay_s:
            return []
        return unwritten_rows(publisher, states, unsaved)

    def _write(
        self,
        states: list[RootState],
        rows: RowsByRoot,
        records: RecordsByRoot,
        reader: IndexReader,
        snapshot: Snapshot,
        result: WriteResult,
    ) -> None:
        try:
            self._write_rows(states, rows, reader, result)
            self._write_records(records, snapshot, result)
        except Exception:
            result.failed = True
            log.exception("Cannot write the index; will retry")
        self._on_written(result)
        for store, new_keys, before in result.checkpoint_updates:
            store.update_checkpoint(reader, new_keys, before)
        if result.idle:
            release_free_memory()

    def _write_rows(self, states: list[RootState], rows: RowsByRoot, reader: IndexReader, result: WriteResult) -> None:
        for state in states:
            if state.store is not None and state.store.is_deleted:
                self._on_damage(state.store, StoreError("the table was deleted"))
        for state, batches in rows:
            store = state.store
            assert store is not None
            try:
                before = store.version
                store.add(batches)
                new_keys = [key for batch in batches for key in batch.keys]
                result.stored_keys += new_keys
                result.deleted_keys += store.delete_dead(
                    reader.live_count, reader.live_keys, partial(_keys_of_others, state)
                )
                if result.idle:
                    store.checkpoint_outdated = False  # even if it fails: no second attempt before the next write
                    result.checkpoint_updates.append((store, new_keys, before))
                result.problems.append((state, "rows", ""))
            except Exception as error:
                result.failed = True
                log.warning("Cannot write rows of %s: %s", state.root.path, error)
                problem = f"Cannot write the index ({short_error(error)}); will retry."
                result.problems.append((state, "rows", problem))
                if isinstance(error, StoreError) and error.damaged:
                    self._on_damage(store, error)
        for state in states if result.idle and not result.failed else ():
            if state.store is not None and state.store.checkpoint_outdated:  # rows of a scan that has ended
                state.store.checkpoint_outdated = False
                result.checkpoint_updates.append((state.store, (), b""))

    def _write_records(self, records: RecordsByRoot, snapshot: Snapshot, result: WriteResult) -> None:
        for state, changed in records:
            try:
                _save_records(state, changed, snapshot)
                result.problems.append((state, "records", ""))
            except Exception as error:
                result.failed = True
                log.warning("Cannot write records of %s: %s", state.root.path, error)
                problem = f"Cannot write the cache ({short_error(error)}); will retry."
                result.problems.append((state, "records", problem))
                result.failed_records.append((state, changed))


def _keys_of_others(state: RootState) -> set[bytes]:
    """Return the chunks of other folders that share the store of a root."""
    known = state.manifest.load_others() if state.manifest is not None else {}
    return {key for outlines in known.values() for outline in outlines.values() for key in decode_chunk_keys(outline)}


def _save_records(state: RootState, changed: Mapping[str, FileEntry | None], snapshot: Snapshot) -> None:
    """Write records; the records of all files if the manifest was lost."""
    assert state.manifest is not None
    entries = [e for e in changed.values() if e is not None]
    if not state.manifest.save(entries, [name for name, e in changed.items() if e is None]):
        on_disk = (e for e in snapshot.files.values() if e.root == state.root.path and e.version is None)
        others = [e for e in on_disk if e.name not in changed and (e.outline is not None or e.skip_reason)]
        state.manifest.save(entries + others)


def _drop_old_versions(store: RowStore) -> None:
    try:
        store.drop_old_versions()
    except Exception as error:
        log.warning("Cannot remove old versions of %s: %s", store.folder, error)


def unwritten_rows(publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> RowsByRoot:
    """Return the unstored rows by root, without chunks that occur only in unsaved text."""
    if not publisher.unstored:
        return []
    state_by_root = {s.root.path: s for s in states if s.store is not None}
    reader, files = publisher.chunk_index.reader(), publisher.snapshot.files
    rows: dict[str, tuple[RootState, list[RowBatch]]] = {}
    for batch in publisher.unstored:
        keys_by_root: dict[str, set[bytes]] = {}
        for key in batch.keys:
            for path, _ in reader.locations(reader.row_of(key)):
                entry = files.get(path)
                if entry is not None and entry.root in state_by_root and path not in unsaved:
                    keys_by_root.setdefault(entry.root, set()).add(key)
                    break
        for root, keys in keys_by_root.items():
            rows.setdefault(root, (state_by_root[root], []))[1].append(batch.select(keys))
    return list(rows.values())

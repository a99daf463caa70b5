"""Row store of one workspace folder: a LanceDB table and a checkpoint of it.

A separate process (`lance_process`) reads and writes the table. It starts on demand and exits after `IDLE_S` without
work. At start, the checkpoint is read at disk speed; rows come from the table only if the checkpoint is outdated.
Methods are for the writer thread; `keys` and `stats` for any.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import RowBatch, Segment, StoreIdentity
from promptls.index.store import checkpoint
from promptls.index.store.lance_table import short_error, table_exists, table_version
from promptls.index.workers.pool import WorkerChannel, WorkerError
from promptls.index.workers.spawn import STORE_MODULE
from promptls.index.workers.worker_messages import (
    Acknowledged,
    AddRows,
    CompactTable,
    OpenTable,
    ReadRows,
    Request,
    RowsResult,
    StoreFailure,
)
from promptls.util.decode import decode_msgpack

log = logging.getLogger(__name__)

Result = TypeVar("Result")

MAX_EXTRA_DEAD_ROWS = 5_000
"""Dead rows that are kept in addition to as many as there are live rows; a branch switch finds them again."""
IDLE_S = 20.0
"""Seconds without work after which the store process is stopped."""
TIMEOUT_S = 300.0
"""Seconds before a request to the store process times out."""
MAX_CRASHES = 3
"""Consecutive crashes of the store process after which the table counts as damaged."""
REWRITE_INTERVAL_S, ALWAYS_REWRITE_ROWS = 60.0, 5_000
"""Minimum seconds between two rewrites of a checkpoint of at least `ALWAYS_REWRITE_ROWS` rows."""
_MIN_REWRITE_ROWS = 1_000  # appended rows that never cause a rewrite
_EMPTY_SEGMENT = Segment(
    keys=(),
    vectors=np.zeros((0, 0), np.int8),
    scales=np.zeros(0, np.float32),
    lengths=np.zeros(0, np.int32),
    terms=(),
    ids=np.zeros(0, np.int32),
    offsets=np.zeros(1, np.int64),
    rows=np.zeros(0, np.int32),
    counts=np.zeros(0, np.uint8),
)
_CHECKPOINT_NAME = "rows.image"
_PENDING_NAME = "rows.waiting"


class StoreError(Exception):
    """The table could not be written or read."""

    def __init__(self, problem: str, damaged: bool = False, died: bool = False) -> None:
        super().__init__(problem)
        self.damaged = damaged  # whether the table cannot be read either
        self.died = died  # whether the store process ended without an answer: killed, or crashed on a damaged table


class RowStore:
    """The stored rows of one workspace folder. Open it with `open_store`."""

    def __init__(self, folder: Path, identity: StoreIdentity) -> None:
        self.folder = folder
        self.identity = identity
        self.keys: set[bytes] = set()
        self._encoded_identity = msgspec.json.encode(identity)
        self._lock = threading.RLock()
        self._channel: WorkerChannel | None = None
        self.checkpoint_outdated = False  # whether rows were written that the checkpoint does not contain
        self._kept_for_others = 0  # rows of other folders at the last search for dead ones
        self._crashes = 0  # consecutive crashes of the store process
        self._opened = False  # whether the table was opened before; it is then not recreated silently
        self._idle_timer: threading.Timer | None = None
        self._base_rows = 0  # rows in the first segment of the checkpoint
        self._appended_rows: list[int] = []  # rows of each further segment
        self._checkpoint_version = b""  # table version of the checkpoint, b"" if outdated
        self._rewritten_at = -REWRITE_INTERVAL_S  # time.monotonic() of the last rewrite of the checkpoint

    # ---- rows

    def add(self, batches: Sequence[RowBatch]) -> None:
        """Write the rows that are not stored yet. Raises StoreError."""
        new = [batch.select({key for key in batch.keys if key not in self.keys}) for batch in batches]
        new = [batch for batch in new if batch.keys and batch.vectors]
        if new:
            self._request(AddRows(tuple(new)))
            self.keys.update(key for batch in new for key in batch.keys)
            self.checkpoint_outdated = True

    def delete_dead(
        self, live_count: int, live_keys: Callable[[], Collection[bytes]], other_keys: Callable[[], set[bytes]]
    ) -> list[bytes]:
        """Delete dead rows if there are too many, and return their keys. Raises StoreError.

        Args:
            live_count: Number of live rows.
            live_keys: Returns the keys of live rows.
            other_keys: Returns the keys of the rows of other folders that share the store.
        """
        if len(self.keys) - self._kept_for_others - live_count <= live_count + MAX_EXTRA_DEAD_ROWS:
            return []
        live, others = live_keys(), other_keys()
        dead = [key for key in self.keys if key not in live and key not in others]
        self._kept_for_others = len(others.difference(live))
        if not dead:
            return []
        self._request(CompactTable(tuple(dead)))
        self.keys.difference_update(dead)
        self._checkpoint_version = b""
        return dead

    def drop_old_versions(self) -> None:
        """Remove table versions that no reader can still use. Raises StoreError."""
        before = table_version(self.folder)
        self._request(CompactTable(drop_old_versions=True))
        if before == self._checkpoint_version:
            self._confirm_checkpoint()

    def read(self) -> list[RowBatch]:
        """Return all rows of the table. Raises StoreError."""
        batches: list[RowBatch] = []
        more = True
        while more:
            response = self._request(ReadRows(len(batches)))
            assert isinstance(response, RowsResult)
            batches.append(response.rows)
            more = response.more
        self.keys = {key for batch in batches for key in batch.keys}
        self.checkpoint_outdated = True  # else each start would read the table until the next write
        return batches

    def stats(self) -> dict[str, int]:
        """Return {bytes, rows, versions, fragments} on disk; bytes include the files next to the table."""
        size, files = 0, Counter[str]()
        for directory, _, names in os.walk(self.folder.parent):
            files[Path(directory).name] += len(names)
            for name in names:
                with suppress(OSError):  # other threads and processes replace files
                    size += Path(directory, name).stat().st_size
        return {
            "bytes": size,
            "rows": len(self.keys),
            "versions": files["_versions"],
            "fragments": files["data"],
        }

    @property
    def is_deleted(self) -> bool:
        """Whether the table was deleted while the store was open."""
        return self._opened and bool(self.keys) and not table_exists(self.folder)

    def close(self) -> None:
        """Stop the store process."""
        with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            if self._channel is not None:
                self._channel.stop()

    def save_pending(self, batches: Sequence[RowBatch]) -> None:
        """Save rows for the next start to write: at shutdown, there is no time to start the store process."""
        body = msgspec.msgpack.encode(batches)
        file = self.folder.with_name(_PENDING_NAME)
        try:
            file.write_bytes(zlib.crc32(body + self._encoded_identity).to_bytes(4, "big") + body)
        except OSError as error:
            log.warning("Cannot write %s: %s", file, error)

    def load_pending(self) -> list[RowBatch]:
        """Return and remove the rows of `save_pending`; [] if they are missing, damaged or of another identity."""
        file = self.folder.with_name(_PENDING_NAME)
        try:
            data = file.read_bytes()
            file.unlink()
            if zlib.crc32(data[4:] + self._encoded_identity).to_bytes(4, "big") != data[:4]:
                return []
            return [batch for batch in decode_msgpack(data[4:], list[RowBatch]) if batch.vectors]
        except (OSError, msgspec.MsgspecError):
            return []

    def remove(self) -> None:
        """Delete the table, the checkpoint and pending rows from disk."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in (_CHECKPOINT_NAME, _PENDING_NAME):
            with suppress(OSError):
                self.folder.with_name(name).unlink(missing_ok=True)

    # ---- checkpoint

    def load_checkpoint(self) -> list[Segment] | None:
        """Return the rows of the checkpoint, or None if it does not represent the current table."""
        checkpoint.remove_stale_files(self._checkpoint_file)
        version = table_version(self.folder)
        segments = checkpoint.read(self._checkpoint_file, self._encoded_identity, version) if version else None
        if segments is None:
            return None
        self.keys = {key for segment in segments for key in segment.keys}
        self._base_rows = len(segments[0].keys)
        self._appended_rows = [len(segment.keys) for segment in segments[1:]]
        self._checkpoint_version = version
        self._opened = True
        return segments

    def update_checkpoint(self, reader: IndexReader, new_keys: Iterable[bytes], before: bytes) -> None:
        """Append rows that were just written, or rewrite the checkpoint.

        Args:
            reader: Reader with the rows.
            new_keys: Keys of the new rows.
            before: Table version before the write.
        """
        keys = list(new_keys)
        version = table_version(self.folder)
        file, identity = self._checkpoint_file, self._encoded_identity
        try:
            if before != self._checkpoint_version or not before or self._needs_rewrite(len(keys)):
                # Two servers that write in turn would otherwise rewrite the checkpoint after every write of the other.
                is_due = time.monotonic() - self._rewritten_at > REWRITE_INTERVAL_S
                if is_due or len(self.keys) < ALWAYS_REWRITE_ROWS:
                    checkpoint.write(file, identity, version, reader.export_segment(self.keys))
                    self._base_rows, self._appended_rows, self._checkpoint_version = len(self.keys), [], version
                    self._rewritten_at = time.monotonic()
            else:
                checkpoint.append(file, identity, version, reader.export_segment(keys))
                self._appended_rows.append(len(keys))
                self._checkpoint_version = version
        except Exception as error:  # the table has the rows, and the next start reads it
            log.warning(
                "Cannot update the checkpoint of %s: %s",
                self.folder,
                error,
                exc_info=not isinstance(error, OSError),
            )
            self._checkpoint_version = b""

    @property
    def version(self) -> bytes:
        """Current version of the table on disk."""
        return table_version(self.folder)

    @property
    def _checkpoint_file(self) -> Path:
        return self.folder.with_name(_CHECKPOINT_NAME)

    def _needs_rewrite(self, new_rows: int) -> bool:
        appended = sum(self._appended_rows) + new_rows
        return len(self._appended_rows) >= checkpoint.MAX_SEGMENTS or 2 * appended > self._base_rows + _MIN_REWRITE_ROWS

    def _confirm_checkpoint(self) -> None:
        """Record a new table version with the same rows."""
        try:
            checkpoint.append(self._checkpoint_file, self._encoded_identity, self.version, _EMPTY_SEGMENT)
            self._appended_rows.append(0)
            self._checkpoint_version = self.version
        except OSError as error:
            log.warning("Cannot update the checkpoint of %s: %s", self.folder, error)

    # ---- store process

    def start_process(self) -> None:
        """Start the store process ahead of the first write, which then does not wait for LanceDB to load."""
        try:
            with self._lock:
                self._with_channel(WorkerChannel.start)
        except StoreError as error:
            log.info("Cannot start the store process of %s yet: %s", self.folder, error)  # the first write tries again

    def _request(self, request: Request) -> RowsResult | Acknowledged:
        with self._lock:
            response = self._with_channel(lambda channel: channel.call(request, TIMEOUT_S))
            self._opened, self._crashes = True, 0
            if isinstance(response, StoreFailure):
                raise StoreError(response.problem, response.damaged)
            assert isinstance(response, RowsResult | Acknowledged)
            return response

    def _with_channel(self, action: Callable[[WorkerChannel], Result]) -> Result:
        """Run an action with the store process, and restart its idle timer. Call with the lock held."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._channel is None:
            first_message = OpenTable(str(self.folder), self.identity, recreate=not self._opened)
            self._channel = WorkerChannel(first_message, background=False, module=STORE_MODULE)
        try:
            return action(self._channel)
        except WorkerError as error:
            self._crashes += error.response is None
            damaged = error.response.damaged if error.response is not None else self._crashes >= MAX_CRASHES
            raise StoreError(str(error), damaged, died=error.response is None) from error
        finally:
            self._idle_timer = threading.Timer(IDLE_S, self._stop_idle_process)
            self._idle_timer.daemon = True
            self._idle_timer.start()

    def _stop_idle_process(self) -> None:
        with self._lock:
            if self._channel is not None:
                self._channel.stop()


def open_store(folder: Path, identity: StoreIdentity) -> tuple[RowStore, list[Segment] | list[RowBatch]]:
    """Return the store in a folder and its rows; a missing or damaged store, or one of another identity, is replaced.

    Raises:
        OSError: The folder cannot be written.
    """
    store = RowStore(folder, identity)
    segments = store.load_checkpoint()
    if segments is not None:
        return store, segments
    folder.mkdir(parents=True, exist_ok=True)
    while table_exists(folder):
        try:
            return store, store.read()
        except StoreError as error:
            if error.died and not error.damaged:
                continue
            if not error.damaged:
                raise OSError(f"cannot open the store in {folder}: {short_error(error)}") from error
            log.warning("Rebuilding the store in %s: %s", folder, error)
            store.remove()
            folder.mkdir(parents=True, exist_ok=True)
            break
    return RowStore(folder, identity), []

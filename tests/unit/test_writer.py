"""Failed writes are retried after a back-off, without losing rows."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from promptls.index.publisher import Publisher
from promptls.index.scan.root_state import RootState
from promptls.index.search.row_batch import StoreIdentity, quantize
from promptls.index.snapshot import Snapshot
from promptls.index.store.lance_table import MAX_FRAGMENTS
from promptls.index.store.row_store import RowStore, open_store
from promptls.index.writer import IndexWriter, WriteResult
from workspaces import build_rows, snapshot_of


def publisher_with_rows(snapshot: Snapshot) -> Publisher:
    """Return a publisher with an unstored row for each chunk."""
    publisher = Publisher()
    publisher.publish(snapshot.files)
    keys = sorted(publisher.chunk_index.reader().live_keys())
    vectors = quantize(np.full((len(keys), 8), 8**-0.5))
    publisher.publish({}, build_rows(((key, ["some", "terms"]) for key in keys), vectors))
    return publisher


@pytest.mark.process
def test_failed_write_is_retried_after_a_backoff(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- a.py --\ndef f(): ...\n", tmp_path / "root")
    publisher = publisher_with_rows(snapshot)
    state = RootState(snapshot.roots[0], tmp_path)
    state.pending_walks = 0
    state.store, _ = open_store(tmp_path / "rows", StoreIdentity("model", 8, 1, 1))
    state.store_ready.set_result(state.store)
    shutil.rmtree(tmp_path / "rows")
    (tmp_path / "rows").write_text("a file where the folder should be")
    writes = threading.Semaphore(0)

    def on_written(result: WriteResult) -> None:
        writer.finish(result)
        writes.release()

    writer = IndexWriter(ThreadPoolExecutor(1), on_written, lambda store, error: None)
    writer.flush(publisher, [state], frozenset())
    assert writes.acquire(timeout=120)
    assert writer.is_backing_off
    assert "Cannot write the index" in state.error
    writer.flush(publisher, [state], frozenset())
    assert not writer.writing

    (tmp_path / "rows").unlink()
    state.store, _ = open_store(tmp_path / "rows", StoreIdentity("model", 8, 1, 1))
    writer.retry()
    writer.flush(publisher, [state], frozenset())
    assert writes.acquire(timeout=120)
    assert not writer.is_backing_off
    assert state.error == ""
    assert state.store.keys == publisher.chunk_index.reader().live_keys()
    writer.close([], snapshot)


@pytest.mark.process
def test_checkpoint_contains_rows_written_during_a_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.index.writer.MIN_FLUSH_ROWS", 1)
    snapshot = snapshot_of("-- a.py --\ndef f(): ...\n", tmp_path / "root")
    publisher = publisher_with_rows(snapshot)
    state = RootState(snapshot.roots[0], tmp_path)
    identity = StoreIdentity("model", 8, 1, 1)
    state.store, _ = open_store(tmp_path / "rows", identity)
    state.store_ready.set_result(state.store)
    writes = threading.Semaphore(0)

    def on_written(result: WriteResult) -> None:
        publisher.mark_stored(result.stored_keys)
        writer.finish(result)
        writes.release()

    storage = ThreadPoolExecutor(1)
    writer = IndexWriter(storage, on_written, lambda store, error: None)
    try:
        writer.flush(publisher, [state], frozenset())  # the walk is still running
        assert writes.acquire(timeout=120)
        assert RowStore(tmp_path / "rows", identity).load_checkpoint() is None
        state.pending_walks = 0
        writer.flush(publisher, [state], frozenset())
        assert writes.acquire(timeout=120)
        storage.submit(lambda: None).result(60)  # the checkpoint follows the write
        again = RowStore(tmp_path / "rows", identity)
        assert again.load_checkpoint() is not None
        assert again.keys == publisher.chunk_index.reader().live_keys()
        writer.flush(publisher, [state], frozenset())
        assert not writer.writing, "nothing is left to write"
        state.store.remove()
        assert list(tmp_path.glob("rows*")) == []
    finally:
        writer.close([], snapshot)
        state.store.close()


@pytest.mark.parametrize(("chunks", "max_batches"), [(2_000, 2), (60_000, 30), (200_000, 64)])
def test_scan_writes_few_batches(tmp_path: Path, chunks: int, max_batches: int) -> None:
    """Compaction of more fragments would store all rows twice for a while."""
    writer = IndexWriter(ThreadPoolExecutor(1), lambda result: None, lambda store, error: None)
    state = RootState(snapshot_of("-- a.py --\n", tmp_path / "root").roots[0], tmp_path)
    state.store, _ = open_store(tmp_path / "rows", StoreIdentity("model", 8, 1, 1))
    batches = 0
    while (stored := len(state.store.keys)) < chunks:
        state.store.keys.update(key.to_bytes(16, "big") for key in range(stored, stored + writer._min_rows([state])))
        batches += 1
    writer.close([], Snapshot())
    assert batches <= max_batches <= MAX_FRAGMENTS

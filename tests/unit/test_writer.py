"""Writes that fail are tried again after a pause, and nothing is lost meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from promptls.index.publisher import Publisher
from promptls.index.scan.root_state import RootState
from promptls.index.search.row_batch import rounded, rows_of
from promptls.index.snapshot import Snapshot
from promptls.index.store.lance_table import MAX_FRAGMENTS, Identity
from promptls.index.store.row_store import Store, open_store
from promptls.index.store.writer import Writer
from workspaces import snapshot_of


def filled(snapshot: Snapshot) -> Publisher:
    """The snapshot with a row for each text, none of them in a store."""
    publisher = Publisher()
    publisher.publish(snapshot.files)
    keys = sorted(publisher.columns.view().living())
    vectors = rounded(np.full((len(keys), 8), 8**-0.5))
    publisher.publish({}, rows_of(((key, ["some", "terms"]) for key in keys), vectors))
    return publisher


def test_a_store_that_cannot_be_written_is_left_alone_for_a_while(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- a.py --\ndef f(): ...\n", tmp_path / "root")
    publisher = filled(snapshot)
    state = RootState(snapshot.roots[0])
    state.walks = 0
    state.store, _ = open_store(tmp_path / "rows", Identity("model", 8, 1, 1))
    state.store_ready.set_result(state.store)
    shutil.rmtree(tmp_path / "rows")
    (tmp_path / "rows").write_text("a file where the folder should be")
    writes = threading.Semaphore(0)

    def written(stored: list[bytes], swept: list[bytes]) -> None:
        writer.writing = False
        writes.release()

    writer = Writer(written, lambda store, error: None)
    writer.flush(publisher, [state], frozenset())
    assert writes.acquire(timeout=30)
    assert writer.pausing
    assert "cannot be written" in state.error
    writer.flush(publisher, [state], frozenset())
    assert not writer.writing

    (tmp_path / "rows").unlink()
    state.store, _ = open_store(tmp_path / "rows", Identity("model", 8, 1, 1))
    writer.retry()
    writer.flush(publisher, [state], frozenset())
    assert writes.acquire(timeout=30)
    assert not writer.pausing
    assert state.error == ""
    assert state.store.keys == publisher.columns.view().living()
    writer.close()


def test_what_a_scan_writes_before_it_is_done_is_in_the_image_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.index.store.writer.FLUSH_ROWS", 1)
    snapshot = snapshot_of("-- a.py --\ndef f(): ...\n", tmp_path / "root")
    publisher = filled(snapshot)
    state = RootState(snapshot.roots[0])
    identity = Identity("model", 8, 1, 1)
    state.store, _ = open_store(tmp_path / "rows", identity)
    state.store_ready.set_result(state.store)
    writes = threading.Semaphore(0)

    def written(stored: list[bytes], swept: list[bytes]) -> None:
        publisher.stored(stored)
        writer.writing = False
        writes.release()

    writer = Writer(written, lambda store, error: None)
    try:
        writer.flush(publisher, [state], frozenset())  # the walk goes on
        assert writes.acquire(timeout=60)
        assert Store(tmp_path / "rows", identity).recall() is None
        state.walks = 0
        writer.flush(publisher, [state], frozenset())
        assert writes.acquire(timeout=60)
        shown = threading.Event()
        writer.submit(shown.set)
        assert shown.wait(60)
        again = Store(tmp_path / "rows", identity)
        assert again.recall() is not None
        assert again.keys == publisher.columns.view().living()
        writer.flush(publisher, [state], frozenset())
        assert not writer.writing, "then nothing is left to be done"
        state.store.remove()
        assert list(tmp_path.glob("rows*")) == []
    finally:
        writer.close()
        state.store.close()


@pytest.mark.parametrize(("chunks", "most"), [(2_000, 2), (60_000, 30), (200_000, 64)])
def test_a_scan_writes_in_few_pieces(tmp_path: Path, chunks: int, most: int) -> None:
    """So few that nothing is joined, which would have all rows on the disk twice for a while."""
    writer = Writer(lambda stored, swept: None, lambda store, error: None)
    state = RootState(snapshot_of("-- a.py --\n", tmp_path / "root").roots[0])
    state.store, _ = open_store(tmp_path / "rows", Identity("model", 8, 1, 1))
    pieces = 0
    while (stored := len(state.store.keys)) < chunks:
        state.store.keys.update(key.to_bytes(16, "big") for key in range(stored, stored + writer._enough([state])))
        pieces += 1
    writer.close()
    assert pieces <= most <= MAX_FRAGMENTS

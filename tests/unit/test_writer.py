"""Writes that fail are tried again after a pause, and nothing is lost meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from promptls.index.roots import RootState
from promptls.index.snapshot import Snapshot
from promptls.index.store import Identity, open_store
from promptls.index.writer import Writer
from promptls.model import Row
from workspaces import snapshot_of


def filled(snapshot: Snapshot) -> Snapshot:
    vector = np.full(8, 8**-0.5, np.float16).tobytes()
    fresh = snapshot.fresh.mutate()
    for key in snapshot.places:
        fresh[key] = Row(key, vector, "some terms")
    return replace(snapshot, fresh=fresh.finish())


def test_a_store_that_cannot_be_written_is_left_alone_for_a_while(tmp_path: Path) -> None:
    snapshot = filled(snapshot_of("-- a.py --\ndef f(): ...\n", tmp_path / "root"))
    state = RootState(snapshot.roots[0])
    state.walks = 0
    state.store, _ = open_store(tmp_path / "rows", Identity("model", 8, 1, 1))
    state.store_ready.set_result(state.store)
    shutil.rmtree(tmp_path / "rows")
    (tmp_path / "rows").write_text("a file where the folder should be")
    writes = threading.Semaphore(0)

    def written() -> None:
        writer.writing = False
        writes.release()

    writer = Writer(written, lambda store, error: None)
    writer.flush(snapshot, [state], frozenset())
    assert writes.acquire(timeout=30)
    assert writer.pausing
    assert "cannot be written" in state.error
    writer.flush(snapshot, [state], frozenset())
    assert not writer.writing

    (tmp_path / "rows").unlink()
    state.store, _ = open_store(tmp_path / "rows", Identity("model", 8, 1, 1))
    writer.retry()
    writer.flush(snapshot, [state], frozenset())
    assert writes.acquire(timeout=30)
    assert not writer.pausing
    assert state.error == ""
    assert state.store.keys == set(snapshot.places)
    writer.close()

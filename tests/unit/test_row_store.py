"""Row store: the store process, the checkpoint, and recovery from damage."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import RowBatch, Segment, StoreIdentity, quantize
from promptls.index.store import checkpoint, row_store
from promptls.index.store.row_store import RowStore, StoreError, open_store
from workspaces import build_rows, similarities

pytestmark = pytest.mark.process

IDENTITY = StoreIdentity("model", 8, 1, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def opened(folder: Path) -> Iterator[list[RowStore]]:
    """Collect stores that are closed after the test."""
    stores: list[RowStore] = []
    yield stores
    for store in stores:
        store.close()


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def rows(*numbers: int) -> RowBatch:
    vectors = np.array([np.random.default_rng(n).normal(size=8) for n in numbers])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return build_rows(((key_of(n), ["all", f"t{n}", f"t{n}"]) for n in numbers), quantize(vectors))


def index_of(contents: list[Segment] | list[RowBatch]) -> ChunkIndex:
    index = ChunkIndex()
    for part in contents:
        index.load_segment(part) if isinstance(part, Segment) else index.set_rows(part, stored=True)
    index.update_files([("a.py", "a.py", [], sorted(index.rows))])
    return index


def contents_of(view: IndexReader) -> object:
    near = similarities(view, np.eye(8, dtype=np.float32)[0])
    return {
        view.keys[row]: (
            int(view.lengths[row]),
            round(float(near[row]), 6),
            [(t, int(n)) for t in ("all", *(f"t{n}" for n in range(40)))
             for r, n in zip(view.postings(t).rows, view.postings(t).counts, strict=True) if r == row],
        )
        for row in range(len(view))
    }  # fmt: skip


def write(store: RowStore, index: ChunkIndex, *numbers: int) -> None:
    """Write rows as the index writer does."""
    new = rows(*numbers)
    index.set_rows(new)
    before = store.version
    store.add([new])
    index.mark_stored(new.keys)
    store.update_checkpoint(index.reader(), new.keys, before)


def test_checkpoint_equals_the_table(folder: Path, opened: list[RowStore]) -> None:
    store, contents = open_store(folder, IDENTITY)
    opened.append(store)
    assert contents == []
    index = ChunkIndex()
    write(store, index, *range(20))
    write(store, index, 20, 21)
    write(store, index, 22)
    store.drop_old_versions()
    write(store, index, 23)
    expected = contents_of(index_of([rows(*range(24))]).reader())

    again, recalled = open_store(folder, IDENTITY)
    assert [type(part) for part in recalled] == [Segment] * len(recalled)
    assert again._channel is None, "a start only reads the checkpoint"
    assert again.keys == {key_of(n) for n in range(24)}
    assert contents_of(index_of(recalled).reader()) == expected

    (folder.parent / "rows.image").unlink()
    slow, read = open_store(folder, IDENTITY)
    opened.append(slow)
    assert [type(part) for part in read] == [RowBatch] * len(read)
    assert contents_of(index_of(read).reader()) == expected


def test_outdated_checkpoint_is_ignored(folder: Path, opened: list[RowStore]) -> None:
    store, _ = open_store(folder, IDENTITY)
    index = ChunkIndex()
    opened.append(store)
    write(store, index, 1, 2)
    other, _ = open_store(folder, IDENTITY)
    opened.append(other)
    other.add([rows(3)])
    again, _ = open_store(folder, IDENTITY)
    opened.append(again)
    assert again.keys == {key_of(n) for n in (1, 2, 3)}
    write(store, index, 4)  # its checkpoint would lack the row of the other server
    again, _ = open_store(folder, IDENTITY)
    opened.append(again)
    assert again.keys >= {key_of(n) for n in (1, 2, 4)}


@pytest.mark.parametrize("seed", range(30))
def test_damaged_checkpoint_is_never_used(tmp_path: Path, seed: int) -> None:

    file = tmp_path / "rows.image"
    index = index_of([rows(*range(30))])
    whole = index.reader().export_segment([key_of(n) for n in range(20)])
    more = index.reader().export_segment([key_of(n) for n in range(20, 30)])
    checkpoint.write(file, b"identity", b"one", whole)
    checkpoint.append(file, b"identity", b"two", more)
    data = bytearray(file.read_bytes())
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        del data[int(rng.integers(1, len(data))) :]
    else:
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    file.write_bytes(bytes(data))
    segments = checkpoint.read(file, b"identity", b"two")
    assert segments is None or contents_of(index_of(segments).reader()) == contents_of(index.reader())


def test_checkpoint_of_another_identity_or_version_is_ignored(tmp_path: Path) -> None:

    file = tmp_path / "rows.image"
    checkpoint.write(file, b"identity", b"one", index_of([rows(1)]).reader().export_segment([key_of(1)]))
    assert checkpoint.read(file, b"identity", b"one") is not None
    assert checkpoint.read(file, b"another", b"one") is None
    assert checkpoint.read(file, b"identity", b"two") is None
    assert checkpoint.read(tmp_path / "none", b"identity", b"one") is None


def test_dead_rows_are_deleted_above_the_limit(
    folder: Path, opened: list[RowStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_store, "MAX_EXTRA_DEAD_ROWS", 3)
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.add([rows(*range(10))])
    alive = {key_of(n) for n in range(2)}
    of_others = {key_of(2)}
    assert store.delete_dead(9, lambda: alive, set) == []
    assert set(store.delete_dead(2, lambda: alive, lambda: of_others)) == {key_of(n) for n in range(3, 10)}
    assert store.keys == alive | of_others
    assert {key for part in store.read() for key in part.keys} == alive | of_others


def test_failures_of_the_store_process_are_reported(folder: Path, opened: list[RowStore]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    with pytest.raises(StoreError, match="4 dimensions for a table of 8") as raised:
        store.add([build_rows([(key_of(1), ["x"])], quantize(np.ones((1, 4))))])
    assert not raised.value.damaged
    store.add([rows(1)])
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
    with pytest.raises(StoreError) as raised:
        store.add([rows(2)])
    assert raised.value.damaged


def test_prestarted_process_writes_the_first_rows(folder: Path, opened: list[RowStore]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.start_process()
    assert store._channel is not None
    process = store._channel._process
    store.add([rows(1, 2)])
    assert store._channel._process is process and store.keys == {key_of(1), key_of(2)}


def test_failed_start_is_retried_by_the_first_write(folder: Path, opened: list[RowStore]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    folder.rmdir()
    folder.write_text("a file at the path of the directory")
    store.start_process()
    folder.unlink()
    folder.mkdir()
    store.add([rows(1)])
    assert store.keys == {key_of(1)}


def test_killed_store_process_is_restarted(folder: Path, opened: list[RowStore]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.add([rows(1)])
    assert store._channel is not None
    assert store._channel._process is not None
    process = store._channel._process
    process.send_signal(signal.SIGSTOP)  # running, but not reading the request
    killer = threading.Timer(0.1, process.kill)
    killer.start()
    with pytest.raises(StoreError, match="exited with status"):
        store.add([rows(2)])
    store.add([rows(2)])
    assert store._channel._process is not None
    store._channel._process.kill()
    store._channel._process.wait()
    store.add([rows(3)])  # the process had ended before the request
    assert {key for part in store.read() for key in part.keys} == {key_of(1), key_of(2), key_of(3)}

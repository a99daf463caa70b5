"""The store as the server sees it: a table in a process of its own, and the image of its rows."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from promptls.index.search.chunk_index import Columns
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import Rows, rounded, rows_of
from promptls.index.store import checkpoint
from promptls.index.store import row_store as module
from promptls.index.store.checkpoint import Part
from promptls.index.store.lance_table import Identity
from promptls.index.store.row_store import Store, StoreFailed, open_store
from workspaces import similarities

IDENTITY = Identity("model", 8, 1, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def opened(folder: Path) -> Iterator[list[Store]]:
    """Stores to be closed."""
    stores: list[Store] = []
    yield stores
    for store in stores:
        store.close()


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def rows(*numbers: int) -> Rows:
    vectors = np.array([np.random.default_rng(n).normal(size=8) for n in numbers])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return rows_of(((key_of(n), ["all", f"t{n}", f"t{n}"]) for n in numbers), rounded(vectors))


def columns_of(contents: list[Part] | list[Rows]) -> Columns:
    columns = Columns()
    for part in contents:
        columns.adopt(part) if isinstance(part, Part) else columns.fill(part, stored=True)
    columns.move([("a.py", "a.py", [], sorted(columns.rows))])
    return columns


def said(view: IndexReader) -> object:
    near = similarities(view, np.eye(8, dtype=np.float32)[0])
    return {
        view.keys[row]: (
            int(view.length[row]),
            round(float(near[row]), 6),
            [(t, int(n)) for t in ("all", *(f"t{n}" for n in range(40)))
             for r, n in zip(view.postings(t).rows, view.postings(t).counts, strict=True) if r == row],
        )
        for row in range(len(view))
    }  # fmt: skip


def write(store: Store, columns: Columns, *numbers: int) -> None:
    """As the writer does it."""
    new = rows(*numbers)
    columns.fill(new)
    before = store.version
    store.add([new])
    columns.mark_stored(new.keys)
    store.show(columns.view(), new.keys, before)


def test_the_image_says_what_the_table_says(folder: Path, opened: list[Store]) -> None:
    store, contents = open_store(folder, IDENTITY)
    opened.append(store)
    assert contents == []
    columns = Columns()
    write(store, columns, *range(20))
    write(store, columns, 20, 21)
    write(store, columns, 22)
    store.drop_old_versions()
    write(store, columns, 23)
    expected = said(columns_of([rows(*range(24))]).view())

    again, recalled = open_store(folder, IDENTITY)
    assert [type(part) for part in recalled] == [Part] * len(recalled)
    assert again._keeper is None, "a start reads the image only"
    assert again.keys == {key_of(n) for n in range(24)}
    assert said(columns_of(recalled).view()) == expected

    (folder.parent / "rows.image").unlink()
    slow, read = open_store(folder, IDENTITY)
    opened.append(slow)
    assert [type(part) for part in read] == [Rows] * len(read)
    assert said(columns_of(read).view()) == expected


def test_an_image_of_another_version_is_not_used(folder: Path, opened: list[Store]) -> None:
    mine, _ = open_store(folder, IDENTITY)
    columns = Columns()
    opened.append(mine)
    write(mine, columns, 1, 2)
    other, _ = open_store(folder, IDENTITY)
    opened.append(other)
    other.add([rows(3)])
    again, _ = open_store(folder, IDENTITY)
    opened.append(again)
    assert again.keys == {key_of(n) for n in (1, 2, 3)}
    write(mine, columns, 4)  # its image would lack what the other one has written
    again, _ = open_store(folder, IDENTITY)
    opened.append(again)
    assert again.keys >= {key_of(n) for n in (1, 2, 4)}


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_image_is_never_believed(tmp_path: Path, seed: int) -> None:

    file = tmp_path / "rows.image"
    columns = columns_of([rows(*range(30))])
    whole = columns.view().part([key_of(n) for n in range(20)])
    more = columns.view().part([key_of(n) for n in range(20, 30)])
    checkpoint.write(file, b"identity", b"one", whole)
    checkpoint.append(file, b"identity", b"two", more)
    data = bytearray(file.read_bytes())
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        del data[int(rng.integers(1, len(data))) :]
    else:
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    file.write_bytes(bytes(data))
    found = checkpoint.read(file, b"identity", b"two")
    assert found is None or said(columns_of(found).view()) == said(columns.view())


def test_identity_and_version_are_those_that_were_asked_for(tmp_path: Path) -> None:

    file = tmp_path / "rows.image"
    checkpoint.write(file, b"identity", b"one", columns_of([rows(1)]).view().part([key_of(1)]))
    assert checkpoint.read(file, b"identity", b"one") is not None
    assert checkpoint.read(file, b"another", b"one") is None
    assert checkpoint.read(file, b"identity", b"two") is None
    assert checkpoint.read(tmp_path / "none", b"identity", b"one") is None


def test_dead_rows_are_deleted_when_there_are_too_many(
    folder: Path, opened: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEEP_SLACK", 3)
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.add([rows(*range(10))])
    alive = {key_of(n) for n in range(2)}
    assert store.tidy(9, lambda: alive) == []
    assert set(store.tidy(2, lambda: alive)) == {key_of(n) for n in range(2, 10)}
    assert store.keys == alive
    assert {key for part in store.read() for key in part.keys} == alive


def test_what_goes_wrong_in_the_keeper_comes_back_as_a_sentence(folder: Path, opened: list[Store]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    with pytest.raises(StoreFailed, match="4 dimensions for a table of 8") as raised:
        store.add([rows_of([(key_of(1), ["x"])], rounded(np.ones((1, 4))))])
    assert not raised.value.damaged
    store.add([rows(1)])
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
    with pytest.raises(StoreFailed) as raised:
        store.add([rows(2)])
    assert raised.value.damaged


def test_a_keeper_that_is_awake_takes_the_first_rows(folder: Path, opened: list[Store]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.awaken()
    assert store._keeper is not None
    process = store._keeper._process
    store.add([rows(1, 2)])
    assert store._keeper._process is process and store.keys == {key_of(1), key_of(2)}


def test_a_keeper_that_cannot_start_is_tried_again_by_the_first_rows(folder: Path, opened: list[Store]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    folder.rmdir()
    folder.write_text("in the way")
    store.awaken()
    folder.unlink()
    folder.mkdir()
    store.add([rows(1)])
    assert store.keys == {key_of(1)}


def test_a_keeper_that_is_killed_is_replaced(folder: Path, opened: list[Store]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.add([rows(1)])
    assert store._keeper is not None
    assert store._keeper._process is not None
    process = store._keeper._process
    process.send_signal(signal.SIGSTOP)  # it is there, and has not read what it is asked
    killer = threading.Timer(0.1, process.kill)
    killer.start()
    with pytest.raises(StoreFailed, match="ended with code"):
        store.add([rows(2)])
    store.add([rows(2)])
    assert store._keeper._process is not None
    store._keeper._process.kill()
    store._keeper._process.wait()
    store.add([rows(3)])  # that one was gone before anybody asked it
    assert {key for part in store.read() for key in part.keys} == {key_of(1), key_of(2), key_of(3)}


def test_all_that_lies_beside_the_table_counts_as_its_room(folder: Path, opened: list[Store]) -> None:
    store, _ = open_store(folder, IDENTITY)
    opened.append(store)
    store.add([rows(1, 2)])
    (folder.parent / "files.sqlite").write_bytes(bytes(12_345))
    every = sum(f.stat().st_size for f in folder.parent.rglob("*") if f.is_file())
    assert store.stats() == {"bytes": every, "rows": 2, "versions": store.stats()["versions"], "fragments": 1}
    assert every > 12_345

"""LanceDB table, tested with real tables in temporary folders."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from promptls.index.search.row_batch import RowBatch, StoreIdentity, quantize
from promptls.index.store import lance_table
from promptls.index.store.lance_process import StoreProcess
from promptls.index.store.lance_table import LanceTable, open_table, table_version
from promptls.index.workers.worker_messages import Acknowledged, AddRows, OpenTable, StoreFailure
from workspaces import build_rows

IDENTITY = StoreIdentity("model", 8, 1, 1)


def opened(folder: Path, identity: StoreIdentity = IDENTITY) -> LanceTable:
    return open_table(folder, identity, recreate=True)


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def row(number: int, terms: str, dimension: int = 8) -> RowBatch:
    vector = np.random.default_rng(number).normal(size=dimension)
    vector /= np.linalg.norm(vector)
    return build_rows([(key_of(number), terms.split())], quantize(vector[None]))


def read_terms(table: LanceTable) -> dict[int, str]:
    """Return the terms of all rows, by number."""
    rows_read = table.read()
    return {
        int.from_bytes(key, "big"): text for key, text in zip(rows_read.keys, rows_read.joined_terms(), strict=True)
    }


def test_rows_are_unchanged_by_compaction(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert read_terms(table) == {}
    rows = [row(1, "alpha beta beta"), row(2, "beta gamma"), row(3, "")]
    table.add(rows)
    for _ in range(2):
        assert read_terms(table) == {1: "alpha beta beta", 2: "beta gamma", 3: ""}
        rows_read = table.read()
        for key, vector in zip(rows_read.keys, rows_read.packed_vectors, strict=True):
            assert vector.tobytes() == next(r.vectors for r in rows if r.keys == (key,))
        table.compact()
        table.drop_old_versions()


def test_row_written_by_two_servers_is_read_once(tmp_path: Path) -> None:
    one, two = opened(tmp_path), opened(tmp_path)
    one.add([row(1, "mine"), row(1, "mine")])
    two.add([row(1, "mine"), row(2, "yours")])
    assert read_terms(one) == read_terms(two) == {1: "mine", 2: "yours"}


@pytest.mark.parametrize(
    "other", [StoreIdentity("other", 8, 1, 1), StoreIdentity("model", 4, 1, 1), StoreIdentity("model", 8, 2, 1)]
)
def test_another_identity_replaces_the_table(tmp_path: Path, other: StoreIdentity) -> None:
    opened(tmp_path).add([row(1, "old")])
    table = opened(tmp_path, other)
    assert read_terms(table) == {}
    table.add([row(2, "new", other.dimension)])
    assert read_terms(table) == {2: "new"}


def test_deleted_rows_are_not_read(tmp_path: Path) -> None:
    table = opened(tmp_path)
    table.add([row(n, f"t{n}") for n in range(10)])
    table.delete([key_of(n) for n in range(2, 10)])
    assert read_terms(table) == {0: "t0", 1: "t1"}


def test_many_fragments_are_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_table, "MAX_FRAGMENTS", 3)
    table = opened(tmp_path)
    for n in range(6):
        table.add([row(n, f"t{n}")])
    before = len(list(tmp_path.rglob("data/*.lance")))
    table.compact()
    assert read_terms(table) == {n: f"t{n}" for n in range(6)}
    assert len(list(tmp_path.rglob("data/*.lance"))) == before + 1


def test_damaged_table_is_recreated_only_on_request(tmp_path: Path) -> None:
    opened(tmp_path).add([row(1, "x")])
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
    with pytest.raises(Exception, match=r".+"):
        open_table(tmp_path, IDENTITY, recreate=False)
    again = opened(tmp_path)
    again.add([row(2, "y")])
    assert read_terms(again) == {2: "y"}


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_never_change_a_row(tmp_path: Path, seed: int) -> None:
    """LanceDB has no checksums: some flips silently change values or the order of rows."""
    rows = {key_of(n): row(n, f"terms of {n}") for n in range(300)}
    opened(tmp_path).add(rows.values())
    rng = random.Random(seed)
    (file,) = tmp_path.rglob("data/*.lance")
    data = bytearray(file.read_bytes())
    for _ in range(1 + seed % 4):
        data[rng.randrange(len(data))] ^= 0xFF
    file.write_bytes(bytes(data))
    try:
        rows_read = opened(tmp_path).read()
    except BaseException as error:
        assert not isinstance(error, (KeyboardInterrupt, SystemExit))
        return
    for key, vector in zip(rows_read.keys, rows_read.packed_vectors, strict=True):
        assert vector.tobytes() == rows[key].vectors


def test_every_write_changes_the_version(tmp_path: Path) -> None:
    assert table_version(tmp_path) == b""
    table = opened(tmp_path)
    seen = [table_version(tmp_path)]
    for n in range(3):
        table.add([row(n, "x")])
        seen.append(table_version(tmp_path))
    opened(tmp_path)
    assert table_version(tmp_path) == seen[-1]
    assert len(set(seen)) == 4


def test_readable_table_that_rejects_writes_counts_as_damaged(tmp_path: Path) -> None:
    """The newest version equals the previous one: every write causes a conflict."""
    table = opened(tmp_path)
    for number in range(3):
        table.add([row(number, "old")])
    newest, before = sorted(tmp_path.glob("chunks.lance/_versions/*.manifest"))[:2]  # they count down
    newest.write_bytes(before.read_bytes())
    process = StoreProcess()
    assert process.handle(OpenTable(str(tmp_path), IDENTITY, recreate=False)) == Acknowledged()
    first, second = (process.handle(AddRows((row(100 + n, "new"),))) for n in range(2))
    assert isinstance(first, StoreFailure)
    assert not first.damaged  # another server may have written at the same time
    assert isinstance(second, StoreFailure)
    assert second.damaged

"""The LanceDB table: real tables in temporary folders."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from promptls.index.search.row_batch import Rows, rounded, rows_of
from promptls.index.store import lance_table as module
from promptls.index.store.lance_process import Keeper
from promptls.index.store.lance_table import Identity, Table, open_table, version_of
from promptls.index.workers.messages import AddRows, Done, Failed, OpenTable

IDENTITY = Identity("model", 8, 1, 1)


def opened(folder: Path, identity: Identity = IDENTITY) -> Table:
    return open_table(folder, identity, renew=True)


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def row(number: int, terms: str, dimension: int = 8) -> Rows:
    vector = np.random.default_rng(number).normal(size=dimension)
    vector /= np.linalg.norm(vector)
    return rows_of([(key_of(number), terms.split())], rounded(vector[None]))


def held(table: Table) -> dict[int, str]:
    """number → terms of all that can be read."""
    got = table.read()
    return {int.from_bytes(key, "big"): text for key, text in zip(got.keys, got.texts(), strict=True)}


def test_what_was_written_is_read_before_and_after_tidying(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert held(table) == {}
    rows = [row(1, "alpha beta beta"), row(2, "beta gamma"), row(3, "")]
    table.add(rows)
    for _ in range(2):
        assert held(table) == {1: "alpha beta beta", 2: "beta gamma", 3: ""}
        got = table.read()
        for key, vector in zip(got.keys, got.packed, strict=True):
            assert vector.tobytes() == next(r.vectors for r in rows if r.keys == (key,))
        table.compact()
        table.drop_old_versions()


def test_a_row_that_two_have_written_is_read_once(tmp_path: Path) -> None:
    one, two = opened(tmp_path), opened(tmp_path)
    one.add([row(1, "mine"), row(1, "mine")])
    two.add([row(1, "mine"), row(2, "yours")])
    assert held(one) == held(two) == {1: "mine", 2: "yours"}


@pytest.mark.parametrize("other", [Identity("other", 8, 1, 1), Identity("model", 4, 1, 1), Identity("model", 8, 2, 1)])
def test_another_identity_is_another_table(tmp_path: Path, other: Identity) -> None:
    opened(tmp_path).add([row(1, "old")])
    table = opened(tmp_path, other)
    assert held(table) == {}
    table.add([row(2, "new", other.dimension)])
    assert held(table) == {2: "new"}


def test_a_vector_of_another_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 dimensions for a table of 8"):
        opened(tmp_path).add([row(1, "x", 4)])


def test_deleted_rows_are_gone(tmp_path: Path) -> None:
    table = opened(tmp_path)
    table.add([row(n, f"t{n}") for n in range(10)])
    table.delete([key_of(n) for n in range(2, 10)])
    assert held(table) == {0: "t0", 1: "t1"}


def test_fragments_are_joined_when_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FRAGMENTS", 3)
    table = opened(tmp_path)
    for n in range(6):
        table.add([row(n, f"t{n}")])
    before = len(list(tmp_path.rglob("data/*.lance")))
    table.compact()
    assert held(table) == {n: f"t{n}" for n in range(6)}
    assert len(list(tmp_path.rglob("data/*.lance"))) == before + 1


def test_a_damaged_table_is_made_anew_only_where_that_is_wanted(tmp_path: Path) -> None:
    opened(tmp_path).add([row(1, "x")])
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
    with pytest.raises(Exception, match=r".+"):
        open_table(tmp_path, IDENTITY, renew=False)
    again = opened(tmp_path)
    again.add([row(2, "y")])
    assert held(again) == {2: "y"}


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_never_change_a_row(tmp_path: Path, seed: int) -> None:
    """LanceDB has no checksums: some flips make it read other values, or rows of another order, without a word."""
    rows = {key_of(n): row(n, f"terms of {n}") for n in range(300)}
    opened(tmp_path).add(rows.values())
    rng = random.Random(seed)
    (file,) = tmp_path.rglob("data/*.lance")
    data = bytearray(file.read_bytes())
    for _ in range(1 + seed % 4):
        data[rng.randrange(len(data))] ^= 0xFF
    file.write_bytes(bytes(data))
    try:
        got = opened(tmp_path).read()
    except BaseException as error:
        assert not isinstance(error, (KeyboardInterrupt, SystemExit))
        return
    for key, vector in zip(got.keys, got.packed, strict=True):
        assert vector.tobytes() == rows[key].vectors


def test_every_write_gives_another_version(tmp_path: Path) -> None:
    assert version_of(tmp_path) == b""
    table = opened(tmp_path)
    seen = [version_of(tmp_path)]
    for n in range(3):
        table.add([row(n, "x")])
        seen.append(version_of(tmp_path))
    opened(tmp_path)
    assert version_of(tmp_path) == seen[-1]
    assert len(set(seen)) == 4


def test_a_table_that_takes_no_rows_is_damaged_though_it_can_be_read(tmp_path: Path) -> None:
    """The newest version holds what is in the one before: each write meets a conflict, for ever."""
    table = opened(tmp_path)
    for number in range(3):
        table.add([row(number, "old")])
    newest, before = sorted(tmp_path.glob("chunks.lance/_versions/*.manifest"))[:2]  # they count down
    newest.write_bytes(before.read_bytes())
    keeper = Keeper()
    assert keeper.answer(OpenTable(str(tmp_path), IDENTITY, renew=False)) == Done()
    first, second = (keeper.answer(AddRows((row(100 + n, "new"),))) for n in range(2))
    assert isinstance(first, Failed)
    assert not first.damaged  # somebody else may have been quicker
    assert isinstance(second, Failed)
    assert second.damaged

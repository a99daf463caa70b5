"""The LanceDB table: real tables in temporary folders."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from promptls.index.store import Identity, Store, open_store
from promptls.model import Row

IDENTITY = Identity("model", 8, 1, 1)


def row(number: int, terms: str, dimension: int = 8) -> Row:
    vector = np.random.default_rng(number).normal(size=dimension)
    vector /= np.linalg.norm(vector)
    return Row(number.to_bytes(16, "big"), vector.astype(np.float16).tobytes(), terms)


def found(store: Store, *terms: str) -> list[int]:
    return sorted(int.from_bytes(hit.key, "big") for hit in store.matching(terms, 10))


def test_rows_are_found_by_vector_and_by_term_before_and_after_tidying(tmp_path: Path) -> None:
    store = open_store(tmp_path, IDENTITY)
    assert store.matching(["x"], 5) == []
    store.add([row(1, "alpha beta"), row(2, "beta gamma"), row(3, "handle_ping ping")])
    for _ in range(2):
        assert found(store, "beta") == [1, 2]
        assert found(store, "ping", "nothing") == [3]
        assert found(store, "handle_ping") == [3]
        query = np.frombuffer(row(2, "").vector, np.float16).astype(np.float32)
        assert store.nearest(query, 1)[0].key == row(2, "").key
        store.tidy({row(n, "").key for n in (1, 2, 3)}, force=True)


def test_a_row_is_written_once(tmp_path: Path) -> None:
    store = open_store(tmp_path, IDENTITY)
    store.add([row(1, "a"), row(1, "a")])
    store.add([row(1, "a")])
    assert store.stats()["rows"] == 1
    assert len(store.nearest(np.ones(8, np.float32), 10)) == 1


def test_a_restart_finds_what_was_written(tmp_path: Path) -> None:
    open_store(tmp_path, IDENTITY).add([row(1, "kept")])
    again = open_store(tmp_path, IDENTITY)
    assert again.keys == {row(1, "").key}
    assert [r.terms for r in again.rows([row(1, "").key, row(9, "").key])] == ["kept"]


@pytest.mark.parametrize("other", [Identity("other", 8, 1, 1), Identity("model", 4, 1, 1), Identity("model", 8, 2, 1)])
def test_another_identity_is_another_table(tmp_path: Path, other: Identity) -> None:
    open_store(tmp_path, IDENTITY).add([row(1, "old")])
    store = open_store(tmp_path, other)
    assert store.keys == set()
    store.add([row(2, "new", other.dimension)])
    assert found(store, "old") == []


def test_a_vector_of_another_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 dimensions for a table of 8"):
        open_store(tmp_path, IDENTITY).add([row(1, "x", 4)])


def test_a_damaged_store_is_made_anew(tmp_path: Path) -> None:
    store = open_store(tmp_path, IDENTITY)
    store.add([row(1, "x")])
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
    again = open_store(tmp_path, IDENTITY)
    again.add([row(2, "y")])
    assert found(again, "y") == [2]


def test_dead_rows_are_swept_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.index.store.SWEEP_SLACK", 3)
    store = open_store(tmp_path, IDENTITY)
    store.add([row(n, f"t{n}") for n in range(10)])
    alive = {row(n, "").key for n in range(2)}
    store.tidy(alive)
    assert store.keys == alive
    assert found(store, "t1", "t7") == [1]
    assert open_store(tmp_path, IDENTITY).keys == alive


def test_two_handles_see_each_other(tmp_path: Path) -> None:
    one, two = open_store(tmp_path, IDENTITY), open_store(tmp_path, IDENTITY)
    one.add([row(1, "mine")])
    two.add([row(2, "yours")])
    assert found(one, "yours") == [2]
    assert found(two, "mine") == [1]

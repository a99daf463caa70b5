"""The LanceDB table: real tables in temporary folders."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from promptls.index.rows import Rows, rows_of
from promptls.index.store import Identity, Store, open_store

IDENTITY = Identity("model", 8, 1, 1)


def opened(folder: Path, identity: Identity = IDENTITY) -> Store:
    return open_store(folder, identity)[0]


def row(number: int, terms: str, dimension: int = 8) -> Rows:
    vector = np.random.default_rng(number).normal(size=dimension)
    vector /= np.linalg.norm(vector)
    return rows_of([(number.to_bytes(16, "big"), terms.split())], vector.astype(np.float16).tobytes())


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def held(store: Store) -> dict[int, str]:
    """number → terms of all that can be read."""
    got = store.read()
    return {int.from_bytes(key, "big"): text for key, text in zip(got.keys, got.texts(), strict=True)}


def test_what_was_written_is_read_before_and_after_tidying(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert held(store) == {}
    rows = [row(1, "alpha beta beta"), row(2, "beta gamma"), row(3, "")]
    store.add(rows)
    for _ in range(2):
        assert held(store) == {1: "alpha beta beta", 2: "beta gamma", 3: ""}
        got = store.read()
        for key, vector in zip(got.keys, got.matrix, strict=True):
            assert vector.tobytes() == next(r.vectors for r in rows if r.keys == (key,))
        store.tidy(3, lambda: {r.keys[0] for r in rows})
        store.drop_old_versions()


def test_a_row_is_written_once(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.add([row(1, "a"), row(1, "a")])
    store.add([row(1, "a")])
    assert store.stats()["rows"] == 1
    assert held(store) == {1: "a"}


def test_a_restart_finds_what_was_written(tmp_path: Path) -> None:
    opened(tmp_path).add([row(1, "kept")])
    again, contents = open_store(tmp_path, IDENTITY)
    assert again.keys == {key_of(1)} == set(contents.keys)
    assert held(again) == {1: "kept"}


@pytest.mark.parametrize("other", [Identity("other", 8, 1, 1), Identity("model", 4, 1, 1), Identity("model", 8, 2, 1)])
def test_another_identity_is_another_table(tmp_path: Path, other: Identity) -> None:
    opened(tmp_path).add([row(1, "old")])
    store = opened(tmp_path, other)
    assert store.keys == set()
    store.add([row(2, "new", other.dimension)])
    assert held(store) == {2: "new"}


def test_a_vector_of_another_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 dimensions for a table of 8"):
        opened(tmp_path).add([row(1, "x", 4)])


def test_a_damaged_store_is_made_anew(tmp_path: Path) -> None:
    opened(tmp_path).add([row(1, "x")])
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(os.urandom(50))
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
    _, got = open_store(tmp_path, IDENTITY)
    for key, vector in zip(got.keys, got.matrix, strict=True):
        assert vector.tobytes() == rows[key].vectors


def test_dead_rows_are_swept_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.index.store.SWEEP_SLACK", 3)
    store = opened(tmp_path)
    store.add([row(n, f"t{n}") for n in range(10)])
    alive = {key_of(n) for n in range(2)}
    assert set(store.tidy(2, lambda: alive)) == {key_of(n) for n in range(2, 10)}
    assert store.keys == alive
    assert held(store) == {0: "t0", 1: "t1"}
    assert opened(tmp_path).keys == alive


def test_two_handles_see_each_other(tmp_path: Path) -> None:
    one, two = opened(tmp_path), opened(tmp_path)
    one.add([row(1, "mine")])
    two.add([row(2, "yours")])
    assert held(one) == held(two) == {1: "mine", 2: "yours"}

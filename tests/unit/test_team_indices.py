"""Indices of the team table after a build and after updates."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from promptls.extensions.team import indices
from promptls.extensions.team.reader_messages import SearchIndex
from promptls.extensions.team.schema import (
    ChunkRow,
    FileRow,
    RepositoryState,
    chunk_table,
    file_table,
    repository_table,
    table_schema,
)
from promptls.extensions.team.storage import Storage
from promptls.extensions.team.table import commit_build, commit_update, open_table, publish, write_fragments
from promptls.extensions.team.table_search import TeamTable
from promptls.index import StoreIdentity
from promptls.model import Span
from teamkit import require_team_packages

require_team_packages(["lance"])

DIMENSION = 16
IDENTITY = StoreIdentity("model", DIMENSION, 1, 1)
EQUAL, RANDOM = 20_000, 4_000
"""Equal vectors are in one partition, which is above Lance's limit of four times its preferred size."""


def chunk(number: int) -> ChunkRow:
    return ChunkRow(
        "shop.py", number.to_bytes(16, "big"), Span(number, number + 1), "function", "f", "x = 1", "total voucher"
    )


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = Storage(str(tmp_path_factory.mktemp("index")))
    schema, random = table_schema(IDENTITY), np.random.default_rng(1)
    vectors = np.concatenate([np.ones((EQUAL, DIMENSION)), random.standard_normal((RANDOM, DIMENSION))])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    state = RepositoryState("acme/shop", "", "1", chunks=len(vectors))
    fragments = write_fragments(
        storage,
        IDENTITY,
        [
            repository_table(schema, state),
            file_table(schema, "acme/shop", [FileRow("shop.py", b"hash", "total voucher", b"", ("total",))]),
            chunk_table(schema, "acme/shop", [chunk(i) for i in range(len(vectors))], vectors.astype(np.float16)),
        ],
        is_new=True,
    )
    commit_build(storage, IDENTITY, fragments)
    indices.build_indices(storage)
    publish(storage)
    return storage


def test_update_without_new_vectors_is_indexed(storage: Storage) -> None:
    state = RepositoryState("acme/empty", "", "1")
    fragments = write_fragments(storage, IDENTITY, [repository_table(table_schema(IDENTITY), state)])
    commit_update(open_table(storage), storage, [state.name], fragments)
    indices.update_indices(storage)
    assert set(indices.unindexed_rows(open_table(storage)).values()) == {0}


def test_parts_of_updates_are_searched_and_merged(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indices, "MAX_DELTAS", 2)
    schema, vector = table_schema(IDENTITY), np.eye(DIMENSION, dtype=np.float16)[:1]
    request = SearchIndex(vector.astype(np.float32).tobytes(), ("refund",), 50)
    parts: list[int] = []
    for number in range(1, 6):
        state = RepositoryState(f"acme/refund-{number}", "", "1", chunks=1)
        row = replace(chunk(EQUAL + RANDOM + number), terms="refund total")
        tables = [repository_table(schema, state), chunk_table(schema, state.name, [row], vector)]
        fragments = write_fragments(storage, IDENTITY, tables)
        commit_update(open_table(storage), storage, [state.name], fragments)
        indices.update_indices(storage)
        publish(storage)
        dataset = open_table(storage)
        assert set(indices.unindexed_rows(dataset).values()) == {0}
        parts.append(max(int(dataset.stats.index_stats(name)["num_indices"]) for name in ("vector", "terms")))
        found = [hit for hit in TeamTable(storage).search(request) if hit.keyword]
        assert {hit.repository for hit in found} == {f"acme/refund-{i}" for i in range(1, number + 1)}
        assert len({hit.keyword for hit in found}) == 1 and all(hit.similarity > 0.99 for hit in found)
    assert max(parts) == 3 and min(parts[1:]) == 1, parts


@pytest.mark.parametrize("repositories", [(), ("acme/shop",)])
@pytest.mark.parametrize("exact", [False, True])
def test_searches_find_only_chunks(storage: Storage, repositories: tuple[str, ...], exact: bool) -> None:
    vector = np.full(DIMENSION, -(DIMENSION**-0.5), np.float32)
    table = TeamTable(storage)
    request = SearchIndex(vector.tobytes(), ("total",), 100, repositories=repositories)
    assert len(table.near(request, exact)) == 100
    assert len({(hit.path, hit.span) for hit in table.search(request)}) == 100

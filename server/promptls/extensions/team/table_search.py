"""Searches in one version of the team table, with the LanceDB client."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from promptls.extensions.team.indices import partitions
from promptls.extensions.team.reader_messages import ChunkHit, SearchIndex
from promptls.extensions.team.schema import (
    FILE,
    REPO,
    ChunkItem,
    RepositoryState,
    any_of,
    quoted,
    table_identity,
    table_schema,
)
from promptls.extensions.team.storage import PUBLISHED, TABLE, Storage
from promptls.index import StoreIdentity
from promptls.model import Span
from promptls.util.decode import decode_json, decode_msgpack

INDEX_CACHE_BYTES, CACHE_BYTES_PER_CHUNK = 128 << 20, 80
"""Memory for parts of indices: a minimum, and by size of the index. A search that replaces the whole cache is slow: in
ten million chunks it takes 535 ms with the minimum, and 111 ms with 768 MB."""
REMOTE_CACHE_BYTES = 256 << 20
"""Minimum for object storage, where reading a missing part again takes several round trips."""
REMOTE_THREADS = {"LANCE_IO_THREADS": "128", "LANCE_CPU_THREADS": "32"}
"""Concurrent requests to object storage, and concurrent loads of partitions. The defaults of Lance are 64 and the number of
cores; with two cores, 30 ms of latency and a cache of 128 MB, a search in 1.4 million chunks takes 1.8 s with them, and 0.37 s
with these."""
METADATA_CACHE_BYTES = 32 << 20
"""Memory for metadata of fragments."""
MIN_PROBES, PROBE_FACTOR = 64, 5.3
"""Partitions of the vector index that a search reads: a minimum, and a factor of the square root of their number. With
these values and the next, searches in 1.4 and in 10 million chunks find .96 and .95 of the nearest 100."""
REFINE_FACTOR = 8
"""Quantized candidates for each result that are rescored with their vectors."""
MAX_SCANNED_CHUNKS = 8_192
"""Chunks of repositories that are searched without the index, by reading all of their vectors (8 MB)."""
WARM_TERMS = ("error", "request", "test")
"""Terms of the search that warms the caches; frequent ones, whose postings are large."""
FUSION_RANK = 20
"""Constant of reciprocal rank fusion, which selects the chunks that are read."""


class MissingIndex(Exception):
    """There is no published index; the message is one sentence."""


class TeamTable:
    """One version of the table, opened for reading."""

    def __init__(self, storage: Storage) -> None:
        """Open the published version.

        Raises:
            MissingIndex: No version is published.
        """
        self._storage = storage
        self._threads = ThreadPoolExecutor(2, "team-search")
        minimum = INDEX_CACHE_BYTES
        if storage.options:
            minimum = REMOTE_CACHE_BYTES
            for name, value in REMOTE_THREADS.items():
                os.environ.setdefault(name, value)  # Lance reads them when it is first used
        self._open(minimum)
        cache_bytes = CACHE_BYTES_PER_CHUNK * self.chunks
        if cache_bytes > minimum:
            self._open(cache_bytes)

    def _open(self, cache_bytes: int) -> None:
        import lancedb

        storage = self._storage
        options = {"client_max_retries": "2", "client_retry_timeout": "10", "connect_timeout": "3s", "timeout": "10s"}
        self._database = lancedb.connect(
            storage.uri,
            storage_options={**options, **storage.options} if storage.options else None,
            read_consistency_interval=None,  # `refresh` decides when to move on
            session=lancedb.Session(cache_bytes, METADATA_CACHE_BYTES),
        )
        self._table = self._database.open_table(TABLE)
        identity = table_identity(self._table.schema.metadata)
        if identity is None:
            raise MissingIndex(f"{storage.uri} does not contain a team index; run `promptls team build`.")
        if self._table.schema.names != table_schema(identity).names:
            raise MissingIndex(f"{storage.uri} was built by another version of promptls; run `promptls team build`.")
        self.identity: StoreIdentity = identity
        self.version = 0
        self.refresh()

    def refresh(self) -> bool:
        """Move on to the published version; return whether it is another one."""
        tag = self._table.tags.list().get(PUBLISHED)
        if tag is None:
            raise MissingIndex(f"The team index {self._storage.uri} is not published yet; run `promptls team build`.")
        if tag["version"] == self.version:
            return False
        self._table.checkout(tag["version"])
        self.version = int(tag["version"])
        identity = table_identity(self._table.schema.metadata)
        self.identity = identity or self.identity
        rows = self._rows(f"row = '{REPO}'", ["text"])["text"].to_pylist()
        self.repositories = tuple(decode_json(text.encode(), RepositoryState) for text in rows)
        self.chunks = sum(state.chunks for state in self.repositories)
        statistics = (
            self._table.index_stats("vector")
            if "vector" in {index.name for index in self._table.list_indices()}
            else None
        )
        self.unindexed = statistics.num_unindexed_rows if statistics is not None else self.chunks
        self._probes = max(MIN_PROBES, round(PROBE_FACTOR * math.sqrt(partitions(self.chunks))))
        return True

    def warm(self) -> None:
        """Read what the first search needs."""
        vector = np.ones(self.identity.dimension, np.float32) / np.sqrt(self.identity.dimension)
        self.search(SearchIndex(vector.astype(np.float32).tobytes(), WARM_TERMS, 10))

    def search(self, request: SearchIndex) -> tuple[ChunkHit, ...]:
        """Return the best chunks by vector and by terms, those that both find first."""
        by_terms = self._threads.submit(self._by_terms, request) if request.terms else None
        near = self.near(request) if request.vector else {}
        keyword = by_terms.result() if by_terms is not None else {}
        rank: dict[int, float] = {}
        for found in (near, keyword):
            for place, row_id in enumerate(found):
                rank[row_id] = rank.get(row_id, 0.0) + 1 / (FUSION_RANK + place)
        best = sorted(rank, key=lambda row_id: -rank[row_id])[: request.limit]
        return self._hits(best, request, near, keyword) if best else ()

    def files(self, repository: str) -> dict[str, tuple[str, ...]]:
        """Return the names of definitions by path."""
        table = self._rows(f"repo = {quoted(repository)} AND row = '{FILE}'", ["path", "names"])
        return {
            path: tuple(names or ())
            for path, names in zip(table["path"].to_pylist(), table["names"].to_pylist(), strict=True)
        }

    def read(self, repository: str, path: str) -> tuple[str, bytes] | None:
        """Return the text and the outline of a file, None if the index does not contain it."""
        condition = f"path = {quoted(path)} AND repo = {quoted(repository)} AND row = '{FILE}'"
        table = self._rows(condition, ["text", "outline"])
        return (table["text"][0].as_py(), table["outline"][0].as_py()) if len(table) else None

    def _rows(self, condition: str, columns: list[str]) -> Any:
        return self._table.search().where(condition).select(columns).limit(None).to_arrow()

    def near(self, request: SearchIndex, exact: bool = False) -> dict[int, float]:
        """Return the similarity of the nearest chunks by row id; `exact`: of all chunks, without the index."""
        vector = np.frombuffer(request.vector, np.float32)
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        query = _filtered(query, request).limit(request.limit)
        if exact or self._is_small(request.repositories):
            query = query.bypass_vector_index()
        else:
            query = query.nprobes(self._probes).refine_factor(REFINE_FACTOR)
        found = query.select(["_distance"]).with_row_id(True).to_arrow()
        similarity = (1 - distance for distance in found["_distance"].to_pylist())
        return dict(zip(found["_rowid"].to_pylist(), similarity, strict=True))

    def _is_small(self, repositories: Sequence[str]) -> bool:
        """Return whether repositories have so few chunks that the probed partitions may contain none of them."""
        if not repositories:
            return False
        return sum(s.chunks for s in self.repositories if s.name in repositories) <= MAX_SCANNED_CHUNKS

    def _by_terms(self, request: SearchIndex) -> dict[int, float]:
        """Return the BM25 score of the best chunks by row id."""
        from lancedb.query import MatchQuery

        query = self._table.search(MatchQuery(" ".join(request.terms), "terms"), query_type="fts")
        query = _filtered(query, request).limit(request.limit)
        found = query.select(["_score"]).with_row_id(True).to_arrow()
        return dict(zip(found["_rowid"].to_pylist(), found["_score"].to_pylist(), strict=True))

    def _hits(
        self, ids: Sequence[int], request: SearchIndex, near: dict[int, float], keyword: dict[int, float]
    ) -> tuple[ChunkHit, ...]:
        """Read the chunks, and the vectors of those whose similarity is not known."""
        unknown = [row_id for row_id in ids if row_id not in near] if request.vector else []
        similarity = {**near, **self._similarities(unknown, request)}
        table = self._table.take_row_ids(list(ids)).select(["item"]).with_row_id().to_arrow()
        hits = []
        for row_id, packed in zip(table["_rowid"].to_pylist(), table["item"].to_pylist(), strict=True):
            item = decode_msgpack(packed, ChunkItem)
            scores = round(similarity.get(row_id, 0.0), 4), round(keyword.get(row_id, 0.0), 4)
            span = Span(item.start, item.end)
            hits.append(ChunkHit(item.repository, item.path, span, item.kind, item.symbol, item.text, *scores))
        return tuple(hits)

    def _similarities(self, ids: Sequence[int], request: SearchIndex) -> dict[int, float]:
        if not ids:
            return {}
        table = self._table.take_row_ids(list(ids)).select(["vector"]).with_row_id().to_arrow()
        flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        similarity = np.asarray(flat, np.float32).reshape(len(table), -1) @ np.frombuffer(request.vector, np.float32)
        return dict(zip(table["_rowid"].to_pylist(), similarity.tolist(), strict=True))


def _filtered(query: Any, request: SearchIndex) -> Any:
    """Return a query limited to the repositories of a request.

    Rows that are not chunks have neither a vector nor terms. A filter of them would take half of the time of a vector
    search in ten million chunks.
    """
    parts = [any_of("repo", request.repositories)] if request.repositories else []
    whole = [e.repository for e in request.excluded if not e.folder]
    if whole:
        parts.append(f"NOT ({any_of('repo', whole)})")
    parts += [
        f"NOT (repo = {quoted(e.repository)} AND starts_with(path, {quoted(e.folder)}))"
        for e in request.excluded
        if e.folder
    ]
    return query.where(" AND ".join(parts), prefilter=True) if parts else query

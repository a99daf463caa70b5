"""The LanceDB table of one workspace folder: vectors and full text, keyed by content.

A row belongs to a chunk *text*, not to a place: renames, branch switches and restarts find what was
embedded before.  Rows are only added and, when too many are dead, swept; where a text stands is the
snapshot's business.  The only importer of lancedb.  Thread-safe for reads; writes come from one thread.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.model import Row

os.environ.setdefault("LANCE_LOG", "error")  # else a warning on stderr for every query

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
_TABLE = "chunks"
INDEX_TAIL, INDEX_TAIL_SHARE = 10_000, 0.5
"""Rows outside the full-text index that a query may scan, at least, and as a share of all: `tidy` indexes
more.  A share, because each time writes the whole index anew."""
VECTOR_INDEX_FROM = 40_000
"""Rows from which a vector index pays (flat search is exact and fast enough below)."""
VECTOR_PROBES = 20
"""All partitions that LanceDB makes by default at 60,000 rows: 99 % of the exact 300 nearest, in half the time.
The caller scores what is found by the full vectors."""
MAX_FRAGMENTS = 64
SWEEP_SLACK = 5_000
"""Dead rows that may stay beside as many as are alive: they are what a branch switch finds again."""
VERSIONS_KEPT = timedelta(minutes=10)


class Identity(Struct, frozen=True):
    """What rows depend on.  Another identity is another table, never a mix."""

    model: str
    dimension: int
    chunker: int
    terms: int
    schema: int = SCHEMA_VERSION


class Hit(Struct, frozen=True):
    """A row that a search proposes."""

    key: bytes
    terms: str
    vector: bytes  # float16[dimension]


class Store:
    """Open with `open_store`."""

    def __init__(self, folder: Path, table: Any, identity: Identity) -> None:
        self.folder = folder
        self.identity = identity
        self._table = table
        self._lock = threading.Lock()
        self.keys: set[bytes] = {bytes.fromhex(k) for k in self._column("key")}
        self._tail = self._unindexed()

    def add(self, rows: Sequence[Row]) -> None:
        """Write rows that are not there yet, as one version."""
        import pyarrow as pa

        new = {row.key: row for row in rows if row.key not in self.keys and row.vector}
        if not new:
            return
        width = self.identity.dimension
        vectors = np.frombuffer(b"".join(r.vector for r in new.values()), dtype=np.float16)
        if vectors.size != len(new) * width:
            raise ValueError(f"vectors of {vectors.size // len(new)} dimensions for a table of {width}")
        columns = [
            pa.array([key.hex() for key in new], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors), width),
            pa.array([row.terms for row in new.values()], pa.string()),
        ]
        with self._lock:
            self._table.add(pa.Table.from_arrays(columns, schema=_schema(self.identity)))
            self.keys.update(new)
            self._tail += len(new)

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        """The rows most similar to a unit vector, best first."""
        if not self.keys:
            return []
        search = self._table.search(vector, vector_column_name="vector").distance_type("dot").limit(limit)
        if len(self.keys) >= VECTOR_INDEX_FROM:
            search = search.nprobes(VECTOR_PROBES)
        return _hits(search.select(["key", "terms", "vector", "_distance"]).to_arrow())

    def matching(self, terms: Collection[str], limit: int) -> list[Hit]:
        """The rows that BM25 ranks first for any of these terms."""
        if not self.keys or not terms:
            return []
        from lancedb.query import MatchQuery

        query = MatchQuery(" ".join(dict.fromkeys(terms)), "terms")
        search = self._table.search(query, query_type="fts").limit(limit)
        found = search.select(["key", "terms", "vector", "_score"]).to_arrow()
        if len(found) == limit:
            # Which of the rows with the last score made it is chance: without them the answer is always the same.
            scores = found["_score"].to_numpy()
            found = found.filter(scores > scores.min() + 1e-6)
        return _hits(found)

    def rows(self, keys: Iterable[bytes]) -> list[Row]:
        """The rows of these keys that are there; vectors are left out."""
        out: dict[bytes, Row] = {}
        wanted = [key.hex() for key in keys if key in self.keys]
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            condition = "key IN (" + ",".join(f"'{key}'" for key in part) + ")"  # hex digits only
            found = self._table.search().where(condition).select(["key", "terms"]).limit(4 * len(part)).to_arrow()
            for key, terms in zip(found["key"].to_pylist(), found["terms"].to_pylist(), strict=True):
                out[bytes.fromhex(key)] = Row(bytes.fromhex(key), b"", terms)
        return list(out.values())

    def all_terms(self) -> list[tuple[bytes, str]]:
        """(key, terms) of every row."""
        found = self._table.search().select(["key", "terms"]).to_arrow()
        return [
            (bytes.fromhex(k), t) for k, t in zip(found["key"].to_pylist(), found["terms"].to_pylist(), strict=True)
        ]

    def tidy(self, alive: Collection[bytes], force: bool = False) -> None:
        """Index what was added, compact, sweep dead rows, drop old versions: whatever is due."""
        with self._lock:
            dead = len(self.keys) - len(alive)
            if dead > len(alive) + SWEEP_SLACK:
                self._sweep(alive)
            fragments = self._table.stats()["fragment_stats"]["num_small_fragments"]
            late = self._tail > max(INDEX_TAIL, INDEX_TAIL_SHARE * len(self.keys))
            if not (late or fragments > MAX_FRAGMENTS or (force and self._tail)):
                return
            self._table.optimize(cleanup_older_than=VERSIONS_KEPT)
            self._index_vectors()
            self._tail = self._unindexed()

    def drop_old_versions(self) -> None:
        """Remove what only readers of more than `VERSIONS_KEPT` ago could still be reading."""
        with self._lock:
            self._table.optimize(cleanup_older_than=VERSIONS_KEPT)

    def _sweep(self, alive: Collection[bytes]) -> None:
        dead = [key for key in self.keys if key not in alive]
        for start in range(0, len(dead), 2_000):
            part = dead[start : start + 2_000]
            self._table.delete("key IN (" + ",".join(f"'{key.hex()}'" for key in part) + ")")
        self.keys.difference_update(dead)

    def probe(self) -> None:
        """Read everything once; raises if anything of the table or its indexes cannot be read."""
        read = self._table.search().select(["key", "vector", "terms"]).to_arrow()
        if any(read[name].null_count for name in read.column_names):
            raise ValueError("rows with holes")
        if self.keys:
            self.matching([read["terms"][0].as_py().split(" ", 1)[0] or "probe"], 1)
            self.nearest(np.zeros(self.identity.dimension, np.float32), 1)

    def _index_vectors(self) -> None:
        from lancedb.index import IvfSq

        indexed = {index.columns[0] for index in self._table.list_indices()}
        if len(self.keys) >= VECTOR_INDEX_FROM and "vector" not in indexed:
            self._table.create_index("vector", config=IvfSq(distance_type="dot"))

    def _unindexed(self) -> int:
        stats = self._table.index_stats("terms_idx")
        return int(stats.num_unindexed_rows) if stats is not None else 0

    def _column(self, name: str) -> list[str]:
        found: list[str] = self._table.search().select([name]).to_arrow()[name].to_pylist()
        return found

    def stats(self) -> dict[str, int]:
        """{bytes, rows, versions, fragments} on disk."""
        size = sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file())
        return {
            "bytes": size,
            "rows": len(self.keys),
            "versions": len(self._table.list_versions()),
            "fragments": int(self._table.stats()["fragment_stats"]["num_fragments"]),
        }


def _hits(found: Any) -> list[Hit]:
    vectors = found["vector"].combine_chunks()
    width = vectors.type.list_size
    raw = vectors.flatten().to_numpy(zero_copy_only=False).tobytes()
    return [
        Hit(bytes.fromhex(key), terms, raw[2 * width * i : 2 * width * (i + 1)])
        for i, (key, terms) in enumerate(zip(found["key"].to_pylist(), found["terms"].to_pylist(), strict=True))
    ]


def open_store(folder: Path, identity: Identity) -> Store:
    """The store in `folder`, made anew if it is missing, damaged or of another identity.

    Raises OSError when the folder cannot be written at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        store = Store(folder, _open_table(folder, identity), identity)
        store.probe()
        return store
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the library is no Exception
        log.warning("rebuilding the store in %s: %s", folder, error)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return Store(folder, _open_table(folder, identity), identity)
    except Exception as error:
        raise OSError(f"the store in {folder} cannot be opened: {error}") from error


def _open_table(folder: Path, identity: Identity) -> Any:
    import lancedb
    from lancedb.index import FTS, BTree

    database = lancedb.connect(str(folder), read_consistency_interval=timedelta(0))
    schema = _schema(identity)
    if (folder / f"{_TABLE}.lance").exists():
        table = database.open_table(_TABLE)
        if (table.schema.metadata or {}).get(b"promptls") == schema.metadata[b"promptls"]:
            return table
        log.info("the store is of another identity: made anew")
        database.drop_table(_TABLE)
    table = database.create_table(_TABLE, schema=schema)
    full_text = FTS(
        with_position=False,
        base_tokenizer="whitespace",
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        max_token_length=None,
    )
    table.create_index("terms", config=full_text)
    table.create_index("key", config=BTree())
    return table


def _schema(identity: Identity) -> Any:
    import pyarrow as pa

    fields = [
        pa.field("key", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.float16(), identity.dimension)),
        pa.field("terms", pa.string()),
    ]
    return pa.schema(fields, metadata={b"promptls": msgspec.json.encode(identity)})

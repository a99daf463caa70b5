"""LanceDB table of one workspace folder: vectors and terms of chunks, by content hash.

A row belongs to a chunk text, not to its location, so renames, branch switches and restarts reuse vectors. Rows are
only added and, if too many are dead, deleted; searches use the chunk index. The only importer of lancedb, which is
loaded in a separate process (`lance_process`): it is large, and searches do not need it.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Sequence
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from promptls.index.search.row_batch import RowBatch, StoreIdentity, pack_vectors
from promptls.util.import_stubs import import_with_stubs

os.environ.setdefault("LANCE_LOG", "error")  # else LanceDB prints warnings to stderr

log = logging.getLogger(__name__)

_TABLE = "chunks"
STUBBED_MODULES = (
    "lance_namespace",
    "lancedb.remote",
    "lancedb.namespace",
    "lancedb.functions",
)
"""Modules for remote catalogues that LanceDB imports and that are not used here."""
_SOURCE_LOCATIONS = re.compile(r'(,? at path "[^"]*")|(,? ?\S+\.rs:\d+(:\d+)?)')
MAX_FRAGMENTS = 64
"""Small fragments above which the table is compacted."""
VERSION_RETENTION = timedelta(minutes=10)
"""Age up to which old versions are kept for concurrent readers."""
_MAX_DELETED_KEYS = 2_000  # keys in one filter expression


class LanceTable:
    """A table of chunk rows. Open it with `open_table`. For one thread."""

    def __init__(self, folder: Path, table: Any, identity: StoreIdentity) -> None:
        self.folder = folder
        self.identity = identity
        self._table = table

    def add(self, batches: Iterable[RowBatch]) -> None:
        """Write rows as one version; rows without vectors are ignored."""
        import pyarrow as pa

        dimension = self.identity.dimension
        keys: dict[bytes, None] = {}
        packed: list[NDArray[np.int8]] = []
        terms: list[str] = []
        for batch in batches:
            new = batch.select({key for key in batch.keys if key not in keys})
            if not new.keys or not new.vectors:
                continue
            if new.steps.shape[1] != dimension:
                raise ValueError(f"vectors of {new.steps.shape[1]} dimensions for a table of {dimension}")
            keys |= dict.fromkeys(new.keys)
            packed.append(new.packed_vectors)
            terms += _joined_terms(new)
        if not keys:
            return
        rows = RowBatch(tuple(keys), vectors=np.concatenate(packed).tobytes())
        columns = [
            pa.array([key.hex() for key in keys], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(rows.steps.reshape(-1)), dimension),
            pa.array(rows.scales),
            pa.array(terms, pa.string()),
            pa.array(_checksums(keys, rows.packed_vectors, terms), pa.uint32()),
        ]
        self._table.add(pa.Table.from_arrays(columns, schema=_schema(self.identity)))

    def read(self) -> RowBatch:
        """Return all rows. Raises if the table cannot be read in full, or a checksum is wrong."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self._table.search().select(["key", "vector", "scale", "terms", "seal"]).to_arrow()
        if any(table[name].null_count for name in table.column_names):
            raise ValueError("rows with missing values")
        split = pc.split_pattern(table["terms"].combine_chunks(), " ")
        encoded = split.flatten().dictionary_encode()
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        keys = [bytes.fromhex(key) for key in table["key"].to_pylist()]
        steps = np.asarray(flat, np.int8).reshape(len(keys), self.identity.dimension)
        vectors = pack_vectors(table["scale"].to_numpy(), steps)
        if _checksums(keys, vectors, table["terms"].to_pylist()) != table["seal"].to_pylist():
            raise ValueError("rows with wrong checksums")
        rows = RowBatch(
            tuple(keys),
            tuple(encoded.dictionary.to_pylist()),
            encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32).tobytes(),
            split.offsets.to_numpy(zero_copy_only=False).astype(np.int32).tobytes(),
            vectors.tobytes(),
        )
        return rows.deduplicate()  # two servers may write the same chunk

    def delete(self, keys: Sequence[bytes]) -> None:
        """Delete rows."""
        for start in range(0, len(keys), _MAX_DELETED_KEYS):
            part = keys[start : start + _MAX_DELETED_KEYS]
            self._table.delete("key IN (" + ",".join(f"'{key.hex()}'" for key in part) + ")")

    def compact(self) -> None:
        """Merge small fragments if there are more than `MAX_FRAGMENTS`."""
        if self._table.stats()["fragment_stats"]["num_small_fragments"] > MAX_FRAGMENTS:
            self._table.optimize(cleanup_older_than=VERSION_RETENTION)

    def drop_old_versions(self) -> None:
        """Merge fragments, and remove versions older than `VERSION_RETENTION`."""
        self._table.optimize(cleanup_older_than=VERSION_RETENTION)


def open_table(folder: Path, identity: StoreIdentity, recreate: bool) -> LanceTable:
    """Open the table in a folder; a table of another identity is replaced.

    Args:
        folder: Directory of the database.
        identity: Required identity.
        recreate: Whether to create a missing table and to replace a damaged one.

    Raises:
        OSError: The folder cannot be written.
        BaseException: The table is damaged; LanceDB may panic.
    """
    if not recreate and not table_exists(folder):
        raise FileNotFoundError("the table was deleted")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return LanceTable(folder, _open(folder, identity), identity)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is not an Exception
        if not recreate:
            raise
        log.warning("Rebuilding the table in %s: %s", folder, error)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return LanceTable(folder, _open(folder, identity), identity)


def table_exists(folder: Path) -> bool:
    """Return whether a folder contains a table, possibly a damaged one."""
    return (folder / f"{_TABLE}.lance").is_dir()


def table_version(folder: Path) -> bytes:
    """Return a hash that changes with every write to the table, by any process; b"" without a table.

    Does not load LanceDB.
    """
    try:
        with os.scandir(folder / f"{_TABLE}.lance" / "_versions") as entries:
            files = sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in entries)
    except OSError:
        return b""
    return blake2b(repr(files).encode(), digest_size=16).digest()


def short_error(error: BaseException) -> str:
    """Return the message of an error for users, without source locations and file names of the library."""
    message = _SOURCE_LOCATIONS.sub("", str(error) or type(error).__name__).splitlines()[0]
    return re.sub(r".*(LanceError\(IO\)|lance error): ", "", message)[:200]


def _open(folder: Path, identity: StoreIdentity) -> Any:
    lancedb = import_with_stubs("lancedb", STUBBED_MODULES)
    from lancedb.index import BTree

    database = lancedb.connect(str(folder), read_consistency_interval=timedelta(0))
    schema = _schema(identity)
    if (folder / f"{_TABLE}.lance").exists():
        table = database.open_table(_TABLE)
        if (table.schema.metadata or {}).get(b"promptls") == schema.metadata[b"promptls"]:
            return table
        log.info("The table has another identity; recreating it")
        database.drop_table(_TABLE)
    table = database.create_table(_TABLE, schema=schema)
    table.create_index("key", config=BTree())
    return table


def _joined_terms(rows: RowBatch) -> list[str]:
    """Return the same as `RowBatch.joined_terms`; Arrow is faster."""
    import pyarrow as pa
    import pyarrow.compute as pc

    terms = pa.array(rows.terms, pa.string()).take(pa.array(rows.term_array))
    return list(pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.offset_array), terms), " ").to_pylist())


def _checksums(keys: Iterable[bytes], vectors: NDArray[np.int8], terms: Iterable[str]) -> list[int]:
    """Return a CRC-32 per row. LanceDB has no checksums: a flipped bit in its metadata shifts columns silently."""
    crc = zlib.crc32
    rows = zip(keys, np.ascontiguousarray(vectors), terms, strict=True)
    return [crc(text.encode(), crc(vector, crc(key))) for key, vector, text in rows]


def _schema(identity: StoreIdentity) -> Any:
    import pyarrow as pa

    fields = [
        pa.field("key", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.int8(), identity.dimension)),
        pa.field("scale", pa.float32()),
        pa.field("terms", pa.string()),
        pa.field("seal", pa.uint32()),  # checksum
    ]
    return pa.schema(fields, metadata={b"promptls": msgspec.json.encode(identity)})

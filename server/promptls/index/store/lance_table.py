"""The LanceDB table of one workspace folder: vectors and search terms, keyed by content.

A row belongs to a chunk *text*, not to a place: renames, branch switches and restarts find what was embedded before.
Rows are only added and, when too many are dead, deleted; searches scan `columns`.  The only importer of lancedb, which
is loaded in a process of its own (`work.keeper`): it is large, and a search never needs it.
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
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.row_batch import Rows, packed
from promptls.util.import_stubs import import_without

os.environ.setdefault("LANCE_LOG", "error")  # else warnings on stderr

log = logging.getLogger(__name__)

SCHEMA_VERSION = 4
_TABLE = "chunks"
UNNEEDED = (
    "lance_namespace",
    "lancedb.remote",
    "lancedb.namespace",
    "lancedb.functions",
)
"""What LanceDB loads for remote catalogues, which nobody here asks."""
_PLACES = re.compile(r'(,? at path "[^"]*")|(,? ?\S+\.rs:\d+(:\d+)?)')
MAX_FRAGMENTS = 64
VERSIONS_KEPT = timedelta(minutes=10)


class Identity(Struct, frozen=True):
    """What rows depend on.  Another identity is another table, never a mix."""

    model: str
    dimension: int
    chunker: int
    terms: int
    schema: int = SCHEMA_VERSION


class Table:
    """Open with `open_table`.  For one thread."""

    def __init__(self, folder: Path, table: Any, identity: Identity) -> None:
        self.folder = folder
        self.identity = identity
        self._table = table

    def add(self, parts: Iterable[Rows]) -> None:
        """Write rows as one version; those without vectors are left out."""
        import pyarrow as pa

        width = self.identity.dimension
        keys: dict[bytes, None] = {}
        found: list[NDArray[np.int8]] = []
        terms: list[str] = []
        for part in parts:
            new = part.only({key for key in part.keys if key not in keys})
            if not new.keys or not new.vectors:
                continue
            if new.matrix.shape[1] != width:
                raise ValueError(f"vectors of {new.matrix.shape[1]} dimensions for a table of {width}")
            keys |= dict.fromkeys(new.keys)
            found.append(new.packed)
            terms += _texts(new)
        if not keys:
            return
        whole = Rows(tuple(keys), vectors=np.concatenate(found).tobytes())
        columns = [
            pa.array([key.hex() for key in keys], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(whole.matrix.reshape(-1)), width),
            pa.array(whole.scale),
            pa.array(terms, pa.string()),
            pa.array(_seals(keys, whole.packed, terms), pa.uint32()),
        ]
        self._table.add(pa.Table.from_arrays(columns, schema=_schema(self.identity)))

    def read(self) -> Rows:
        """All rows; raises if anything of the table cannot be read or is not what was written."""
        import pyarrow as pa
        import pyarrow.compute as pc

        read = self._table.search().select(["key", "vector", "scale", "terms", "seal"]).to_arrow()
        if any(read[name].null_count for name in read.column_names):
            raise ValueError("rows with holes")
        split = pc.split_pattern(read["terms"].combine_chunks(), " ")
        coded = split.flatten().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        flat = read["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        keys = [bytes.fromhex(key) for key in read["key"].to_pylist()]
        steps = np.asarray(flat, np.int8).reshape(len(keys), self.identity.dimension)
        vectors = packed(read["scale"].to_numpy(), steps)
        if _seals(keys, vectors, read["terms"].to_pylist()) != read["seal"].to_pylist():
            raise ValueError("rows with broken seals")
        rows = Rows(
            tuple(keys),
            tuple(coded.dictionary.to_pylist()),
            coded.indices.to_numpy(zero_copy_only=False).astype(np.int32).tobytes(),
            split.offsets.to_numpy(zero_copy_only=False).astype(np.int32).tobytes(),
            vectors.tobytes(),
        )
        return rows.distinct()  # two servers may both have written a text

    def delete(self, keys: Sequence[bytes]) -> None:
        """Remove rows."""
        for start in range(0, len(keys), 2_000):
            part = keys[start : start + 2_000]
            self._table.delete("key IN (" + ",".join(f"'{key.hex()}'" for key in part) + ")")

    def compact(self) -> None:
        """Join small fragments, if there are many."""
        if self._table.stats()["fragment_stats"]["num_small_fragments"] > MAX_FRAGMENTS:
            self._table.optimize(cleanup_older_than=VERSIONS_KEPT)

    def drop_old_versions(self) -> None:
        """Remove what only readers of more than `VERSIONS_KEPT` ago could still be reading."""
        self._table.optimize(cleanup_older_than=VERSIONS_KEPT)


def open_table(folder: Path, identity: Identity, renew: bool) -> Table:
    """The table in `folder`; made anew if it is missing or of another identity and, with `renew`, if it is damaged.

    Raises OSError when the folder cannot be written, anything when the table is damaged.
    """
    if not renew and not exists(folder):
        raise FileNotFoundError("somebody has deleted it")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return Table(folder, _open(folder, identity), identity)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the library is no Exception
        if not renew:
            raise
        log.warning("rebuilding the table in %s: %s", folder, error)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return Table(folder, _open(folder, identity), identity)


def exists(folder: Path) -> bool:
    """Whether there is a table in a folder, of whatever state."""
    return (folder / f"{_TABLE}.lance").is_dir()


def version_of(folder: Path) -> bytes:
    """What changes with every write to the table in a folder, by any process; b"" if there is none.  Loads nothing."""
    try:
        with os.scandir(folder / f"{_TABLE}.lance" / "_versions") as listing:
            found = sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in listing)
    except OSError:
        return b""
    return blake2b(repr(found).encode(), digest_size=16).digest()


def reason(error: BaseException) -> str:
    """What went wrong, in a few words for people: without places in the library's own source and names of its files."""
    said = _PLACES.sub("", str(error) or type(error).__name__).splitlines()[0]
    return re.sub(r".*(LanceError\(IO\)|lance error): ", "", said)[:200]


def _open(folder: Path, identity: Identity) -> Any:
    lancedb = import_without("lancedb", UNNEEDED)
    from lancedb.index import BTree

    database = lancedb.connect(str(folder), read_consistency_interval=timedelta(0))
    schema = _schema(identity)
    if (folder / f"{_TABLE}.lance").exists():
        table = database.open_table(_TABLE)
        if (table.schema.metadata or {}).get(b"promptls") == schema.metadata[b"promptls"]:
            return table
        log.info("the table is of another identity: made anew")
        database.drop_table(_TABLE)
    table = database.create_table(_TABLE, schema=schema)
    table.create_index("key", config=BTree())
    return table


def _texts(rows: Rows) -> list[str]:
    """What `Rows.texts` gives, put together by Arrow, which is quicker."""
    import pyarrow as pa
    import pyarrow.compute as pc

    term = pa.array(rows.words, pa.string()).take(pa.array(rows.terms))
    return list(pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.starts), term), " ").to_pylist())


def _seals(keys: Iterable[bytes], vectors: NDArray[np.int8], terms: Iterable[str]) -> list[int]:
    """A checksum per row: LanceDB has none, and a flipped bit in its metadata shifts columns without a word."""
    crc = zlib.crc32
    rows = zip(keys, np.ascontiguousarray(vectors), terms, strict=True)
    return [crc(text.encode(), crc(vector, crc(key))) for key, vector, text in rows]


def _schema(identity: Identity) -> Any:
    import pyarrow as pa

    fields = [
        pa.field("key", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.int8(), identity.dimension)),
        pa.field("scale", pa.float32()),
        pa.field("terms", pa.string()),
        pa.field("seal", pa.uint32()),
    ]
    return pa.schema(fields, metadata={b"promptls": msgspec.json.encode(identity)})

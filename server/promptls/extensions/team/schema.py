"""Rows of the team table.

One table holds three types of rows, so that one version of it is one state of all repositories: a "repo" row describes
a repository, a "file" row has the text and the outline of a file, and a "chunk" row is what searches find.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index import StoreIdentity
from promptls.model import Span
from promptls.util.decode import decode_json

CHUNK, FILE, REPO = "chunk", "file", "repo"
"""Values of the column `row`."""
METADATA_KEY = b"promptls"
"""Key of the identity in the metadata of the schema."""


class RepositoryState(Struct, frozen=True, omit_defaults=True):
    """The content of a "repo" row."""

    name: str
    address: str  # without credentials
    commit: str  # full hash; of a folder without git, a hash of its listing
    committed_at: float = 0.0  # seconds since the epoch
    indexed_at: float = 0.0
    files: int = 0
    chunks: int = 0
    settings: str = ""  # hash of what else the rows depend on: branch, include, exclude, limits


class FileRow(Struct, frozen=True):
    """A file of a repository."""

    path: str
    content_hash: bytes
    text: str
    outline: bytes  # encoded, without references and imports
    names: tuple[str, ...]  # qualified names of its definitions


class ChunkRow(Struct, frozen=True):
    """A chunk of a file."""

    path: str
    key: bytes
    span: Span
    kind: str
    symbol: str  # qualified
    text: str  # lines of the file
    terms: str  # separated by spaces


class ChunkItem(Struct, frozen=True, array_like=True):
    """What a hit shows of a chunk. One column: from object storage, each column of a row costs a request."""

    repository: str
    path: str
    start: int
    end: int
    kind: str
    symbol: str
    text: str


def encode_item(repository: str, chunk: ChunkRow) -> bytes:
    """Return the value of the column `item` of a chunk."""
    span = chunk.span
    item = ChunkItem(repository, chunk.path, span.start, span.end, chunk.kind, chunk.symbol, chunk.text)
    return msgspec.msgpack.encode(item)


def table_schema(identity: StoreIdentity) -> Any:
    """Return the Arrow schema."""
    import pyarrow as pa

    zstd = {"lance-encoding:compression": "zstd"}
    fields = [
        pa.field("row", pa.string(), nullable=False),
        pa.field("repo", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
        pa.field("item", pa.binary(), metadata=zstd),
        pa.field("text", pa.string(), metadata=zstd),
        pa.field("outline", pa.binary(), metadata=zstd),
        pa.field("names", pa.list_(pa.string())),
        pa.field("terms", pa.string(), metadata=zstd),
        pa.field("vector", pa.list_(pa.float16(), identity.dimension)),
    ]
    return pa.schema(fields, metadata={METADATA_KEY: msgspec.json.encode(identity)})


def table_identity(metadata: dict[bytes, bytes] | None) -> StoreIdentity | None:
    """Return the identity in the metadata of a schema, None if this is not a team table."""
    raw = (metadata or {}).get(METADATA_KEY)
    try:
        return decode_json(raw, StoreIdentity) if raw else None
    except msgspec.MsgspecError:
        return None


def chunk_table(schema: Any, repo: str, chunks: Sequence[ChunkRow], vectors: NDArray[np.float16]) -> Any:
    """Return rows of chunks as a table; `vectors` is float16[chunks, dimension]."""
    import pyarrow as pa

    dimension = schema.field("vector").type.list_size
    columns = {
        **_common(CHUNK, repo, [c.path for c in chunks], [c.key.hex() for c in chunks]),
        "start": pa.array([c.span.start for c in chunks], pa.int32()),
        "end": pa.array([c.span.end for c in chunks], pa.int32()),
        "item": pa.array([encode_item(repo, c) for c in chunks], pa.binary()),
        "terms": pa.array([c.terms for c in chunks], pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimension),
    }
    return _table(schema, columns, len(chunks))


def file_table(schema: Any, repo: str, files: Sequence[FileRow]) -> Any:
    """Return rows of files as a table."""
    import pyarrow as pa

    columns = {
        **_common(FILE, repo, [f.path for f in files], [f.content_hash.hex() for f in files]),
        "text": pa.array([f.text for f in files], pa.string()),
        "outline": pa.array([f.outline for f in files], pa.binary()),
        "names": pa.array([f.names for f in files], pa.list_(pa.string())),
    }
    return _table(schema, columns, len(files))


def repository_table(schema: Any, state: RepositoryState) -> Any:
    """Return the row of a repository as a table."""
    import pyarrow as pa

    columns = {
        **_common(REPO, state.name, [""], [state.commit]),
        "text": pa.array([msgspec.json.encode(state).decode()], pa.string()),
    }
    return _table(schema, columns, 1)


def quoted(value: str) -> str:
    """Return a value as a string literal of a filter expression."""
    return "'" + value.replace("'", "''") + "'"


def any_of(column: str, values: Sequence[str]) -> str:
    """Return the filter expression for rows with one of the values."""
    return f"{column} IN ({', '.join(map(quoted, values))})"


def _common(row: str, repo: str, paths: list[str], keys: list[str]) -> dict[str, Any]:
    import pyarrow as pa

    return {
        "row": pa.array([row] * len(paths), pa.string()),
        "repo": pa.array([repo] * len(paths), pa.string()),
        "path": pa.array(paths, pa.string()),
        "key": pa.array(keys, pa.string()),
    }


def _table(schema: Any, columns: dict[str, Any], rows: int) -> Any:
    import pyarrow as pa

    arrays = [columns.get(field.name) for field in schema]
    filled = [a if a is not None else pa.nulls(rows, f.type) for a, f in zip(arrays, schema, strict=True)]
    return pa.Table.from_arrays(filled, schema=schema)

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

    rows = [
        {"row": CHUNK, "repo": repo, "path": c.path, "key": c.key.hex(), "start": c.span.start, "end": c.span.end,
         "item": encode_item(repo, c), "terms": c.terms}
        for c in chunks
    ]  # fmt: skip
    field = schema.field("vector")
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), field.type.list_size)
    table = pa.Table.from_pylist(rows, schema=schema)
    return table.set_column(schema.get_field_index("vector"), field, column)


def file_table(schema: Any, repo: str, files: Sequence[FileRow]) -> Any:
    """Return rows of files as a table."""
    import pyarrow as pa

    rows = [
        {"row": FILE, "repo": repo, "path": f.path, "key": f.content_hash.hex(), "text": f.text, "outline": f.outline,
         "names": f.names}
        for f in files
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def repository_table(schema: Any, state: RepositoryState) -> Any:
    """Return the row of a repository as a table."""
    import pyarrow as pa

    row = {"row": REPO, "repo": state.name, "path": "", "key": state.commit}
    return pa.Table.from_pylist([{**row, "text": msgspec.json.encode(state).decode()}], schema=schema)


def quoted(value: str) -> str:
    """Return a value as a string literal of a filter expression."""
    return "'" + value.replace("'", "''") + "'"


def any_of(column: str, values: Sequence[str]) -> str:
    """Return the filter expression for rows with one of the values."""
    return f"{column} IN ({', '.join(map(quoted, values))})"

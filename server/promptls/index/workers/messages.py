"""What the server process and a worker process say to each other: msgpack frames over pipes.

Each request has exactly one response.  Plain values only, nothing of tree-sitter or numpy crosses.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct

from promptls.index.prescan.lexer import Skims
from promptls.index.search.row_batch import Rows
from promptls.index.store.lance_table import Identity
from promptls.model import Span


class Configure(Struct, frozen=True, tag=True, array_like=True):
    """First message to a worker."""

    model: str
    allow_download: bool
    max_file_size: int
    max_line: int
    grammar_order: tuple[Literal["pack", "legacy"], ...]
    identity: str = ""  # of the model that the index is made with: no worker may use another one
    bulk: bool = False  # whether it reads many files, and ends when there are no more


class ScanFiles(Struct, frozen=True, tag=True, array_like=True):
    """Read and outline files.  `plain`: without a grammar (the last try after a hang or crash)."""

    paths: tuple[str, ...]
    plain: bool = False


class SkimFiles(Struct, frozen=True, tag=True, array_like=True):
    """Have a first look at files; those that cannot be read are left out."""

    paths: tuple[str, ...]


class ScanText(Struct, frozen=True, tag=True, array_like=True):
    """Outline the text of an open buffer; the tree is kept and reparsed incrementally."""

    path: str
    text: str
    plain: bool = False


class Forget(Struct, frozen=True, tag=True, array_like=True):
    """The buffer was closed: its tree is dropped."""

    path: str


class FindTerms(Struct, frozen=True, tag=True, array_like=True):
    """Terms for chunk keys of the worker's last `ScanFiles` or of open buffers; what their vectors need is held until `Embed`."""

    keys: tuple[bytes, ...]


class Embed(Struct, frozen=True, tag=True, array_like=True):
    """Vectors for chunk keys of any `FindTerms` before."""

    keys: tuple[bytes, ...]
    done: tuple[bytes, ...]  # texts to be forgotten after this


class EmbedQuery(Struct, frozen=True, tag=True, array_like=True):
    """One vector for a question."""

    text: str


class Match(Struct, frozen=True, tag=True, array_like=True):
    """Look for a structural pattern in files; `texts` are those that are open, by path."""

    pattern: str
    paths: tuple[str, ...]
    texts: dict[str, str]


class FileScan(Struct, frozen=True, array_like=True):
    """What came of one file: an outline, or why there is none."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    digest: bytes = b""
    outlined: bytes = b""  # as `model.pack` made it
    skipped: str = ""
    gone: bool = False


class Scanned(Struct, frozen=True, tag=True, array_like=True):
    """Response to ScanFiles and ScanText."""

    files: tuple[FileScan, ...]


class Skimmed(Struct, frozen=True, tag=True, array_like=True):
    """Response to SkimFiles."""

    skims: Skims


class Terms(Struct, frozen=True, tag=True, array_like=True):
    """Response to FindTerms: rows without vectors; keys whose text the worker does not have are left out."""

    rows: Rows


class Vectors(Struct, frozen=True, tag=True, array_like=True):
    """Response to Embed; keys whose text the worker no longer has are left out."""

    keys: tuple[bytes, ...]
    vectors: bytes  # as `Rows` has them; b"" when the model cannot be used


class Vector(Struct, frozen=True, tag=True, array_like=True):
    """Response to EmbedQuery: float32[dimension], b"" when the model cannot be used."""

    vector: bytes


class Matched(Struct, frozen=True, tag=True, array_like=True):
    """Response to Match: the lines of matches by path, and the languages in which the pattern has a meaning."""

    files: tuple[tuple[str, tuple[Span, ...]], ...]
    languages: tuple[str, ...]


class OpenTable(Struct, frozen=True, tag=True, array_like=True):
    """First message to the keeper of a table; see `table.open_table`."""

    folder: str
    identity: Identity
    renew: bool


class ReadRows(Struct, frozen=True, tag=True, array_like=True):
    """Rows from this one on; the first request reads the whole table."""

    start: int


class AddRows(Struct, frozen=True, tag=True, array_like=True):
    """Write rows, as one version."""

    parts: tuple[Rows, ...]


class Tidy(Struct, frozen=True, tag=True, array_like=True):
    """Delete rows, join fragments if there are many; with `old`, drop versions that nobody can be reading."""

    dead: tuple[bytes, ...] = ()
    old: bool = False


class SomeRows(Struct, frozen=True, tag=True, array_like=True):
    """Response to ReadRows."""

    rows: Rows
    more: bool


class Failed(Struct, frozen=True, tag=True, array_like=True):
    """Response of the keeper when LanceDB raised; `damaged`: the table cannot be read any more."""

    problem: str
    damaged: bool = False


class Done(Struct, frozen=True, tag=True, array_like=True):
    """Response to Configure (dimension, problem) and Forget."""

    dimension: int = 0
    problem: str = ""


Request = (
    Configure
    | ScanFiles
    | SkimFiles
    | ScanText
    | Forget
    | FindTerms
    | Embed
    | EmbedQuery
    | Match
    | OpenTable
    | ReadRows
    | AddRows
    | Tidy
)
Response = Scanned | Skimmed | Terms | Vectors | Vector | Matched | SomeRows | Failed | Done

_HEAD = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()
request_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
response_decoder: msgspec.msgpack.Decoder[Response] = msgspec.msgpack.Decoder(Response)


def encoded(message: Request | Response) -> bytes:
    """One message as it goes through a pipe."""
    body = _encoder.encode(message)
    return _HEAD.pack(len(body)) + body


def write_frame(stream: BinaryIO, message: Request | Response) -> None:
    """Write one message and flush."""
    stream.write(encoded(message))
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """The bytes of the next message, None at the end of the stream."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    size = _HEAD.unpack(head)[0]
    body = stream.read(size)
    return body if len(body) == size else None

"""Messages between the server and its helper processes: msgpack frames over pipes.

Each request has exactly one response.  Messages contain plain values only, no objects of tree-sitter or numpy.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct

from promptls.index.prescan import PrescanBatch
from promptls.index.search.row_batch import RowBatch, StoreIdentity
from promptls.model import Span


class Configure(Struct, frozen=True, tag=True, array_like=True):
    """Configuration, the first message to a worker."""

    model: str
    allow_download: bool
    max_file_size: int
    max_line: int
    grammar_order: tuple[Literal["pack", "legacy"], ...]
    identity: str = ""  # model of the index; the worker must not use another one
    bulk: bool = False  # whether this is a bulk worker


class ScanFiles(Struct, frozen=True, tag=True, array_like=True):
    """Read and outline files; with `plain`, without a grammar, as a last attempt after a hang or crash."""

    paths: tuple[str, ...]
    plain: bool = False
    roots: tuple[str, ...] = ()  # see `read_text`; so for the other requests
    known: dict[str, tuple[bytes, ...]] = {}  # path → content hashes whose outlines are known


class PrescanFiles(Struct, frozen=True, tag=True, array_like=True):
    """Prescan files; unreadable files are omitted."""

    paths: tuple[str, ...]
    roots: tuple[str, ...] = ()


class ScanText(Struct, frozen=True, tag=True, array_like=True):
    """Outline the text of an open document; its syntax tree is kept and reparsed incrementally."""

    path: str
    text: str
    plain: bool = False
    language: str = ""  # of a document that is not a file; otherwise its path and text decide
    roots: tuple[str, ...] = ()


class ForgetDocument(Struct, frozen=True, tag=True, array_like=True):
    """Drop the syntax tree of a closed document."""

    path: str


class ExtractTerms(Struct, frozen=True, tag=True, array_like=True):
    """Extract the terms of chunks of the last `ScanFiles` or of open documents.

    The worker keeps their embedding inputs until `EmbedChunks`.
    """

    keys: tuple[bytes, ...]


class EmbedChunks(Struct, frozen=True, tag=True, array_like=True):
    """Embed chunks of any earlier `ExtractTerms`."""

    keys: tuple[bytes, ...]
    release: tuple[bytes, ...]  # chunks whose embedding inputs are dropped afterwards


class EmbedQuery(Struct, frozen=True, tag=True, array_like=True):
    """Embed a query, or its shingles instead if the model is static."""

    text: str
    shingles: tuple[str, ...] = ()


class MatchPattern(Struct, frozen=True, tag=True, array_like=True):
    """Search files for a structural pattern; `texts` contains the text of open documents by path."""

    pattern: str
    paths: tuple[str, ...]
    texts: dict[str, str]
    roots: tuple[str, ...] = ()


class FileScan(Struct, frozen=True, array_like=True):
    """Result for one file: an outline, or the reason why there is none."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    content_hash: bytes = b""
    encoded_outline: bytes = b""  # output of `encode_outline`
    skip_reason: str = ""
    deleted: bool = False
    known: bool = False  # whether the outline is left out, because the server process has it


class ScanResult(Struct, frozen=True, tag=True, array_like=True):
    """Response to ScanFiles and ScanText."""

    files: tuple[FileScan, ...]


class PrescanResult(Struct, frozen=True, tag=True, array_like=True):
    """Response to PrescanFiles."""

    batch: PrescanBatch


class TermsResult(Struct, frozen=True, tag=True, array_like=True):
    """Response to ExtractTerms: rows without vectors; chunks whose text the worker does not have are omitted."""

    rows: RowBatch


class ChunkVectors(Struct, frozen=True, tag=True, array_like=True):
    """Response to EmbedChunks; chunks whose text the worker no longer has are omitted."""

    keys: tuple[bytes, ...]
    vectors: bytes  # in the format of `RowBatch.vectors`; b"" if the model cannot be used


class QueryVectors(Struct, frozen=True, tag=True, array_like=True):
    """Response to EmbedQuery: float32[queries or shingles, dimension], b"" if the model cannot be used for them."""

    vectors: bytes


class MatchResult(Struct, frozen=True, tag=True, array_like=True):
    """Response to MatchPattern: lines of the matches by path, and the languages in which the pattern is valid."""

    files: tuple[tuple[str, tuple[Span, ...]], ...]
    languages: tuple[str, ...]


class OpenTable(Struct, frozen=True, tag=True, array_like=True):
    """Open a LanceDB table, the first message to the store process; see `lance_table.open_table`."""

    folder: str
    identity: StoreIdentity
    recreate: bool


class ReadRows(Struct, frozen=True, tag=True, array_like=True):
    """Read rows starting at `start`; the first request loads the whole table."""

    start: int


class AddRows(Struct, frozen=True, tag=True, array_like=True):
    """Append rows as one table version."""

    parts: tuple[RowBatch, ...]


class CompactTable(Struct, frozen=True, tag=True, array_like=True):
    """Delete rows and compact many fragments; optionally drop old versions that no reader can use any more."""

    deleted: tuple[bytes, ...] = ()
    drop_old_versions: bool = False


class RowsResult(Struct, frozen=True, tag=True, array_like=True):
    """Response to ReadRows."""

    rows: RowBatch
    more: bool


class StoreFailure(Struct, frozen=True, tag=True, array_like=True):
    """Response of the store process after an error of LanceDB; `damaged` if the table is unreadable."""

    problem: str
    damaged: bool = False


class Acknowledged(Struct, frozen=True, tag=True, array_like=True):
    """Response to Configure (with dimension and problem) and ForgetDocument."""

    dimension: int = 0
    problem: str = ""


Request = (
    Configure
    | ScanFiles
    | PrescanFiles
    | ScanText
    | ForgetDocument
    | ExtractTerms
    | EmbedChunks
    | EmbedQuery
    | MatchPattern
    | OpenTable
    | ReadRows
    | AddRows
    | CompactTable
)
Response = (
    ScanResult
    | PrescanResult
    | TermsResult
    | ChunkVectors
    | QueryVectors
    | MatchResult
    | RowsResult
    | StoreFailure
    | Acknowledged
)

_LENGTH_PREFIX = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()
request_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
response_decoder: msgspec.msgpack.Decoder[Response] = msgspec.msgpack.Decoder(Response)


def encode_frame(message: Struct) -> bytes:
    """Encode a message as a frame with a length prefix."""
    body = _encoder.encode(message)
    return _LENGTH_PREFIX.pack(len(body)) + body


def write_frame(stream: BinaryIO, message: Struct) -> None:
    """Write a message and flush."""
    stream.write(encode_frame(message))
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read the bytes of the next message, None at the end of the stream."""
    prefix = stream.read(_LENGTH_PREFIX.size)
    if len(prefix) < _LENGTH_PREFIX.size:
        return None
    size = _LENGTH_PREFIX.unpack(prefix)[0]
    body = stream.read(size)
    return body if len(body) == size else None


def serve_requests(handle: Callable[[Request], Response], prepare: Callable[[], None] = lambda: None) -> None:
    """Answer requests from stdin until one of the pipes is closed, as it is when the server ends.

    `prepare` is called before the first request.
    """
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log, not into the frames
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    prepare()
    while (body := read_frame(requests)) is not None:
        try:
            write_frame(responses, handle(request_decoder.decode(body)))
        except BrokenPipeError:
            return

"""Messages between the server and the process that reads the team index: msgpack frames over pipes."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from promptls.extensions.team.schema import RepositoryState
from promptls.index import StoreIdentity
from promptls.model import Span


class OpenIndex(Struct, frozen=True, tag=True):
    """Open the published version, or move on to a newer one; `warm` reads what the first search needs."""

    uri: str
    options: dict[str, str]
    warm: bool = False


class Exclusion(Struct, frozen=True):
    """A repository, or a folder of it ("src/"), whose rows are not searched."""

    repository: str
    folder: str = ""


class SearchIndex(Struct, frozen=True, tag=True):
    """Search chunks by vector and terms."""

    vector: bytes  # float32[dimension], b"" for a search by terms only
    terms: tuple[str, ...]
    limit: int
    excluded: tuple[Exclusion, ...] = ()
    repositories: tuple[str, ...] = ()  # search these only, all if empty


class ListFiles(Struct, frozen=True, tag=True):
    """List the files of a repository with the names of their definitions."""

    repository: str


class ReadFile(Struct, frozen=True, tag=True):
    """Read the text and the outline of a file."""

    repository: str
    path: str


class IndexOpened(Struct, frozen=True, tag=True):
    """Response to OpenIndex."""

    version: int
    identity: StoreIdentity
    repositories: tuple[RepositoryState, ...]
    chunks: int
    unindexed: int  # rows that the vector index does not contain


class ChunkHit(Struct, frozen=True):
    """A chunk that a search has found."""

    repository: str
    path: str
    span: Span
    kind: str
    symbol: str
    text: str
    similarity: float
    keyword: float  # BM25, 0 if the search by terms has not found it


class Hits(Struct, frozen=True, tag=True):
    """Response to SearchIndex."""

    hits: tuple[ChunkHit, ...]


class FileNames(Struct, frozen=True, tag=True):
    """Response to ListFiles: qualified names of definitions by path."""

    names: dict[str, tuple[str, ...]]


class FileContentResult(Struct, frozen=True, tag=True):
    """Response to ReadFile; `found` is False if the index has no such file."""

    found: bool
    text: str = ""
    outline: bytes = b""


class Failure(Struct, frozen=True, tag=True):
    """Response to any request that failed: one sentence for the user."""

    problem: str


ReaderRequest = OpenIndex | SearchIndex | ListFiles | ReadFile
ReaderResponse = IndexOpened | Hits | FileNames | FileContentResult | Failure

request_decoder: msgspec.msgpack.Decoder[ReaderRequest] = msgspec.msgpack.Decoder(ReaderRequest)
response_decoder: msgspec.msgpack.Decoder[ReaderResponse] = msgspec.msgpack.Decoder(ReaderResponse)

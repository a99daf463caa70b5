"""Indexing of one repository: files by the same ignore and secret rules as in an editor, outlines, chunks and vectors.

Secrets are redacted before a text is outlined, so that neither its terms nor its vector depend on them. The rows are
written as fragments of the table. No version contains them before the driver commits, so a worker that is killed leaves
at most unused files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from promptls.extensions.team.fetch import fetch
from promptls.extensions.team.schema import (
    CHUNK,
    ChunkRow,
    FileRow,
    RepositoryState,
    any_of,
    chunk_table,
    file_table,
    repository_table,
    table_schema,
)
from promptls.extensions.team.storage import Storage, configure_libraries
from promptls.extensions.team.table import TeamError, identity_of, open_table, write_fragments
from promptls.extensions.team.team_config import Repository
from promptls.index import (
    Embedder,
    FileLimits,
    FilePolicy,
    IndexConfig,
    RunInterner,
    StoreIdentity,
    TermExtractor,
    UnreadableFile,
    load_embedder,
    parse_source,
    read_text,
    split_lines,
    store_identity,
    walk_files,
)
from promptls.languages import language_of
from promptls.model import Outline, encode_outline
from promptls.redaction.secret_files import secret_reason
from promptls.redaction.secrets import redact
from promptls.util.hashing import content_hash

BATCH_CHUNKS = 4_000
"""Chunks that are embedded and written at a time: about 10 MB."""
_KEYS_PER_LOOKUP = 1_000


class IndexedRepository(Struct, frozen=True):
    """The rows written for a repository."""

    identity: StoreIdentity
    state: RepositoryState
    fragments: tuple[str, ...]
    embedded: int  # chunks that were embedded, not reused


def index_repository(
    repository: Repository, storage: Storage, config: IndexConfig, cache_folder: str, base_version: int = 0
) -> IndexedRepository:
    """Fetch, scan, embed and write a repository.

    Args:
        repository: The repository.
        storage: Storage of the table.
        config: Configuration of the index.
        cache_folder: Folder of the checkouts.
        base_version: Version of the table whose vectors are reused, 0 if the table is rebuilt.

    Raises:
        FetchError: The repository cannot be fetched.
        TeamError: The table has rows of another model.
    """
    configure_libraries()
    scanner = _scanner(config)
    base = open_table(storage, base_version) if base_version else None
    if base is not None and identity_of(base) != scanner.identity:
        raise TeamError("The index was built with another model or version; run `promptls team build`.")
    checkout = fetch(repository, Path(cache_folder))
    schema = table_schema(scanner.identity)
    counts = {"files": 0, "chunks": 0, "embedded": 0}

    def state() -> RepositoryState:
        settings = settings_hash(repository, config)
        return RepositoryState(
            repository.name, repository.public_address, checkout.commit, checkout.committed_at, time.time(),
            counts["files"], counts["chunks"], settings,
        )  # fmt: skip

    def tables() -> Iterator[Any]:
        for batch in scanner.batches(checkout.folder, repository_limits(config, repository)):
            chunks = [chunk for file in batch for chunk in file.chunks]
            texts = {key: text for file in batch for key, text in file.texts.items()}
            rows, vectors, embedded = scanner.embed(chunks, texts, _known_vectors(base, chunks))
            counts["files"] += len(batch)
            counts["chunks"] += len(rows)
            counts["embedded"] += embedded
            yield file_table(schema, repository.name, [file.row for file in batch])
            if rows:
                yield chunk_table(schema, repository.name, rows, vectors)
        yield repository_table(schema, state())

    fragments = write_fragments(storage, scanner.identity, tables(), is_new=base is None)
    return IndexedRepository(scanner.identity, state(), fragments, counts["embedded"])


def repository_limits(config: IndexConfig, repository: Repository) -> FileLimits:
    """Return the limits for the files of a repository; its patterns are added to those of the configuration."""
    policy = config.limits.policy
    include, exclude = repository.include or policy.include, (*policy.exclude, *repository.exclude)
    return structs.replace(config.limits, policy=FilePolicy(include, exclude, policy.include_hidden))


def settings_hash(repository: Repository, config: IndexConfig) -> str:
    """Return a hash of the settings that the rows of a repository depend on besides its commit."""
    limits = repository_limits(config, repository)
    key = repr((repository.public_address, repository.branch, limits, config.grammar_order))
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _known_vectors(base: Any, chunks: list[ChunkRow]) -> dict[bytes, NDArray[np.float16]]:
    """Return the vectors of chunks that the table has already, in any repository."""
    known: dict[bytes, NDArray[np.float16]] = {}
    keys = list(dict.fromkeys(chunk.key.hex() for chunk in chunks)) if base is not None else []
    for start in range(0, len(keys), _KEYS_PER_LOOKUP):
        condition = any_of("key", keys[start : start + _KEYS_PER_LOOKUP])
        table = base.to_table(columns=["key", "vector"], filter=f"{condition} AND row = '{CHUNK}'")
        flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        vectors = np.asarray(flat, np.float16).reshape(len(table), -1) if len(table) else flat
        known |= {bytes.fromhex(key): vectors[i] for i, key in enumerate(table["key"].to_pylist())}
    return known


class _ScannedFile(Struct, frozen=True):
    """A file with its chunks."""

    row: FileRow
    chunks: tuple[ChunkRow, ...]
    texts: dict[bytes, str]  # embedded text by key


class _Scanner:
    """The model and the term dictionary of one process."""

    def __init__(self, config: IndexConfig) -> None:
        self._config = config
        self._embedder: Embedder = load_embedder(config.embedding)
        self._interner, self._terms = RunInterner(), TermExtractor()
        self.identity: StoreIdentity = store_identity(config, self._embedder.dimension)

    def batches(self, folder: str, limits: FileLimits) -> Iterator[list[_ScannedFile]]:
        """Yield the files of a folder in batches of about `BATCH_CHUNKS` chunks."""
        batch: list[_ScannedFile] = []
        pending = 0
        for file in walk_files(folder, limits):
            content = None if secret_reason(file.name) else read_text(file.path, limits, (folder,))
            if content is None or isinstance(content, UnreadableFile):
                continue
            batch.append(self._scan(file.name, redact(content.text, file.name, is_file=True)[0]))
            pending += len(batch[-1].chunks)
            if pending >= BATCH_CHUNKS:
                yield batch
                batch, pending = [], 0
        if batch:
            yield batch

    def _scan(self, name: str, text: str) -> _ScannedFile:
        """Outline and chunk a text; the terms of the chunks are filled in by `embed`."""
        parsed = parse_source(text, language_of(name, text), grammar_sources=self._config.grammar_order, path=name)
        outline, lines = parsed.outline, split_lines(text)
        chunks = []
        for chunk in outline.chunks:
            symbol = outline.symbols[chunk.symbol] if chunk.symbol >= 0 else None
            body = "\n".join(lines[chunk.span.start : chunk.span.end])
            kind, qualified = (symbol.kind, symbol.qualified) if symbol is not None else ("text", "")
            chunks.append(ChunkRow(name, chunk.key, chunk.span, kind, qualified, body, ""))
        lean = Outline(outline.language, outline.lines, outline.symbols, doc=outline.doc)
        names = tuple(symbol.qualified for symbol in outline.symbols if symbol.name)
        row = FileRow(name, content_hash(text), text, encode_outline(lean), names)
        return _ScannedFile(row, tuple(chunks), parsed.chunk_texts)

    def embed(
        self, chunks: list[ChunkRow], texts: dict[bytes, str], known: dict[bytes, NDArray[np.float16]]
    ) -> tuple[list[ChunkRow], NDArray[np.float16], int]:
        """Return chunks with terms, their vectors, and the number of texts that were embedded, not `known`."""
        keys = tuple(dict.fromkeys(chunk.key for chunk in chunks))
        batch = self._interner.intern(tuple(texts[key] for key in keys))
        terms = dict(zip(keys, self._terms.extract(keys, batch).joined_terms(), strict=True))
        vectors = {key: known[key] for key in keys if key in known}
        unseen = [i for i, key in enumerate(keys) if key not in vectors]
        if unseen:
            inputs = self._embedder.prepare_inputs(batch)
            embedded = self._embedder.embed_inputs([inputs[i] for i in unseen]).astype(np.float16)
            vectors.update(zip((keys[i] for i in unseen), embedded, strict=True))
        rows = [structs.replace(chunk, terms=terms[chunk.key]) for chunk in chunks]
        empty = np.empty((0, self._embedder.dimension), np.float16)
        return rows, np.stack([vectors[chunk.key] for chunk in chunks]) if chunks else empty, len(unseen)


@cache
def _scanner(config: IndexConfig) -> _Scanner:
    """Return the scanner of this process: a worker of Ray indexes many repositories."""
    return _Scanner(config)

"""Analysis of one repository: files by the same ignore and secret rules as in an editor, outlines, chunks and vectors.

Secrets are redacted before a text is outlined, so that neither its terms nor its vector depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from promptls.extensions.team.schema import ChunkRow, FileRow
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
    secret_reason,
    split_lines,
    store_identity,
    walk_files,
)
from promptls.languages import language_of
from promptls.model import Outline, encode_outline
from promptls.prompt.sanitize import redact
from promptls.util.hashing import content_hash

BATCH_CHUNKS = 4_000
"""Chunks that are embedded and written at a time: about 10 MB."""


class ScannedFile(Struct, frozen=True):
    """A changed file with its chunks."""

    row: FileRow
    chunks: tuple[ChunkRow, ...]
    texts: dict[bytes, str]  # embedded text by key
    lines: int


class Scanner:
    """The model and the term dictionary of one process."""

    def __init__(self, config: IndexConfig) -> None:
        self._config = config
        self._embedder: Embedder = load_embedder(config.embedding)
        self._interner, self._terms = RunInterner(), TermExtractor()
        self.identity: StoreIdentity = store_identity(config, self._embedder.dimension)

    def limits(self, repository: Repository) -> FileLimits:
        """Return the limits of a repository; its patterns are added to those of the configuration."""
        return repository_limits(self._config, repository)

    def read(self, path: str, name: str, limits: FileLimits, root: str) -> str | None:
        """Return the text of a file without secrets, None if it is not indexed."""
        if secret_reason(name):
            return None
        content = read_text(path, limits, (root,))
        return None if isinstance(content, UnreadableFile) else redact(content.text, name, is_file=True)[0]

    def scan(self, name: str, text: str) -> ScannedFile:
        """Outline and chunk a text; the terms of the chunks are filled in by `embed`."""
        language = language_of(name, text)
        parsed = parse_source(text, language, grammar_sources=self._config.grammar_order)
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
        return ScannedFile(row, tuple(chunks), parsed.chunk_texts, outline.lines)

    def embed(
        self, chunks: list[ChunkRow], texts: Mapping[bytes, str], known: Mapping[bytes, NDArray[np.float16]]
    ) -> tuple[list[ChunkRow], NDArray[np.float16], int]:
        """Return chunks with terms, their vectors, and the number of texts that were embedded.

        `known` has vectors of chunks that an earlier version of the table contains.
        """
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
        stacked = np.stack([vectors[chunk.key] for chunk in chunks]) if chunks else self._no_vectors()
        return rows, stacked, len(unseen)

    def _no_vectors(self) -> NDArray[np.float16]:
        return np.empty((0, self._embedder.dimension), np.float16)


def repository_limits(config: IndexConfig, repository: Repository) -> FileLimits:
    """Return the limits for the files of a repository."""
    policy = config.limits.policy
    merged = FilePolicy(
        repository.include or policy.include, (*policy.exclude, *repository.exclude), policy.include_hidden
    )
    return structs.replace(config.limits, policy=merged)


def scan_folder(
    scanner: Scanner, folder: str, repository: Repository, is_known: Callable[[str, bytes], bool]
) -> Iterator[ScannedFile | str]:
    """Yield the changed files of a folder, and only the names of those that are known by name and content."""
    limits = scanner.limits(repository)
    for file in walk_files(folder, limits):
        text = scanner.read(file.path, file.name, limits, folder)
        if text is None:
            continue
        yield file.name if is_known(file.name, content_hash(text)) else scanner.scan(file.name, text)

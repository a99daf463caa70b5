"""Index configuration, derived from the settings.  A different configuration requires a different index."""

from __future__ import annotations

import importlib.metadata
import os
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from promptls.index.embedding.embedder import EmbeddingSpec, model_identity
from promptls.index.files.policy import FilePolicy
from promptls.index.files.read import FileLimits
from promptls.index.search.analyzer import ANALYZER_VERSION
from promptls.index.search.row_batch import StoreIdentity
from promptls.index.syntax.chunks import CHUNKER_VERSION
from promptls.settings import Settings, cache_directory


class IndexConfig(Struct, frozen=True):
    """Settings that the index depends on."""

    cache_folder: str  # folder for derived state
    limits: FileLimits = FileLimits()
    embedding: EmbeddingSpec = EmbeddingSpec()
    grammar_order: tuple[Literal["pack", "legacy"], ...] = ("pack", "legacy")
    workers: int = 2


def index_config(settings: Settings) -> IndexConfig:
    """Return the index configuration for these settings."""
    index = settings.index
    return IndexConfig(
        cache_folder=str(cache_directory(settings)),
        limits=FileLimits(
            index.max_file_size,
            index.max_line_length,
            policy=FilePolicy(index.include, index.exclude, index.include_hidden),
            ignore_files=index.ignore_files,
        ),
        embedding=EmbeddingSpec(settings.embedding.model, settings.embedding.allow_download),
        grammar_order=index.grammars,
        workers=index.workers or min(4, os.cpu_count() or 1),
    )


def store_identity(config: IndexConfig, dimension: int) -> StoreIdentity:
    """Return what the rows of an index depend on besides the text; reads the files of the model."""
    return StoreIdentity(model_identity(config.embedding), dimension, CHUNKER_VERSION, ANALYZER_VERSION)


def outline_fingerprint(config: IndexConfig) -> bytes:
    """Return a hash (4 bytes) of what outlines depend on apart from the text: limits and installed grammars."""
    limits = (config.limits.max_file_size, config.limits.max_line)
    key = repr((limits, config.grammar_order, [_installed_version(name) for name in _GRAMMAR_PACKAGES]))
    return blake2b(key.encode(), digest_size=4).digest()


_GRAMMAR_PACKAGES = ("tree-sitter", "tree-sitter-language-pack", "tree-sitter-languages")


def _installed_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

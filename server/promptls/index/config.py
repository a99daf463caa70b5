"""What the index depends on, taken from the settings; another value needs another index."""

from __future__ import annotations

import importlib.metadata
import os
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from promptls.index import files
from promptls.index.embedding.embedder import EmbeddingSpec
from promptls.index.workers.messages import Configure
from promptls.settings import Settings, cache_folder


class IndexConfig(Struct, frozen=True):
    """What the index depends on; comes from the settings."""

    cache: str  # folder for derived state
    limits: files.Limits = files.Limits()
    embedding: EmbeddingSpec = EmbeddingSpec()
    grammar_order: tuple[Literal["pack", "legacy"], ...] = ("pack", "legacy")
    workers: int = 2

    def configure(self, identity: str = "") -> Configure:
        """The first message to a worker; `identity` is that of the only model it may use, "" if that cannot change."""
        return Configure(
            self.embedding.model,
            self.embedding.allow_download,
            self.limits.max_file_size,
            self.limits.max_line,
            self.grammar_order,
            identity,
        )


def config_of(settings: Settings) -> IndexConfig:
    """What the indexer needs of the settings."""
    index = settings.index
    return IndexConfig(
        cache=str(cache_folder(settings)),
        limits=files.Limits(
            index.max_file_size,
            index.max_line_length,
            policy=files.Policy(index.include, index.exclude, index.include_hidden),
        ),
        embedding=EmbeddingSpec(settings.embedding.model, settings.embedding.allow_download),
        grammar_order=index.grammars,
        workers=index.workers or min(4, os.cpu_count() or 1),
    )


def made_with(config: IndexConfig) -> bytes:
    """What outlines depend on beside the text, in four bytes: limits, and the grammars that are installed."""
    limits = (config.limits.max_file_size, config.limits.max_line)
    said = repr((limits, config.grammar_order, [_version(name) for name in _GRAMMARS]))
    return blake2b(said.encode(), digest_size=4).digest()


_GRAMMARS = ("tree-sitter", "tree-sitter-language-pack", "tree-sitter-languages")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

"""What the index depends on, taken from the settings; another value needs another index."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

from promptls.index import disk
from promptls.index.embedding.embedder import EmbeddingSpec
from promptls.index.work.messages import Configure
from promptls.settings import Settings, cache_folder


class IndexConfig(Struct, frozen=True):
    """What the index depends on; comes from the settings."""

    cache: str  # folder for derived state
    limits: disk.Limits = disk.Limits()
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
        limits=disk.Limits(
            index.max_file_size,
            index.max_line_length,
            policy=disk.Policy(index.include, index.exclude, index.include_hidden),
        ),
        embedding=EmbeddingSpec(settings.embedding.model, settings.embedding.allow_download),
        grammar_order=index.grammars,
        workers=index.workers or min(4, os.cpu_count() or 1),
    )

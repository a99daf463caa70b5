"""Open a folder as a workspace with a complete index, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from promptls.engine import Engine
from promptls.index.files.uris import to_uri
from promptls.index.index_client import IndexClient
from promptls.index.snapshot import Snapshot
from promptls.index.workspace import Workspace
from promptls.model import Root
from promptls.settings import user_settings


@contextmanager
def engine_of(folder: Path) -> Iterator[tuple[Engine, str]]:
    """Yield (engine, root) with a complete index."""
    root = folder.resolve().as_posix()
    workspace = Workspace()
    engine = Engine(user_settings()[0], workspace)
    engine.start()
    try:
        workspace.set_roots([Root(root, root.rsplit("/", 1)[-1], to_uri(root))])
        engine.indexer.client.wait_until_searchable()
        engine.indexer.client.wait_until_stored()
        engine.services.cooccurrence.follow(engine.indexer.client.snapshot())
        yield engine, root
    finally:
        engine.close()


@contextmanager
def opened(folder: Path) -> Iterator[tuple[IndexClient, Snapshot, str]]:
    """Yield (index, snapshot, root) with a complete index."""
    with engine_of(folder) as (engine, root):
        yield engine.indexer.client, engine.indexer.client.snapshot(), root

"""A folder as a workspace with its index, for evaluations in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from promptls.engine import Engine
from promptls.index import files
from promptls.index.indexer import Indexer
from promptls.index.snapshot import Snapshot
from promptls.index.workspace import Workspace
from promptls.model import Root
from promptls.settings import user_settings


@contextmanager
def engine_of(folder: Path) -> Iterator[tuple[Engine, str]]:
    """(engine, root), ready to answer."""
    root = folder.resolve().as_posix()
    workspace = Workspace()
    engine = Engine(user_settings()[0], workspace)
    engine.start()
    try:
        workspace.set_roots([Root(root, root.rsplit("/", 1)[-1], files.to_uri(root))])
        engine.indexer.wait_ready()
        engine.indexer.wait_stored()
        engine.companions.follow(engine.indexer.view())
        yield engine, root
    finally:
        engine.close()


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Indexer, Snapshot, str]]:
    """(index, snapshot, root), ready to answer."""
    with engine_of(folder) as (engine, root):
        yield engine.indexer, engine.indexer.view(), root

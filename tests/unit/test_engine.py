"""The engine follows changed settings without blocking its caller, the event loop of the server."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.engine import Engine
from promptls.index import Workspace
from promptls.model import Root
from promptls.settings import CacheSettings, Settings

pytestmark = pytest.mark.process


def test_changed_settings_do_not_wait_for_a_running_write(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def one():\n    return 1\n")
    workspace = Workspace()
    workspace.set_roots([Root(root.as_posix(), "root", root.as_uri())])
    settings = Settings(cache=CacheSettings(str(tmp_path / "cache")))
    engine = Engine(settings, workspace)
    engine.start()
    begun, applied = threading.Event(), threading.Event()
    waited: list[bool] = []

    def write() -> None:  # takes until the settings are applied
        begun.set()
        waited.append(applied.wait(20))

    try:
        assert engine.index.wait_until_searchable(timeout_s=60)
        old = engine.indexer
        old.machine._storage.submit(write)
        assert begun.wait(60)
        engine.apply(replace(settings, index=replace(settings.index, workers=1)))
        applied.set()
        engine.workspace.put_document((root / "a.py").as_posix(), "def typed(): ...\n", 1, edited=True)
        assert engine.indexer is not old
        assert engine.index.wait_until_searchable(timeout_s=60)
        assert waited == [True]
        snapshot = engine.index.snapshot()
        assert [entry.name for entry in snapshot.files.values()] == ["a.py"]
        assert "typed" in snapshot.names
    finally:
        engine.close()

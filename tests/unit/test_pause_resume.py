"""Indexing can be paused and resumed; single files are still updated while it is paused."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.index.configuration import IndexConfig
from promptls.index.index_client import PAUSED_MESSAGE
from promptls.index.indexer import Indexer
from promptls.index.machine import INTERACTIVE_FILES
from promptls.index.workspace import Workspace
from promptls.model import Root

pytestmark = pytest.mark.process

FILES = 300


def test_paused_indexing_still_updates_single_files_and_can_be_resumed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for n in range(FILES):
        (root / f"module_{n}.py").write_text("".join(f"def function_{n}_{i}(x): return {i}\n" for i in range(9)))
    workspace = Workspace()
    workspace.set_roots([Root(root.as_posix(), "root", root.as_uri())])
    seen: list[int] = []

    def changed() -> None:  # on the indexer's thread, after each run of the loop
        pending = indexer.client.state().pending
        if pending > INTERACTIVE_FILES and not seen:
            seen.append(pending)
            indexer.pause()

    indexer = Indexer(IndexConfig(str(tmp_path / "cache"), workers=1), workspace, changed)
    indexer.start()
    try:
        assert indexer.client.wait_until_searchable(timeout_s=60)
        state = indexer.client.state()
        assert (state.phase, state.message) == ("degraded", PAUSED_MESSAGE)
        chunks = indexer.client.reader().live_count
        assert chunks < FILES * 9
        path = (root / "typed.py").as_posix()
        workspace.put_document(path, "def typed_while_paused(): ...\n", 1, True)
        assert "typed_while_paused" in indexer.client.snapshot().names
        workspace.rescan()
        assert indexer.client.wait_until_searchable(timeout_s=60)
        assert indexer.client.reader().live_count == chunks + 1

        indexer.resume()
        workspace.rescan()
        assert indexer.client.wait_until_stored(timeout_s=120)
        assert indexer.client.state().phase == "ready"
        assert indexer.client.reader().live_count == FILES * 9 + 1
    finally:
        indexer.close()

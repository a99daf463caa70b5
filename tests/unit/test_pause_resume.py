"""Indexing can be stopped and taken up again; single files are kept up to date meanwhile."""

from __future__ import annotations

from pathlib import Path

from promptls.index.config import IndexConfig
from promptls.index.indexer import FEW_FILES, PAUSED, Indexer
from promptls.index.workspace import Workspace
from promptls.model import Root

FILES = 300


def test_stopped_and_taken_up_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for n in range(FILES):
        (root / f"module_{n}.py").write_text("".join(f"def function_{n}_{i}(x): return {i}\n" for i in range(9)))
    workspace = Workspace()
    workspace.set_roots([Root(root.as_posix(), "root", root.as_uri())])
    seen: list[int] = []

    def changed() -> None:  # on the indexer's thread, after each step
        pending = indexer.standing().pending
        if pending > FEW_FILES and not seen:
            seen.append(pending)
            indexer.pause()

    indexer = Indexer(IndexConfig(str(tmp_path / "cache"), workers=1), workspace, changed)
    indexer.start()
    try:
        assert indexer.wait_ready(timeout_s=60)
        standing = indexer.standing()
        assert (standing.state, standing.message) == ("degraded", PAUSED)
        chunks = indexer.columns().count
        assert chunks < FILES * 9
        path = (root / "typed.py").as_posix()
        workspace.put_document(path, "def typed_while_stopped(): ...\n", 1, True)
        assert "typed_while_stopped" in indexer.view().names
        workspace.rescan()
        assert indexer.wait_ready(timeout_s=60)
        assert indexer.columns().count == chunks + 1

        indexer.resume()
        workspace.rescan()
        assert indexer.wait_stored(timeout_s=120)
        assert indexer.standing().state == "ready"
        assert indexer.columns().count == FILES * 9 + 1
    finally:
        indexer.close()

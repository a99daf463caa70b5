"""No interleaving of changes, walks, jobs and steps loses a file or an edit; no threads are involved."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from indexkit import SteppedIndex

NAMES = st.sampled_from(["a.py", "sub/b.py"])
TEXTS = st.sampled_from(["def one():\n    return 1\n", "def two():\n    return 22\n", ""])


class IndexInterleavings(RuleBasedStateMachine):
    """Every change on disk is reported, or followed by a request for a walk."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()).resolve()
        self.root, self.away = self.folder / "root", self.folder / "away"
        self.root.mkdir()
        self.away.mkdir()
        self.version = 0

    @initialize(names=st.sets(NAMES))
    def start(self, names: set[str]) -> None:
        for name in names:
            self._write(name, "def first():\n    return 0\n")
        self.index = SteppedIndex(self.root, self.folder / "cache")

    def _write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def _report(self, name: str, as_walk: bool) -> None:
        if as_walk:
            self.index.workspace.rescan()
        else:
            self.index.workspace.touch([(self.root / name).as_posix()])

    # ---- changes

    @rule(name=NAMES, text=TEXTS, as_walk=st.booleans())
    def write(self, name: str, text: str, as_walk: bool) -> None:
        self._write(name, text)
        self._report(name, as_walk)

    @rule(name=NAMES, as_walk=st.booleans())
    def delete(self, name: str, as_walk: bool) -> None:
        (self.root / name).unlink(missing_ok=True)
        self._report(name, as_walk)

    @rule(name=NAMES, as_walk=st.booleans())
    def move_away(self, name: str, as_walk: bool) -> None:
        if (self.root / name).exists():
            (self.root / name).replace(self.away / Path(name).name)
            self._report(name, as_walk)

    @rule(name=NAMES, as_walk=st.booleans())
    def move_back(self, name: str, as_walk: bool) -> None:
        """The file has the same size and modification time as before."""
        if (self.away / Path(name).name).exists():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.away / Path(name).name).replace(self.root / name)
            self._report(name, as_walk)

    @rule(name=NAMES, text=TEXTS)
    def open(self, name: str, text: str) -> None:
        self.version += 1
        path = (self.root / name).as_posix()
        self.index.workspace.put_document(path, text, self.version, edited=True)

    @rule(name=NAMES)
    def close(self, name: str) -> None:
        self.index.workspace.close_document((self.root / name).as_posix())

    # ---- progress

    @rule()
    def step(self) -> None:
        self.index.step()

    @rule()
    def take(self) -> None:
        self.index.take()

    @rule()
    def walk(self) -> None:
        self.index.walks.run_next()

    @rule()
    def outline(self) -> None:
        self.index.pool.bulk.run_next()

    @rule()
    def embed(self) -> None:
        self.index.pool.deferred.run_next()

    @rule()
    def settle(self) -> None:
        self.index.settle()
        assert self.index.texts() == self.index.expected_texts()
        incomplete = self.index.machine.publisher.chunk_index.incomplete_files()
        assert not incomplete

    def teardown(self) -> None:
        try:
            if hasattr(self, "index"):
                self.settle()
                self.index.machine.close()
        finally:
            shutil.rmtree(self.folder)


TestIndexInterleavings = IndexInterleavings.TestCase
TestIndexInterleavings.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)

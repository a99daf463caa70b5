"""Two and four servers that write to one workspace and one cache at the same time.

Each server follows the disk and its own editor. In the end all of them, and a later server, return the results of a
new index. Memory entries added through one server are visible in all.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit import Sandbox, closing_servers, index_results, list_files
from lsp import Client
from tally import Tries

SEED = 23
MAX_ENTRIES = 200
"""Maximum number of memory entries per editor, because the size of a memory file is limited."""


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with closing_servers(Sandbox(tmp_path)) as opened:
        yield opened


class SimulatedEditor:
    """An editor with its own server that edits, saves and creates its own files and searches."""

    def __init__(self, sandbox: Sandbox, client: Client, number: int, editors: int) -> None:
        self.sandbox, self.client, self.number = sandbox, client, number
        self.rng = random.Random(f"{SEED}/{number}")
        self.files = [f for i, f in enumerate(sorted(sandbox.root.glob("generated_*.py"))) if i % editors == number]
        self.added_entries: list[str] = []
        self.error: BaseException | None = None

    def work(self, seconds: float) -> None:
        """Edit for a number of seconds; store an exception for the test."""
        try:
            deadline = time.monotonic() + seconds
            turn = 0
            while time.monotonic() < deadline:
                turn += 1
                self._turn(turn)
        except BaseException as error:
            self.error = error

    def _turn(self, turn: int) -> None:
        file = self.rng.choice(self.files)
        text = file.read_text()
        self.client.open(file, text)
        for version in range(2, 5):
            text = (
                f"# line {turn} of {self.number}\ndef hand_{self.number}_{turn % 9}(value):\n    return value\n{text}"[
                    :4000
                ]
            )
            self.client.replace(file, version, text)
        assert self.client.search(f"hand {self.number} {turn % 9}")
        if self.rng.random() < 0.7:
            file.write_text(text)
            self.client.save(file)
        self.client.close(file)
        if turn % 3 == 0:
            new = self.sandbox.root / f"made_{self.number}_{turn}.py"
            new.write_text(f"def made_by_{self.number}_{turn}(value):\n    '''What hand {self.number} has made.'''\n")
            self.client.files_changed(new)
        if len(self.added_entries) >= MAX_ENTRIES:
            return
        content = f"Hand {self.number} says {turn}."
        entry = {"action": "add", "category": "knowledge", "title": content, "content": content}
        self.client.request("promptls/memory", {**entry, "scope": self.rng.choice(["user", "workspace"])})
        self.added_entries.append(content)


def all_memory_entries(client: Client) -> set[str]:
    """Return the contents of all memory entries, requested page by page."""
    contents: set[str] = set()
    while True:
        params = {"action": "list", "limit": 500, "offset": len(contents)}
        listed = client.request("promptls/memory", params)
        assert listed["warnings"] == []
        contents |= {entry["content"] for entry in listed["entries"]}
        if len(contents) >= listed["total"]:
            return contents


@pytest.mark.parametrize("count", [2, 4])
def test_servers_write_concurrently(sandbox: Sandbox, effort: float, count: int, tries: Tries) -> None:
    if count > 2 and effort < 2:
        pytest.skip("four servers at once require a higher effort")
    editors = [SimulatedEditor(sandbox, sandbox.start(), number, count) for number in range(count)]
    for editor in editors:
        editor.client.wait_indexed()
    threads = [threading.Thread(target=editor.work, args=(min(60, 2 * effort),)) for editor in editors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for editor in editors:
        if editor.error is not None:
            raise editor.error
    expected = sandbox.fresh_index_results()
    tries("servers", count)
    tries("notes", sum(len(editor.added_entries) for editor in editors))
    everything = [f for f in list_files(sandbox.root) if "/.git/" not in f.as_posix()]
    added = {content for editor in editors for content in editor.added_entries}
    assert len(added) >= count
    for editor in editors:
        editor.client.files_changed(*everything)  # as the file watcher of each editor does
        assert index_results(editor.client) == expected
        assert all_memory_entries(editor.client) == added
        editor.client.kill()
    assert index_results(sandbox.start()) == expected

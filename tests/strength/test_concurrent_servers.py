"""Two and four servers on one workspace and one cache, all of them writing.

Each follows the disk and its own editor; in the end all say what a fresh index says, and so does the one that comes
after them.  What one has been told to remember, all know.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tally import Tries

from faultkit import Place, ended, files_of, portrait
from lsp import Client

SEED = 23
MOST_SAID = 200
"""Of one hand: a memory file has an end."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ended(Place(tmp_path)) as here:
        yield here


class Hand:
    """One editor with a server of its own: it edits its own files, saves them, makes new ones and asks."""

    def __init__(self, place: Place, client: Client, number: int, hands: int) -> None:
        self.place, self.client, self.number = place, client, number
        self.rng = random.Random(f"{SEED}/{number}")
        self.files = [f for i, f in enumerate(sorted(place.root.glob("generated_*.py"))) if i % hands == number]
        self.said: list[str] = []
        self.error: BaseException | None = None

    def work(self, seconds: float) -> None:
        """Edit for so long; what goes wrong is kept for the test."""
        try:
            bound = time.monotonic() + seconds
            turn = 0
            while time.monotonic() < bound:
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
            new = self.place.root / f"made_{self.number}_{turn}.py"
            new.write_text(f"def made_by_{self.number}_{turn}(value):\n    '''What hand {self.number} has made.'''\n")
            self.client.files_changed(new)
        if len(self.said) >= MOST_SAID:
            return
        content = f"Hand {self.number} says {turn}."
        entry = {"action": "add", "category": "knowledge", "title": content, "content": content}
        self.client.request("promptls/memory", {**entry, "scope": self.rng.choice(["user", "workspace"])})
        self.said.append(content)


def remembered(client: Client) -> set[str]:
    """All that a server remembers, page by page."""
    found: set[str] = set()
    while True:
        ask = {"action": "list", "limit": 500, "offset": len(found)}
        listed = client.request("promptls/memory", ask)
        assert listed["warnings"] == []
        found |= {entry["content"] for entry in listed["entries"]}
        if len(found) >= listed["total"]:
            return found


@pytest.mark.parametrize("count", [2, 4])
def test_servers_that_write_together(place: Place, effort: float, count: int, tries: Tries) -> None:
    if count > 2 and effort < 2:
        pytest.skip("four servers at once need a greater effort")
    hands = [Hand(place, place.start(), number, count) for number in range(count)]
    for hand in hands:
        hand.client.wait_indexed()
    threads = [threading.Thread(target=hand.work, args=(min(60, 2 * effort),)) for hand in hands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for hand in hands:
        if hand.error is not None:
            raise hand.error
    wanted = place.fresh()
    tries("servers", count)
    tries("notes", sum(len(hand.said) for hand in hands))
    everything = [f for f in files_of(place.root) if "/.git/" not in f.as_posix()]
    said = {content for hand in hands for content in hand.said}
    assert len(said) >= count
    for hand in hands:
        hand.client.files_changed(*everything)  # as the watcher of each editor tells
        assert portrait(hand.client) == wanted
        assert remembered(hand.client) == said
        hand.client.kill()
    assert portrait(place.start()) == wanted

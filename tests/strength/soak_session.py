"""Hours of editing in minutes: one seeded editor that types, pastes, undoes, renames, switches branches and asks.

`Soak.run` does so many operations and takes samples of what the server uses.  What is on disk and in the buffers is
known here at any time, so that the index can be compared with a fresh one at the end.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from conftest import git
from faultkit import NOUNS, VERBS, Place
from lsp import Client, Json
from processes import children, resident

WORDS = [f"{v} the {n}" for v in VERBS for n in NOUNS]
TYPED = "    value = checksum + limit  # a line that is typed\n"
SAMPLES = 40


@dataclass
class Sample:
    """What the server uses at one moment."""

    edits: int
    seconds: float
    server: float  # resident megabytes
    workers: float
    handles: int
    threads: int
    disk: float  # megabytes
    rows: int
    p50: dict[str, float] = field(default_factory=dict)  # milliseconds, by what was asked since the last sample
    p95: dict[str, float] = field(default_factory=dict)


class Soak:
    """One editor on one workspace."""

    def __init__(self, place: Place, client: Client, seed: int) -> None:
        self.place, self.client, self.rng = place, client, random.Random(seed)
        self.open: dict[Path, tuple[str, int]] = {}  # text and version
        self.undo: dict[Path, list[str]] = {}
        self.counts: dict[str, int] = {}
        self.took: dict[str, list[float]] = {}
        self.samples: list[Sample] = []
        self.edits = 0
        self.made = 0
        self.start = time.monotonic()
        git(place.root, "branch", "other")

    def run(self, edits: int, told: Callable[[Sample], None] = lambda sample: None) -> None:
        """Edit until there have been so many edits; a sample every now and then."""
        every = max(1, edits // SAMPLES)
        due = every
        doings = [
            (40, self._type), (8, self._paste), (8, self._undo), (4, self._replace), (8, self._save), (4, self._close),
            (1, self._rename), (1, self._delete), (1, self._create), (0.3, self._switch),
            (100, self._prompt), (20, self._search), (20, self._complete),
        ]  # fmt: skip
        weights, actions = [w for w, _ in doings], [a for _, a in doings]
        while self.edits < edits:
            action = self.rng.choices(actions, weights)[0]
            self.counts[action.__name__[1:]] = self.counts.get(action.__name__[1:], 0) + 1
            action()
            if self.edits >= due:
                due += every
                self.samples.append(self._sample())
                told(self.samples[-1])

    def finish(self) -> None:
        """Save and close everything."""
        for file in list(self.open):
            self._saved(file)
            self.client.close(file)
            del self.open[file]
        self.client.wait_indexed()

    # ---- edits

    def _files(self) -> list[Path]:
        return sorted(self.place.root.glob("generated_*.py"))

    def _file(self) -> Path:
        """A file that is open; now and then another one is opened."""
        if not self.open or (len(self.open) < 8 and self.rng.random() < 0.1):
            closed = [f for f in self._files() if f not in self.open]
            if closed:
                file = self.rng.choice(closed)
                text = file.read_text()
                self.open[file] = (text, 1)
                self.undo[file] = [text]
                self.client.open(file, text)
        return self.rng.choice(list(self.open))

    def _put(self, file: Path, text: str, change: Json) -> None:
        version = self.open[file][1] + 1
        self.open[file] = (text, version)
        self.client.change(file, version, change)
        self.edits += 1

    def _insert(self, file: Path, line: int, column: int, new: str) -> None:
        lines = self.open[file][0].split("\n")
        lines[line] = lines[line][:column] + new + lines[line][column:]
        place = {"line": line, "character": column}
        self._put(file, "\n".join(lines), {"range": {"start": place, "end": place}, "text": new})

    def _remember(self, file: Path) -> None:
        self.undo[file] = [*self.undo[file][-5:], self.open[file][0]]

    def _type(self) -> None:
        file = self._file()
        self._remember(file)
        lines = self.open[file][0].split("\n")
        line, column = self.rng.randrange(len(lines)), 0
        for character in self.rng.choice([TYPED, "# " + self.rng.choice(WORDS) + "\n", "x = 1\n"])[:40]:
            self._insert(file, line, column, character)
            line, column = (line + 1, 0) if character == "\n" else (line, column + 1)

    def _paste(self) -> None:
        file = self._file()
        self._remember(file)
        name = f"pasted_{self.rng.randrange(500)}"
        text = f'def {name}(value):\n    """{self.rng.choice(WORDS).title()}."""\n    return value\n\n\n'
        self._insert(file, 0, 0, text)

    def _undo(self) -> None:
        file = self._file()
        text = self.undo[file].pop() if len(self.undo[file]) > 1 else self.undo[file][0]
        self._put(file, text, {"text": text})

    def _replace(self) -> None:
        file = self._file()
        self._remember(file)
        text = self.undo[file][0]  # a formatter, or what the file was: keeps the workspace from growing for ever
        self._put(file, text, {"text": text})

    def _saved(self, file: Path) -> None:
        file.write_text(self.open[file][0])
        self.client.save(file)

    def _save(self) -> None:
        self._saved(self._file())

    def _close(self) -> None:
        file = self._file()
        if self.rng.random() < 0.7:
            self._saved(file)
        self.client.close(file)
        del self.open[file]

    # ---- files

    def _rename(self) -> None:
        closed = [f for f in self._files() if f not in self.open]
        if closed:
            old = self.rng.choice(closed)
            self.made += 1
            new = old.with_name(f"generated_r{self.made}.py")
            old.rename(new)
            self.client.files_changed(old, new)

    def _delete(self) -> None:
        closed = [f for f in self._files() if f not in self.open]
        if len(closed) > self.place.files // 2:
            file = self.rng.choice(closed)
            file.unlink()
            self.client.files_changed(file)

    def _create(self) -> None:
        if len(self._files()) < self.place.files * 3 // 2:
            self.made += 1
            file = self.place.root / f"generated_n{self.made}.py"
            said = self.rng.choice(WORDS)
            file.write_text(
                f'def made_{self.made}(value):\n    """{said.title()}."""\n    return value * {self.made}\n'
            )
            self.client.files_changed(file)

    def _switch(self) -> None:
        """Commit what there is and check the other branch out, as people do."""
        for file in list(self.open):
            self._saved(file)
            self.client.close(file)
            del self.open[file]
        root = self.place.root
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", "on")
        here = git(root, "rev-parse", "--abbrev-ref", "HEAD").strip()
        there = (
            "other"
            if here != "other"
            else next(b for b in git(root, "branch", "--format=%(refname:short)").split() if b != "other")
        )
        names = git(root, "diff", "--name-only", "--no-renames", here, there).split()
        git(root, "checkout", "-q", there)
        self.client.files_changed(*(root / name for name in names))

    # ---- questions

    def _timed(self, what: str, method: str, params: Json) -> None:
        start = time.perf_counter()
        self.client.request(method, params)
        self.took.setdefault(what, []).append(1000 * (time.perf_counter() - start))

    def _prompt(self) -> None:
        mention = self.rng.choice(["@shop/cart.py", "@#Cart.total", "@diff", "@web/", "", ""])
        self._timed("prompt", "promptls/buildPrompt", {"message": f"how to {self.rng.choice(WORDS)}? {mention}"})

    def _search(self) -> None:
        self._timed("search", "promptls/search", {"query": self.rng.choice(WORDS)})

    def _complete(self) -> None:
        typed = self.rng.choice(["@gen", "@#pars", "@shop/c", "@"])
        self._timed("complete", "promptls/completeMention", {"text": typed, "offset": len(typed)})

    # ---- samples

    def _sample(self) -> Sample:
        status = self.client.request("promptls/status", {})
        pid = self.client.process.pid
        self._timed("status", "promptls/status", {})
        out = Sample(
            self.edits,
            round(time.monotonic() - self.start, 1),
            resident(pid) / 1e6,
            sum(map(resident, children(pid))) / 1e6,
            len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208
            len(os.listdir(f"/proc/{pid}/task")),  # noqa: PTH208
            status["disk"]["bytes"] / 1e6,
            status["disk"]["rows"],
        )
        for what, times in self.took.items():
            if times:
                out.p50[what] = statistics.median(times)
                out.p95[what] = sorted(times)[int(0.95 * (len(times) - 1))]
        self.took = {}
        return out


def growth(values: list[float]) -> tuple[float, float]:
    """(what a line through the second half of the values rises in that half, three deviations of the noise around it)"""
    half = values[len(values) // 2 :]
    if len(half) < 3:
        return 0.0, 0.0
    slope, first = statistics.linear_regression(range(len(half)), half)
    noise = statistics.pstdev(v - first - slope * i for i, v in enumerate(half))
    return slope * (len(half) - 1), 3 * noise

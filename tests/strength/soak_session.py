"""A long, seeded editing session: typing, pasting, undo, renames, branch switches and requests.

`SoakSession.run` executes a number of edits and samples the resource usage of the server. The contents of files and
buffers are known at any time, so the final index can be compared with a new one.
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
from faultkit import NOUNS, VERBS, Sandbox
from lsp import Client, Json
from processes import children, resident

WORDS = [f"{v} the {n}" for v in VERBS for n in NOUNS]
TYPED_LINE = "    value = checksum + limit  # a line that is typed\n"
SAMPLES = 40


@dataclass
class Sample:
    """Resource usage of the server at one moment."""

    edits: int
    seconds: float
    server: float  # resident megabytes
    workers: float
    handles: int
    threads: int
    disk: float  # megabytes
    rows: int
    p50: dict[str, float] = field(default_factory=dict)  # milliseconds by request since the last sample
    p95: dict[str, float] = field(default_factory=dict)


class SoakSession:
    """One simulated editor on one workspace."""

    def __init__(self, sandbox: Sandbox, client: Client, seed: int) -> None:
        self.sandbox, self.client, self.rng = sandbox, client, random.Random(seed)
        self.open: dict[Path, tuple[str, int]] = {}  # text and version
        self.undo: dict[Path, list[str]] = {}
        self.counts: dict[str, int] = {}
        self.latencies_ms: dict[str, list[float]] = {}
        self.samples: list[Sample] = []
        self.edits = 0
        self.created_files = 0
        self.start = time.monotonic()
        git(sandbox.root, "branch", "other")

    def run(self, edits: int, on_sample: Callable[[Sample], None] = lambda sample: None) -> None:
        """Edit until the number of edits is reached; take samples at regular intervals."""
        every = max(1, edits // SAMPLES)
        due = every
        weighted_actions = [
            (40, self._type), (8, self._paste), (8, self._undo), (4, self._replace), (8, self._save), (4, self._close),
            (1, self._rename), (1, self._delete), (1, self._create), (0.3, self._switch),
            (100, self._prompt), (20, self._search), (20, self._complete),
        ]  # fmt: skip
        weights, actions = [w for w, _ in weighted_actions], [a for _, a in weighted_actions]
        while self.edits < edits:
            action = self.rng.choices(actions, weights)[0]
            self.counts[action.__name__[1:]] = self.counts.get(action.__name__[1:], 0) + 1
            action()
            if self.edits >= due:
                due += every
                self.samples.append(self._sample())
                on_sample(self.samples[-1])

    def finish(self) -> None:
        """Save and close all documents and wait for the index."""
        for file in list(self.open):
            self._save_file(file)
            self.client.close(file)
            del self.open[file]
        self.client.wait_indexed()

    # ---- edits

    def _files(self) -> list[Path]:
        return sorted(self.sandbox.root.glob("generated_*.py"))

    def _file(self) -> Path:
        """Return an open file; occasionally open another one first."""
        if not self.open or (len(self.open) < 8 and self.rng.random() < 0.1):
            closed = [f for f in self._files() if f not in self.open]
            if closed:
                file = self.rng.choice(closed)
                text = file.read_text()
                self.open[file] = (text, 1)
                self.undo[file] = [text]
                self.client.open(file, text)
        return self.rng.choice(list(self.open))

    def _change(self, file: Path, text: str, change: Json) -> None:
        version = self.open[file][1] + 1
        self.open[file] = (text, version)
        self.client.change(file, version, change)
        self.edits += 1

    def _insert(self, file: Path, line: int, column: int, new: str) -> None:
        lines = self.open[file][0].split("\n")
        lines[line] = lines[line][:column] + new + lines[line][column:]
        position = {"line": line, "character": column}
        self._change(file, "\n".join(lines), {"range": {"start": position, "end": position}, "text": new})

    def _push_undo(self, file: Path) -> None:
        self.undo[file] = [*self.undo[file][-5:], self.open[file][0]]

    def _type(self) -> None:
        file = self._file()
        self._push_undo(file)
        lines = self.open[file][0].split("\n")
        line, column = self.rng.randrange(len(lines)), 0
        for character in self.rng.choice([TYPED_LINE, "# " + self.rng.choice(WORDS) + "\n", "x = 1\n"])[:40]:
            self._insert(file, line, column, character)
            line, column = (line + 1, 0) if character == "\n" else (line, column + 1)

    def _paste(self) -> None:
        file = self._file()
        self._push_undo(file)
        name = f"pasted_{self.rng.randrange(500)}"
        text = f'def {name}(value):\n    """{self.rng.choice(WORDS).title()}."""\n    return value\n\n\n'
        self._insert(file, 0, 0, text)

    def _undo(self) -> None:
        file = self._file()
        text = self.undo[file].pop() if len(self.undo[file]) > 1 else self.undo[file][0]
        self._change(file, text, {"text": text})

    def _replace(self) -> None:
        file = self._file()
        self._push_undo(file)
        text = self.undo[file][0]  # the original text, so that the workspace does not grow without limit
        self._change(file, text, {"text": text})

    def _save_file(self, file: Path) -> None:
        file.write_text(self.open[file][0])
        self.client.save(file)

    def _save(self) -> None:
        self._save_file(self._file())

    def _close(self) -> None:
        file = self._file()
        if self.rng.random() < 0.7:
            self._save_file(file)
        self.client.close(file)
        del self.open[file]

    # ---- files

    def _rename(self) -> None:
        closed = [f for f in self._files() if f not in self.open]
        if closed:
            old = self.rng.choice(closed)
            self.created_files += 1
            new = old.with_name(f"generated_r{self.created_files}.py")
            old.rename(new)
            self.client.files_changed(old, new)

    def _delete(self) -> None:
        closed = [f for f in self._files() if f not in self.open]
        if len(closed) > self.sandbox.files // 2:
            file = self.rng.choice(closed)
            file.unlink()
            self.client.files_changed(file)

    def _create(self) -> None:
        if len(self._files()) < self.sandbox.files * 3 // 2:
            self.created_files += 1
            file = self.sandbox.root / f"generated_n{self.created_files}.py"
            docstring = self.rng.choice(WORDS)
            file.write_text(
                f'def made_{self.created_files}(value):\n    """{docstring.title()}."""\n    return value * {self.created_files}\n'
            )
            self.client.files_changed(file)

    def _switch(self) -> None:
        """Commit all changes and check out the other branch."""
        for file in list(self.open):
            self._save_file(file)
            self.client.close(file)
            del self.open[file]
        root = self.sandbox.root
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", "on")
        current = git(root, "rev-parse", "--abbrev-ref", "HEAD").strip()
        target = (
            "other"
            if current != "other"
            else next(b for b in git(root, "branch", "--format=%(refname:short)").split() if b != "other")
        )
        names = git(root, "diff", "--name-only", "--no-renames", current, target).split()
        git(root, "checkout", "-q", target)
        self.client.files_changed(*(root / name for name in names))

    # ---- requests

    def _measure(self, what: str, method: str, params: Json) -> None:
        start = time.perf_counter()
        self.client.request(method, params)
        self.latencies_ms.setdefault(what, []).append(1000 * (time.perf_counter() - start))

    def _prompt(self) -> None:
        mention = self.rng.choice(["@shop/cart.py", "@#Cart.total", "@diff", "@web/", "", ""])
        self._measure("prompt", "promptls/buildPrompt", {"message": f"how to {self.rng.choice(WORDS)}? {mention}"})

    def _search(self) -> None:
        self._measure("search", "promptls/search", {"query": self.rng.choice(WORDS)})

    def _complete(self) -> None:
        typed = self.rng.choice(["@gen", "@#pars", "@shop/c", "@"])
        self._measure("complete", "promptls/completeMention", {"text": typed, "offset": len(typed)})

    # ---- samples

    def _sample(self) -> Sample:
        status = self.client.request("promptls/status", {})
        pid = self.client.process.pid
        self._measure("status", "promptls/status", {})
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
        for what, times in self.latencies_ms.items():
            if times:
                out.p50[what] = statistics.median(times)
                out.p95[what] = sorted(times)[int(0.95 * (len(times) - 1))]
        self.latencies_ms = {}
        return out


def growth(values: list[float]) -> tuple[float, float]:
    """Return (rise of the regression line over the second half of the values, three deviations of its residuals)."""
    half = values[len(values) // 2 :]
    if len(half) < 3:
        return 0.0, 0.0
    slope, first = statistics.linear_regression(range(len(half)), half)
    noise = statistics.pstdev(v - first - slope * i for i, v in enumerate(half))
    return slope * (len(half) - 1), 3 * noise

"""What the tests of faults share: a workspace in several states, a machine to run servers on, and portraits.

A portrait is everything that must be the same whether an index has been through a fault or was made from nothing:
answers with regions and scores, what is counted, where mentions lead.  A workspace has a few states, so that the
portrait of a fresh index is taken once for each.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from conftest import SHOP, git, write_tree
from lsp import Client, Json
from processes import TIMEOUT_S, children, command_of, until

QUESTIONS = [
    "how is a discount applied?",
    "refresh the session cookie",
    "parse request header 17",
    "checksum of record 42",
    "which card is a refund paid to",
]
MENTIONS = (
    "@shop/cart.py:16-21 @#Cart.total @#apply_discount @web/ @generated_3.py @README.md @tree @callers:Money.plus"
)
VERBS = "parse format merge split encode decode validate load store route".split()
NOUNS = "request header record invoice cookie token segment packet ledger account".split()
_PORTRAITS: dict[str, Json] = {}
"""Of fresh indexes, by what they are of: all tests of a run share them."""


def generated(number: int, state: int, functions: int = 5) -> str:
    """The text of one made-up module in one of the states of a workspace."""
    rng = random.Random(f"{number}/{state}")
    return "\n\n".join(
        f"def {rng.choice(VERBS)}_{rng.choice(NOUNS)}_{number}_{i}(value, limit={i}):\n"
        f'    """{rng.choice(VERBS).title()} the {rng.choice(NOUNS)} number {number}."""\n'
        f"    checksum = value * {rng.randrange(1000)} + limit\n    return checksum % {rng.randrange(2, 99)}"
        for i in range(functions)
    )


class Place:
    """A workspace, and the folders in which servers keep what they know of it."""

    def __init__(self, top: Path, files: int = 24, states: int = 3) -> None:
        self.top = top
        self.root = write_tree(top / "work", SHOP)
        self.files, self.states, self.state = files, states, 0
        self.cache = top / "cache"
        self.clients: list[Client] = []
        for number in range(files):
            (self.root / f"generated_{number}.py").write_text(generated(number, 0) + "\n")
        git(self.root, "init", "-q")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "begin")

    def become(self, state: int) -> list[Path]:
        """Bring the workspace into one of its states; the files that are written or gone."""
        self.state = state % self.states
        changed = []
        for number in range(self.files):
            file = self.root / f"generated_{number}.py"
            if self.state and number % 7 == self.state:  # each state lacks some files
                file.unlink(missing_ok=True)
                changed.append(file)
                continue
            text = generated(number, self.state if number % 3 == 0 else 0) + "\n"
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
                changed.append(file)
        return changed

    def launch(self, cache: Path | None = None, command: list[str] | None = None, **env: str) -> Client:
        """A server that has been started and not been spoken to."""
        client = Client(cache or self.cache, env=env, command=command)
        self.clients.append(client)
        return client

    def running(self) -> Client:
        """The server that was started last and is well, or else a new one; its index is complete."""
        last = self.clients[-1] if self.clients else None
        if last is None or last.ended or last.process.poll() is not None:
            last = self.start()
        last.wait_indexed(TIMEOUT_S)
        return last

    def start(
        self, options: Json | None = None, cache: Path | None = None, command: list[str] | None = None, **env: str
    ) -> Client:
        """A server on this workspace."""
        client = self.launch(cache, command, **env)
        client.initialize(self.root, options=options)
        return client

    def fresh(self, options: Json | None = None, of: str = "") -> Json:
        """The portrait of an index of the present files that is made from nothing, and lives in memory only."""
        key = f"{options} {of} {self._digest()}"
        if key not in _PORTRAITS:
            elsewhere = Path(tempfile.mkdtemp(prefix="fresh-", dir=self.top))
            (elsewhere / "blocked").write_text("no folder")
            client = self.start(options, elsewhere / "data", PROMPTLS_CACHE=str(elsewhere / "blocked" / "cache"))
            _PORTRAITS[key] = {**portrait(client), "state": "ready"}
            client.kill()
            self.clients.remove(client)
        return _PORTRAITS[key]

    def _digest(self) -> str:
        """One string for all texts of the workspace."""
        made = blake2b(digest_size=16)
        for file in files_of(self.root):
            name = file.relative_to(self.root).as_posix()
            if not name.startswith(".git/"):
                made.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
        return made.hexdigest()

    def end(self) -> None:
        """End all servers that still run."""
        for client in self.clients:
            client.kill()


def portrait(client: Client) -> Json:
    """Everything that must not depend on how the index came about."""
    status = client.wait_indexed(TIMEOUT_S)
    (root,) = status["roots"]
    said = status["state"] if status["state"] == "ready" else f"{status['state']}: {status['message']}"
    seen = {
        "answers": answers(client),
        "counts": [root[n] for n in ("name", "files", "symbols", "chunks", "vectors", "skipped")],
        "mentions": [
            {n: m[n] for n in ("status", "targets", "candidates", "reason") if n in m}
            for m in client.request("promptls/resolveMentions", {"message": MENTIONS})["mentions"]
        ],
        "state": said,
    }
    out: Json = json.loads(json.dumps(seen).replace(root["uri"], "ROOT"))
    return out


def answers(client: Client) -> list[list[tuple[str, Json, float]]]:
    """Regions and scores of the fixed questions."""
    return [[(h["path"], h["range"], h["score"]) for h in client.search(q, 25)] for q in QUESTIONS]


def footprint(folder: Path) -> int:
    """A number that changes when anything is written below a folder."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                found = os.lstat(os.path.join(place, name))  # noqa: PTH118
            except OSError:
                continue
            total += hash((name, found.st_size, found.st_mtime_ns))
    return total


def files_of(folder: Path) -> list[Path]:
    """All files below a folder, in the same order each time."""
    return sorted(f for f in folder.rglob("*") if f.is_file())


def workers(client: Client) -> list[int]:
    """The processes of a server that parse and embed."""
    return [pid for pid in children(client.process.pid) if "workers.worker" in command_of(pid)]


def keepers(client: Client) -> list[int]:
    """The processes of a server that write its tables."""
    return [pid for pid in children(client.process.pid) if "lance_process" in command_of(pid)]


def pass_time(seconds: float) -> None:
    """What a person does meanwhile."""
    moment = time.monotonic() + seconds
    until(lambda: time.monotonic() > moment, "time to pass")


@contextmanager
def ended(place: Place) -> Iterator[Place]:
    """A place whose servers end with the block."""
    try:
        yield place
    finally:
        place.end()

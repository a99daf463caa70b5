"""Shared tools of the fault tests: a workspace with several states, server processes, and comparable index results.

Index results are everything that must be equal for an index that survived a fault and a newly built one: search
results with scores, counts, and resolved mentions. A workspace has few states, so each new index is built once.
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
_FRESH_RESULTS: dict[str, Json] = {}
"""Index results of new indexes, by options, model and file contents; shared by all tests of a run."""


def generate_module(number: int, state: int, functions: int = 5) -> str:
    """Return the source of one generated module in one state of the workspace."""
    rng = random.Random(f"{number}/{state}")
    return "\n\n".join(
        f"def {rng.choice(VERBS)}_{rng.choice(NOUNS)}_{number}_{i}(value, limit={i}):\n"
        f'    """{rng.choice(VERBS).title()} the {rng.choice(NOUNS)} number {number}."""\n'
        f"    checksum = value * {rng.randrange(1000)} + limit\n    return checksum % {rng.randrange(2, 99)}"
        for i in range(functions)
    )


class Sandbox:
    """A workspace with its cache folder and the servers started on it."""

    def __init__(self, folder: Path, files: int = 24, states: int = 3) -> None:
        self.folder = folder
        self.root = write_tree(folder / "work", SHOP)
        self.files, self.states, self.state = files, states, 0
        self.cache = folder / "cache"
        self.clients: list[Client] = []
        for number in range(files):
            (self.root / f"generated_{number}.py").write_text(generate_module(number, 0) + "\n")
        git(self.root, "init", "-q")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "begin")

    def apply_state(self, state: int) -> list[Path]:
        """Put the workspace into one of its states; return the files written and deleted."""
        self.state = state % self.states
        changed = []
        for number in range(self.files):
            file = self.root / f"generated_{number}.py"
            if self.state and number % 7 == self.state:  # each state lacks some files
                file.unlink(missing_ok=True)
                changed.append(file)
                continue
            text = generate_module(number, self.state if number % 3 == 0 else 0) + "\n"
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
                changed.append(file)
        return changed

    def launch(self, cache: Path | None = None, command: list[str] | None = None, **env: str) -> Client:
        """Start a server without sending a request."""
        client = Client(cache or self.cache, env=env, command=command)
        self.clients.append(client)
        return client

    def running_client(self) -> Client:
        """Return the last started server if it is running, else a new one; wait until its index is complete."""
        last = self.clients[-1] if self.clients else None
        if last is None or last.ended or last.process.poll() is not None:
            last = self.start()
        last.wait_indexed(TIMEOUT_S)
        return last

    def start(
        self, options: Json | None = None, cache: Path | None = None, command: list[str] | None = None, **env: str
    ) -> Client:
        """Start and initialize a server on this workspace."""
        client = self.launch(cache, command, **env)
        client.initialize(self.root, options=options)
        return client

    def fresh_index_results(self, options: Json | None = None, model: str = "") -> Json:
        """Return the results of a new in-memory index of the current files."""
        key = f"{options} {model} {self._digest()}"
        if key not in _FRESH_RESULTS:
            elsewhere = Path(tempfile.mkdtemp(prefix="fresh-", dir=self.folder))
            (elsewhere / "blocked").write_text("not a folder")
            client = self.start(options, elsewhere / "data", PROMPTLS_CACHE=str(elsewhere / "blocked" / "cache"))
            _FRESH_RESULTS[key] = {**index_results(client), "state": "ready"}
            client.kill()
            self.clients.remove(client)
        return _FRESH_RESULTS[key]

    def _digest(self) -> str:
        """Return a hash of all files in the workspace."""
        digest = blake2b(digest_size=16)
        for file in list_files(self.root):
            name = file.relative_to(self.root).as_posix()
            if not name.startswith(".git/"):
                digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
        return digest.hexdigest()

    def stop_servers(self) -> None:
        """Stop all servers that are still running."""
        for client in self.clients:
            client.kill()


def index_results(client: Client) -> Json:
    """Return the results that must not depend on how the index was built."""
    status = client.wait_indexed(TIMEOUT_S)
    (root,) = status["roots"]
    state = status["state"] if status["state"] == "ready" else f"{status['state']}: {status['message']}"
    results = {
        "answers": search_results(client),
        "counts": [root[n] for n in ("name", "files", "symbols", "chunks", "vectors", "skipped")],
        "mentions": [
            {n: m[n] for n in ("status", "targets", "candidates", "reason") if n in m}
            for m in client.request("promptls/resolveMentions", {"message": MENTIONS})["mentions"]
        ],
        "state": state,
    }
    out: Json = json.loads(json.dumps(results).replace(root["uri"], "ROOT"))
    return out


def search_results(client: Client) -> list[list[tuple[str, Json, float]]]:
    """Return locations and scores of the hits for the fixed questions."""
    return [[(h["path"], h["range"], h["score"]) for h in client.search(q, 25)] for q in QUESTIONS]


def folder_fingerprint(folder: Path) -> int:
    """Return a number that changes when a file below a folder is written."""
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            try:
                stat = os.lstat(os.path.join(parent, name))  # noqa: PTH118
            except OSError:
                continue
            total += hash((name, stat.st_size, stat.st_mtime_ns))
    return total


def list_files(folder: Path) -> list[Path]:
    """Return all files below a folder in a fixed order."""
    return sorted(f for f in folder.rglob("*") if f.is_file())


def worker_pids(client: Client) -> list[int]:
    """Return the worker processes of a server."""
    return [pid for pid in children(client.process.pid) if "workers.worker" in command_of(pid)]


def store_process_pids(client: Client) -> list[int]:
    """Return the store processes of a server."""
    return [pid for pid in children(client.process.pid) if "lance_process" in command_of(pid)]


def wait_until_ready(client: Client) -> None:
    """Wait until the server reports the state "ready"."""
    until(lambda: client.request("promptls/status", {})["state"] == "ready", "the server to be ready", interval_s=0.1)


def wait_seconds(seconds: float) -> None:
    """Wait for a number of seconds."""
    deadline = time.monotonic() + seconds
    until(lambda: time.monotonic() > deadline, "the wait did not end")


@contextmanager
def closing_servers(sandbox: Sandbox) -> Iterator[Sandbox]:
    """Stop the servers of a sandbox at the end of the block."""
    try:
        yield sandbox
    finally:
        sandbox.stop_servers()

"""SIGKILL at random points: afterwards the results equal those of a new index, and no acknowledged user data is lost.

A server or its store process is killed at a random moment. The next server on the same cache must return the results
of a newly built index. Short moments, such as writes, are detected by watching the cache folder.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit import (
    Sandbox,
    closing_servers,
    folder_fingerprint,
    generate_module,
    index_results,
    list_files,
    store_process_pids,
    wait_until_ready,
)
from lsp import Client
from processes import alive, children, until
from tally import Tries

SEED = 20


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One sandbox for all tests: each test starts with the cache that the previous kills left."""
    with closing_servers(Sandbox(tmp_path_factory.mktemp("faults"), states=2)) as opened:
        yield opened


def kill(client: Client) -> None:
    """Kill a server and wait until its workers and its store process have exited."""
    others = children(client.process.pid)
    os.kill(client.process.pid, signal.SIGKILL)
    client.kill()
    until(lambda: not any(map(alive, others)), "workers and store process did not exit", 30)


def kill_within(client: Client, seconds: float, rng: random.Random) -> None:
    """Kill a server at a random moment of the next seconds, or when it has exited."""
    moment = time.monotonic() + rng.uniform(0, seconds)
    until(lambda: time.monotonic() >= moment or client.ended, "the wait did not end", interval_s=0.001)
    kill(client)


def kill_at_write(client: Client, folder: Path, rng: random.Random) -> None:
    """Kill a server while it writes: up to 40 ms after a change in a folder."""
    wait_for_write(client, folder)
    kill_within(client, 0.04, rng)


def wait_for_write(client: Client, folder: Path) -> None:
    """Wait for a write below a folder, or until the server has nothing left to write."""
    before = folder_fingerprint(folder)
    requests: list[int] = []

    def has_finished() -> bool:
        if not requests or requests[-1] in client.responses:
            if requests and client.wait_response(requests[-1])["state"] in ("ready", "degraded"):
                return True
            requests.append(client.start_request("promptls/status", {}))
        return folder_fingerprint(folder) != before

    until(has_finished, "no write", 60, interval_s=0.0005)


def start_and_check(sandbox: Sandbox) -> Client:
    """Start a server on the cache of a killed one and check its results."""
    client = sandbox.start()
    assert index_results(client) == sandbox.fresh_index_results()
    return client


def write_changes(client: Client, sandbox: Sandbox, number: int, always_new: bool = False) -> None:
    """Change files, and add (every second time, or always) enough new text to trigger a write."""
    many = sandbox.root / "many.py"
    if many.exists() and not always_new:
        many.unlink()
    else:
        many.write_text(generate_module(2000 + number, 1, functions=220) + "\n")
    client.files_changed(*sandbox.apply_state(sandbox.state + 1), many)


def repetitions(base: int, effort: float) -> range:
    return range(max(1, int(base * effort)))


def test_killed_while_scanning(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    rng = random.Random(SEED)
    for turn in repetitions(1, effort):
        shutil.rmtree(sandbox.cache, ignore_errors=True)
        for _ in range(1 + turn % 2):  # twice in a row on the same cache
            kill_within(sandbox.start(), 2.5, rng)
            tries("kills")
        kill(start_and_check(sandbox))


def test_killed_while_writing(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Kill while rows, the manifest or the checkpoint are written for many new texts."""
    rng = random.Random(SEED)
    for turn in repetitions(1, effort):
        client = sandbox.running_client()
        write_changes(client, sandbox, turn)
        if turn % 2:
            kill_within(client, 2.0, rng)
        else:
            kill_at_write(client, sandbox.cache, rng)
        tries("kills")
        start_and_check(sandbox)


def test_store_process_killed_while_writing(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """The server continues, starts another store process, and the index becomes complete."""
    rng = random.Random(SEED)
    for turn in repetitions(1, effort):
        client = sandbox.running_client()
        for step in range(1 + turn % 2):
            write_changes(client, sandbox, 50 + 2 * turn + step, always_new=True)
            until(lambda c=client: store_process_pids(c), "no store process", interval_s=0.001)  # type: ignore[misc]
            moment = time.monotonic() + rng.uniform(0, 1.5)
            until(lambda m=moment: time.monotonic() > m, "the wait did not end", interval_s=0.001)  # type: ignore[misc]
            for pid in store_process_pids(client):
                os.kill(pid, signal.SIGKILL)
                tries("kills")
        wait_until_ready(client)
        assert index_results(client) == sandbox.fresh_index_results()
        client.stop()
        assert start_and_check(sandbox).wait_indexed()["embedder"]["embedded"] == 0


def test_killed_while_rebuilding_the_store(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Rows are damaged, and the checkpoint is missing or truncated."""
    rng = random.Random(SEED)
    sandbox.running_client().stop()
    for turn in repetitions(1, effort):
        file = rng.choice([f for f in list_files(sandbox.cache) if "chunks.lance/data" in f.as_posix()])
        data = bytearray(file.read_bytes())
        for _ in range(20):
            data[rng.randrange(len(data))] ^= 0xFF
        file.write_bytes(data)
        checkpoint = next(sandbox.cache.rglob("rows.image"), None)
        if checkpoint is not None and turn % 3 == 1:
            checkpoint.write_bytes(checkpoint.read_bytes()[:-1])  # truncated
        elif checkpoint is not None:
            checkpoint.unlink()
        client = sandbox.start()
        kill_at_write(client, sandbox.cache, rng)
        tries("kills")
        if turn % 2:
            kill_within(sandbox.start(), 2.0, rng)
            tries("kills")
        start_and_check(sandbox).stop()


def test_stale_checkpoints_are_deleted_and_missing_one_is_written(sandbox: Sandbox) -> None:
    sandbox.running_client().stop()
    checkpoint = next(sandbox.cache.rglob("rows.image"))
    old, new = checkpoint.with_name("rows.image.4711"), checkpoint.with_name("rows.image.4712")
    for leftover in (old, new):
        leftover.write_bytes(checkpoint.read_bytes()[:100])
    os.utime(old, (1, 1))
    start_and_check(sandbox).stop()
    assert not old.exists()
    assert new.exists()  # another server may still be writing it
    new.unlink()
    checkpoint.unlink()
    client = start_and_check(sandbox)  # rebuilds from the table
    until(checkpoint.exists, "no new checkpoint", 30)
    client.stop()


def test_killed_while_adding_memory_entries(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Acknowledged entries are kept; unacknowledged ones are kept completely or not at all."""
    rng = random.Random(SEED)
    acknowledged: list[str] = []
    sent = 0
    client = sandbox.start()
    for _ in repetitions(1, effort):
        first = sent
        requests: dict[int, str] = {}
        for sent in range(first, first + 40):
            content = f"We deploy service {sent} on day {sent}. " * 30
            scope = "workspace" if sent % 2 else "user"
            entry = {"action": "add", "category": "knowledge", "title": f"Service {sent}", "content": content}
            requests[client.start_request("promptls/memory", {**entry, "scope": scope})] = content.strip()
        sent += 1
        minimum = rng.randrange(1, 40)
        until(lambda c=client, n=minimum: len(c.responses) > n or c.ended, "no responses")  # type: ignore[misc]
        kill_within(client, 0.01, rng)
        tries("kills")
        acknowledged += [
            content for number, content in requests.items() if "result" in (client.responses.get(number) or [{}])[0]
        ]
        client = sandbox.start()
        listed = client.request("promptls/memory", {"action": "list", "limit": 1000})
        contents = [e["content"] for e in listed["entries"]]
        assert set(acknowledged) <= set(contents)
        assert len(contents) == len(set(contents)) == listed["total"]
        assert all(content.startswith("We deploy") and content.endswith(".") for content in contents)
        assert listed["warnings"] == []
    kill(client)

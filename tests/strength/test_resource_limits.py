"""Resource limits: file descriptors, memory, workers that exit or hang, a hanging git, missing folders.

Failures are reported, known results are kept, and the index becomes complete without a restart once resources are
available. Limits are applied to the running server from outside, as an administrator would.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit import Sandbox, closing_servers, index_results, wait_seconds, wait_until_ready, worker_pids
from lsp import Client, ResponseError
from processes import TIMEOUT_S, alive, children, until
from tally import Tries

SEED = 22


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One sandbox for all tests, and one server for most of them, which must have recovered."""
    with closing_servers(Sandbox(tmp_path_factory.mktemp("limits"), states=2)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _stop_servers_after_failure(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[None]:
    """Stop the servers after a failed test, so that the next test starts new ones."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        sandbox.stop_servers()


def descriptor_count(client: Client) -> int:
    return len(list(Path(f"/proc/{client.process.pid}/fd").iterdir()))


def generated_names(sandbox: Sandbox) -> set[str]:
    return {file.name for file in sandbox.root.glob("generated_*.py")}


def limit_descriptors(client: Client, number: int) -> None:
    """Set the maximum number of file descriptors of a server."""
    resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (number, 4096))


# ---------------------------------------------------------------- descriptors


def test_file_descriptors_run_out_while_running(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Files that cannot be read are not treated as deleted."""
    client = sandbox.running_client()
    client.request("promptls/resolveMentions", {"message": "@shop/cart.py"})  # loads the modules that it needs
    used = descriptor_count(client)
    known = sandbox.fresh_index_results()["counts"][1]
    degraded = 0
    for spare in [0, 4, 8][: max(1, int(effort))]:
        limit_descriptors(client, used + spare)
        tries("limits")
        before, names = sandbox.fresh_index_results(), generated_names(sandbox)
        client.files_changed(*sandbox.apply_state(sandbox.state + 1))
        client.wait_indexed(TIMEOUT_S)
        try:
            hits = client.search("how is a discount applied?", 25)
            assert hits
        except ResponseError as error:
            assert "Too many open files" in str(error)
        status = client.wait_indexed(TIMEOUT_S)
        degraded += status["state"] == "degraded"
        if status["state"] == "degraded":
            assert status["message"].endswith(".")
            # Some of the deleted and new files may have been noticed; all others are still there.
            counts = known, before["counts"][1], sandbox.fresh_index_results()["counts"][1]
            assert min(counts) <= status["roots"][0]["files"] <= max(counts)
            message = " ".join(f"@{name}" for name in sorted(names & generated_names(sandbox)))
            mentions = client.request("promptls/resolveMentions", {"message": message})["mentions"]
            assert mentions and all("not found" not in mention.get("reason", "") for mention in mentions)
        limit_descriptors(client, 4096)
        wait_until_ready(client)
        client.search("anything")  # reads the disk
        assert index_results(client) == sandbox.fresh_index_results()
    assert degraded


# ---------------------------------------------------------------- workers


def test_workers_killed_repeatedly(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Files on which workers failed are reported by name and retried; afterwards the index is complete."""
    client = sandbox.running_client()
    client.files_changed(*sandbox.apply_state(sandbox.state + 1))
    killed = 0
    began = time.monotonic()
    while (spent := time.monotonic() - began) < 2 * effort or (killed <= 2 and spent < TIMEOUT_S):
        for worker in worker_pids(client):
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed += 1
            tries("kills")
        state = client.request("promptls/status", {})
        (root,) = state["roots"]
        if state["state"] in ("ready", "degraded") and root["skipped"]:
            assert state["state"] == "degraded" and "Cannot index" in state["message"]
    assert killed > 2
    wait_until_ready(client)
    assert index_results(client) == sandbox.fresh_index_results()


def test_edit_is_indexed_after_workers_failed_to_start(sandbox: Sandbox) -> None:
    """An edit that no worker can parse is reported and indexed later."""
    client = sandbox.running_client()
    file = sandbox.root / "shop/cart.py"
    text = file.read_text()
    client.open(file, text)
    client.wait_indexed()
    limit_descriptors(client, descriptor_count(client) + 1)
    for worker in worker_pids(client):
        os.kill(worker, signal.SIGKILL)
    new = text.replace("def total", "def grand_total")
    client.replace(file, 2, new)
    assert client.wait_indexed(TIMEOUT_S)["state"] == "degraded"
    limit_descriptors(client, 4096)
    wait_until_ready(client)
    (mention,) = client.request("promptls/resolveMentions", {"message": "@#Cart.grand_total"})["mentions"]
    assert mention["status"] == "included"
    client.replace(file, 3, text)
    client.close(file)
    assert index_results(client) == sandbox.fresh_index_results()


def test_workers_and_server_are_stopped_and_continued(sandbox: Sandbox) -> None:
    """A stopped worker is replaced and reported in results; a stopped server continues."""
    client = sandbox.running_client()
    client.search("anything")  # starts the interactive worker
    stopped = worker_pids(client)
    assert stopped
    for worker in stopped:
        os.kill(worker, signal.SIGSTOP)
    result = client.request("promptls/search", {"query": "total price of a new query"}, timeout=60)
    assert result["hits"]
    assert result["index"]["state"] == "degraded" and "keyword-only" in result["index"]["message"]
    for worker in stopped:
        try:
            os.kill(worker, signal.SIGCONT)
        except ProcessLookupError:
            pass
    client.search("anything else")  # the next query is embedded again
    wait_until_ready(client)
    os.kill(client.process.pid, signal.SIGSTOP)
    request = client.start_request("promptls/search", {"query": "discount"})
    client.files_changed(*sandbox.apply_state(sandbox.state + 1))
    os.kill(client.process.pid, signal.SIGCONT)
    assert client.wait_response(request)["hits"]
    assert index_results(client) == sandbox.fresh_index_results()


# ---------------------------------------------------------------- streams


def test_server_exits_when_streams_are_closed(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    """Without a client the server and its workers exit."""
    rng = random.Random(SEED)
    for turn in range(max(2, int(2 * effort))):
        command = [sys.executable, "-m", "promptls", "serve"]
        if turn % 2:  # close its output after some bytes
            byte_count = rng.choice([0, 100, 3000, 20_000])
            command = ["sh", "-c", f"{sys.executable} -m promptls serve | head -c {byte_count}"]
        client = sandbox.launch(command=command)
        tries("servers")
        try:
            client.start_request("initialize", {"rootUri": sandbox.root.as_uri(), "capabilities": {}})
            client.notify("initialized", {})
            for number in range(100):
                client.start_request("promptls/buildPrompt", {"message": f"how is discount {number} applied? @tree"})
            wait_seconds(rng.uniform(0, 2))
        except BrokenPipeError:
            pass
        others = [w for p in (client.process.pid, *children(client.process.pid)) for w in children(p)]
        assert client.process.stdin is not None
        try:
            client.process.stdin.close()
        except BrokenPipeError:
            pass
        client.process.wait(TIMEOUT_S)
        until(lambda w=others: not any(map(alive, w)), "workers did not exit")  # type: ignore[misc]
    client = sandbox.start()
    assert index_results(client) == sandbox.fresh_index_results()


# ---------------------------------------------------------------- git, folders


def fake_git(sandbox: Sandbox) -> tuple[Path, Path]:
    """Return (folder with a git command that sleeps while a file exists, that file)."""
    folder, asleep = sandbox.folder / "bin", sandbox.folder / "asleep"
    folder.mkdir()
    script = f'#!/bin/sh\n[ -e "{asleep}" ] && exec sleep 1000\nexec {shutil.which("git")} "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    return folder, asleep


def test_git_that_does_not_respond(sandbox: Sandbox) -> None:
    """Indexing works without git, and git mentions are reported as unresolved instead of empty."""
    folder, asleep = fake_git(sandbox)
    asleep.touch()
    client = sandbox.start(PATH=f"{folder}:{os.environ['PATH']}")
    client.wait_indexed(60)
    assert index_results(client) == sandbox.fresh_index_results()
    (mention,) = client.request("promptls/resolveMentions", {"message": "@diff"}, timeout=60)["mentions"]
    assert mention["status"] == "unresolved"
    assert "git does not respond" in mention["reason"]
    client.kill()


def test_server_without_git_and_writable_folders(sandbox: Sandbox) -> None:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "PROMPTLS_DATA")
    client = sandbox.start(PATH=str(sandbox.folder), **dict.fromkeys(names, "/proc/nowhere"))
    assert index_results(client) == sandbox.fresh_index_results()
    (mention,) = client.request("promptls/resolveMentions", {"message": "@diff"})["mentions"]
    assert "git is not installed" in mention["reason"]
    entry = {"action": "add", "category": "rule", "title": "One", "content": "We deploy on Mondays."}
    with pytest.raises(ResponseError, match="cannot change"):
        client.request("promptls/memory", entry)
    assert client.stop() == 0


def test_command_line_without_writable_folders(sandbox: Sandbox) -> None:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PROMPTLS_CACHE")
    env = {**os.environ, **dict.fromkeys(names, "/proc/nowhere")}
    command = [sys.executable, "-m", "promptls", "search", "--root", str(sandbox.root), "apply discount"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=sandbox.folder)
    assert result.returncode == 0
    assert "shop/cart.py" in result.stdout
    assert "Traceback" not in result.stderr

"""Limits of the system: descriptors, memory, processes that die, stop or hang, folders that are missing.

What cannot be done is told, what was known is not forgotten, and once there is room again the index becomes whole
without a restart.  Limits are set on the running server from outside, as an administrator would.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tally import Tries

from faultkit import Place, ended, pass_time, portrait, workers
from lsp import Client, ResponseError
from processes import TIMEOUT_S, alive, children, until

SEED = 22


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One for all tests, and one server for most: what it has been through is over."""
    with ended(Place(tmp_path_factory.mktemp("limits"), states=2)) as here:
        yield here


@pytest.fixture(autouse=True)
def _anew(request: pytest.FixtureRequest, place: Place) -> Iterator[None]:
    """A test that fails takes its servers along: what they are left with is not for the next one."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        place.end()


def state_of(client: Client) -> str:
    state: str = client.request("promptls/status", {})["state"]
    return state


def ready(client: Client) -> None:
    """Wait until the server says by itself that all is well."""
    until(lambda: state_of(client) == "ready", "the server to be ready", interval_s=0.1)


def descriptors(client: Client) -> int:
    return len(list(Path(f"/proc/{client.process.pid}/fd").iterdir()))


def limit(client: Client, number: int) -> None:
    """How many descriptors a server may have from now on."""
    resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (number, 4096))


# ---------------------------------------------------------------- descriptors


def test_few_descriptors_at_the_start(place: Place, effort: float, tries: Tries) -> None:
    """With too few it says so, or ends; with enough it is right.  Nothing in between."""
    rng = random.Random(SEED)
    for number in rng.sample(range(14, 40), max(1, int(effort))):
        client = place.launch(command=["sh", "-c", f"ulimit -Sn {number}; exec {sys.executable} -m promptls serve"])
        tries("servers")
        try:
            client.initialize(place.root)
            pass_time(rng.uniform(0, 4))
            status = client.request("promptls/status", {})
        except ConnectionError:
            client.kill()
            continue  # not even enough to begin
        if status["state"] == "ready":
            assert status["roots"][0]["files"] == place.fresh()["counts"][1]
        limit(client, 1024)
        ready(client)
        assert portrait(client) == place.fresh()
        client.kill()
        shutil.rmtree(place.cache, ignore_errors=True)


def test_descriptors_run_out_later(place: Place, effort: float, tries: Tries) -> None:
    """What cannot be looked at is not taken for gone."""
    client = place.running()
    used = descriptors(client)
    known = place.fresh()["counts"][1]
    degraded = 0
    for room in [0, 4, 8][: max(1, int(effort))]:
        limit(client, used + room)
        tries("limits")
        before = place.fresh()
        client.files_changed(*place.become(place.state + 1))
        client.wait_indexed(TIMEOUT_S)
        try:
            found = client.search("how is a discount applied?", 25)
            assert found
        except ResponseError as error:
            assert "Too many open files" in str(error)
        status = client.wait_indexed(TIMEOUT_S)
        degraded += status["state"] == "degraded"
        if status["state"] == "degraded":
            assert status["message"].endswith(".")
            assert status["roots"][0]["files"] in (known, before["counts"][1], place.fresh()["counts"][1])
        limit(client, 4096)
        ready(client)
        client.search("anything")  # a look at the disk
        assert portrait(client) == place.fresh()
    assert degraded


# ---------------------------------------------------------------- workers


def test_workers_killed_all_the_time(place: Place, effort: float, tries: Tries) -> None:
    """Files on which workers have failed are known by name, told, and tried again; then nothing is lacking."""
    client = place.running()
    client.files_changed(*place.become(place.state + 1))
    killed = 0
    bound = time.monotonic() + 2 * effort
    while time.monotonic() < bound:
        for worker in workers(client):
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
    ready(client)
    assert portrait(client) == place.fresh()


def test_no_worker_can_be_started(place: Place) -> None:
    """An edit of an open document that no worker can look at is told, shown as text, and made good later."""
    client = place.running()
    file = place.root / "shop/cart.py"
    text = file.read_text()
    client.open(file, text)
    client.wait_indexed()
    limit(client, descriptors(client) + 1)
    for worker in workers(client):
        os.kill(worker, signal.SIGKILL)
    new = text.replace("def total", "def grand_total")
    client.replace(file, 2, new)
    assert client.wait_indexed(TIMEOUT_S)["state"] == "degraded"
    limit(client, 4096)
    ready(client)
    (mention,) = client.request("promptls/resolveMentions", {"message": "@#Cart.grand_total"})["mentions"]
    assert mention["status"] == "included"
    client.replace(file, 3, text)
    client.close(file)
    assert portrait(client) == place.fresh()


def test_a_question_that_no_worker_has_read(place: Place) -> None:
    """It is answered by words, which is told until a worker can be had again; nobody need ask once more."""
    client = place.running()
    client.search("anything")  # the interactive worker runs now
    limit(client, descriptors(client) + 1)
    for worker in workers(client):
        os.kill(worker, signal.SIGKILL)
    found = client.request("promptls/search", {"query": "the sum of what is in it"})
    assert "words only" in found["index"]["message"]
    limit(client, 4096)
    ready(client)
    assert portrait(client) == place.fresh()


def test_stopped_and_continued(place: Place) -> None:
    """A worker that stands still is replaced, a question asked meanwhile says what it lacks; so may the server stand."""
    client = place.running()
    client.search("anything")  # the interactive worker runs now
    standing = workers(client)
    assert standing
    for worker in standing:
        os.kill(worker, signal.SIGSTOP)
    found = client.request("promptls/search", {"query": "total price that nobody has asked for"}, timeout=60)
    assert found["hits"]
    assert found["index"]["state"] == "degraded" and "words only" in found["index"]["message"]
    for worker in standing:
        try:
            os.kill(worker, signal.SIGCONT)
        except ProcessLookupError:
            pass
    client.search("anything else")  # the next question has a vector again
    ready(client)
    os.kill(client.process.pid, signal.SIGSTOP)
    request = client.start_request("promptls/search", {"query": "discount"})
    client.files_changed(*place.become(place.state + 1))
    os.kill(client.process.pid, signal.SIGCONT)
    assert client.wait_response(request)["hits"]
    assert portrait(client) == place.fresh()


def test_low_memory(place: Place) -> None:
    """A worker without memory dies and is replaced; the server lives, and what is lacking is told and made good."""
    client = place.running()
    for worker in workers(client):
        os.kill(worker, signal.SIGKILL)
    over, limited = threading.Event(), set()

    def tighten() -> None:
        while not over.wait(0.01):
            for worker in workers(client):
                try:
                    resource.prlimit(worker, resource.RLIMIT_AS, (100_000_000, 100_000_000))
                    limited.add(worker)
                except ProcessLookupError:
                    pass

    thread = threading.Thread(target=tighten)
    thread.start()
    try:
        client.files_changed(*place.become(place.state + 1))
        status = client.wait_indexed(TIMEOUT_S)
    finally:
        over.set()
        thread.join()
    assert limited
    assert status["state"] == "degraded" and status["message"].endswith(".")
    assert client.process.poll() is None
    ready(client)
    assert portrait(client) == place.fresh()


# ---------------------------------------------------------------- the streams


def test_streams_closed_at_odd_moments(place: Place, effort: float, tries: Tries) -> None:
    """Without an editor the server ends, and its workers with it."""
    rng = random.Random(SEED)
    for turn in range(max(2, int(2 * effort))):
        command = [sys.executable, "-m", "promptls", "serve"]
        if turn % 2:  # its output is closed after some bytes
            most = rng.choice([0, 100, 3000, 20_000])
            command = ["sh", "-c", f"{sys.executable} -m promptls serve | head -c {most}"]
        client = place.launch(command=command)
        tries("servers")
        try:
            client.start_request("initialize", {"rootUri": place.root.as_uri(), "capabilities": {}})
            client.notify("initialized", {})
            for number in range(100):
                client.start_request("promptls/buildPrompt", {"message": f"how is discount {number} applied? @tree"})
            pass_time(rng.uniform(0, 2))
        except BrokenPipeError:
            pass
        others = [w for p in (client.process.pid, *children(client.process.pid)) for w in children(p)]
        assert client.process.stdin is not None
        try:
            client.process.stdin.close()
        except BrokenPipeError:
            pass
        client.process.wait(TIMEOUT_S)
        until(lambda w=others: not any(map(alive, w)), "workers to end")  # type: ignore[misc]
    client = place.start()
    assert portrait(client) == place.fresh()


# ---------------------------------------------------------------- git, folders


def fake_git(place: Place) -> tuple[Path, Path]:
    """(a folder with a git that sleeps while a file is there, that file)"""
    folder, asleep = place.top / "bin", place.top / "asleep"
    folder.mkdir()
    script = f'#!/bin/sh\n[ -e "{asleep}" ] && exec sleep 1000\nexec {shutil.which("git")} "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    return folder, asleep


def test_git_that_hangs(place: Place) -> None:
    """The index does without it; what only git can tell is said to be unknown, not empty."""
    folder, asleep = fake_git(place)
    asleep.touch()
    client = place.start(PATH=f"{folder}:{os.environ['PATH']}")
    client.wait_indexed(60)
    assert portrait(client) == place.fresh()
    (mention,) = client.request("promptls/resolveMentions", {"message": "@diff"}, timeout=60)["mentions"]
    assert mention["status"] == "unresolved"
    assert "git does not respond" in mention["reason"]
    client.kill()


def test_no_git_no_home_no_data_and_no_room_for_temporary_files(place: Place) -> None:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "PROMPTLS_DATA")
    client = place.start(PATH=str(place.top), **dict.fromkeys(names, "/proc/nowhere"))
    assert portrait(client) == place.fresh()
    (mention,) = client.request("promptls/resolveMentions", {"message": "@diff"})["mentions"]
    assert "git is not installed" in mention["reason"]
    entry = {"action": "add", "category": "rule", "title": "One", "content": "We deploy on Mondays."}
    with pytest.raises(ResponseError, match="cannot be changed"):
        client.request("promptls/memory", entry)
    assert client.stop() == 0


def test_the_command_line_without_a_place_for_anything(place: Place) -> None:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PROMPTLS_CACHE")
    env = {**os.environ, **dict.fromkeys(names, "/proc/nowhere")}
    command = [sys.executable, "-m", "promptls", "search", "--root", str(place.root), "apply discount"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=place.top)
    assert done.returncode == 0
    assert "shop/cart.py" in done.stdout
    assert "Traceback" not in done.stderr

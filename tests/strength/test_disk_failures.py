"""Disk failures of the cache: full, read-only, deleted, damaged, or with wrong modification times.

Results stay correct, the failure is reported in the status and with each prompt, and the server recovers once the
failure is over. A small tmpfs mounted below the test's folder serves as the disk to fill.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faultkit import Sandbox, closing_servers, generate_module, index_results, list_files, wait_until_ready
from lsp import Client
from processes import TIMEOUT_S
from tally import Tries

SEED = 21


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with closing_servers(Sandbox(tmp_path)) as opened:
        yield opened


class SmallDisk:
    """A small tmpfs mounted at a folder."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder))

    def fill(self, free_bytes: int = 0) -> None:
        """Fill the disk up to a number of free bytes."""
        stat = os.statvfs(self.folder)
        with (self.folder / "ballast").open("ab", buffering=0) as file:
            left = max(0, stat.f_bavail * stat.f_frsize - free_bytes)
            try:
                while left > 0:
                    left -= file.write(bytes(min(left, 65536)))
            except OSError:
                pass

    def free(self) -> None:
        (self.folder / "ballast").unlink()


def mount(*arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot mount a file system: {getattr(error, 'stderr', error)!r}")


@contextmanager
def small_disk(sandbox: Sandbox, megabytes: int = 8) -> Iterator[SmallDisk]:
    """Mount a small disk for the cache folder."""
    small = SmallDisk(sandbox.cache, megabytes)
    try:
        yield small
    finally:
        sandbox.stop_servers()
        subprocess.run(["umount", "--lazy", str(sandbox.cache)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only for every user, including root."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def degraded_message(client: Client) -> str:
    """Return the message of the degraded state, which the status, prompts and searches all report."""
    status = client.wait_indexed(TIMEOUT_S)
    built = client.build("how is a discount applied?")
    assert status["state"] == "degraded"
    assert built["index"]["state"] == "degraded" and built["index"]["message"]
    searched = client.request("promptls/search", {"query": "discount"})
    assert searched["index"]["state"] == "degraded"
    message: str = status["message"]
    assert built["index"]["message"] in built["warnings"]
    assert "\n" not in message and ".rs:" not in message
    return message


def assert_same_results(client: Client, sandbox: Sandbox) -> None:
    """Check that the results equal those of a new index, except for the state."""
    assert {**index_results(client), "state": ""} == {**sandbox.fresh_index_results(), "state": ""}


def assert_recovered(client: Client, sandbox: Sandbox) -> None:
    """Check that the server becomes ready without a request and returns complete results."""
    wait_until_ready(client)
    assert index_results(client) == sandbox.fresh_index_results()


def assert_cache_complete(client: Client, sandbox: Sandbox) -> Client:
    """Check that another server has nothing to embed."""
    client.stop()
    again = sandbox.start()
    assert index_results(again) == sandbox.fresh_index_results()
    assert again.wait_indexed()["embedder"]["embedded"] == 0  # all rows were on disk
    return again


def change_state(client: Client, sandbox: Sandbox, state: int) -> None:
    client.files_changed(*sandbox.apply_state(state))


# ---------------------------------------------------------------- full, read-only, deleted


def test_disk_full_at_start_and_while_running(sandbox: Sandbox, effort: float, tries: Tries) -> None:
    rng = random.Random(SEED)
    with small_disk(sandbox) as small:
        small.fill()
        tries("full disks")
        client = sandbox.start()
        assert "No space left" in degraded_message(client) or "full" in degraded_message(client)
        assert_same_results(client, sandbox)
        small.free()
        assert_recovered(client, sandbox)
        for turn in range(max(1, int(effort))):
            small.fill(free_bytes=rng.choice([0, 4096, 20_000, 60_000]) if turn else 0)
            tries("full disks")
            for state in (1, 2):
                change_state(client, sandbox, turn + state)
                assert_same_results(client, sandbox)
            if not turn:
                assert "Cannot write" in degraded_message(client)
            small.free()
            assert_recovered(client, sandbox)
        assert_cache_complete(client, sandbox)


def test_read_only_cache_folder(sandbox: Sandbox) -> None:
    client = sandbox.start()
    assert index_results(client) == sandbox.fresh_index_results()
    with read_only(sandbox.cache):
        written = sandbox.apply_state(1)
        other = sandbox.start()
        assert "Read-only" in degraded_message(other)
        assert_same_results(other, sandbox)
        other.kill()
        client.files_changed(*written)
        many = sandbox.root / "many.py"  # fewer rows would be written later, with others
        many.write_text(generate_module(1000, 0, functions=250))
        client.files_changed(many)
        assert "Read-only" in degraded_message(client)
        many.unlink()
        client.files_changed(many)
        assert_same_results(client, sandbox)
    assert_recovered(client, sandbox)
    assert_cache_complete(client, sandbox)


def test_cache_path_is_a_file_and_cache_folder_is_deleted(sandbox: Sandbox) -> None:
    sandbox.cache.write_text("not a folder")
    client = sandbox.start()
    assert "memory only" in degraded_message(client)
    assert_same_results(client, sandbox)
    sandbox.cache.unlink()
    assert_recovered(client, sandbox)
    shutil.rmtree(sandbox.cache)
    assert_same_results(client, sandbox)
    change_state(client, sandbox, 1)
    assert_same_results(client, sandbox)
    assert_recovered(client, sandbox)
    assert_cache_complete(client, sandbox)


# ---------------------------------------------------------------- damaged


def flip_bits(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice([1, 1, 4, 20])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def damage(file: Path, rng: random.Random, how: str, other: Path | None = None) -> None:
    """Damage one file of a cache."""
    data = bytearray(file.read_bytes())
    if how == "flip":
        data = flip_bits(data, rng)
    elif how == "cut":
        data = data[: rng.randrange(len(data) + 1)]
    elif how == "zero":
        data = bytearray(len(data))
    elif how == "empty":
        data = bytearray()
    elif other is not None:  # the same file of another workspace, or another file of this one
        data = bytearray(other.read_bytes())
    file.write_bytes(data)


def test_every_damaged_cache_file_is_detected_at_start(
    sandbox: Sandbox, tmp_path: Path, effort: float, tries: Tries
) -> None:
    """Damage one or several files in every way: results stay correct."""
    rng = random.Random(SEED)
    params = {"message": "Is this right? @shop/cart.py:16-21"}
    client = sandbox.start()
    client.wait_indexed()
    expected = client.request("promptls/resolveMentions", params)["mentions"]
    client.kill()
    saved_cache = tmp_path / "saved_cache"
    shutil.copytree(sandbox.cache, saved_cache)
    names = [f.relative_to(saved_cache) for f in list_files(saved_cache)]
    foreign_files: list[Path] = []
    ways = ["flip", "flip", "flip", "cut", "zero", "empty", "swap", "foreign"]
    plans = [(way, [name]) for name in names for way in ways]
    plans += [(way, rng.sample(names, rng.randrange(2, len(names)))) for way in ways]
    if effort < 10:
        plans = rng.sample(plans, max(1, min(len(plans), int(3 * effort))))
    for how, damaged in plans:
        shutil.rmtree(sandbox.cache)
        shutil.copytree(saved_cache, sandbox.cache)
        if how == "foreign" and not foreign_files:
            others = Sandbox(tmp_path / "others", files=5)
            with closing_servers(others):
                others.start().wait_indexed()
            foreign_files = list_files(others.cache)
        for name in damaged:
            similar = (
                [f for f in foreign_files if f.suffix == name.suffix]
                if how == "foreign"
                else [saved_cache / n for n in names]
            )
            damage(sandbox.cache / name, rng, how, rng.choice(similar or foreign_files))
            tries("damaged files")
        client = sandbox.start()
        wait_until_ready(client)
        assert index_results(client) == sandbox.fresh_index_results(), (how, damaged)
        assert client.request("promptls/resolveMentions", params)["mentions"] == expected, (how, damaged)
        client.kill()


# ---------------------------------------------------------------- modification times


def test_wrong_modification_times_do_not_hide_changes(sandbox: Sandbox) -> None:
    """Times in the future and the past, and changed texts of equal size and time: prompts always match the disk."""
    file = sandbox.root / "shop/cart.py"
    before = file.read_text()
    after = before.replace("before any discount", "behind any discount")
    assert len(before) == len(after)
    client = sandbox.start()
    client.wait_indexed()
    for stamp in (4_000_000_000, 1, 1_500_000_000):
        file.write_text(text := after if stamp != 1 else before)
        os.utime(file, (stamp, stamp))
        client.files_changed(file)
        assert index_results(client) == sandbox.fresh_index_results(), text
    file.write_text(before)
    os.utime(file, ns=(10**18, 10**18))
    client.files_changed(file)
    client.wait_indexed()
    client.kill()
    file.write_text(after)
    os.utime(file, ns=(10**18, 10**18))  # changed while no server was running: equal size and time, different text
    client = sandbox.start()
    client.wait_indexed()
    for message in ("@shop/cart.py", "@#Cart.total", "sum of all prices of a cart"):
        prompt = client.build(message)["prompt"]
        assert "behind any discount" in prompt
        assert "before any discount" not in prompt
    client.wait_indexed()
    assert index_results(client) == sandbox.fresh_index_results()  # the changes that requests read are in the index

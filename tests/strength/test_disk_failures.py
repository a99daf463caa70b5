"""Trouble with the disk: full, read-only, deleted, damaged, with wrong times.

Answers stay right, what is wrong is told in the status and with the prompt, and once the trouble is over the server
goes back to normal by itself.  Disks that can be filled are small ones in memory, mounted below the test's folder.
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
from tally import Tries

from faultkit import Place, ended, files_of, generated, portrait
from lsp import Client, Json
from processes import TIMEOUT_S, until

SEED = 21


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ended(Place(tmp_path)) as here:
        yield here


class Disk:
    """A small disk at a folder."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder))

    def fill(self, room: int = 0) -> None:
        """Leave no more than so many bytes of room."""
        found = os.statvfs(self.folder)
        with (self.folder / "ballast").open("ab", buffering=0) as file:
            left = max(0, found.f_bavail * found.f_frsize - room)
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
        pytest.skip(f"a file system cannot be mounted here: {getattr(error, 'stderr', error)!r}")


@contextmanager
def disk(place: Place, megabytes: int = 8) -> Iterator[Disk]:
    """A small disk for the cache."""
    small = Disk(place.cache, megabytes)
    try:
        yield small
    finally:
        place.end()
        subprocess.run(["umount", "--lazy", str(place.cache)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """What is opened below a folder from now on cannot be written, also not by root."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def told(client: Client) -> str:
    """What status and prompt say is wrong; they say the same."""
    status = client.wait_indexed(TIMEOUT_S)
    built = client.build("how is a discount applied?")
    assert status["state"] == "degraded"
    assert built["index"]["state"] == "degraded" and built["index"]["message"]
    found = client.request("promptls/search", {"query": "discount"})
    assert found["index"]["state"] == "degraded"
    message: str = status["message"]
    assert built["index"]["message"] in built["warnings"]
    assert "\n" not in message and ".rs:" not in message
    return message


def same_answers(client: Client, place: Place) -> None:
    """The portrait of a fresh index, whatever the state is called."""
    assert {**portrait(client), "state": ""} == {**place.fresh(), "state": ""}


def ready(client: Client) -> None:
    """Wait until the server says by itself that all is well."""
    until(lambda: client.request("promptls/status", {})["state"] == "ready", "the server to be ready", interval_s=0.05)


def recovered(client: Client, place: Place) -> None:
    """The trouble is over: the server is ready without anybody asking for it."""
    ready(client)
    assert portrait(client) == place.fresh()


def complete(client: Client, place: Place) -> Client:
    """The cache is complete: another server has nothing to do."""
    client.stop()
    again = place.start()
    assert portrait(again) == place.fresh()
    assert again.wait_indexed()["embedder"]["embedded"] == 0  # all rows were on disk
    return again


def changed(client: Client, place: Place, state: int) -> None:
    client.files_changed(*place.become(state))


# ---------------------------------------------------------------- full, not to be written, gone


def test_full_at_the_start_and_later_on(place: Place, effort: float, tries: Tries) -> None:
    rng = random.Random(SEED)
    with disk(place) as small:
        small.fill()
        tries("full disks")
        client = place.start()
        assert "No space left" in told(client) or "full" in told(client)
        same_answers(client, place)
        small.free()
        recovered(client, place)
        for turn in range(max(1, int(effort))):
            small.fill(room=rng.choice([0, 4096, 20_000, 60_000]) if turn else 0)
            tries("full disks")
            for state in (1, 2):
                changed(client, place, turn + state)
                same_answers(client, place)
            if not turn:
                assert "cannot be written" in told(client)
            small.free()
            recovered(client, place)
        complete(client, place)


def test_read_only(place: Place) -> None:
    client = place.start()
    assert portrait(client) == place.fresh()
    with read_only(place.cache):
        written = place.become(1)
        other = place.start()
        assert "Read-only" in told(other)
        same_answers(other, place)
        other.kill()
        client.files_changed(*written)
        many = place.root / "many.py"  # a few rows would wait for more
        many.write_text(generated(1000, 0, functions=250))
        client.files_changed(many)
        assert "Read-only" in told(client)
        many.unlink()
        client.files_changed(many)
        same_answers(client, place)
    recovered(client, place)
    complete(client, place)


def test_a_file_where_the_folder_should_be_and_a_folder_that_is_deleted(place: Place) -> None:
    place.cache.write_text("not a folder")
    client = place.start()
    assert "memory only" in told(client)
    same_answers(client, place)
    place.cache.unlink()
    recovered(client, place)
    shutil.rmtree(place.cache)
    same_answers(client, place)
    changed(client, place, 1)
    same_answers(client, place)
    recovered(client, place)
    complete(client, place)


# ---------------------------------------------------------------- damaged


def flip(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice([1, 1, 4, 20])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def damage(file: Path, rng: random.Random, how: str, other: Path | None = None) -> None:
    """Damage one file of a cache."""
    data = bytearray(file.read_bytes())
    if how == "flip":
        data = flip(data, rng)
    elif how == "cut":
        data = data[: rng.randrange(len(data) + 1)]
    elif how == "zero":
        data = bytearray(len(data))
    elif how == "empty":
        data = bytearray()
    elif other is not None:  # the same file of another workspace, or another file of this one
        data = bytearray(other.read_bytes())
    file.write_bytes(data)


def anchored(place: Place) -> Json:
    """A prompt document with a mention that is bound, so that the cache holds anchors too."""
    ask = place.root / "ask.prompt.md"
    ask.write_text("Is this right? @shop/cart.py:16-21")
    return {"message": ask.read_text(), "document": ask.as_uri()}


def test_every_file_of_the_cache_damaged(place: Place, tmp_path: Path, effort: float, tries: Tries) -> None:
    """One at a time and several, each in all ways: a wrong answer never, and lost anchors are bound anew."""
    rng = random.Random(SEED)
    asked = anchored(place)
    client = place.start()
    client.wait_indexed()
    client.build(**asked)
    wanted = client.request("promptls/resolveMentions", asked)["mentions"]
    client.kill()
    kept = tmp_path / "kept"
    shutil.copytree(place.cache, kept)
    names = [f.relative_to(kept) for f in files_of(kept)]
    strange: list[Path] = []
    ways = ["flip", "flip", "flip", "cut", "zero", "empty", "swap", "stranger"]
    plans = [(way, [name]) for name in names for way in ways]
    plans += [(way, rng.sample(names, rng.randrange(2, len(names)))) for way in ways]
    if effort < 10:
        plans = rng.sample(plans, max(1, min(len(plans), int(3 * effort))))
    for how, hit in plans:
        shutil.rmtree(place.cache)
        shutil.copytree(kept, place.cache)
        if how == "stranger" and not strange:
            others = Place(tmp_path / "others", files=5)
            with ended(others):
                others.start().wait_indexed()
            strange = files_of(others.cache)
        for name in hit:
            alike = [f for f in strange if f.suffix == name.suffix] if how == "stranger" else [kept / n for n in names]
            damage(place.cache / name, rng, how, rng.choice(alike or strange))
            tries("damaged files")
        client = place.start()
        ready(client)
        assert portrait(client) == place.fresh(), (how, hit)
        assert client.request("promptls/resolveMentions", asked)["mentions"] == wanted, (how, hit)
        client.kill()


def test_damaged_and_deleted_under_a_running_server(place: Place, effort: float, tries: Tries) -> None:
    rng = random.Random(SEED)
    client = place.start()
    client.wait_indexed()
    for turn in range(max(1, int(effort))):
        for file in files_of(place.cache):
            if rng.random() < 0.5:
                tries("damaged files")
                how = rng.choice(["flip", "cut", "zero", "gone", "folder"])
                if how in ("gone", "folder"):
                    file.unlink()
                    if how == "folder":
                        file.mkdir()
                else:
                    damage(file, rng, how)
        changed(client, place, turn + 1)
        same_answers(client, place)
        client.kill()
        client = place.start()
        assert portrait(client) == place.fresh()


# ---------------------------------------------------------------- clocks


def test_times_of_files_that_lie(place: Place) -> None:
    """Times in the future and the past, and another text of the same size and time: never a text the disk has not."""
    file = place.root / "shop/cart.py"
    before = file.read_text()
    after = before.replace("before any discount", "behind any discount")
    assert len(before) == len(after)
    client = place.start()
    client.wait_indexed()
    for stamp in (4_000_000_000, 1, 1_500_000_000):
        file.write_text(text := after if stamp != 1 else before)
        os.utime(file, (stamp, stamp))
        client.files_changed(file)
        assert portrait(client) == place.fresh(), text
    file.write_text(before)
    os.utime(file, ns=(10**18, 10**18))
    client.files_changed(file)
    client.wait_indexed()
    client.kill()
    file.write_text(after)
    os.utime(file, ns=(10**18, 10**18))  # the same size, the same time, another text; nobody was there to see
    client = place.start()
    client.wait_indexed()
    for message in ("@shop/cart.py", "@#Cart.total", "sum of all prices of a cart"):
        prompt = client.build(message)["prompt"]
        assert "behind any discount" in prompt
        assert "before any discount" not in prompt
    client.wait_indexed()
    assert portrait(client) == place.fresh()  # what was read has been told to the index

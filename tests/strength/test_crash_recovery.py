"""kill -9 at random points: afterwards the answers are those of a fresh index, and nothing the user said is lost.

A server, or the process that keeps its table, is killed at a moment of its work, drawn at random; the next server on
the same cache must come to what an index from nothing says.  Moments that are short are met by watching the cache.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tally import Tries

from faultkit import Place, ended, files_of, footprint, generated, keepers, portrait
from lsp import Client, Json
from processes import TIMEOUT_S, alive, children, until
from promptls.index.search.row_batch import build_rows, quantize
from promptls.index.search.store_identity import StoreIdentity
from promptls.index.store.lance_table import MAX_FRAGMENTS, open_table

SEED = 20


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One for all tests: each begins with what the kills before it have left."""
    with ended(Place(tmp_path_factory.mktemp("faults"), states=2)) as here:
        yield here


def kill(client: Client) -> None:
    """Kill a server; its workers and its keeper end by themselves."""
    others = children(client.process.pid)
    os.kill(client.process.pid, signal.SIGKILL)
    client.kill()
    until(lambda: not any(map(alive, others)), "workers and keeper to end", 30)


def kill_within(client: Client, seconds: float, rng: random.Random) -> None:
    """Kill a server at a moment of the next seconds, or when it has ended by itself."""
    moment = time.monotonic() + rng.uniform(0, seconds)
    until(lambda: time.monotonic() >= moment or client.ended, "time to pass", interval_s=0.001)
    kill(client)


def kill_at_write(client: Client, folder: Path, rng: random.Random) -> None:
    """Kill a server in the middle of writing: up to 40 ms after something in a folder has changed."""
    meet_write(client, folder)
    kill_within(client, 0.04, rng)


def meet_write(client: Client, folder: Path) -> None:
    """Wait for a write below a folder, or until it is sure that nothing is to be written."""
    before = footprint(folder)
    asked: list[int] = []

    def over() -> bool:
        if not asked or asked[-1] in client.responses:
            if asked and client.wait_response(asked[-1])["state"] in ("ready", "degraded"):
                return True
            asked.append(client.start_request("promptls/status", {}))
        return footprint(folder) != before

    until(over, "a write", 60, interval_s=0.0005)


def checked(place: Place) -> Client:
    """A server on what the killed one has left, found to be as good as new."""
    client = place.start()
    assert portrait(client) == place.fresh()
    return client


def ready(client: Client) -> None:
    """Wait until the server says by itself that all is well."""
    until(lambda: client.request("promptls/status", {})["state"] == "ready", "the server to be ready", interval_s=0.1)


def touched(client: Client, place: Place, number: int, always_new: bool = False) -> None:
    """Other texts, and (each second time, or always) enough new ones that they are not left for later."""
    many = place.root / "many.py"
    if many.exists() and not always_new:
        many.unlink()
    else:
        many.write_text(generated(2000 + number, 1, functions=220) + "\n")
    client.files_changed(*place.become(place.state + 1), many)


def counts(base: int, effort: float) -> range:
    return range(max(1, int(base * effort)))


def test_killed_while_scanning(place: Place, effort: float, tries: Tries) -> None:
    rng = random.Random(SEED)
    for turn in counts(1, effort):
        shutil.rmtree(place.cache, ignore_errors=True)
        for _ in range(1 + turn % 2):  # two in a row, each on what the last one has left
            kill_within(place.start(), 2.5, rng)
            tries("kills")
        kill(checked(place))


def test_killed_while_writing(place: Place, effort: float, tries: Tries) -> None:
    """Rows, records, the image: whatever is being written when many new texts come."""
    rng = random.Random(SEED)
    for turn in counts(1, effort):
        client = place.running()
        touched(client, place, turn)
        if turn % 2:
            kill_within(client, 2.0, rng)
        else:
            kill_at_write(client, place.cache, rng)
        tries("kills")
        checked(place)


def test_the_keeper_killed_while_it_writes(place: Place, effort: float, tries: Tries) -> None:
    """The server goes on, has another one write, and nothing is lacking afterwards."""
    rng = random.Random(SEED)
    for turn in counts(1, effort):
        client = place.running()
        for step in range(1 + turn % 2):
            touched(client, place, 50 + 2 * turn + step, always_new=True)
            until(lambda c=client: keepers(c), "a keeper", interval_s=0.001)  # type: ignore[misc]
            moment = time.monotonic() + rng.uniform(0, 1.5)
            until(lambda m=moment: time.monotonic() > m, "time to pass", interval_s=0.001)  # type: ignore[misc]
            for keeper in keepers(client):
                os.kill(keeper, signal.SIGKILL)
                tries("kills")
        ready(client)
        assert portrait(client) == place.fresh()
        client.stop()
        assert checked(place).wait_indexed()["embedder"]["embedded"] == 0


def test_killed_while_compacting(place: Place, effort: float, tries: Tries) -> None:
    """A table of many fragments, which the next write joins."""
    rng = random.Random(SEED)
    place.running().stop()
    kept = place.top / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(place.cache, kept)
    folder = next(kept.rglob("chunks.lance")).parent
    identity = store_identity(folder)
    table = open_table(folder, identity, recreate=False)
    for number in range(MAX_FRAGMENTS + 2):
        vector = np.random.default_rng(number).normal(size=(1, identity.dimension))
        table.add([build_rows([(number.to_bytes(16, "big"), ["a", f"word{number}"])], quantize(vector))])
    for turn in counts(1, effort):
        shutil.rmtree(place.cache)
        shutil.copytree(kept, place.cache)
        client = place.start()
        client.wait_indexed(TIMEOUT_S)
        rows = next(place.cache.rglob("chunks.lance"))
        touched(client, place, 100 + turn)
        meet_write(client, rows)
        if turn % 2:
            for keeper in keepers(client):
                os.kill(keeper, signal.SIGKILL)
            ready(client)
            assert portrait(client) == place.fresh()
            kill(client)
        else:
            kill_within(client, 0.5, rng)
        tries("kills")
        checked(place).stop()


def store_identity(folder: Path) -> StoreIdentity:
    """What the table in a folder is made with."""
    import lancedb
    import msgspec

    schema = lancedb.connect(str(folder)).open_table("chunks").schema
    return msgspec.json.decode(schema.metadata[b"promptls"], type=StoreIdentity)


def test_killed_while_a_store_is_rebuilt(place: Place, effort: float, tries: Tries) -> None:
    """Damaged rows, and an image that does not stand for them."""
    rng = random.Random(SEED)
    place.running().stop()
    for turn in counts(1, effort):
        file = rng.choice([f for f in files_of(place.cache) if "chunks.lance/data" in f.as_posix()])
        data = bytearray(file.read_bytes())
        for _ in range(20):
            data[rng.randrange(len(data))] ^= 0xFF
        file.write_bytes(data)
        image = next(place.cache.rglob("rows.image"), None)
        if image is not None and turn % 3 == 1:
            image.write_bytes(image.read_bytes()[:-1])  # cut off
        elif image is not None:
            image.unlink()
        client = place.start()
        kill_at_write(client, place.cache, rng)
        tries("kills")
        if turn % 2:
            kill_within(place.start(), 2.0, rng)
            tries("kills")
        checked(place).stop()


def test_what_a_killed_server_has_left_of_an_image_goes_and_a_missing_one_is_made(place: Place) -> None:
    place.running().stop()
    image = next(place.cache.rglob("rows.image"))
    old, new = image.with_name("rows.image.4711"), image.with_name("rows.image.4712")
    for left in (old, new):
        left.write_bytes(image.read_bytes()[:100])
    os.utime(old, (1, 1))
    checked(place).stop()
    assert not old.exists()
    assert new.exists()  # another server may be at it
    new.unlink()
    image.unlink()
    client = checked(place)  # reads the table
    until(image.exists, "the image to be made anew", 30)
    client.stop()


def test_killed_while_settings_change(place: Place, effort: float, tries: Tries) -> None:
    """Other rules of what is listed: another index beside the old one, in the same store."""
    rng = random.Random(SEED)
    less: Json = {"index": {"exclude": ["generated_1*"]}}
    for turn in counts(1, effort):
        client = place.running()
        client.configuration = less
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        if turn % 2:
            client.configuration = {}
            client.notify("workspace/didChangeConfiguration", {"settings": None})
        kill_within(client, 1.0, rng)
        tries("kills")
        client = place.start(options=less)
        assert portrait(client) == place.fresh(less)
        kill(client)
        checked(place)


def test_killed_while_remembering(place: Place, effort: float, tries: Tries) -> None:
    """What was acknowledged is there; what was not is there whole or not at all."""
    rng = random.Random(SEED)
    acknowledged: list[str] = []
    sent = 0
    client = place.start()
    for _ in counts(1, effort):
        first = sent
        requests: dict[int, str] = {}
        for sent in range(first, first + 40):
            said = f"We deploy service {sent} on day {sent}. " * 30
            scope = "workspace" if sent % 2 else "user"
            entry = {"action": "add", "category": "knowledge", "title": f"Service {sent}", "content": said}
            requests[client.start_request("promptls/memory", {**entry, "scope": scope})] = said.strip()
        sent += 1
        wanted = rng.randrange(1, 40)
        until(lambda c=client, n=wanted: len(c.responses) > n or c.ended, "answers")  # type: ignore[misc]
        kill_within(client, 0.01, rng)
        tries("kills")
        acknowledged += [
            said for number, said in requests.items() if "result" in (client.responses.get(number) or [{}])[0]
        ]
        client = place.start()
        found = client.request("promptls/memory", {"action": "list", "limit": 1000})
        contents = [e["content"] for e in found["entries"]]
        assert set(acknowledged) <= set(contents)
        assert len(contents) == len(set(contents)) == found["total"]
        assert all(content.startswith("We deploy") and content.endswith(".") for content in contents)
        assert found["warnings"] == []
    kill(client)


def test_killed_while_anchors_are_written(place: Place, effort: float, tries: Tries) -> None:
    """Lines that were bound once mean the same code after any kill."""
    rng = random.Random(SEED)
    cart = place.root / "shop/cart.py"
    before = cart.read_text()
    meant = [line for line in before.splitlines() if line.strip()][-3:]
    count = len(before.splitlines())
    ask = place.top / "ask.prompt.md"
    message = f"Is this right? @shop/cart.py:{count - 2}-{count}"
    ask.write_text(message)
    asked = {"message": message, "document": ask.as_uri()}
    client = place.start()
    assert client.request("promptls/resolveMentions", asked)["mentions"][0]["status"] == "included"
    client.build(**asked)
    for _ in counts(2, effort):
        text = cart.read_text()
        for _ in range(4):  # each look rewrites the file of anchors
            text = f"# a line more\n{text}"
            cart.write_text(text)
            client.start_request("promptls/buildPrompt", asked)
        kill_within(client, 0.4, rng)
        tries("kills")
        client = place.start()
        (mention,) = client.request("promptls/resolveMentions", asked)["mentions"]
        assert mention["status"] == "included"
        (target,) = mention["targets"]
        lines = cart.read_text().splitlines()
        assert lines[target["range"]["start"]["line"] : target["range"]["end"]["line"]] == meant
    kill(client)
    cart.write_text(before)

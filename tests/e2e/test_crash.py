"""Derived state is disposable: killed at any moment, damaged or deleted, the index comes back the same."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import make_shop
from lsp import Client, Json
from processes import children, until

Start = Callable[..., Client]
QUESTIONS = [
    "how is a discount applied?",
    "refresh the session cookie",
    "parse request header 17",
    "checksum of record 42",
]


def make_large(shop: Path) -> Path:
    rng = random.Random(5)
    verbs = "parse format merge split encode decode validate load store route".split()
    nouns = "request header record invoice cookie token segment packet ledger account".split()
    for n in range(150):
        body = "\n\n".join(
            f"def {rng.choice(verbs)}_{rng.choice(nouns)}_{n}_{i}(value, limit={i}):\n"
            f'    """{rng.choice(verbs).title()} the {rng.choice(nouns)} number {n}."""\n'
            f"    checksum = value * {rng.randrange(1000)} + limit\n    return checksum % {rng.randrange(2, 99)}"
            for i in range(12)
        )
        (shop / f"generated_{n}.py").write_text(body + "\n")
    return shop


@pytest.fixture
def large(shop: Path) -> Path:
    return make_large(shop)


def answers(client: Client) -> list[list[tuple[str, Json, float]]]:
    return [[(h["path"], h["range"], h["score"]) for h in client.search(q, 25)] for q in QUESTIONS]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, Json, float]]]:
    """What an index made from nothing answers, wherever the workspace is."""
    folder = tmp_path_factory.mktemp("fresh")
    client = Client(folder / "cache")
    client.initialize(make_large(make_shop(folder / "shop-root")))
    client.settled()
    found = answers(client)
    client.kill()
    assert all(found)
    return found


def test_killed_in_the_first_scan_again_and_again(start: Start, large: Path, fresh: object) -> None:
    rng = random.Random(11)
    for _ in range(4):
        client = start(large)
        pending = rng.randrange(20, 140)
        client.wait_note(
            "promptls/statusChanged",
            lambda s, p=pending: (s["roots"] and 0 < s["roots"][0]["pending"] < p) or s["state"] == "ready",
        )
        os.kill(client.process.pid, signal.SIGKILL)
        client.process.wait()
    client = start(large)
    status = client.settled()
    assert status["state"] == "ready"
    assert status["roots"][0]["chunks"] == status["roots"][0]["vectors"]
    assert answers(client) == fresh


def test_workers_killed_during_the_scan(start: Start, large: Path, fresh: object) -> None:
    client = start(large)
    client.wait_note("promptls/statusChanged", lambda s: s["state"] == "indexing")
    killed = 0
    for pid in children(client.process.pid):
        with suppress(ProcessLookupError):  # some of them, git for one, are short-lived
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert killed
    assert client.settled()["state"] == "ready"
    assert answers(client) == fresh


def test_a_deleted_cache_costs_a_scan(start: Start, shop: Path, tmp_path: Path) -> None:
    start(shop).settled()
    shutil.rmtree(tmp_path / "cache")
    client = start(shop)
    assert client.settled()["state"] == "ready"
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"


def test_damaged_files_cost_a_scan(start: Start, large: Path, tmp_path: Path, fresh: object) -> None:
    start(large).settled()
    rng = random.Random(3)
    for round_ in range(3):
        files = sorted(f for f in (tmp_path / "cache").rglob("*") if f.is_file())
        for file in rng.sample(files, min(len(files), 1 + 3 * round_)):
            data = bytearray(file.read_bytes())
            for _ in range(min(20, len(data))):
                data[rng.randrange(len(data))] ^= 0xFF
            file.write_bytes(bytes(data))
        client = start(large)
        client.settled()
        client.build(QUESTIONS[0])  # what could not be seen when the store was opened is found out here at the latest
        client.settled()
        assert answers(client) == fresh
        client.kill()


def test_two_servers_on_one_workspace(start: Start, large: Path, fresh: object) -> None:
    one, two = start(large), start(large)
    assert one.settled()["state"] == "ready"
    assert two.settled()["state"] == "ready"
    assert answers(one) == fresh
    assert answers(two) == fresh


def test_a_cache_that_cannot_be_written_is_told_and_answers_come_from_memory(shop: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    client = Client(tmp_path / "x", env={"PROMPTLS_CACHE": str(blocked / "cache")})
    try:
        client.initialize(shop)
        status = client.settled()
        assert status["state"] == "degraded"
        assert "memory only" in status["message"]
        assert client.search("apply discount")[0]["symbol"] == "apply_discount"
        assert client.build("@#apply_discount")["mentions"][0]["status"] == "included"
    finally:
        client.kill()


def test_a_model_that_is_not_there_leaves_names_and_words(start: Start, shop: Path) -> None:
    client = start(shop, options={"embedding": {"model": "/not/a/model"}})
    status = client.settled()
    assert status["state"] == "degraded"
    assert "embedding.model" in status["message"]
    hit = client.search("apply discount")[0]
    assert hit["symbol"] == "apply_discount"
    assert "semantic" not in hit["reasons"]


def test_an_index_that_nobody_uses_is_removed_when_the_own_one_is_made(
    start: Start, shop: Path, tmp_path: Path
) -> None:
    """As those of other models, of earlier versions and of workspaces that are gone."""
    start(shop).settled()
    (own,) = {file.parent for file in (tmp_path / "cache").glob("*/*/files.sqlite")}
    old = own.with_name("01234567")
    shutil.copytree(own, old)
    for place in (own, *own.iterdir(), old, *old.iterdir()):
        os.utime(place, (0, 0))
    client = start(shop)
    assert client.settled()["state"] == "ready"
    until(lambda: not old.exists(), "the old index to be removed")
    assert own.is_dir()
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"

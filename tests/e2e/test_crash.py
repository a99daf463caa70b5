"""Recovery: after kills, damaged or deleted files, the index gives the same results as a new one."""

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


def search_results(client: Client) -> list[list[tuple[str, Json, float]]]:
    return [[(h["path"], h["range"], h["score"]) for h in client.search(q, 25)] for q in QUESTIONS]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, Json, float]]]:
    """Search results of a new index; they do not depend on the location of the workspace."""
    folder = tmp_path_factory.mktemp("fresh")
    client = Client(folder / "cache")
    client.initialize(make_large(make_shop(folder / "shop-root")))
    client.wait_indexed()
    found = search_results(client)
    client.kill()
    assert all(found)
    return found


def test_server_killed_repeatedly_during_the_first_scan(start: Start, large: Path, fresh: object) -> None:
    rng = random.Random(11)
    for _ in range(4):
        client = start(large)
        pending = rng.randrange(20, 140)
        client.wait_notification(
            "promptls/statusChanged",
            lambda s, p=pending: (s["roots"] and 0 < s["roots"][0]["pending"] < p) or s["state"] == "ready",
        )
        os.kill(client.process.pid, signal.SIGKILL)
        client.process.wait()
    client = start(large)
    status = client.wait_indexed()
    assert status["state"] == "ready"
    assert status["roots"][0]["chunks"] == status["roots"][0]["vectors"]
    assert search_results(client) == fresh


def test_workers_killed_during_the_first_scan(start: Start, large: Path, fresh: object) -> None:
    client = start(large)
    client.wait_notification("promptls/statusChanged", lambda s: s["state"] == "indexing")
    killed = 0
    for pid in children(client.process.pid):
        with suppress(ProcessLookupError):  # short-lived ones, such as git, may have exited
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert killed
    assert client.wait_indexed()["state"] == "ready"
    assert search_results(client) == fresh


def test_deleted_cache_is_rebuilt(start: Start, shop: Path, tmp_path: Path) -> None:
    start(shop).wait_indexed()
    shutil.rmtree(tmp_path / "cache")
    client = start(shop)
    assert client.wait_indexed()["state"] == "ready"
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"


def test_damaged_cache_files_are_rebuilt(start: Start, large: Path, tmp_path: Path, fresh: object) -> None:
    start(large).wait_indexed()
    rng = random.Random(3)
    for round_ in range(3):
        files = sorted(f for f in (tmp_path / "cache").rglob("*") if f.is_file())
        for file in rng.sample(files, min(len(files), 1 + 3 * round_)):
            data = bytearray(file.read_bytes())
            for _ in range(min(20, len(data))):
                data[rng.randrange(len(data))] ^= 0xFF
            file.write_bytes(bytes(data))
        client = start(large)
        client.wait_indexed()
        client.build(QUESTIONS[0])  # detects damage that opening the store did not
        client.wait_indexed()
        assert search_results(client) == fresh
        client.kill()


def test_two_servers_share_one_workspace(start: Start, large: Path, fresh: object) -> None:
    one, two = start(large), start(large)
    assert one.wait_indexed()["state"] == "ready"
    assert two.wait_indexed()["state"] == "ready"
    assert search_results(one) == fresh
    assert search_results(two) == fresh


def test_unwritable_cache_is_reported_and_index_stays_in_memory(shop: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    client = Client(tmp_path / "x", env={"PROMPTLS_CACHE": str(blocked / "cache")})
    try:
        client.initialize(shop)
        status = client.wait_indexed()
        assert status["state"] == "degraded"
        assert "memory only" in status["message"]
        assert client.search("apply discount")[0]["symbol"] == "apply_discount"
        assert client.build("@#apply_discount")["mentions"][0]["status"] == "included"
    finally:
        client.kill()


def test_missing_embedding_model_leaves_keyword_search(start: Start, shop: Path) -> None:
    client = start(shop, options={"embedding": {"model": "/not/a/model"}})
    status = client.wait_indexed()
    assert status["state"] == "degraded"
    assert "embedding.model" in status["message"]
    hit = client.search("apply discount")[0]
    assert hit["symbol"] == "apply_discount"
    assert "semantic" not in hit["reasons"]


def test_unused_index_is_evicted_when_a_new_one_is_created(start: Start, shop: Path, tmp_path: Path) -> None:
    """Unused indexes belong to other models, earlier versions or deleted workspaces."""
    start(shop).wait_indexed()
    (own,) = {file.parent for file in (tmp_path / "cache").glob("*/*/files.sqlite")}
    unused = own.with_name("01234567")
    shutil.copytree(own, unused)
    for place in (own, *own.iterdir(), unused, *unused.iterdir()):
        os.utime(place, (0, 0))
    client = start(shop)
    assert client.wait_indexed()["state"] == "ready"
    until(lambda: not unused.exists(), "the unused index was not removed")
    assert own.is_dir()
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"

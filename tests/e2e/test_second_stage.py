"""Second stage through the real server: order, probabilities, reasons, and every way in which the model can fail."""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import write_tree
from lsp import Client, Json, ResponseError
from onnxkit import write_cross_encoder
from processes import alive, children, command_of, until
from promptls.index.workers.pool import WorkerChannel
from promptls.index.workers.spawn import RERANKER_MODULE
from promptls.index.workers.worker_messages import OpenReranker

QUESTION = "how is the price of the cart reduced by a voucher for a customer?"
WORDS = ("voucher", "customer", "ledger")
"""Words that the models count: they prefer other regions than the first stage."""
FUNCTIONS = {
    "reduce_price": "Reduce the price of the cart by a percentage.",
    "cart_price": "Price of the cart.",
    "cart_reduction": "How much the price of the cart is reduced.",
    "greet": "Say hello to the customer who has a voucher.",
    "print_voucher": "Print a voucher on paper.",
    "close_ledger": "Close the ledger of the month.",
}
WORKSPACE = "\n".join(
    f'-- shop/{name}.py --\ndef {name}(value):\n    """{doc}"""\n    return value\n' for name, doc in FUNCTIONS.items()
)
Start = Callable[[str], Client]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a server with a reranking model and waits until its index is complete."""
    root = write_tree(tmp_path / "work", WORKSPACE)
    clients: list[Client] = []

    def start(model: str) -> Client:
        client = Client(tmp_path / "cache")
        clients.append(client)
        client.initialize(root, options={"retrieval": {"reranker": model}})
        client.wait_indexed()
        return client

    yield start
    for client in clients:
        client.kill()


def reranker_status(client: Client) -> Json:
    status: Json = client.request("promptls/status", {})["reranker"]
    return status


def wait_loaded(client: Client) -> None:
    until(lambda: reranker_status(client)["loaded"], "the reranking model to be loaded", interval_s=0.1)


def reranked_hits(client: Client) -> list[Json]:
    """Search until the model has scored the regions in time; on a busy machine, one search may not be enough."""
    found: list[Json] = []

    def search() -> bool:
        found[:] = client.search(QUESTION, limit=50)
        return "reranker" in found[0]["reasons"]

    until(search, "scores of the model", interval_s=0.1)
    return found


def reranker_pid(client: Client) -> int:
    return next(pid for pid in children(client.process.pid) if RERANKER_MODULE in command_of(pid))


def places(hits: list[Json]) -> list[tuple[str, int]]:
    return [(hit["uri"], hit["range"]["start"]["line"]) for hit in hits]


def shared_words(hit: Json, root: Path) -> int:
    """Return the number of counted words that the question and a region have in common."""
    path = Path(hit["uri"].removeprefix("file://"))
    lines = path.read_text().split("\n")[hit["range"]["start"]["line"] : hit["range"]["end"]["line"]]
    words = set(re.findall(r"\w+", "\n".join([path.relative_to(root).as_posix(), *lines]).lower()))
    return len(words & set(re.findall(r"\w+", QUESTION)) & set(WORDS))


def test_model_reorders_regions_and_probabilities_stay(start: Start, tmp_path: Path) -> None:
    first = start("").search(QUESTION, limit=50)
    client = start(str(write_cross_encoder(tmp_path / "model", WORDS)))
    wait_loaded(client)
    hits = reranked_hits(client)
    assert [hit["score"] for hit in hits] == [hit["score"] for hit in first]
    assert set(places(hits)) == set(places(first))

    counts = {place: shared_words(hit, tmp_path / "work") for place, hit in zip(places(first), first, strict=True)}
    assert [hit["reasons"]["reranker"] for hit in hits] == [counts[place] for place in places(hits)]
    for above, below in itertools.combinations(places(first), 2):
        if counts[above] >= counts[below]:
            assert places(hits).index(above) < places(hits).index(below)
    favourite = max(counts, key=lambda place: counts[place])
    assert places(hits).index(favourite) < places(first).index(favourite)
    assert all("reranker" not in hit["reasons"] for hit in first)


def test_prompts_use_the_second_stage(start: Start, tmp_path: Path) -> None:
    client = start(str(write_cross_encoder(tmp_path / "model", WORDS)))
    wait_loaded(client)
    reranked_hits(client)
    built = client.build(QUESTION, budget={"tokens": 4000, "fill": "full"})
    assert {item["reasons"].get("reranker") for item in built["items"]} >= {2.0, 0.0}
    assert built["warnings"] == []
    assert client.request("promptls/status", {})["state"] == "ready"


def test_missing_model_is_reported_once_and_first_stage_decides(start: Start, tmp_path: Path) -> None:
    first = start("").search(QUESTION)
    client = start(str(tmp_path / "nowhere"))
    until(lambda: reranker_status(client)["problem"], "the problem of the model", interval_s=0.1)
    built = client.build(QUESTION)
    assert [w for w in built["warnings"] if "Reranking is unavailable" in w] == built["warnings"]
    assert len(built["warnings"]) == 1
    searched = client.request("promptls/search", {"query": QUESTION})
    assert places(searched["hits"]) == places(first)
    for message in (built["warnings"][0], searched["index"]["message"], reranker_status(client)["problem"]):
        assert "nowhere" in message
        assert "\n" not in message


def test_slow_model_is_skipped_after_the_time_limit(start: Start, tmp_path: Path) -> None:
    first = start("").search(QUESTION)
    client = start(str(write_cross_encoder(tmp_path / "model", WORDS)))
    wait_loaded(client)
    process = reranker_pid(client)
    os.kill(process, signal.SIGSTOP)
    searched = client.request("promptls/search", {"query": QUESTION})
    assert places(searched["hits"]) == places(first)
    assert "took longer than 1.5 s" in searched["index"]["message"]
    request = client.start_request("promptls/search", {"query": "voucher of a customer"})
    client.notify("$/cancelRequest", {"id": request})
    with pytest.raises(ResponseError) as cancelled:
        client.wait_response(request)
    assert cancelled.value.code == -32800
    os.kill(process, signal.SIGCONT)
    reranked_hits(client)
    assert client.request("promptls/status", {})["state"] == "ready"


def test_killed_process_is_replaced(start: Start, tmp_path: Path) -> None:
    client = start(str(write_cross_encoder(tmp_path / "model", WORDS)))
    wait_loaded(client)
    process = reranker_pid(client)
    os.kill(process, signal.SIGKILL)
    assert client.search(QUESTION)
    reranked_hits(client)
    replacement = reranker_pid(client)
    assert replacement != process
    client.stop()
    until(lambda: not alive(replacement), "the process to end")


def test_server_without_model_starts_no_process(start: Start) -> None:
    client = start("")
    assert client.search(QUESTION)
    assert reranker_status(client) == {"model": "", "loaded": False, "problem": ""}
    assert not any(RERANKER_MODULE in command_of(pid) for pid in children(client.process.pid))


def load(model: str) -> str:
    """Load a model in a new process; return the problem."""
    channel = WorkerChannel(OpenReranker(model), background=False, module=RERANKER_MODULE)
    try:
        channel.start()
        return channel.problem
    finally:
        channel.stop()


@pytest.mark.parametrize(
    "name",
    [
        "Xenova/ms-marco-MiniLM-L-6-v2",
        "no/such-model",
        "relative/folder",
        "~nobody-here/model",
    ],
)
def test_model_that_is_not_installed_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
        assert name in load(name)
        with pytest.raises(BlockingIOError):
            listening.accept()

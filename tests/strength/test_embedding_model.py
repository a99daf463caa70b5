"""Failures of the embedding model: missing, damaged, with another dimension, or replaced while the server runs.

Vectors of two models are never mixed. The failure is reported, keyword search still works, and the index becomes
complete once the model is available again.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit import Sandbox, closing_servers, generate_module, index_results, wait_until_ready, worker_pids
from lsp import Client, Json
from onnxkit import write_model
from processes import TIMEOUT_S
from tally import Tries


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with closing_servers(Sandbox(tmp_path_factory.mktemp("models"), states=2)) as opened:
        yield opened


def model_settings(model: Path) -> Json:
    return {"embedding": {"model": str(model)}}


def assert_degraded(client: Client, *words: str) -> None:
    """Check that status, search and prompt report the failure, and that keyword search finds the code."""
    status = client.wait_indexed(TIMEOUT_S)
    built = client.build("how is a discount applied?")
    searched = client.request("promptls/search", {"query": "apply discount"})
    for report in (status, built["index"], searched["index"]):
        assert report["state"] == "degraded"
        assert all(word in report["message"] for word in words), report["message"]
    assert built["index"]["message"] in built["warnings"]
    assert searched["hits"][0]["symbol"] == "apply_discount"
    assert all(hit["reasons"].get("semantic", 0) == 0 for hit in searched["hits"])


def damage_model(model: Path, how: str) -> None:
    file = model / "model.onnx"
    data = file.read_bytes()
    if how == "missing":
        shutil.rmtree(model)
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "no model":
        file.unlink()
    elif how == "text":
        file.write_text("this is not a model")
    elif how == "cut":
        file.write_bytes(data[: len(data) // 2])
    else:
        (model / "tokenizer.json").unlink()


MODEL_DAMAGES = ["cut", "missing", "empty", "no model", "text", "no tokenizer"]


def test_search_without_loadable_model_uses_keywords(
    sandbox: Sandbox, tmp_path: Path, effort: float, tries: Tries
) -> None:
    for number, how in enumerate(MODEL_DAMAGES[: max(1, int(effort))]):
        model = write_model(tmp_path / f"model-{number}", 48)
        damage_model(model, how)
        tries("models")
        client = sandbox.start(model_settings(model))
        assert_degraded(client, "embedding model")
        client.kill()


def test_model_is_replaced_between_starts(sandbox: Sandbox, tmp_path: Path, effort: float, tries: Tries) -> None:
    """Models with other vectors or another dimension share one cache without affecting each other."""
    sandbox.running_client().kill()
    for number, (dimension, seed) in enumerate([(48, 1), (48, 2), (96, 1)][: max(1, int(effort))]):
        model = write_model(tmp_path / "model", dimension, seed)  # always at the same path
        client = sandbox.start(model_settings(model))
        tries("models")
        embedder = client.wait_indexed(TIMEOUT_S)["embedder"]
        assert embedder["dimension"] == dimension
        assert embedder["embedded"] > 0
        if number or effort < 2:
            assert index_results(client) == sandbox.fresh_index_results(
                model_settings(model), model=f"{dimension} {seed}"
            )
        client.kill()
    client = sandbox.start()
    assert index_results(client) == sandbox.fresh_index_results()
    assert client.wait_indexed()["embedder"]["embedded"] == 0


def test_model_is_replaced_while_server_runs(sandbox: Sandbox, tmp_path: Path, effort: float, tries: Tries) -> None:
    """Workers that start later must not embed with another model; afterwards the index becomes complete."""
    model, saved_model = write_model(tmp_path / "model", 48), tmp_path / "saved_model"
    client = sandbox.start(model_settings(model))
    client.wait_indexed(TIMEOUT_S)
    assert client.search("discount")  # starts the interactive worker
    shutil.copytree(model, saved_model)
    for number, how in enumerate(["replaced", "deleted"][: max(1, int(effort))]):
        shutil.rmtree(model, ignore_errors=True)
        if how == "replaced":
            write_model(model, 96, seed=5)
        for worker in worker_pids(client):  # new workers have to load the model again
            os.kill(worker, signal.SIGKILL)
        tries("models")
        new = sandbox.root / f"when_{number}.py"  # new texts without an embedding
        new.write_text(generate_module(number, 7) + "\n")
        client.files_changed(*sandbox.apply_state(sandbox.state + 1), new)
        status = client.wait_indexed(TIMEOUT_S)
        assert status["state"] == "degraded"
        assert "model" in status["message"] or "keyword" in status["message"]
        assert status["embedder"]["dimension"] == 48
        assert status["roots"][0]["vectors"] < status["roots"][0]["chunks"]
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(saved_model, model)
    wait_until_ready(client)
    assert index_results(client) == sandbox.fresh_index_results(model_settings(model))
    client.stop()
    client = sandbox.start(model_settings(model))
    assert index_results(client) == sandbox.fresh_index_results(model_settings(model))
    assert client.wait_indexed()["embedder"]["embedded"] == 0

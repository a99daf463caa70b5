"""The embedding model missing, broken, of another dimension, gone or replaced while the server runs.

Never a mix of vectors of two models; what is lacking is told, names and words still find, and once the model is there
again the index becomes whole by itself.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tally import Tries

from faultkit import Place, ended, generated, portrait, workers
from lsp import Client, Json
from onnxkit import write_model
from processes import TIMEOUT_S, until
from promptls.index.embedding.embedder import EmbeddingSpec, ModelUnavailable, load_embedder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ended(Place(tmp_path_factory.mktemp("models"), states=2)) as here:
        yield here


def using(model: Path) -> Json:
    return {"embedding": {"model": str(model)}}


def degraded(client: Client, *words: str) -> None:
    """Status, search and prompt all say so, and the code is found by its words."""
    status = client.wait_indexed(TIMEOUT_S)
    built = client.build("how is a discount applied?")
    found = client.request("promptls/search", {"query": "apply discount"})
    for said in (status, built["index"], found["index"]):
        assert said["state"] == "degraded"
        assert all(word in said["message"] for word in words), said["message"]
    assert built["index"]["message"] in built["warnings"]
    assert found["hits"][0]["symbol"] == "apply_discount"
    assert all(hit["reasons"].get("semantic", 0) == 0 for hit in found["hits"])


def ready(client: Client) -> None:
    until(lambda: client.request("promptls/status", {})["state"] == "ready", "the server to be ready", interval_s=0.1)


def spoil(model: Path, how: str) -> None:
    file = model / "model.onnx"
    data = file.read_bytes()
    if how == "missing":
        shutil.rmtree(model)
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "no model":
        file.unlink()
    elif how == "text":
        file.write_text("this is no model")
    elif how == "cut":
        file.write_bytes(data[: len(data) // 2])
    else:
        (model / "tokenizer.json").unlink()


SPOILT = ["cut", "missing", "empty", "no model", "text", "no tokenizer"]


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_wrong_with_a_model_is_a_sentence(tmp_path: Path, how: str) -> None:
    model = write_model(tmp_path / "model", 48)
    spoil(model, how)
    with pytest.raises(ModelUnavailable, match=r"embedding\.model|embedding model"):
        load_embedder(EmbeddingSpec(str(model)))


def test_a_model_that_cannot_be_loaded(place: Place, tmp_path: Path, effort: float, tries: Tries) -> None:
    for number, how in enumerate(SPOILT[: max(1, int(effort))]):
        model = write_model(tmp_path / f"model-{number}", 48)
        spoil(model, how)
        tries("models")
        client = place.start(using(model))
        degraded(client, "embedding model")
        client.kill()


def test_another_model_at_the_next_start(place: Place, tmp_path: Path, effort: float, tries: Tries) -> None:
    """Other vectors, another dimension, and the first one again, on one cache: each as if it were the only one."""
    place.running().kill()
    for number, (dimension, seed) in enumerate([(48, 1), (48, 2), (96, 1)][: max(1, int(effort))]):
        model = write_model(tmp_path / "model", dimension, seed)  # at the same place each time
        client = place.start(using(model))
        tries("models")
        embedder = client.wait_indexed(TIMEOUT_S)["embedder"]
        assert embedder["dimension"] == dimension
        assert embedder["embedded"] > 0
        if number or effort < 2:
            assert portrait(client) == place.fresh(using(model), of=f"{dimension} {seed}")
        client.kill()
    client = place.start()
    assert portrait(client) == place.fresh()
    assert client.wait_indexed()["embedder"]["embedded"] == 0


def test_a_model_that_changes_while_the_server_runs(place: Place, tmp_path: Path, effort: float, tries: Tries) -> None:
    """Workers that start later must not embed with another model; afterwards nothing is left of the trouble."""
    model, kept = write_model(tmp_path / "model", 48), tmp_path / "kept"
    client = place.start(using(model))
    client.wait_indexed(TIMEOUT_S)
    assert client.search("discount")  # the interactive worker runs
    shutil.copytree(model, kept)
    for number, how in enumerate(["replaced", "gone"][: max(1, int(effort))]):
        shutil.rmtree(model, ignore_errors=True)
        if how == "replaced":
            write_model(model, 96, seed=5)
        for worker in workers(client):  # the next ones have to load the model again
            os.kill(worker, signal.SIGKILL)
        tries("models")
        new = place.root / f"when_{number}.py"  # texts that nobody has seen
        new.write_text(generated(number, 7) + "\n")
        client.files_changed(*place.become(place.state + 1), new)
        status = client.wait_indexed(TIMEOUT_S)
        assert status["state"] == "degraded"
        assert "model" in status["message"] or "keyword" in status["message"]
        assert status["embedder"]["dimension"] == 48
        assert status["roots"][0]["vectors"] < status["roots"][0]["chunks"]
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(kept, model)
    ready(client)
    assert portrait(client) == place.fresh(using(model))
    client.stop()
    client = place.start(using(model))
    assert portrait(client) == place.fresh(using(model))
    assert client.wait_indexed()["embedder"]["embedded"] == 0

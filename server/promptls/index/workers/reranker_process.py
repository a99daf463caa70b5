"""Reranker process: owns the model of the second stage, isolated from the server and from the workers.

Runs as `python -m promptls.index.workers.reranker_process`.  A model may be large and slow, and a damaged graph may crash
the process.  The workers keep syntax trees and embed queries, so they must not wait for it.

The model is a cross-encoder on the user's disk; nothing is downloaded.  It reads query and text together and returns one
score.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from promptls.index.embedding.embedder import ModelUnavailable
from promptls.index.workers.process_memory import limit_memory
from promptls.index.workers.worker_messages import (
    Acknowledged,
    OpenReranker,
    Request,
    Response,
    ScoreTexts,
    TextScores,
    serve_requests,
)
from promptls.util.import_stubs import import_without_stubs

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
"""Places of the graph in a model folder; the first one that exists is used."""
MAX_THREADS = 8
"""Maximum number of threads for one batch, which has eight texts."""
_FOLDER_MODEL = "promptls/reranker"  # name under which fastembed knows the model of a folder


class CrossEncoder:
    """Scores the relevance of texts to a query; only the order of the scores has a meaning."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text."""
        scores = [float(score) for score in self._model.rerank(query, list(texts), batch_size=len(texts))]
        if not np.isfinite(scores).all():
            raise ValueError("the model returned a score that is not a number")
        return scores


def load_reranking_model(name: str) -> CrossEncoder:
    """Load a model from a folder, or an installed fastembed model by name.

    Raises:
        ModelUnavailable: The model is not on this machine, or is of another kind.
    """
    threads = min(MAX_THREADS, os.cpu_count() or 1)
    try:
        import_without_stubs("fastembed")
        folder = Path(name).expanduser()
        model = _load_folder(folder, threads) if folder.is_absolute() else _load_by_name(name, threads)
        model.scores("query", ["text", "a longer text"])  # a graph with other inputs or outputs fails here
        return model
    except ModelUnavailable as error:
        reason = str(error)
    except Exception as error:
        cause = " ".join(str(error).split())[:200]
        reason = f"cannot load {name!r}: {type(error).__name__}, {cause}"
    raise ModelUnavailable(f"Reranking is unavailable ({reason}); check the setting retrieval.reranker.")


def _load_by_name(name: str, threads: int) -> CrossEncoder:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    if name.lower() not in {str(m["model"]).lower() for m in TextCrossEncoder.list_supported_models()}:
        raise ModelUnavailable(f"{name!r} is neither an absolute path nor a reranker of fastembed")
    return CrossEncoder(TextCrossEncoder(name, threads=threads, local_files_only=True))


def _load_folder(folder: Path, threads: int) -> CrossEncoder:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    if not folder.is_dir():
        raise ModelUnavailable(f"the folder {folder} does not exist")
    file = next((name for name in MODEL_FILES if (folder / name).is_file()), None)
    if file is None:
        raise ModelUnavailable(f"cannot find model.onnx in {folder}")
    shape = _output_shape(folder / file)
    if len(shape) != 2 or (shape[1] != 1 and isinstance(shape[1], int)):
        raise ModelUnavailable(
            f"the model in {folder} is not a reranker: its output has the shape {shape}, not one score per text"
        )
    if _FOLDER_MODEL not in {m["model"] for m in TextCrossEncoder.list_supported_models()}:
        TextCrossEncoder.add_custom_model(_FOLDER_MODEL, ModelSource(hf=_FOLDER_MODEL), model_file=file)
    return CrossEncoder(
        TextCrossEncoder(_FOLDER_MODEL, threads=threads, specific_model_path=str(folder), local_files_only=True)
    )


def _output_shape(file: Path) -> list[int | str]:
    """Return the declared shape of the first output of a graph; names stand for variable sizes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return list(session.get_outputs()[0].shape)


class RerankerProcess:
    """State of the reranker process."""

    def __init__(self) -> None:
        self.model: CrossEncoder | None = None

    def handle(self, request: Request) -> Response:
        """Handle one request from the server process."""
        if isinstance(request, OpenReranker):
            try:
                self.model = load_reranking_model(request.model)
            except ModelUnavailable as error:
                return Acknowledged(problem=str(error))
            return Acknowledged()
        assert isinstance(request, ScoreTexts)
        if self.model is None:
            return TextScores((), "the model is not loaded")
        try:
            return TextScores(tuple(self.model.scores(request.query, request.texts)))
        except Exception as error:  # the graph or the tokenizer rejects this input
            return TextScores((), " ".join(str(error).split())[:200] or type(error).__name__)


def main() -> None:
    """Serve requests until stdin ends."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; each call is limited to local files, too
    limit_memory()
    serve_requests(RerankerProcess().handle)


if __name__ == "__main__":
    main()

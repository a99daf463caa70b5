"""Reranker process: owns the model of the second stage, isolated from the server and from the workers.

Runs as `python -m promptls.index.workers.reranker_process`.  A model may be large and slow, and a damaged graph may crash
the process.  The workers keep syntax trees and embed queries, so they must not wait for it.

Models are cross-encoders and late-interaction models (ColBERT) on the user's disk; nothing is downloaded.  A
cross-encoder reads query and text together and returns one score.  A late-interaction model returns one vector per
token.  The score is then the sum, over the tokens of the query, of the maximum similarity to a token of the text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

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


class RerankingModel(Protocol):
    """Scores the relevance of texts to a query; only the order of the scores has a meaning."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text."""
        ...


def load_reranking_model(name: str) -> RerankingModel:
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


def _load_by_name(name: str, threads: int) -> RerankingModel:
    from fastembed import LateInteractionTextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    for kind, adapter in ((TextCrossEncoder, _CrossEncoder), (LateInteractionTextEmbedding, _LateInteraction)):
        if name.lower() in {str(m["model"]).lower() for m in kind.list_supported_models()}:
            return adapter(kind(name, threads=threads, local_files_only=True))
    raise ModelUnavailable(f"{name!r} is neither an absolute path nor a reranker of fastembed")


def _load_folder(folder: Path, threads: int) -> RerankingModel:
    if not folder.is_dir():
        raise ModelUnavailable(f"the folder {folder} does not exist")
    file = next((name for name in MODEL_FILES if (folder / name).is_file()), None)
    if file is None:
        raise ModelUnavailable(f"cannot find model.onnx in {folder}")
    shape = _output_shape(folder / file)
    if len(shape) == 3:
        return _load_late_interaction(folder, file, shape[2], threads)
    if len(shape) == 2 and (shape[1] == 1 or not isinstance(shape[1], int)):
        return _load_cross_encoder(folder, file, threads)
    raise ModelUnavailable(
        f"the model in {folder} is not a reranker: its output has the shape {shape}, not one score per text "
        "or one vector per token"
    )


def _output_shape(file: Path) -> list[int | str]:
    """Return the declared shape of the first output of a graph; names stand for variable sizes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return list(session.get_outputs()[0].shape)


def _load_cross_encoder(folder: Path, file: str, threads: int) -> RerankingModel:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    if _FOLDER_MODEL not in {m["model"] for m in TextCrossEncoder.list_supported_models()}:
        TextCrossEncoder.add_custom_model(_FOLDER_MODEL, ModelSource(hf=_FOLDER_MODEL), model_file=file)
    return _CrossEncoder(
        TextCrossEncoder(_FOLDER_MODEL, threads=threads, specific_model_path=str(folder), local_files_only=True)
    )


def _load_late_interaction(folder: Path, file: str, dimension: int | str, threads: int) -> RerankingModel:
    """Load a late-interaction model with fastembed's class for its tokenizer.

    fastembed has no `add_custom_model` for these models, so a subclass describes the folder.
    """
    from fastembed.common.model_description import DenseModelDescription, ModelSource
    from fastembed.common.preprocessor_utils import load_tokenizer
    from fastembed.late_interaction.late_interaction_text_embedding import LateInteractionTextEmbedding

    tokenizer, _ = load_tokenizer(folder)
    families = sorted(LateInteractionTextEmbedding.EMBEDDINGS_REGISTRY, key=lambda f: -f.QUERY_MARKER_TOKEN_ID)
    family = next((f for f in families if _has_markers(tokenizer, f)), None)
    if family is None:
        raise ModelUnavailable(f"the tokenizer in {folder} has no mask token, which late-interaction models need")
    description = DenseModelDescription(
        model=_FOLDER_MODEL,
        dim=dimension if isinstance(dimension, int) else 0,
        description="",
        license="",
        size_in_GB=0.0,
        sources=ModelSource(hf=_FOLDER_MODEL),
        model_file=file,
    )

    class FolderModel(family):  # type: ignore[misc, valid-type]
        @classmethod
        def _list_supported_models(cls) -> list[DenseModelDescription]:
            return [description]

        def _preprocess_onnx_input(self, onnx_input: dict[str, Any], is_doc: bool = True, **kwargs: Any) -> Any:
            inputs = super()._preprocess_onnx_input(onnx_input, is_doc, **kwargs)
            if "token_type_ids" in inputs:  # fastembed inserts its marker into the other inputs only
                inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
            return inputs

    return _LateInteraction(
        FolderModel(_FOLDER_MODEL, threads=threads, specific_model_path=str(folder), local_files_only=True)
    )


def _has_markers(tokenizer: Any, family: Any) -> bool:
    """Return whether a tokenizer has the mask and the markers of a family; larger vocabularies have larger markers."""
    markers = (family.QUERY_MARKER_TOKEN_ID, family.DOCUMENT_MARKER_TOKEN_ID)
    return tokenizer.token_to_id(family.MASK_TOKEN) is not None and all(map(tokenizer.id_to_token, markers))


class _CrossEncoder:
    """Scores of a fastembed cross-encoder."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        return _finite([float(score) for score in self._model.rerank(query, list(texts), batch_size=len(texts))])


class _LateInteraction:
    """Scores of a fastembed late-interaction model; the vectors of the last query are kept."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._query = ""
        self._query_vectors = np.zeros((0, 0), np.float32)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if query != self._query or not self._query_vectors.size:
            self._query_vectors = np.asarray(next(iter(self._model.query_embed(query))), np.float32)
            self._query = query
        documents = self._model.embed(list(texts), batch_size=len(texts))
        return _finite([_max_similarity(self._query_vectors, np.asarray(d, np.float32)) for d in documents])


def _max_similarity(query: Any, document: Any) -> float:
    """Return the sum over the query's tokens of the maximum dot product with a token of the document."""
    return float((query @ document.T).max(axis=1).sum()) if len(document) else 0.0


def _finite(scores: list[float]) -> list[float]:
    if not np.isfinite(scores).all():
        raise ValueError("the model returned a score that is not a number")
    return scores


class RerankerProcess:
    """State of the reranker process."""

    def __init__(self) -> None:
        self.model: RerankingModel | None = None

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
    requests = os.fdopen(os.dup(0), "rb")
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log, not into the frames
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    serve_requests(requests, responses, RerankerProcess().handle)


if __name__ == "__main__":
    main()

"""Embedder: vectors of chunks and queries. The only importer of fastembed.

The bundled model is the default and needs no download. A directory with an ONNX model and its tokenizer, or the name of
a fastembed model that is on this machine, can be configured instead. Models are only downloaded if the settings allow
it. Runs in worker processes.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import split_identifiers, split_runs
from promptls.index.search.interning import RunBatch, RunTable
from promptls.settings import BUNDLED
from promptls.util.decode import decode_json
from promptls.util.import_stubs import import_with_stubs, import_without_stubs

TokenIds = NDArray[np.int32]

_NORMALIZER = {
    "type": "Sequence",
    "normalizers": [
        {
            "type": "Replace",
            "pattern": {"Regex": "(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"},
            "content": " ",
        },
        {"type": "Lowercase"},
    ],
}
_PRE_TOKENIZER = {"type": "Split", "pattern": {"Regex": r"\p{L}+|[0-9]+"}, "behavior": "Removed", "invert": True}
"""Splits ASCII, after `_NORMALIZER`, as `analyzer.split_identifiers` does."""
MAX_PIECES = 200_000
"""Cached pieces of runs above which the cache is cleared: a bound on its memory."""
POSITION_BUCKET = 8
"""Consecutive tokens that share a position weight; the training uses the same value."""


class _TokenizerModel(Struct):
    """Model of a tokenizer, without its vocabulary."""

    type: str
    dropout: float | None = None


class _TokenizerConfig(Struct):
    """JSON description of a tokenizer."""

    model: _TokenizerModel
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None


class _PieceCache(dict[str, list[int]]):
    """Cache of the token ids of lower-case words and numbers."""

    def __init__(self, tokenizer: Any) -> None:
        self._model = tokenizer.model

    def __missing__(self, piece: str) -> list[int]:
        if len(self) >= MAX_PIECES:
            self.clear()
        ids = self[piece] = [token.id for token in self._model.tokenize(piece)]
        return ids


class FastTokenizer:
    """Token ids of texts, truncated to the model's window, without padding. For one thread."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._max_tokens: int = tokenizer.truncation["max_length"]
        self._special_tokens = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._is_supported = is_supported(tokenizer)
        self._pieces = _PieceCache(tokenizer)
        self._table = RunTable(lambda: self._map_runs)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one text."""
        if not self._is_plain(text):
            return self._encode_with_library(text)
        return list(chain.from_iterable(self._map_runs(split_runs(text))[0]))[: self._max_tokens]

    def encode_batch(self, batch: RunBatch) -> list[TokenIds]:
        """Return the token ids of each text."""
        values, ends = self._table.gather(batch)
        bounds = pairwise([0, *ends.tolist()])
        ids = [values[start : min(end, start + self._max_tokens)] for start, end in bounds]
        for at, text in enumerate(batch.texts):
            if not self._is_plain(text):
                ids[at] = np.array(self._encode_with_library(text), np.int32)
        return ids

    def _map_runs(self, runs: Sequence[str]) -> tuple[list[Sequence[int]], list[int]]:
        parts = split_identifiers([run if run.isascii() else "" for run in runs])  # other scripts: by the library
        ids: list[Sequence[int]] = list(map(self._pieces.__getitem__, parts))
        ends = [at for at, part in enumerate(parts) if not part]
        start = 0
        for run, end in zip(runs, ends, strict=True):
            if end == start:
                ids[end] = self._encode_with_library(run)
            start = end + 1
        return ids, ends

    def _is_plain(self, text: str) -> bool:
        return self._is_supported and not any(special in text for special in self._special_tokens)

    def _encode_with_library(self, text: str) -> list[int]:
        encoding = self._tokenizer.encode(text)
        return [id for id, is_real in zip(encoding.ids, encoding.attention_mask, strict=True) if is_real]


class TokenWeights(Struct, frozen=True):
    """The distinct tokens of texts and their weights, one text after the other."""

    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]  # distinct tokens of each text


def token_weights(token_ids: Sequence[TokenIds], position_weights: NDArray[np.float64]) -> TokenWeights:
    """Return the weight of each distinct token: √count · mean position weight of its occurrences.

    Args:
        token_ids: Token ids of each text.
        position_weights: Weight of each bucket of `POSITION_BUCKET` tokens; the last one applies to the remainder.
    """
    lengths = np.fromiter(map(len, token_ids), np.int64, len(token_ids))
    flat = np.concatenate(token_ids) if token_ids else np.zeros(0, np.int32)
    text = np.repeat(np.arange(len(token_ids)), lengths)
    position = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    weight = position_weights[np.minimum(position // POSITION_BUCKET, len(position_weights) - 1)]
    distinct, inverse = np.unique(text << 32 | flat, return_inverse=True)
    weights = np.bincount(inverse, weight) / np.sqrt(np.bincount(inverse))
    return TokenWeights(distinct & 0xFFFFFFFF, weights, np.bincount(distinct >> 32, minlength=len(token_ids)))


def is_supported(tokenizer: Any) -> bool:
    """Return whether a tokenizer is of the kind that `FastTokenizer` implements."""
    config = decode_json(tokenizer.to_str(), _TokenizerConfig)
    return (
        (config.normalizer, config.pre_tokenizer, config.post_processor) == (_NORMALIZER, _PRE_TOKENIZER, None)
        and tokenizer.truncation is not None
        and tokenizer.truncation["direction"] == "right"
        and config.model.type == "BPE"
        and not config.model.dropout
    )


class _Model(Struct):
    vocab: dict[str, int]


class _Tokenizer(Struct):
    model: _Model


@cache
def _vocabulary() -> frozenset[str]:
    """Return the tokens of the bundled tokenizer; about 10 ms the first time."""
    file = resources.files(__package__) / "model" / "tokenizer.json"
    return frozenset(decode_json(file.read_bytes(), _Tokenizer).model.vocab)


def is_frequent_word(word: str) -> bool:
    """Return whether a lower-case word is frequent in code: a single token of the bundled model.

    Of 21,600 words of five letters or more, few are spelling errors.
    """
    return word in _vocabulary()


log = logging.getLogger(__name__)

BUNDLED_MODEL_DIR = Path(__file__).parent / "model"
"""Directory of the bundled model."""
BATCH_TEXTS = 8
"""Texts in one ONNX run: the fastest of 4 to 64 for the bundled model on one thread."""
WEIGHT_SCALE = 1 << 20
"""Integer that represents a token weight of 1: attention masks are integers."""
MAX_CHARS_PER_TOKEN = 7
"""Average characters of a token at most; text beyond the model's window is cut off before tokenization."""

STUBBED_MODULES = (
    "huggingface_hub",
    "requests",
    "PIL",
    "tqdm",
    "loguru",
    "fastembed.image",
    "fastembed.late_interaction",
    "fastembed.late_interaction_multimodal",
    "fastembed.sparse",
)
"""Modules for downloads, images and other kinds of models, which fastembed imports and a local text model does not use."""


class EmbeddingSpec(Struct, frozen=True):
    """The configured embedding model."""

    model: str = BUNDLED  # "bundled", a directory, or the name of a fastembed model
    allow_download: bool = False


class ModelUnavailable(Exception):
    """The model cannot be loaded; the message is a sentence for the user."""


EmbeddingInput = TokenIds | str
"""Prepared input of an embedder, smaller than the text."""


class Embedder(Protocol):
    """Computes L2-normalized vectors, float32[n, dimension].

    Many texts are embedded in two steps, so that the texts need not be kept: `prepare_inputs` and `embed_inputs`.
    """

    dimension: int
    is_static: bool  # a sum of token vectors: a short text takes microseconds

    def prepare_inputs(self, batch: RunBatch) -> Sequence[EmbeddingInput]:
        """Return the inputs of `embed_inputs` for texts."""
        ...

    def embed_inputs(self, inputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the vectors of prepared texts."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, float32[dimension]."""
        ...


def model_identity(spec: EmbeddingSpec) -> str:
    """Return a name that changes whenever vectors would change, without loading the model."""
    directory = _model_directory(spec)
    if directory is None:
        return f"fastembed:{spec.model}"
    digest = hashlib.blake2b(digest_size=8)
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        file = directory / name
        if file.is_file():
            digest.update(file.read_bytes())
    return f"{'bundled' if spec.model == BUNDLED else directory.name}:{digest.hexdigest()}"


def declared_dimension(spec: EmbeddingSpec) -> int | None:
    """Return the dimension in the config.json of a model directory, or None. Does not load the model."""
    directory = _model_directory(spec)
    config = _read_config(directory) if directory is not None else _ModelConfig()
    return config.dimension if config.dimension > 0 else None


def preload() -> None:
    """Import fastembed before the model is known."""
    try:
        import_with_stubs("fastembed", STUBBED_MODULES)
    except Exception as error:
        log.info("Cannot import fastembed: %s", error)  # `load_embedder` reports it to the user


def load_embedder(spec: EmbeddingSpec) -> Embedder:
    """Load the configured model. Raises ModelUnavailable."""
    os.environ.setdefault("HF_HUB_OFFLINE", "0" if spec.allow_download else "1")
    directory = _model_directory(spec)
    try:
        if directory is not None:
            model, position_weights = _load_from_directory(directory), _read_config(directory).places
            return _TokenWeightEmbedder(model, position_weights) if position_weights else _FastembedEmbedder(model)
        fastembed = import_without_stubs("fastembed")
        return _FastembedEmbedder(
            fastembed.TextEmbedding(spec.model, threads=1, local_files_only=not spec.allow_download)
        )
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"Cannot load the embedding model {spec.model!r} ({type(error).__name__}: {str(error)[:200]}); "
            f'set embedding.model to "{BUNDLED}", to a folder with model.onnx and tokenizer.json, '
            "or to a fastembed model on this machine."
        ) from error


def _model_directory(spec: EmbeddingSpec) -> Path | None:
    if spec.model == BUNDLED:
        return BUNDLED_MODEL_DIR
    directory = Path(spec.model).expanduser()
    return directory if directory.is_absolute() or directory.is_dir() else None


def _load_from_directory(directory: Path) -> Any:
    fastembed = import_with_stubs("fastembed", STUBBED_MODULES)
    from fastembed.common.model_description import ModelSource, PoolingType

    file = next((f for f in ("model.onnx", "onnx/model.onnx") if (directory / f).is_file()), None)
    if file is None:
        raise ModelUnavailable(f"Cannot find model.onnx in {directory}; set embedding.model to a folder with one.")
    dimension, is_pooled = _declared_output(directory) or _read_output(directory / file)
    name = f"promptls/{hashlib.blake2b(str(directory).encode(), digest_size=6).hexdigest()}"
    if name not in {m["model"] for m in fastembed.TextEmbedding.list_supported_models()}:
        fastembed.TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.DISABLED if is_pooled else PoolingType.MEAN,
            normalization=not is_pooled,
            sources=ModelSource(hf=name),
            dim=dimension,
            model_file=file,
        )
    return fastembed.TextEmbedding(name, specific_model_path=str(directory), threads=1)


class _ModelConfig(Struct):
    """The fields of config.json that describe the output of a model."""

    dimension: int = 0
    pooled: bool | None = None  # whether the graph pools the tokens
    places: tuple[float, ...] = ()  # weight of each position bucket, for a model of weighted distinct tokens


def _read_config(directory: Path) -> _ModelConfig:
    try:
        return decode_json((directory / "config.json").read_bytes(), _ModelConfig)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return _ModelConfig()


def _declared_output(directory: Path) -> tuple[int, bool] | None:
    """Return (dimension, whether the graph pools the tokens) if config.json declares both."""
    config = _read_config(directory)
    return (config.dimension, config.pooled) if config.dimension > 0 and config.pooled is not None else None


def _read_output(model: Path) -> tuple[int, bool]:
    """Return (dimension, whether the graph pools the tokens) from the graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    shape = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).get_outputs()[0].shape
    dimension = shape[-1]
    if not isinstance(dimension, int):
        raise ModelUnavailable(f"The model {model} does not declare its dimension; export it with a fixed one.")
    return dimension, len(shape) == 2


class _TokenWeightEmbedder:
    """Embedder for a model that takes distinct tokens, with their weights as the attention mask.

    A text has a third as many distinct tokens as tokens. Only the ratio of weights matters, since vectors are
    normalized. Runs the ONNX session that fastembed has loaded.
    """

    is_static = True

    def __init__(self, model: Any, position_weights: Sequence[float]) -> None:
        self._session = model.model.model
        self._tokenizer = FastTokenizer(model.model.tokenizer)
        self._position_weights = np.array(position_weights, np.float64)
        self.dimension = int(self._session.get_outputs()[0].shape[-1])

    def prepare_inputs(self, batch: RunBatch) -> Sequence[TokenIds]:
        return self._tokenizer.encode_batch(batch)

    def embed_inputs(self, inputs: Sequence[TokenIds]) -> NDArray[np.float32]:
        weighted = token_weights(inputs, self._position_weights)
        ids, weights = weighted.ids, np.rint(weighted.weights * WEIGHT_SCALE).astype(np.int64)
        ends = np.cumsum(weighted.counts)
        order = np.argsort(weighted.counts, kind="stable")  # similar lengths in a batch: little padding
        vectors = np.empty((len(inputs), self.dimension), dtype=np.float32)
        for start in range(0, len(order), BATCH_TEXTS):
            texts = order[start : start + BATCH_TEXTS]
            count = weighted.counts[texts, None]
            column = np.arange(max(1, int(count.max())))
            is_token = column < count
            at = (ends[texts, None] - count + column)[is_token]
            input_ids, mask = np.zeros((2, *is_token.shape), np.int64)
            input_ids[is_token], mask[is_token] = ids[at], weights[at]
            vectors[texts] = self._session.run(None, {"input_ids": input_ids, "attention_mask": mask})[0]
        return _normalize(vectors)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_inputs([np.array(self._tokenizer.encode(text), np.int32) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed([text]).reshape(-1)


class _FastembedEmbedder:
    """Embedder for any model of fastembed."""

    is_static = False

    def __init__(self, model: Any) -> None:
        self._model = model
        self._max_chars = MAX_CHARS_PER_TOKEN * _max_tokens(model)
        self.dimension = int(self.embed_query("dimension").shape[-1])

    def prepare_inputs(self, batch: RunBatch) -> Sequence[str]:
        return [text[: self._max_chars] for text in batch.texts]

    def embed_inputs(self, inputs: Sequence[str]) -> NDArray[np.float32]:
        return self.embed(inputs)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        truncated = [text[: self._max_chars] for text in texts]
        order = sorted(range(len(truncated)), key=lambda i: len(truncated[i]))  # similar lengths in a batch
        embedded = list(self._model.passage_embed([truncated[i] for i in order], batch_size=BATCH_TEXTS))
        vectors = np.empty((len(truncated), len(embedded[0]) if embedded else 0), dtype=np.float32)
        vectors[order] = embedded
        return _normalize(vectors)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vectors = _normalize(np.array(list(self._model.query_embed([text])), dtype=np.float32))
        return vectors.reshape(-1)


def _max_tokens(model: Any) -> int:
    """Return the maximum number of tokens of a text that a model uses."""
    truncation = model.model.tokenizer.truncation
    return int(truncation["max_length"]) if truncation else 512


def _normalize(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-9), dtype=np.float32)

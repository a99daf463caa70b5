"""Texts → vectors, through fastembed; the only importer of fastembed.

The bundled model needs no download and is the default.  A folder with an ONNX model and its tokenizer,
or the name of a fastembed model that is on this machine already, can be set instead; nothing is fetched
unless the user's own settings allow it.  Runs in worker processes.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.embedding.fast_tokenizer import Ids, WordTokenizer, weigh
from promptls.index.search.interning import Batch
from promptls.settings import BUNDLED
from promptls.util.import_stubs import import_whole, import_without

log = logging.getLogger(__name__)

BUNDLED_FOLDER = Path(__file__).parent / "model"
BATCH = 8
"""Texts in one ONNX run: the fastest of 4…64 for the bundled model on one thread."""
WEIGHT = 1 << 20
"""Of 1, where weights are whole numbers: a mask's type is."""

CHARACTERS_PER_TOKEN = 7
"""No text needs more characters to fill the model's window; the rest is not even tokenised."""


UNNEEDED = (
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
"""What fastembed loads to fetch models, to look at images and for models of other kinds: nothing for one in a folder."""


class EmbeddingSpec(Struct, frozen=True):
    """Which model; comes from the user's settings."""

    model: str = BUNDLED  # "bundled", a folder, or a fastembed model name
    allow_download: bool = False


class ModelUnavailable(Exception):
    """The model cannot be loaded; the text is a sentence for the user."""


Input = Ids | str
"""What an embedder keeps of a text until it makes the vector."""


class Embedder(Protocol):
    """`embed` for stored texts, `embed_query` for questions: float32 [n, dimension], L2-normalised.

    In two steps, for many texts: `inputs`, which are smaller than the texts, and `embed_inputs`.
    """

    dimension: int

    def inputs(self, batch: Batch) -> Sequence[Input]: ...
    def embed_inputs(self, inputs: Sequence[Any]) -> NDArray[np.float32]: ...
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...
    def embed_query(self, text: str) -> NDArray[np.float32]: ...


def model_identity(spec: EmbeddingSpec) -> str:
    """A name that changes when vectors would: part of the store's identity.  Loads nothing."""
    folder = _folder(spec)
    if folder is None:
        return f"fastembed:{spec.model}"
    digest = hashlib.blake2b(digest_size=8)
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        file = folder / name
        if file.is_file():
            digest.update(file.read_bytes())
    return f"{'bundled' if spec.model == BUNDLED else folder.name}:{digest.hexdigest()}"


def declared_dimension(spec: EmbeddingSpec) -> int | None:
    """The dimension that a model folder's config.json declares, so that nobody need load the model to know it."""
    folder = _folder(spec)
    config = _config(folder) if folder is not None else _Config()
    return config.dimension if config.dimension > 0 else None


def prepare() -> None:
    """Load the libraries that most models need, before it is known which model that is."""
    try:
        import_without("fastembed", UNNEEDED)
    except Exception as error:
        log.info("fastembed cannot be loaded: %s", error)  # `load` says so to the user


def load(spec: EmbeddingSpec) -> Embedder:
    """The embedder of `spec`.  Raises `ModelUnavailable` with a sentence that says what to do."""
    os.environ.setdefault("HF_HUB_OFFLINE", "0" if spec.allow_download else "1")
    folder = _folder(spec)
    try:
        if folder is not None:
            model, places = _from_folder(folder), _config(folder).places
            return _WordEmbedder(model, places) if places else _FastEmbedder(model)
        fastembed = import_whole("fastembed")
        return _FastEmbedder(fastembed.TextEmbedding(spec.model, threads=1, local_files_only=not spec.allow_download))
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"The embedding model {spec.model!r} cannot be loaded ({type(error).__name__}: {str(error)[:200]}); "
            f'set embedding.model to "{BUNDLED}", to a folder with model.onnx and tokenizer.json, '
            "or to a fastembed model that is on this machine."
        ) from error


def _folder(spec: EmbeddingSpec) -> Path | None:
    if spec.model == BUNDLED:
        return BUNDLED_FOLDER
    folder = Path(spec.model).expanduser()
    return folder if folder.is_absolute() or folder.is_dir() else None


def _from_folder(folder: Path) -> Any:
    fastembed = import_without("fastembed", UNNEEDED)
    from fastembed.common.model_description import ModelSource, PoolingType

    file = next((f for f in ("model.onnx", "onnx/model.onnx") if (folder / f).is_file()), None)
    if file is None:
        raise ModelUnavailable(f"The embedding model folder {folder} has no model.onnx; point embedding.model to one.")
    dimension, pooled = _declared(folder) or _output_of(folder / file)
    name = f"promptls/{hashlib.blake2b(str(folder).encode(), digest_size=6).hexdigest()}"
    if name not in {m["model"] for m in fastembed.TextEmbedding.list_supported_models()}:
        fastembed.TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.DISABLED if pooled else PoolingType.MEAN,
            normalization=not pooled,
            sources=ModelSource(hf=name),
            dim=dimension,
            model_file=file,
        )
    return fastembed.TextEmbedding(name, specific_model_path=str(folder), threads=1)


class _Config(Struct):
    """What a model folder's config.json may say of its vectors."""

    dimension: int = 0
    pooled: bool | None = None  # whether the model pools by itself
    places: tuple[float, ...] = ()  # of a model that is given distinct tokens, weighed: what each place is worth


def _config(folder: Path) -> _Config:
    try:
        return msgspec.json.decode((folder / "config.json").read_bytes(), type=_Config)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return _Config()


def _declared(folder: Path) -> tuple[int, bool] | None:
    """(dimension, whether the model pools by itself) if config.json tells both: the model need not be loaded for it."""
    config = _config(folder)
    return (config.dimension, config.pooled) if config.dimension > 0 and config.pooled is not None else None


def _output_of(model: Path) -> tuple[int, bool]:
    """(dimension, whether the model pools by itself) as its graph declares them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    shape = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).get_outputs()[0].shape
    dimension = shape[-1]
    if not isinstance(dimension, int):
        raise ModelUnavailable(f"The model {model} does not declare its dimension; export it with a fixed one.")
    return dimension, len(shape) == 2


class _WordEmbedder:
    """A model whose mask is the weight of each token: it is given distinct ones, in the session that fastembed has loaded.

    A text has a third as many distinct tokens as tokens.  The scale of the weights does not matter: vectors are of
    length 1.
    """

    def __init__(self, model: Any, places: Sequence[float]) -> None:
        self._session = model.model.model
        self._tokenizer = WordTokenizer(model.model.tokenizer)
        self._places = np.array(places, np.float64)
        self.dimension = int(self._session.get_outputs()[0].shape[-1])

    def inputs(self, batch: Batch) -> Sequence[Ids]:
        return self._tokenizer.of(batch)

    def embed_inputs(self, inputs: Sequence[Ids]) -> NDArray[np.float32]:
        weighed = weigh(inputs, self._places)
        ids, weights = weighed.ids, np.rint(weighed.weights * WEIGHT).astype(np.int64)
        ends = np.cumsum(weighed.counts)
        order = np.argsort(weighed.counts, kind="stable")  # texts of one size: little padding
        vectors = np.empty((len(inputs), self.dimension), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            count = weighed.counts[rows, None]
            column = np.arange(max(1, int(count.max())))
            held = column < count
            at = (ends[rows, None] - count + column)[held]
            shape = (2, *held.shape)
            given = np.zeros(shape, np.int64)
            given[0][held], given[1][held] = ids[at], weights[at]
            vectors[rows] = self._session.run(None, {"input_ids": given[0], "attention_mask": given[1]})[0]
        return _unit(vectors)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_inputs([np.array(self._tokenizer.ids(text), np.int32) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed([text]).reshape(-1)


class _FastEmbedder:
    def __init__(self, model: Any) -> None:
        self._model = model
        self._cut = CHARACTERS_PER_TOKEN * _longest(model)
        self.dimension = int(self.embed_query("dimension").shape[-1])

    def inputs(self, batch: Batch) -> Sequence[str]:
        return [text[: self._cut] for text in batch.texts]

    def embed_inputs(self, inputs: Sequence[str]) -> NDArray[np.float32]:
        return self.embed(inputs)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        cut = [text[: self._cut] for text in texts]
        order = sorted(range(len(cut)), key=lambda i: len(cut[i]))  # texts of one length: little padding
        found = list(self._model.passage_embed([cut[i] for i in order], batch_size=BATCH))
        vectors = np.empty((len(cut), len(found[0]) if found else 0), dtype=np.float32)
        vectors[order] = found
        return _unit(vectors)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vectors = _unit(np.array(list(self._model.query_embed([text])), dtype=np.float32))
        return vectors.reshape(-1)


def _longest(model: Any) -> int:
    """Tokens of a text that the model looks at."""
    truncation = model.model.tokenizer.truncation
    return int(truncation["max_length"]) if truncation else 512


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-9), dtype=np.float32)

"""Systems that promptls is compared with: BM25, a static hybrid, an untuned prototype, and semble.

BM25 and the hybrid rank windows of lines, and functions where functions are asked for. The static hybrid and the
prototype use the bundled embedding model. semble is the published package (extra `peers`); its own model needs a
download, so that it runs with the vectors of the bundled model.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import bm25s
import numpy as np
from evaluation._documents import Document, definitions, functions, pack, windows, without_overlaps
from numpy.typing import NDArray

try:  # before the embedder, which replaces packages for downloads by stubs
    import onnx
    import semble
    from model2vec import StaticModel
    from tokenizers import Tokenizer
except ImportError:
    semble = None

from promptls.index.embedding.embedder import BUNDLED_MODEL_DIR, Embedder, EmbeddingSpec, load_embedder
from promptls.index.search.analyzer import tokenize
from promptls.index.search.interning import RunInterner
from promptls.index.snapshot import Snapshot
from promptls.knowledge.project.file_kind import is_peripheral, is_prose_path, is_test_path

RANKED = 1000
"""Documents of a ranking, as many as `promptls/search` returns at most."""
K1, B = 1.2, 0.75
"""Parameters of BM25, the defaults of Lucene."""
KEYWORD_SHARE = 0.4
"""Weight of BM25 in the static hybrid, both scores scaled to 1."""

Floats = NDArray[np.float32]


class System(Protocol):
    """A baseline with the index of one workspace."""

    def search(self, question: str) -> list[Document]:
        """Return regions that do not overlap, best first."""
        ...

    def search_functions(self, question: str) -> list[Document]:
        """Return regions for a question that asks for functions, best first."""
        ...


def build_prompt(system: System, question: str, budget: int) -> str:
    """Return a prompt of the best regions of a baseline."""
    return pack(system.search(question), budget)


# ---------------------------------------------------------------- scores


class Keywords:
    """BM25 over documents."""

    def __init__(self, texts: Iterable[str]) -> None:
        vocabulary: dict[str, int] = defaultdict(lambda: len(vocabulary))
        ids = [[vocabulary[term] for term in tokenize(text)] for text in texts]
        self._vocabulary = dict(vocabulary)
        self._index = bm25s.BM25(k1=K1, b=B)
        self._index.index((ids, self._vocabulary), show_progress=False)

    def scores(self, question: str) -> Floats:
        """Return the score of each document; each term of the question counts once."""
        terms = [self._vocabulary[t] for t in dict.fromkeys(tokenize(question)) if t in self._vocabulary]
        return np.asarray(self._index.get_scores_from_ids(terms), np.float32)


class Vectors:
    """Similarity of documents by the bundled model."""

    def __init__(self, texts: Sequence[str]) -> None:
        embedder = _embedder()
        self._vectors = embedder.embed_inputs(embedder.prepare_inputs(RunInterner().intern(texts)))

    def scores(self, question: str) -> Floats:
        """Return the cosine of each document."""
        return np.asarray(self._vectors @ _embedder().embed_query(question), np.float32)


@cache
def _embedder() -> Embedder:
    return load_embedder(EmbeddingSpec())


def _best(documents: Sequence[Document], scores: Floats, limit: int = RANKED) -> list[Document]:
    order = np.argsort(-scores, kind="stable")
    return without_overlaps((documents[i] for i in order if scores[i] > 0), limit)


# ---------------------------------------------------------------- systems


class Indexed:
    """Documents with the indexes that BM25 and the hybrid share, built when they are needed."""

    def __init__(self, found: Iterable[Document]) -> None:
        self.documents = list(found)

    @cached_property
    def keywords(self) -> Keywords:
        """BM25."""
        return Keywords(self._texts())

    @cached_property
    def vectors(self) -> Vectors:
        """Vectors of the bundled model."""
        return Vectors(list(self._texts()))

    def _texts(self) -> Iterator[str]:
        return (f"{d.path} {d.name}\n{d.text}" for d in self.documents)


class Workspace:
    """The files of one workspace as the baselines read them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def windows(self) -> Indexed:
        """Windows of lines."""
        return Indexed(windows(self.snapshot))

    @cached_property
    def functions(self) -> Indexed:
        """Functions, without those of tests."""
        return Indexed(d for d in functions(self.snapshot) if not is_test_path(d.path))


class BM25:
    """BM25 alone."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def search(self, question: str) -> list[Document]:
        """Return windows."""
        return self._ranked(self._workspace.windows, question)

    def search_functions(self, question: str) -> list[Document]:
        """Return functions."""
        return self._ranked(self._workspace.functions, question)

    def _ranked(self, indexed: Indexed, question: str) -> list[Document]:
        return _best(indexed.documents, indexed.keywords.scores(question))


class StaticHybrid(BM25):
    """Weighted sum of BM25 and the similarity of static vectors."""

    def _ranked(self, indexed: Indexed, question: str) -> list[Document]:
        words, meaning = indexed.keywords.scores(question), np.clip(indexed.vectors.scores(question), 0, None)
        scores = KEYWORD_SHARE * words / max(1e-9, float(words.max()))
        scores += (1 - KEYWORD_SHARE) * meaning / max(1e-9, float(meaning.max()))
        return _best(indexed.documents, scores)


class Prototype:
    """Definitions ranked by BM25 and similarity, and four rules whose constants are not tuned.

    Definitions that the question names score higher, files with several good definitions too, tests and other
    peripheral files lower, and so does text outside of definitions.
    """

    KEYWORD_SHARE, NAME_BONUS, FILE_BONUS = 0.45, 0.5, 0.25
    PERIPHERAL, UNNAMED = 0.55, 0.85
    FILE_DEPTH = 60  # definitions that are evidence for their files

    def __init__(self, workspace: Workspace) -> None:
        self._documents = list(definitions(workspace.snapshot))
        self._keywords = Keywords(f"{d.path}\n{3 * f'{d.name} {d.owner} '}\n{d.text}" for d in self._documents)
        self._vectors = Vectors([f"{d.path} {d.owner} {d.name} {d.name}\n{d.text}" for d in self._documents])
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._by_file: dict[str, list[int]] = defaultdict(list)
        for i, document in enumerate(self._documents):
            self._by_name[document.name.lower()].append(i)
            self._by_file[document.path].append(i)
        self._named = np.array([1.0 if d.name else self.UNNAMED for d in self._documents], np.float32)
        peripheral = [is_peripheral(d.path) or is_prose_path(d.path) for d in self._documents]
        self._own = np.where(peripheral, np.float32(self.PERIPHERAL), np.float32(1))

    def search(self, question: str) -> list[Document]:
        """Return definitions and text between them."""
        words, meaning = _scaled(self._keywords.scores(question)), _scaled(self._vectors.scores(question))
        scores = self.KEYWORD_SHARE * words + (1 - self.KEYWORD_SHARE) * meaning
        for word in re.findall(r"[A-Za-z_]\w{2,}", question):
            if len(word) > 6 or "_" in word or word != word.lower():
                same = self._by_name.get(word.lower(), [])
                scores[same] += self.NAME_BONUS / math.sqrt(max(1, len(same)))
        evidence: dict[str, float] = defaultdict(float)
        for rank, i in enumerate(np.argsort(-scores, kind="stable")[: self.FILE_DEPTH]):
            evidence[self._documents[i].path] += float(scores[i]) / (1 + rank / 10)
        most = max(evidence.values(), default=1.0) or 1.0
        for path, value in evidence.items():
            members = np.array(self._by_file[path])
            scores[members] += self.FILE_BONUS * value / most * (scores[members] > 0)
        weights = self._named if re.search(r"\btests?\b", question.lower()) else self._named * self._own
        return _best(self._documents, scores * weights)

    search_functions = search


def _scaled(scores: Floats, count: int = 100) -> Floats:
    """Return scores scaled so that the best is 1 and the one after `count` others is 0."""
    best = np.sort(scores)[-count:]
    return np.asarray(np.clip((scores - best[0]) / max(1e-9, float(best[-1] - best[0])), 0, 1), np.float32)


class Semble:
    """The package semble on the folder of the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._index = semble.SembleIndex.from_path(workspace.snapshot.roots[0].path, model_path=_model2vec_folder())

    def search(self, question: str) -> list[Document]:
        """Return semble's chunks."""
        found = (result.chunk for result in self._index.search(question, top_k=RANKED))
        return [Document(c.file_path, c.start_line - 1, c.end_line, c.content) for c in found]

    search_functions = search


@cache
def _model2vec_folder() -> str:
    """Return a folder with the vectors of the bundled model in the format of model2vec."""
    graph: Any = onnx.load(BUNDLED_MODEL_DIR / "model.onnx").graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    vectors = arrays["table"].astype(np.float32) * arrays["factor"][:, None]
    folder = Path(tempfile.gettempdir()) / "promptls-bundled-model2vec"
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL_DIR / "tokenizer.json"))
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return str(folder)


SYSTEMS: dict[str, Callable[[Workspace], System]] = {
    "prototype": Prototype,
    "BM25": BM25,
    "static hybrid": StaticHybrid,
    "semble": Semble,
}


def missing(name: str) -> str:
    """Return why a system cannot be measured here, or "" if it can."""
    if name == "semble" and semble is None:
        return 'semble is not measured: it is not installed; run pip install -e ".[peers]".'
    return ""

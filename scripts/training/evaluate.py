"""Training step `evaluate`: quality of a model.

Functions by sentence: in held-out repositories, the first sentence of each function's documentation is the query, and
all functions without comments are the corpus. NDCG@20 is relative to all-MiniLM-L6-v2 on bare code, which is 100.
Regions by question: recall of the essential regions of development questions among the first units ranked by vectors
alone. Models are loaded from their folder, as the server loads them.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptls.index.embedding.embedder import EmbeddingSpec, load_embedder
from promptls.index.files.read import FileLimits, UnreadableFile, read_text
from promptls.index.files.walk import walk_files
from promptls.index.search.analyzer import tokenize
from promptls.index.syntax.parse import parse_source
from promptls.languages import language_of
from training import pairs
from training.words import Teacher

MOST = 1100  # maximum number of functions per repository, for the teacher
DEPTHS = (20, 50, 100, 400)

Scores = NDArray[np.float32]


class Functions(NamedTuple):
    """Functions of a repository, and the queries for some of them."""

    plain: list[str]
    rich: list[str]
    questions: list[str]
    right: NDArray[np.int64]


def functions(folder: Path) -> Functions:
    """Return functions of at least three lines in a fixed order; undocumented ones are distractors."""
    rows: list[dict[str, Any]] = []
    for found in sorted(walk_files(str(folder), FileLimits()), key=lambda f: f.path):
        path = Path(found.path).relative_to(folder).as_posix()
        if not pairs.wanted(path) or path.startswith("docs/") or path.endswith(".md"):
            continue
        got = read_text(found.path, FileLimits())
        if not isinstance(got, UnreadableFile):
            rows += pairs.records(path, got.text, language_of(path, got.text[:4096]))
    rows = [r for r in rows if r["kind"] == "function" and r["code"].count("\n") >= 2]
    rows = list({r["hash"]: r for r in rows}.values())
    random.Random(0).shuffle(rows)
    rows = rows[:MOST]
    asked = [i for i, r in enumerate(rows) if r["doc"]]
    return Functions(
        [r["code"] for r in rows],
        [f"{r['path']} {r['qualified']} {r['name']} {r['name']} {r['signature']}\n{r['code']}" for r in rows],
        [rows[i]["doc"][0] for i in asked],
        np.array(asked, np.int64),
    )


def bm25(texts: Sequence[str], questions: Sequence[str]) -> Scores:
    """Return BM25 scores (k1 1.2, b .75) of all questions and texts, on the terms of the server."""
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    lengths = np.zeros(len(texts), np.float32)
    for i, text in enumerate(texts):
        counted = Counter(tokenize(text))
        lengths[i] = sum(counted.values())
        for term, count in counted.items():
            postings[term].append((i, count))
    norm = 1.2 * (0.25 + 0.75 * lengths / max(1.0, float(lengths.mean())))
    scores = np.zeros((len(questions), len(texts)), np.float32)
    for row, question in enumerate(questions):
        for term in set(tokenize(question)):
            if term in postings:
                at, count = np.array(postings[term]).T
                idf = np.log(1 + (len(texts) - len(at) + 0.5) / (len(at) + 0.5))
                scores[row, at] += idf * count * 2.2 / (count + norm[at])
    return scores


def scaled(scores: Scores, rank: int = 100) -> Scores:
    """Scale each row to 0…1 between its 100th best and its best score."""
    low = np.partition(scores, -min(rank, scores.shape[1]), axis=1)[:, -min(rank, scores.shape[1])][:, None]
    high = scores.max(1, keepdims=True)
    return np.clip((scores - low) / (high - low + 1e-9), 0, 1)


def ndcg(scores: Scores, right: NDArray[np.int64], depth: int = 20) -> float:
    """Return the mean NDCG of queries with one relevant document each."""
    own = scores[np.arange(len(right)), right][:, None]
    rank = (scores > own).sum(1) + (scores == own).sum(1) // 2
    return float(np.where(rank < depth, 1 / np.log2(rank + 2), 0).mean())


def by_sentence(
    repositories: Path, models: Sequence[Path], teacher: Path, cache: Path
) -> list[tuple[str, list[float]]]:
    """Return rows of (method, NDCG@20 per repository)."""
    rows: dict[str, list[float]] = defaultdict(list)
    embedders = {model: load_embedder(EmbeddingSpec(model=str(model))) for model in models}
    minilm: Teacher | None = None
    for folder in sorted(p for p in repositories.iterdir() if p.is_dir()):
        found = functions(folder)
        kept = cache / f"minilm-{folder.name}-{len(found.plain)}-{len(found.questions)}.npy"
        if not kept.exists():
            minilm = minilm or Teacher(teacher)
            np.save(kept, minilm.embed(found.questions, 256) @ minilm.embed(found.plain, 256).T)
        rows["MiniLM [plain]"].append(ndcg(np.load(kept), found.right))
        for name, texts in (("plain", found.plain), ("rich", found.rich)):
            words = bm25(texts, found.questions)
            rows[f"BM25 [{name}]"].append(ndcg(words, found.right))
            for model, embedder in embedders.items():
                asked = np.array([embedder.embed_query(q) for q in found.questions])
                meant = asked @ embedder.embed(texts).T
                rows[f"{model.name} [{name}]"].append(ndcg(meant, found.right))
                rows[f".4 BM25 + .6 {model.name} [{name}]"].append(
                    ndcg(0.4 * scaled(words) + 0.6 * scaled(meant), found.right)
                )
    return list(rows.items())


class Units(NamedTuple):
    """A corpus, chunked as by the server."""

    places: list[tuple[str, int, int]]  # path, first line, end
    texts: list[str]
    lines: dict[str, list[str]]


def units(folder: Path) -> Units:
    """Return all chunks of a folder; the chunk of a function is the whole function."""
    found = Units([], [], {})
    for file in walk_files(str(folder), FileLimits()):
        got = read_text(file.path, FileLimits())
        if isinstance(got, UnreadableFile):
            continue
        path = Path(file.path).relative_to(folder).as_posix()
        parsed = parse_source(got.text, language_of(file.path, got.text[:4096]))
        for chunk in parsed.outline.chunks:
            span = chunk.span
            if chunk.symbol >= 0:
                symbol = parsed.outline.symbols[chunk.symbol]
                if symbol.kind in ("function", "method", "constructor") and len(symbol.span) <= 150:
                    span = symbol.span
            found.places.append((path, span.start, span.end))
            found.texts.append(parsed.chunk_texts[chunk.key])
    return found


def by_question(corpora: Path, trees: Path, questions: Sequence[Path], models: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the recall of essential regions at `DEPTHS` for each model.

    A question names a folder of `corpora`, or a repository with a commit or a version, whose folder in `trees` is
    OWNER+NAME@COMMIT with the first twelve characters of the commit.
    """
    asked: dict[Path, list[dict[str, Any]]] = defaultdict(list)
    for file in questions:
        for line in file.read_text("utf-8").splitlines():
            if line.strip():
                row = json.loads(line)
                asked[_folder(row, corpora, trees)].append({**row, "file": file.stem})
    embedders = {model: load_embedder(EmbeddingSpec(model=str(model))) for model in models}
    rows = []
    for corpus, those in asked.items():
        found = units(corpus.resolve())
        for model, embedder in embedders.items():
            vectors = embedder.embed(found.texts)
            for question in those:
                order = np.argsort(-(vectors @ embedder.embed_query(question["question"])), kind="stable")
                recall = [_recall(found, order[:depth], question["gold"]) for depth in DEPTHS]
                rows.append(
                    {"model": model.name, "style": question["style"], "file": question["file"], "recall": recall}
                )
    return rows


def _folder(question: dict[str, Any], corpora: Path, trees: Path) -> Path:
    if corpus := question.get("corpus"):
        return corpora / str(corpus)
    version = question.get("commit") or question["source"]["version"]
    return trees / f"{question['repo'].replace('/', '+')}@{version[:12]}"


def _recall(found: Units, order: NDArray[np.int64], gold: Sequence[dict[str, Any]]) -> float:
    """Return the share of grade-2 regions of which at least half of the lines are in the units of `order`."""
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for k in order:
        path, start, end = found.places[k]
        shown[path].append((start, end))
    got = total = 0
    for region in gold:
        if region["grade"] < 2:
            continue
        start, end = region["start"] - 1, region["end"]
        have = {i for a, b in shown[region["path"]] for i in range(max(a, start), min(b, end))}
        got += len(have) >= 0.5 * (end - start)
        total += 1
    return got / max(1, total)


def speed(models: Sequence[Path], texts: Sequence[str], rounds: int = 3) -> list[str]:
    """Return texts per second and milliseconds per query, with the models in turn to share the load of the machine."""
    embedders = {model: load_embedder(EmbeddingSpec(model=str(model))) for model in models}
    best: dict[Path, float] = defaultdict(float)
    query: dict[Path, float] = defaultdict(lambda: 1e9)
    for _ in range(rounds):
        for model, embedder in embedders.items():
            begin = time.process_time()
            embedder.embed(texts)
            best[model] = max(best[model], len(texts) / (time.process_time() - begin))
            begin = time.perf_counter()
            for text in texts[:200]:
                embedder.embed_query(text[:80])
            query[model] = min(query[model], (time.perf_counter() - begin) * 5)
    return [f"{m.name}: {best[m]:,.0f} texts per second of processor time, {query[m]:.2f} ms a query" for m in models]

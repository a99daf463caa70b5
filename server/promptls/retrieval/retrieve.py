"""Retrieval pipeline: first-stage scores, candidates, features, ranking model, ranked items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import IndexReader, Snapshot
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import CancelToken, Item, Origin
from promptls.model.files import is_prompt_document
from promptls.retrieval import scorers
from promptls.retrieval.candidates import (
    SEARCH_LIMITS,
    CandidateLimits,
    SearchScope,
    adjust_by_kind,
    generate_candidates,
    search_scope,
)
from promptls.retrieval.features import (
    FEATURE_NAMES,
    FILE_FEATURE_NAMES,
    NAME_BONUS,
    PATH_BONUS,
    CandidateFeatures,
    extract_features,
    extract_file_features,
)
from promptls.retrieval.linear_model import RankerWeights, bundled_weights
from promptls.retrieval.query import TITLE_SHARE, Query
from promptls.retrieval.scorers import FirstStageScores, Floats


class RetrievalIndex(Protocol):
    """The part of the index that retrieval uses in addition to the snapshot."""

    def reader(self) -> IndexReader:
        """Return a reader of the current index."""
        ...

    def query_vector(self, text: str) -> NDArray[np.float32] | None:
        """Return the embedding of a question, or None if semantic search is unavailable."""
        ...

    def start_shingles(self, shingles: Sequence[str]) -> Callable[[], NDArray[np.float32]]:
        """Start to embed shingles.

        Returns:
            A function that returns float32[n, dimension], no rows if the model is too slow for that.
        """
        ...


class RetrievalStrategy(Struct, frozen=True):
    """Limits and weights of retrieval."""

    limits: CandidateLimits = CandidateLimits()
    search_limits: CandidateLimits = SEARCH_LIMITS  # a search depends on recall of a single file
    weights: RankerWeights | None = None  # None: the weights that ship with the package


class RetrievalResult(Struct, frozen=True):
    """Ranked regions, best first."""

    items: tuple[Item, ...]


class FirstStageResult(Struct, frozen=True):
    """First-stage scores of a question, reusable for retrieval with and without a restriction to paths."""

    reader: IndexReader
    scores: FirstStageScores
    scope: SearchScope | None  # restriction of a later retrieval
    shingles: Floats  # vectors of the question's shingles, float32[n, dimension]


def score_first_stage(
    query: Query, snapshot: Snapshot, index: RetrievalIndex, token: CancelToken, paths: Iterable[str] | None = None
) -> FirstStageResult:
    """Return the first-stage scores of a question.

    Args:
        paths: Files that a later retrieval will be restricted to.

    Raises:
        Cancelled: The token is set.
    """
    vector = _query_vector(query, index)
    token.check()
    shingles = (
        index.start_shingles([*map(query.correct, query.shingles)]) if query.shingles and vector is not None else None
    )
    reader = index.reader()
    scope = None if paths is None else search_scope(paths, snapshot, reader)
    scores = scorers.score_rows(query.terms, vector, reader, dict(query.term_weights))
    token.check()
    return FirstStageResult(reader, scores, scope, shingles() if shingles is not None else _NO_VECTORS)


def _query_vector(query: Query, index: RetrievalIndex) -> NDArray[np.float32] | None:
    """Return the embedding of a question; a report has the mean of the vectors of its title and of its whole text."""
    if not query.text.strip():
        return None
    vector = index.query_vector(query.correct(query.text))
    title = index.query_vector(query.correct(query.title)) if query.title else None
    if vector is None or title is None:
        return vector
    mixed = TITLE_SHARE * title + (1 - TITLE_SHARE) * vector
    return np.asarray(mixed / max(1e-9, float(np.linalg.norm(mixed))), np.float32)


def describe_candidates(
    query: Query,
    snapshot: Snapshot,
    index: RetrievalIndex,
    limits: CandidateLimits,
    token: CancelToken,
    paths: Iterable[str] | None = None,
    first_stage: FirstStageResult | None = None,
) -> CandidateFeatures | None:
    """Return the candidates for a question with their features, or None without candidates.

    Args:
        paths: Restricts candidates to these files.
        first_stage: Result of `score_first_stage` for the same question.

    Raises:
        Cancelled: The token is set.
    """
    first_stage = first_stage or score_first_stage(query, snapshot, index, token, paths)
    reader, scores = first_stage.reader, first_stage.scores
    candidates = generate_candidates(
        query, scores, snapshot, reader, limits, None if paths is None else first_stage.scope
    )
    if paths is None:  # prompt documents contain questions, not answers
        candidates = [candidate for candidate in candidates if not is_prompt_document(candidate.entry.path)]
    token.check()
    if not candidates:
        return None
    return extract_features(query, candidates, scores, snapshot, reader, first_stage.shingles)


def retrieve(
    query: Query,
    snapshot: Snapshot,
    index: RetrievalIndex,
    strategy: RetrievalStrategy,
    token: CancelToken,
    paths: Iterable[str] | None = None,
    first_stage: FirstStageResult | None = None,
) -> RetrievalResult:
    """Return regions for a question, best first, optionally restricted to the files `paths`.

    Raises:
        Cancelled: The token is set.
    """
    features = describe_candidates(query, snapshot, index, strategy.limits, token, paths, first_stage)
    return RetrievalResult(tuple(_rank_regions(query, features, strategy)))


def search(
    query: Query,
    snapshot: Snapshot,
    index: RetrievalIndex,
    strategy: RetrievalStrategy,
    token: CancelToken,
    paths: Iterable[str] | None = None,
) -> RetrievalResult:
    """Return regions for a search, best first; more candidates are considered than for a prompt.

    If the query is one name, its definitions are first, with the best score.

    Raises:
        Cancelled: The token is set.
    """
    features = describe_candidates(query, snapshot, index, strategy.search_limits, token, paths)
    items = _rank_regions(query, features, strategy)
    name = query.text.strip()
    if items and name in query.code_names:
        best = items[0].score
        defined = [replace(item, score=best) for item in items if item.symbol.rpartition(".")[2] == name]
        items = defined + [item for item in items if item.symbol.rpartition(".")[2] != name]
    return RetrievalResult(tuple(items))


def search_by_file(
    query: Query,
    snapshot: Snapshot,
    index: RetrievalIndex,
    strategy: RetrievalStrategy,
    token: CancelToken,
    paths: Iterable[str] | None = None,
) -> RetrievalResult:
    """Return regions for a search: the best region of each file, best file first, then all other regions.

    If a file defines a name that the query contains in code style, that definition is its best region.

    Raises:
        Cancelled: The token is set.
    """
    features = describe_candidates(query, snapshot, index, strategy.search_limits, token, paths)
    if features is None:
        return RetrievalResult(())
    items = _rank_regions(query, features, strategy)
    file_paths, values = extract_file_features(query, features)
    file_scores = (strategy.weights or bundled_weights()).files.score(values, FILE_FEATURE_NAMES)
    rank = {path: i for i, (_, path) in enumerate(sorted(zip(-np.round(file_scores, 6), file_paths, strict=True)))}
    name_matches = {
        (c.entry.path, c.span): (c.spelled, c.symbol is not None and c.symbol.kind in TYPE_KINDS)
        for c in features.candidates
        if c.spelled
    }
    first: dict[str, Item] = {}
    for item in items:
        best = first.setdefault(item.path, item)
        if name_matches.get((item.path, item.span), _NO_MATCH) > name_matches.get((best.path, best.span), _NO_MATCH):
            first[item.path] = item
    seen = {(item.path, item.span) for item in first.values()}
    rest = [item for item in items if (item.path, item.span) not in seen]
    return RetrievalResult((*sorted(first.values(), key=lambda item: rank[item.path]), *rest))


def _rank_regions(query: Query, features: CandidateFeatures | None, strategy: RetrievalStrategy) -> list[Item]:
    """Return regions, best first."""
    if features is None:
        return []
    weights = strategy.weights or bundled_weights()
    raw = weights.candidate_model(query.is_open).score(features.values, FEATURE_NAMES)
    scores = weights.calibration.probabilities(raw, query.is_open)
    scores = adjust_by_kind(scores, query, features.candidates)
    reasons = np.stack(list(_reason_values(features).values()), axis=1)
    strongest = reasons[:, : len(_ORIGINS)].argmax(axis=1).tolist()
    start = np.array([candidate.span.start for candidate in features.candidates])
    order = np.lexsort((-scores, start, features.neighborhood.file, -np.round(scores, 6))).tolist()  # ties by position
    values, reason_rows = scores.tolist(), reasons.tolist()
    seen: set[tuple[str, int, int]] = set()
    items: list[Item] = []
    for i in order:
        candidate = features.candidates[i]
        path, span, symbol = candidate.entry.path, candidate.span, candidate.symbol
        if (key := (path, span.start, span.end)) in seen:
            continue
        seen.add(key)
        score_reasons = ScoreReasons(reason_rows[i])
        if symbol is None:
            items.append(Item(path, span, "text", _ORIGINS[strongest[i]], values[i], "", score_reasons))
        else:
            items.append(
                Item(path, span, symbol.kind, _ORIGINS[strongest[i]], values[i], symbol.qualified, score_reasons)
            )
    return items


class ScoreReasons(Mapping[str, float]):
    """Components of a score for display; rounded lazily."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values

    def _rounded(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in zip(_REASON_NAMES, self._values, strict=True) if value > 1e-4}

    def __getitem__(self, name: str) -> float:
        return self._rounded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rounded())

    def __len__(self) -> int:
        return len(self._rounded())


def _reason_values(features: CandidateFeatures) -> dict[str, Floats]:
    """Return the components of all scores in the order of `_REASON_NAMES`."""
    values = (
        scorers.SEMANTIC_WEIGHT * features.column("semantic"),
        scorers.KEYWORD_WEIGHT * features.column("keyword"),
        NAME_BONUS * features.column("named"),
        PATH_BONUS * features.column("by_path"),
        features.column("prior_file_top"),
        features.column("prior_callers_best"),
    )
    return dict(zip(_REASON_NAMES, values, strict=True))


_NO_VECTORS = np.zeros((0, 0), np.float32)
_NO_MATCH = (0.0, False)
_REASON_NAMES = ("semantic", "keyword", "symbol", "path", "file", "graph")
_ORIGINS = (Origin.SEMANTIC, Origin.KEYWORD, Origin.SYMBOL, Origin.PATH)

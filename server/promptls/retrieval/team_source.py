"""Team source: chunks of other repositories, from an index on shared storage, as candidates for a question.

The source itself is the service "team" of `promptls.extensions`. Here are the values that it returns, and their scores.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import tokenize
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import Problem, Span
from promptls.retrieval.candidates import file_name_features
from promptls.retrieval.linear_model import Calibration, LinearModel, LogisticModel
from promptls.retrieval.query import Query
from promptls.util.decode import decode_json
from promptls.util.text.display import plural

MIN_NAME_CHARACTERS = 3
"""Minimum length of the last part of a repository's name that names it in a question."""
MAX_SAME_NAMES, MAX_NAMED_REPOSITORIES = 2, 4
"""Repositories with the same last part that it may name, and repositories that a question may name."""
_NAME_IN_TEXT = re.compile(r"(?<![\w/.-])\w+(?:[./-]+\w+)*")
TEAM_WEIGHTS_FILE = Path(__file__).with_name("team_weights.json")
EVIDENCE_SHARPNESS = 6.0
"""Factor of the softmax over similarity + coverage that distributes evidence over the hits."""
MIN_EVIDENCE = 0.003
"""Share of evidence that counts as none, a bound of the logarithm."""
RANK_OFFSET = 5
"""Constant of reciprocal ranks."""
COMMIT_DIGITS = 10
"""Digits of a commit that are shown."""


class TeamRepository(Struct, frozen=True):
    """A repository of the team index."""

    name: str
    commit: str
    committed_at: float  # seconds since the epoch

    @property
    def label(self) -> str:
        """The repository with its commit: "acme/shop@1a2b3c4d5e"."""
        return f"{self.name}@{self.commit[:COMMIT_DIGITS]}"

    def age(self, now: float | None = None) -> str:
        """Return the age of the commit: "3 days old"."""
        days = max(0, int(((time.time() if now is None else now) - self.committed_at) / 86_400))
        return f"{plural(days, 'day')} old" if days else "less than a day old"


class TeamHit(Struct, frozen=True):
    """A chunk of another repository."""

    repository: TeamRepository
    path: str  # in the repository
    span: Span
    kind: str
    symbol: str
    text: str
    similarity: float = 0.0
    keyword: float = 0.0  # BM25 of the index
    is_named: bool = False  # the question names the repository
    score: float = 0.0  # probability that the answer needs it


class TeamFile(Struct, frozen=True):
    """The text of a file of another repository, with its encoded outline."""

    repository: TeamRepository
    path: str
    text: str
    outline: bytes


class TeamAnswer(Struct, frozen=True):
    """Hits, best first, and why there are none or only some."""

    hits: tuple[TeamHit, ...] = ()
    problem: str = ""  # one sentence
    chunks: int = 0  # of the index


EmbedQuery = Callable[[str], NDArray[np.float32] | None]
"""Returns the vector of a query, None if the model cannot be used."""
PendingAnswer = Callable[[], TeamAnswer]
"""Waits for the hits up to the limit of the settings."""


class TeamSource(Protocol):
    """Access to the team index of the user's settings. No method raises or waits beyond the limit."""

    @property
    def share(self) -> float:
        """Share of the budget for code of other repositories."""
        ...

    @property
    def weights(self) -> TeamWeights:
        """Weights of the scores."""
        ...

    def start_search(
        self, query: Query, embed: EmbedQuery, roots: Sequence[str], repository: str = ""
    ) -> PendingAnswer:
        """Start a search in all repositories that are not open, or in one repository.

        Repositories that the question names are searched a second time, without the words that name them.
        """
        ...

    def repositories(self) -> tuple[TeamRepository, ...] | Problem:
        """Return the repositories."""
        ...

    def files(self, repository: str) -> Mapping[str, tuple[str, ...]] | Problem:
        """Return the names of definitions in each file of a repository."""
        ...

    def read(self, repository: str, path: str) -> TeamFile | Problem:
        """Read a file."""
        ...


class TeamConnection(TeamSource, Protocol):
    """The team source with its life cycle, as the engine owns it."""

    def warm(self) -> None:
        """Open the index in the background and read what the first search needs."""
        ...

    def wait_until_open(self, timeout_s: float) -> bool:
        """Wait until the index is open or cannot be opened; for commands that serve one request."""
        ...

    def status(self) -> dict[str, Any]:
        """Return the state for `promptls/status`."""
        ...

    def close(self) -> None:
        """Stop the reader process."""
        ...


def named_repositories(text: str, names: Iterable[str]) -> dict[str, str]:
    """Return the repositories that a question names, with the word that names each, as written.

    A repository is named by its full name ("acme/shop"), or by the last part of it, unless that is very short or
    belongs to many repositories.
    """
    by_name: dict[str, list[str]] = {}
    for name in names:
        last = name.rpartition("/")[2]
        for key in {name, last} if len(last) >= MIN_NAME_CHARACTERS else {name}:
            by_name.setdefault(_name_key(key), []).append(name)
    found: dict[str, str] = {}
    for match in _NAME_IN_TEXT.finditer(text):
        word = match.group()
        known = by_name.get(_name_key(word), [])
        if len(known) <= MAX_SAME_NAMES:
            for name in known:
                found.setdefault(name, word)
    return dict(list(found.items())[:MAX_NAMED_REPOSITORIES])


def without_names(query: Query, names: Iterable[str]) -> Query:
    """Return a query without the words that name repositories; the query itself if nothing else is left."""
    text, name_terms = query.text, set[str]()
    for name in names:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", " ", text)
        name_terms.update(tokenize(name))
    terms = tuple(term for term in query.terms if term not in name_terms)
    return replace(query, text=text, terms=terms) if terms else query


def _name_key(name: str) -> str:
    return name.lower().replace("_", "-")


def score_hits(query: Query, hits: Sequence[TeamHit], weights: TeamWeights) -> list[TeamHit]:
    """Return the hits with the probability that the answer needs them, best first."""
    if not hits:
        return []
    raw = weights.hits.score(extract_hit_features(query, hits), HIT_FEATURE_NAMES)
    scores = weights.calibration.probabilities(raw, query.is_open)
    scored = [replace(hit, score=round(float(score), 4)) for hit, score in zip(hits, scores, strict=True)]
    return sorted(scored, key=lambda hit: (-hit.score, hit.repository.name, hit.path, hit.span.start))


class TeamWeights(Struct, frozen=True):
    """The models of `team_weights.json`, which `scripts/train_team_ranking` fits."""

    hits: LinearModel = LinearModel()
    calibration: Calibration = Calibration()
    need: LogisticModel = LogisticModel()  # whether the answer is in a repository that is not open


@lru_cache(maxsize=1)
def team_weights() -> TeamWeights:
    """Return the weights that ship with this package."""
    return decode_json(TEAM_WEIGHTS_FILE.read_bytes(), TeamWeights)


HIT_FEATURE_NAMES = (
    *("similarity", "covered", "covered_name", "covered_path", "spelled", "similarity_rank", "keyword_rank"),
    *("file_evidence", "repository_evidence", "is_callable", "is_type", "test", "docs", "minor", "named_repository"),
)
"""Features of a hit: similarity of the vectors; share of the weight of the query's terms in its text, in its name and in
its path; whether its symbol is a name of the query; reciprocal ranks by similarity and by BM25; logarithms of the other
hits' share of evidence in its file and in its repository; its kind of symbol and of file; and whether the question names
its repository."""


def extract_hit_features(query: Query, hits: Sequence[TeamHit]) -> NDArray[np.float32]:
    """Return float32[hits, HIT_FEATURE_NAMES]; terms are weighted by their frequency among the hits."""
    if not hits:
        return np.zeros((0, len(HIT_FEATURE_NAMES)), np.float32)
    texts, names, paths = (
        [set(tokenize(part)) for part in parts]
        for parts in zip(*((hit.text, hit.symbol, hit.path) for hit in hits), strict=True)
    )
    together = [text | name | path for text, name, path in zip(texts, names, paths, strict=True)]
    weights = {t: math.log(1 + len(hits) / (1 + sum(t in terms for terms in together))) for t in query.terms}
    total = sum(weights.values()) or 1.0

    def covered(parts: Sequence[set[str]]) -> NDArray[np.float64]:
        return np.array([sum(weight for term, weight in weights.items() if term in part) / total for part in parts])

    similarity, keyword = (np.array(v) for v in zip(*((h.similarity, h.keyword) for h in hits), strict=True))
    evidence = np.exp(EVIDENCE_SHARPNESS * (similarity + covered(together)))
    evidence /= evidence.sum()
    spelled = {name.lower() for name in query.names}
    files = [file_name_features(hit.path) for hit in hits]
    sought = [(f.is_test and query.seeks_tests) or (f.is_docs and query.about_docs) for f in files]
    values: dict[str, NDArray[np.generic]] = {
        "similarity": similarity,
        "covered": covered(texts),
        "covered_name": covered(names),
        "covered_path": covered(paths),
        "spelled": np.array([hit.symbol.rpartition(".")[2].lower() in spelled for hit in hits]),
        "similarity_rank": _reciprocal_rank(similarity),
        "keyword_rank": _reciprocal_rank(keyword) * (keyword > 0),
        "file_evidence": _log_of_others(evidence, [(hit.repository.name, hit.path) for hit in hits]),
        "repository_evidence": _log_of_others(evidence, [hit.repository.name for hit in hits]),
        "is_callable": np.array([hit.kind in CALLABLE_KINDS and hit.kind != "test" for hit in hits]),
        "is_type": np.array([hit.kind in TYPE_KINDS for hit in hits]),
        "test": np.array([file.is_test and not query.seeks_tests for file in files]),
        "docs": np.array([file.is_docs and not query.about_docs for file in files]),
        "minor": np.array([file.is_auxiliary and not is_sought for file, is_sought in zip(files, sought, strict=True)]),
        "named_repository": np.array([hit.is_named for hit in hits]),
    }
    assert tuple(values) == HIT_FEATURE_NAMES
    return np.stack([np.asarray(values[name], np.float32) for name in HIT_FEATURE_NAMES], axis=1)


def _reciprocal_rank(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (`RANK_OFFSET` + number of better scores); equal scores share a rank."""
    return np.asarray(1 / (RANK_OFFSET + np.searchsorted(np.sort(-scores), -scores)))


def _log_of_others(evidence: NDArray[np.float64], keys: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return the logarithm of the evidence of all other hits with the same key."""
    totals: dict[Hashable, float] = {}
    for key, share in zip(keys, evidence.tolist(), strict=True):
        totals[key] = totals.get(key, 0.0) + share
    others = np.array([totals[key] for key in keys]) - evidence
    return np.asarray(np.log(np.maximum(others, 0.0) + MIN_EVIDENCE))

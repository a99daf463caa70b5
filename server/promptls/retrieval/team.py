"""Team source: chunks of other repositories, from an index on shared storage, as candidates for a question.

The source itself is in `promptls.team`, above this package; here are the values that it returns and their scores.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import tokenize
from promptls.model import Problem, Span
from promptls.retrieval.query import Query
from promptls.util.text.plural import plural

MIN_NAME_CHARACTERS = 3
"""Minimum length of the last part of a repository's name that names it in a question."""
MAX_SAME_NAMES, MAX_NAMED_REPOSITORIES = 2, 4
"""Repositories with the same last part that it may name, and repositories that a question may name."""
_NAME_IN_TEXT = re.compile(r"(?<![\w/.-])\w+(?:[./-]+\w+)*")
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


def score_hits(query: Query, hits: Sequence[TeamHit]) -> list[TeamHit]:
    """Return the hits with the probability that the answer needs them, best first."""
    if not hits:
        return []
    features = hit_features(query, hits)
    scores = 1 / (1 + np.exp(-(features @ np.array(WEIGHTS) + OFFSET)))
    scored = [replace(hit, score=round(float(score), 4)) for hit, score in zip(hits, scores, strict=True)]
    return sorted(scored, key=lambda hit: (-hit.score, hit.repository.name, hit.path, hit.span.start))


FEATURES = (
    "similarity", "coverage", "keyword", "named_symbol", "is_text", "below_best_similarity", "below_best_coverage",
    "named_repository",
)  # fmt: skip
"""Features of a hit: cosine similarity; share of the weight of the query's terms in its text; BM25 as a share of the
best; whether its symbol is a name of the query; whether it is text between definitions; and the differences of
similarity and coverage from those of the best hit; and whether the question names its repository."""
WEIGHTS = (4.33, 4.02, 0.99, 1.67, -3.01, 5.81, 3.36, 2.0)
OFFSET = -6.78
"""Weights of a logistic regression on the development questions, for 18 packages: with the package of the question in
the index, and without it, where no hit is needed. The probabilities are low, because a question alone does not show
whether its answer is in an open folder."""


def hit_features(query: Query, hits: Sequence[TeamHit]) -> NDArray[np.float64]:
    """Return float64[hits, features]."""
    texts = [set(tokenize(f"{hit.path} {hit.symbol} {hit.text}")) for hit in hits]
    counts = {term: sum(term in text for text in texts) for term in query.terms}
    weights = {term: math.log(1 + len(hits) / (1 + count)) for term, count in counts.items()}
    total = sum(weights.values()) or 1.0
    similarity = np.array([hit.similarity for hit in hits])
    coverage = np.array([sum(weight for term, weight in weights.items() if term in text) / total for text in texts])
    keyword = np.array([hit.keyword for hit in hits])
    names = {name.lower() for name in query.names}
    named = [float(hit.symbol.rpartition(".")[2].lower() in names) for hit in hits]
    return np.stack(
        [
            similarity,
            coverage,
            keyword / max(keyword.max(), 1e-9),
            np.array(named),
            np.array([float(hit.kind == "text") for hit in hits]),
            similarity - similarity.max(),
            coverage - coverage.max(),
            np.array([float(hit.is_named) for hit in hits]),
        ],
        axis=1,
    )

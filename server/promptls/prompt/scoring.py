"""Scores, threshold, deduplication and order of retrieved items, as pure functions.

`score_items` applies a formula to retrieved items, `apply_boosts` adds boosts.  `FORMULAS` and `BOOSTS` are those that
every profile may name; profiles add their own through hooks (see `promptls.prompt.profile`).  Stages that drop items give a reason for each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import tokenize
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import Item
from promptls.util.text.display import percentage


class RetrievedItem(Struct, frozen=True):
    """A retrieved item with its text and the properties that formulas and boosts use."""

    item: Item
    text: str
    size: int = 0  # bytes of its file
    summary: str = ""  # first words of its documentation, or its signature
    age_days: float | None = None  # since the last change of its file; None if unknown
    file_lines: tuple[str, ...] = ()  # lines of its file; () if not loaded
    children: int = 0  # number of definitions directly inside it
    complexity: int = 0  # cyclomatic number (McCabe 1976); 0 if it is not callable
    exported: bool = False  # whether other files may use it


class ScoringQuery(Struct, frozen=True):
    """The question as formulas and boosts see it."""

    text: str
    keywords: tuple[str, ...]  # as written, in lower case
    action: str = "other"


class CorpusStatistics(Struct, frozen=True):
    """Statistics of all indexed chunks."""

    chunk_count: int
    document_frequency: Callable[[str], int]  # of a search term


class ScoredItem(Struct, frozen=True):
    """A retrieved item with its uncapped score from a formula."""

    retrieved: RetrievedItem  # as passed in, or the part that the formula selected
    total: float
    reasons: Mapping[str, float]


Formula = Callable[[Sequence[RetrievedItem], ScoringQuery, CorpusStatistics], "list[ScoredItem]"]

Boost = Callable[[RetrievedItem, ScoringQuery, "CorpusStatistics | None"], "tuple[str, float]"]
"""A function that returns (reason, value to add to the score)."""


def round_reasons(reasons: Mapping[str, float]) -> dict[str, float]:
    """Round the reasons of a score to four digits and drop those near 0."""
    return {name: round(value, 4) for name, value in reasons.items() if abs(value) > 1e-4}


def cap_scores(scored: Sequence[ScoredItem], cap: float) -> list[RetrievedItem]:
    """Return the items with their scores clamped to 0…`cap`, best first."""
    out = [
        replace(
            s.retrieved,
            item=replace(s.retrieved.item, score=min(cap, max(0.0, s.total)), reasons=round_reasons(s.reasons)),
        )
        for s in scored
    ]
    return sorted(out, key=by_score_then_location)


def by_score_then_location(retrieved: RetrievedItem) -> tuple[float, str, int, int]:
    """Sort key: best score first, ties by path and line, so that the order is deterministic."""
    item = retrieved.item
    return (-item.score, item.path, item.span.start, item.span.end)


RRF_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[float]], weights: Sequence[float], first_rank: int = 1
) -> list[float]:
    """Weighted reciprocal rank fusion: Σ w/(60 + rank).

    Each ranking has one score per item.  A score of 0 means "not ranked"; equal scores share the better rank.

    Args:
        rankings: Scores of the same items by several rankers.
        weights: Weight of each ranking.
        first: Number of the best rank, usually 1; some implementations start at 0.
    """
    totals = [0.0] * (len(rankings[0]) if rankings else 0)
    for scores, weight in zip(rankings, weights, strict=True):
        ranks: dict[float, int] = {}
        for rank, value in enumerate(sorted((v for v in scores if v > 0), reverse=True), first_rank):
            ranks.setdefault(value, rank)
        for i, value in enumerate(scores):
            if value > 0:
                totals[i] += weight / (RRF_K + ranks[value])
    return totals


def weighted_sum(similarity: float, keyword: float) -> float:
    """Weighted sum of a similarity and a keyword score, both 0 to 1."""
    return 0.7 * similarity + (1 - 0.7) * keyword


def normalize_scores(scores: Sequence[float]) -> list[float]:
    """Divide scores by the best one; all 0 if no score is above 0."""
    best = max(scores, default=0.0)
    return [max(0.0, score) / best if best > 0 else 0.0 for score in scores]


def keep_retrieval_scores(
    items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics
) -> list[ScoredItem]:
    """Keep the scores of the ranker."""
    return [ScoredItem(r, r.item.score, dict(r.item.reasons)) for r in items]


def hybrid_formula(items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics) -> list[ScoredItem]:
    """Score items (formula): 0.7 of the normalized similarity and 0.3 of the normalized keyword score."""
    semantic = normalize_scores([r.item.reasons.get("semantic", 0.0) for r in items])
    keyword = normalize_scores([r.item.reasons.get("keyword", 0.0) for r in items])
    return [
        ScoredItem(r, weighted_sum(v, k), {"semantic": 0.7 * v, "keyword": 0.3 * k})
        for r, v, k in zip(items, semantic, keyword, strict=True)
    ]


def boost_rare_terms(
    retrieved: RetrievedItem, query: ScoringQuery, corpus: CorpusStatistics | None
) -> tuple[str, float]:
    """Boost: `rare_term_boost` of the question's keywords; 0 without corpus statistics."""
    return "rare terms", rare_term_boost(retrieved, query.keywords, corpus) if corpus is not None else 0.0


def boost_features(retrieved: RetrievedItem, query: ScoringQuery, corpus: CorpusStatistics | None) -> tuple[str, float]:
    """Boost: `code_feature_boost` of the item for the question's action."""
    return f"features to {query.action}", code_feature_boost(retrieved, query.action)


def rare_term_boost(retrieved: RetrievedItem, keywords: Sequence[str], corpus: CorpusStatistics) -> float:
    """Return 0.3 times the idf-weighted share of the question's terms in the item's text or path.

    idf = ln(1 + (N − n + 0.5)/(n + 0.5)), as in BM25: a term that occurs everywhere adds next to nothing.
    """
    idf: dict[str, float] = {}
    for term in tokenize(" ".join(keywords)):
        n = corpus.document_frequency(term)
        idf[term] = math.log(1 + (max(corpus.chunk_count, n) - n + 0.5) / (n + 0.5))
    there = {*tokenize(retrieved.text), *tokenize(retrieved.item.path)}
    whole = sum(idf.values())
    return 0.3 * sum(value for term, value in idf.items() if term in there) / whole if whole else 0.0


_HANDLES = re.compile(r"^\s*(?:\}?\s*catch\b|except\b|rescue\b|raise\b|throw\b)|\berr\s*!=\s*nil\b|\bErr\(", re.M)

COMPLEXITY_LIMIT = 10
"""Cyclomatic number above which a function is considered complex (McCabe 1976)."""


def code_feature_boost(retrieved: RetrievedItem, action: str) -> float:
    """Return a boost for properties of the code that fit the action.

    fix: 0.2 if errors are caught or raised.  create: 0.15 for a type or an exported symbol.  refactor: 0.1 for a
    cyclomatic number above 10.
    """
    if action == "fix":
        return 0.2 if _HANDLES.search(retrieved.text) else 0.0
    if action == "create":
        return 0.15 if retrieved.item.kind in TYPE_KINDS or retrieved.exported else 0.0
    return 0.1 if action == "refactor" and retrieved.complexity > COMPLEXITY_LIMIT else 0.0


FORMULAS: dict[str, Formula] = {"retrieval": keep_retrieval_scores, "hybrid": hybrid_formula}

BOOSTS: dict[str, Boost] = {"rare terms": boost_rare_terms, "features": boost_features}


def score_items(
    formula: Formula, items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics, cap: float
) -> list[RetrievedItem]:
    """Return the items with the formula's scores and reasons, best first."""
    return cap_scores(formula(items, query, corpus), cap)


def apply_boosts(
    items: Sequence[RetrievedItem],
    boosts: Sequence[Boost],
    query: ScoringQuery,
    cap: float,
    corpus: CorpusStatistics | None = None,
) -> list[RetrievedItem]:
    """Return the items with the boosts added to their scores and reasons, best first."""
    out = []
    for retrieved in items:
        item = retrieved.item
        more = dict(boost(retrieved, query, corpus) for boost in boosts)
        total = min(cap, item.score + sum(more.values()))
        out.append(replace(retrieved, item=replace(item, score=total, reasons={**item.reasons, **round_reasons(more)})))
    return sorted(out, key=by_score_then_location)


# ---------------------------------------------------------------- threshold


class DroppedItem(Struct, frozen=True):
    """An item that a stage dropped, with the reason."""

    item: Item
    reason: str


StageResult = tuple[list[RetrievedItem], list[DroppedItem]]
"""Items that a stage keeps, and items that it drops."""


def split_by_threshold(items: Sequence[Item], threshold: float) -> tuple[list[Item], list[DroppedItem]]:
    """Split items into those whose score reaches the threshold and those below."""
    passed = [item for item in items if item.score >= threshold]
    below = [item for item in items if item.score < threshold]
    return passed, [
        DroppedItem(i, f"{percentage(i.score)} likely, the limit is {percentage(threshold)}") for i in below
    ]


# ---------------------------------------------------------------- deduplication


def drop_equal_texts(items: Sequence[RetrievedItem]) -> StageResult:
    """Keep the best item of each text: copies of code add nothing."""
    first_by_text: dict[str, Item] = {}
    kept: list[RetrievedItem] = []
    dropped: list[DroppedItem] = []
    for retrieved in items:
        first = first_by_text.setdefault(retrieved.text.strip(), retrieved.item)
        if first is retrieved.item:
            kept.append(retrieved)
        else:
            dropped.append(DroppedItem(retrieved.item, f"the same text as {_location(first)}"))
    return kept, dropped


def drop_equal_starts(items: Sequence[RetrievedItem]) -> StageResult:
    """Keep the best of the items that start at the same line of a file."""
    return _drop_duplicates(items, lambda a, b: a.span.start == b.span.start, "begins where {} begins")


def drop_overlaps(items: Sequence[RetrievedItem]) -> StageResult:
    """Keep the best of the items of a file that share a line; of equal scores, the first in the file."""
    ordered = sorted(items, key=lambda r: (-r.item.score, r.item.span.start))
    kept, dropped = _drop_duplicates(ordered, lambda a, b: a.span.overlaps(b.span), "overlaps {}")
    kept_ids = {id(r) for r in kept}
    return [r for r in items if id(r) in kept_ids], dropped


def drop_contained(items: Sequence[RetrievedItem]) -> StageResult:
    """Drop items that are contained in another item, whichever has the better score."""
    kept: list[RetrievedItem] = []
    dropped: list[DroppedItem] = []
    for i, retrieved in enumerate(items):
        item = retrieved.item
        container = next(
            (
                other.item
                for j, other in enumerate(items)
                if other.item.path == item.path
                and other.item.span.contains(item.span)
                and (other.item.span != item.span or j < i)
            ),
            None,
        )
        if container is None:
            kept.append(retrieved)
        else:
            dropped.append(DroppedItem(item, f"is part of {_location(container)}"))
    return kept, dropped


def _drop_duplicates(
    items: Sequence[RetrievedItem], is_duplicate: Callable[[Item, Item], bool], reason: str
) -> StageResult:
    """Drop items that duplicate an earlier item of the same file."""
    kept: list[RetrievedItem] = []
    dropped: list[DroppedItem] = []
    for retrieved in items:
        item = retrieved.item
        first = next((k.item for k in kept if k.item.path == item.path and is_duplicate(k.item, item)), None)
        if first is None:
            kept.append(retrieved)
        else:
            dropped.append(DroppedItem(item, reason.format(_location(first))))
    return kept, dropped


def _location(item: Item) -> str:
    return f"{item.path.rsplit('/', 1)[-1]}:{item.span.label}"


DEDUPLICATORS: dict[str, Callable[[Sequence[RetrievedItem]], StageResult]] = {
    "text": drop_equal_texts,
    "lines": drop_equal_starts,
    "overlap": drop_overlaps,
    "containment": drop_contained,
}
"""Deduplication functions by their name in a profile."""


# ---------------------------------------------------------------- order


def jaccard(a: Collection[str], b: Collection[str]) -> float:
    """Return the Jaccard similarity |a ∩ b| / |a ∪ b|, 0 for two empty sets."""
    one, two = set(a), set(b)
    return len(one & two) / len(one | two) if one or two else 0.0


def _words(retrieved: RetrievedItem) -> frozenset[str]:
    return frozenset(retrieved.text.lower().split())


def _enclosing_scopes(retrieved: RetrievedItem) -> frozenset[str]:
    """Return the file of an item and the definitions that enclose it."""
    parts = retrieved.item.symbol.split(".")[:-1]
    return frozenset([retrieved.item.path, *(".".join(parts[: n + 1]) for n in range(len(parts)))])


SIMILARITY_FEATURES: dict[str, Callable[[RetrievedItem], frozenset[str]]] = {
    "words": _words,
    "scope": _enclosing_scopes,
}
"""Feature sets whose Jaccard similarity is the similarity of two items, by their name in a profile."""


def diversify(
    items: Sequence[RetrievedItem], mmr_lambda: float = 0.7, similarity: str = "words"
) -> list[RetrievedItem]:
    """Reorder items by maximal marginal relevance (Carbonell and Goldstein 1998).

    The next item maximizes λ · score - (1 - λ) · its largest similarity to the items before it.
    """
    features = SIMILARITY_FEATURES[similarity]
    remaining = [(retrieved, features(retrieved)) for retrieved in items]
    ordered: list[RetrievedItem] = []
    redundancy = [0.0] * len(remaining)  # largest similarity to an item in `ordered`
    while remaining:
        best = max(
            range(len(remaining)),
            key=lambda i: (mmr_lambda * remaining[i][0].item.score - (1 - mmr_lambda) * redundancy[i], -i),
        )
        retrieved, selected = remaining.pop(best)
        redundancy.pop(best)
        ordered.append(retrieved)
        redundancy = [max(n, jaccard(selected, other)) for n, (_, other) in zip(redundancy, remaining, strict=True)]
    return ordered


LINE_OFFSET = 4
"""Lines added to an item's length in its value per token: about what its header and fence cost."""


def by_value_per_token(items: Sequence[RetrievedItem], token_cost_exponent: float) -> list[RetrievedItem]:
    """Sort items by ln(p / (1 - p)) - exponent · ln(lines + 4), with the score as p; scores stay.

    An exponent of 1 is the greedy rule of the knapsack problem (Dantzig 1957).  Long items contain more of an answer,
    so a smaller exponent is better; it was fitted on development questions.
    """

    def value(retrieved: RetrievedItem) -> float:
        p = min(max(retrieved.item.score, 1e-6), 1 - 1e-6)
        return math.log(p / (1 - p)) - token_cost_exponent * math.log(len(retrieved.item.span) + LINE_OFFSET)

    return sorted(items, key=value, reverse=True)


def apply_time_decay(items: Sequence[RetrievedItem], half_life_days: float) -> list[RetrievedItem]:
    """Halve scores for every `half_life_days` since the last change of the file; unknown ages keep the score."""
    out = []
    for retrieved in items:
        age, item = retrieved.age_days, retrieved.item
        if age is not None and age > 0:
            factor = math.exp(-math.log(2) * age / half_life_days)
            reasons = {**item.reasons, "age": round(item.score * (factor - 1), 4)}
            retrieved = replace(retrieved, item=replace(item, score=item.score * factor, reasons=reasons))
        out.append(retrieved)
    return sorted(out, key=by_score_then_location)

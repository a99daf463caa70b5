"""Formulas and boosts of the default pipeline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from promptls.index import tokenize
from promptls.languages.kinds import TYPE_KINDS
from promptls.prompt.scoring.fusion import normalize_scores, weighted_sum
from promptls.prompt.scoring.types import CorpusStatistics, RetrievedItem, ScoredItem, ScoringQuery


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


def rare_term_boost(
    retrieved: RetrievedItem, keywords: Sequence[str], corpus: CorpusStatistics, maximum: float = 0.3
) -> float:
    """Return `maximum` times the idf-weighted share of the question's terms in the item's text or path.

    idf = ln(1 + (N − n + 0.5)/(n + 0.5)), as in BM25: a term that occurs everywhere adds next to nothing.
    """
    idf: dict[str, float] = {}
    for term in tokenize(" ".join(keywords)):
        n = corpus.document_frequency(term)
        idf[term] = math.log(1 + (max(corpus.chunk_count, n) - n + 0.5) / (n + 0.5))
    there = {*tokenize(retrieved.text), *tokenize(retrieved.item.path)}
    whole = sum(idf.values())
    return maximum * sum(value for term, value in idf.items() if term in there) / whole if whole else 0.0


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

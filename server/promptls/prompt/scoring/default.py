"""Our own scores: retrieval's as they are, and boosts that know the corpus and the syntax tree.

The boosts do what prompto's do by better signs; they are choices of a profile, and off in ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from promptls.index.search.analyzer import terms
from promptls.languages.kinds import TYPE_KINDS
from promptls.prompt.scoring.region import Asked, Corpus, Region, Scored


def legs(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """What `context.retrieval` made of its legs."""
    return [Scored(r, r.item.score, dict(r.item.reasons)) for r in regions]


def rare_terms(region: Region, wanted: Sequence[str], corpus: Corpus, most: float = 0.3) -> float:
    """`most` times the share of the question's terms that the text or the path holds, each by its idf.

    A term that stands everywhere adds next to nothing.  idf = ln(1 + (N − n + 0.5)/(n + 0.5)), as in BM25.
    """
    idf: dict[str, float] = {}
    for term in terms(" ".join(wanted)):
        n = corpus.frequency(term)
        idf[term] = math.log(1 + (max(corpus.count, n) - n + 0.5) / (n + 0.5))
    there = {*terms(region.text), *terms(region.item.path)}
    whole = sum(idf.values())
    return most * sum(value for term, value in idf.items() if term in there) / whole if whole else 0.0


_HANDLES = re.compile(r"^\s*(?:\}?\s*catch\b|except\b|rescue\b|raise\b|throw\b)|\berr\s*!=\s*nil\b|\bErr\(", re.M)

COMPLEX = 10
"""Cyclomatic number above which a function is worth splitting (McCabe 1976)."""


def features(region: Region, action: str) -> float:
    """prompto's action boosts, by what the code does and not by the words in it.

    fix + 0.2 where errors are caught or raised; create + 0.15 for a type or something exported; refactor
    + 0.1 for a cyclomatic number above 10.
    """
    if action == "fix":
        return 0.2 if _HANDLES.search(region.text) else 0.0
    if action == "create":
        return 0.15 if region.item.kind in TYPE_KINDS or region.exported else 0.0
    return 0.1 if action == "refactor" and region.complexity > COMPLEX else 0.0

"""The scores of the five systems: pure functions of a region, its text and the question.

`score` applies the formula that a profile names to what retrieval has found; each system's formulas have a
module, each formula its source.  Where a system's code fell short of what its document says, the document
holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from promptls.prompt.scoring import attune, codebuddy, cody, default, prompto
from promptls.prompt.scoring.attune import confidence, overlap
from promptls.prompt.scoring.codebuddy import Element, density, element_score, tier
from promptls.prompt.scoring.cody import tfidf
from promptls.prompt.scoring.default import features, rare_terms
from promptls.prompt.scoring.fusion import fused, hybrid, normalised
from promptls.prompt.scoring.prompto import LEG_WEIGHTS, action_boost, query_type, symbol_match, term_boost
from promptls.prompt.scoring.region import Asked, Corpus, Formula, Region, Scored, by_score, capped, rounded

__all__ = [
    "BOOSTS",
    "FORMULAS",
    "LEG_WEIGHTS",
    "Asked",
    "Corpus",
    "Element",
    "Region",
    "Scored",
    "action_boost",
    "boosted",
    "confidence",
    "density",
    "element_score",
    "features",
    "fused",
    "hybrid",
    "overlap",
    "query_type",
    "rare_terms",
    "score",
    "symbol_match",
    "term_boost",
    "tfidf",
    "tier",
]


def _hybrid(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """CodeBuddy's hybrid search alone, each leg as a share of its best."""
    semantic = normalised([r.item.reasons.get("semantic", 0.0) for r in regions])
    keyword = normalised([r.item.reasons.get("keyword", 0.0) for r in regions])
    return [
        Scored(r, hybrid(v, k), {"semantic": 0.7 * v, "keyword": 0.3 * k})
        for r, v, k in zip(regions, semantic, keyword, strict=True)
    ]


FORMULAS: dict[str, Formula] = {
    "legs": default.legs,
    "density": codebuddy.select,
    "hybrid": _hybrid,
    "rrf": prompto.legs,
    "tfidf": cody.keywords,
    "overlap": attune.hits,
}

BOOSTS = ("terms", "action", "rare terms", "features")


def score(formula: str, regions: Sequence[Region], asked: Asked, corpus: Corpus, cap: float) -> list[Region]:
    """The regions with the formula's scores, best first; reasons say what a score is made of."""
    return capped(FORMULAS[formula](regions, asked, corpus), cap)


def boosted(
    regions: Sequence[Region], boosts: Sequence[str], asked: Asked, cap: float, corpus: Corpus | None = None
) -> list[Region]:
    """The regions with the boosts added, best first.

    "terms" and "action" are prompto's; "rare terms" weighs terms by their idf and needs a corpus, "features"
    looks at what the code does.
    """
    out = []
    for region in regions:
        item, more = region.item, {}
        if "terms" in boosts:
            more["terms"] = term_boost(region.text, item.path, asked.keywords)
        if "action" in boosts:
            more[f"to {asked.action}"] = action_boost(region.text, asked.action)
        if "rare terms" in boosts and corpus is not None:
            more["rare terms"] = rare_terms(region, asked.keywords, corpus)
        if "features" in boosts:
            more[f"features to {asked.action}"] = features(region, asked.action)
        total = min(cap, item.score + sum(more.values()))
        out.append(replace(region, item=replace(item, score=total, reasons={**item.reasons, **rounded(more)})))
    return sorted(out, key=by_score)

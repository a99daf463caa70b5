"""attune's retriever: overlap of word sets, a gate before the vectors, a confidence."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache

from promptls.index.search.analyzer import parts, stem, words
from promptls.prompt.scoring.fusion import RRF_K, fused, normalised
from promptls.prompt.scoring.region import Asked, Corpus, Region, Scored

LEAST = 2.0
"""The least score of a hit that counts."""

GATE = 8.0
"""Keyword score from which the embeddings are not asked; calibrated by attune for its corpus, here: path,
summary and four words of the text agree."""

CONTENT = 500
"""Characters of a text that count."""


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's words and of the parts of its names; kept by the text itself, so never stale."""
    return frozenset(stem(part) for word in words(text) for part in parts(word))


def overlap(wanted: Set[str], path: Set[str], summary: Set[str], text: Set[str]) -> float:
    """attune's word sets: 2 for each shared with the path (at most 3), 1.5 with the summary, 1 with the text."""
    return 2 * min(3, len(wanted & path)) + 1.5 * len(wanted & summary) + len(wanted & text)


def confidence(top: float, least: float = LEAST) -> float:
    """How far the best hit is above what counts at all, min(top/(2·least), 1)."""
    return min(top / (2 * least), 1.0)


def hits(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """Keywords alone where they are sure, else fused with the vectors, two to one; 1 is the best there can be."""
    wanted = stems(" ".join(asked.keywords))
    raw = [
        overlap(wanted, stems(r.item.path), stems(r.summary), stems(r.text[:CONTENT]))
        for r in regions
    ]  # fmt: skip
    counted = [value if value >= LEAST else 0.0 for value in raw]
    if max(counted, default=0.0) >= GATE:
        totals = normalised(counted)
    else:
        semantic = [r.item.reasons.get("semantic", 0.0) for r in regions]
        best = 3 / (RRF_K + 1)
        totals = [total / best for total in fused([counted, semantic], (2, 1))]
    return [Scored(r, t, {"overlap": v, "fused": t}) for r, t, v in zip(regions, totals, raw, strict=True)]

"""Cody's local keyword search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from promptls.index.search.analyzer import terms
from promptls.prompt.scoring.region import Asked, Corpus, Region, Scored

LARGE_FILE = 10_000
"""Bytes above which a file counts a tenth."""


def tfidf(frequencies: Mapping[str, int], corpus: Corpus, size: int = 0) -> float:
    """Σ idf·(1 + log10 tf) with idf = ln(N/df); a tenth for a file over 10,000 bytes."""
    total = sum(
        math.log(corpus.count / df) * (1 + math.log10(tf))
        for term, tf in frequencies.items()
        if tf > 0 and (df := corpus.frequency(term)) > 0
    )
    return 0.1 * total if size > LARGE_FILE else total


def keywords(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """Cody's score of each region, as a share of the best one's; its texts were files, ours are regions."""
    wanted = dict.fromkeys(terms(" ".join(asked.keywords)))
    raw: list[float] = []
    for region in regions:
        counted = Counter(terms(region.text))
        raw.append(max(0.0, tfidf({t: counted[t] for t in wanted}, corpus, region.size)))
    best = max(raw, default=0.0) or 1.0
    return [Scored(r, value / best, {"tf·idf": value}) for r, value in zip(regions, raw, strict=True)]

"""Shingles: pairs of adjacent words of a question, whose similarities to a candidate are features.

The vector of a question that names several things is near to none of them.  Shingles (Broder 1997) find the code of each
thing.  Their features are used for open questions only, which need more code than others.
"""

from __future__ import annotations

import numpy as np

from promptls.retrieval.neighborhood import Numbers, ranks
from promptls.retrieval.scorers import Floats

SHINGLE_FEATURES = ("shingle_rank", "shingle_similarity", "file_shingle_rank")
"""Features of a candidate.

`shingle_rank` is ln(1 + rank) by the similarity to the shingle for which the candidate ranks best, and
`file_shingle_rank` the best of its file.  `shingle_similarity` is the sum of the standard scores above 0 of the
similarities to all n shingles, divided by √n.
"""
_MAX_RANK = np.float32(99)


def shingle_features(vectors: Floats, shingles: Floats, file: Numbers, file_count: int) -> dict[str, Floats]:
    """Return the values of `SHINGLE_FEATURES`, 0 without shingles.

    Args:
        vectors: Unit vectors of the candidates, float32[candidates, dimension].
        shingles: Unit vectors of the shingles, float32[n, dimension].
        file: File number of each candidate.
        file_count: Number of files.
    """
    count = len(shingles)
    if not count or vectors.shape[1] != shingles.shape[1]:
        return dict.fromkeys(SHINGLE_FEATURES, np.zeros(len(vectors), np.float32))
    similarity = np.round(vectors @ shingles.T, 5)  # a matrix product depends on the position of the row
    rank = np.stack([ranks(column) for column in similarity.T]).min(axis=0)
    standard = np.maximum((similarity - similarity.mean(axis=0)) / (similarity.std(axis=0) + 1e-6), 0)
    best_rank = np.full(file_count, _MAX_RANK)
    np.minimum.at(best_rank, file, rank)
    total = np.asarray(standard.sum(axis=1) / np.sqrt(np.float32(count)), np.float32)
    return dict(zip(SHINGLE_FEATURES, (rank, total, best_rank[file]), strict=True))

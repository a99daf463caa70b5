"""Vector search: cosine similarity of every row to a query vector.

All rows are scored exactly, so that results depend on the set of rows only, not on their order or update history.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from simsimd import cdist

Floats = NDArray[np.float32]

SIMILARITY_DIGITS = 5
"""Decimal digits of a similarity; further digits are quantization noise."""
_BLOCK_ROWS = 1 << 15  # rows scored at a time: a bound on the memory for products
_EXECUTOR = ThreadPoolExecutor(min(4, os.cpu_count() or 1), "similarity")
"""Threads for scoring; it releases the GIL, and one core alone does not saturate the memory bandwidth."""

PendingSimilarities = Callable[[], Floats]
"""Waits for a search and returns the similarity of each row."""


def start_similarity_search(vector: Floats, vectors: NDArray[np.int8], scales: Floats) -> PendingSimilarities:
    """Start to compute similarities in other threads.

    Args:
        vector: Unit vector of the query.
        vectors: Quantized vectors of the rows.
        scales: Quantization step of each row, 0 without a vector; the similarity is then 0.
    """
    similarity = np.zeros(len(vectors), np.float32)
    score = _exact_scorer(vector, vectors, scales)
    if score is None:
        return lambda: similarity

    def score_block(block: slice) -> None:
        similarity[block] = score(block)

    pending: list[Future[None]] = []
    for at in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(at, at + _BLOCK_ROWS)
        try:
            pending.append(_EXECUTOR.submit(score_block, block))
        except RuntimeError:  # no thread can be started
            score_block(block)

    def wait() -> Floats:
        for future in pending:
            future.result()
        return similarity

    return wait


def exact_similarities(rows: NDArray[np.int64], vector: Floats, vectors: NDArray[np.int8], scales: Floats) -> Floats:
    """Return the exact similarities of some rows; see `start_similarity_search` for the arguments."""
    score = _exact_scorer(vector, vectors, scales)
    return score(rows) if score is not None and len(rows) else np.zeros(len(rows), np.float32)


def _exact_scorer(
    vector: Floats, vectors: NDArray[np.int8], scales: Floats
) -> Callable[[slice | NDArray[np.int64]], Floats] | None:
    """Return the function that scores rows exactly, or None without a vector.

    The query is quantized to 8 bits, too: sums of integers do not depend on the order of addition or of rows.
    """
    peak = float(np.abs(vector).max(initial=0.0))
    if vector.size != vectors.shape[1] or peak <= 0:
        return None
    step = np.float32(peak / 127)
    quantized = np.rint(vector / step).astype(np.int8)[None]

    def score(rows: slice | NDArray[np.int64]) -> Floats:
        selected = vectors[rows] if isinstance(rows, slice) else vectors.take(rows, axis=0)
        products = np.asarray(cdist(quantized, selected, metric="dot"), np.float32)[0]
        return np.asarray(np.round(products * (scales[rows] * step), SIMILARITY_DIGITS), np.float32)

    return score

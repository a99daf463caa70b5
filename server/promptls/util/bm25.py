"""BM25 term weighting (Robertson and Zaragoza 2009), for floats and NumPy arrays.

The type of the result follows NumPy's rules: pass `k1` as `numpy.float32` to compute with its precision.
"""

from __future__ import annotations

import math
from typing import Any


def inverse_document_frequency(document_count: int, document_frequency: int) -> float:
    """Return Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)); never negative."""
    return math.log(1 + max(0.0, document_count - document_frequency + 0.5) / (document_frequency + 0.5))


def length_norm(length: Any, mean_length: float, k1: float, b: float) -> Any:
    """Return the length normalization k1 · (1 - b + b · length / mean length)."""
    return k1 * (1 - b + b * length / mean_length)


def term_score(frequency: Any, norm: Any, k1: float, weight: float | None = None) -> Any:
    """Return the BM25 score of a term: weight · frequency · (k1 + 1) / (frequency + norm); `norm` is a `length_norm`."""
    return (frequency if weight is None else weight * frequency) * (k1 + 1) / (frequency + norm)

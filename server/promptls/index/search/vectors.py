"""Vector search: cosine similarity of every row to a query vector.

Up to `EXACT_MAX_ROWS` rows are scored exactly. In a larger index, a Hamming-distance prefilter on the sign bits (binary
quantization, an eighth of the bytes) selects `RESCORE_ROWS` rows for exact scoring. Results are deterministic: they
depend on the set of rows only, not on their order or update history. An inverted file index (IVF) of 1,024 fixed
centroids would be as deterministic, but has a lower recall. With a seventh of all rows it finds 79 % of the best
hundred; sign bits find 98 % with one row in 61.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from simsimd import cdist

Floats = NDArray[np.float32]
Value = TypeVar("Value", bound=np.generic)

SIMILARITY_DIGITS = 5
"""Decimal digits of a similarity; further digits are quantization noise."""
EXACT_MAX_ROWS = 1 << 17
"""Maximum number of rows that are all scored exactly: 64 MB of bundled vectors, 4 ms on two cores."""
RESCORE_ROWS = 1 << 14
"""Rows of a larger index that are scored exactly after the prefilter.

Recall on 66,760 chunks of Python's standard library and fifty questions: the 8,000 rows nearest by sign bits contain
99.9 % of the best hundred and 99.3 % of the best four hundred.
"""
_BLOCK_ROWS = 1 << 15  # rows scored at a time: a bound on the memory for products
_SAMPLE_STRIDE = 64  # one row in so many is sampled to estimate a distance quantile
_EXECUTOR = ThreadPoolExecutor(min(4, os.cpu_count() or 1), "similarity")
"""Threads for scoring; it releases the GIL, and one core alone does not saturate the memory bandwidth."""


class RowSelection(Struct, frozen=True):
    """The scored rows: all, or those listed in `rows`, ascending. Arrays that belong to it have one value for each."""

    rows: NDArray[np.int64] | None = None  # None: all

    def take(self, by_row: NDArray[Value]) -> NDArray[Value]:
        """Return the values of the selected rows from an array of values by row."""
        return by_row if self.rows is None else by_row.take(self.rows)

    def to_rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert indexes into the selection to rows."""
        return places if self.rows is None else self.rows[places]

    def values_at(self, rows: NDArray[np.int64], values: NDArray[Value]) -> NDArray[Value]:
        """Return the values of rows from an array of values by selection; 0 for rows outside of the selection."""
        if self.rows is None:
            return values[rows]
        if not len(self.rows):
            return np.zeros(len(rows), values.dtype)
        places = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, values[places], 0)


class ScoredRows(Struct, frozen=True):
    """Similarities of the selected rows to a query."""

    selection: RowSelection
    similarity: Floats


PendingSimilarities = Callable[[NDArray[np.bool_], NDArray[np.int64]], ScoredRows]
"""Waits for a search. Takes a mask of rows to include with approximate scores, and rows (ascending) to score exactly."""


def binarize(vectors: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return the sign bits of vectors: uint8[rows, dimension / 8], a bit is set for a positive component."""
    return np.packbits(vectors > 0, axis=1)


def start_similarity_search(
    vector: Floats,
    vectors: NDArray[np.int8],
    scales: Floats,
    signs: NDArray[np.uint8] | None,
    excluded: NDArray[np.bool_] | None,
) -> PendingSimilarities:
    """Start to compute similarities in other threads.

    Args:
        vector: Unit vector of the query.
        vectors: Quantized vectors of the rows.
        scales: Quantization step of each row, 0 without a vector; the similarity is then 0.
        signs: Output of `binarize` for the rows; None to score all rows exactly.
        excluded: Mask of rows that the prefilter does not select.
    """
    score = _exact_scorer(vector, vectors, scales)
    if score is None:
        return lambda included, exact_rows: ScoredRows(RowSelection(), np.zeros(len(vectors), np.float32))
    if signs is None:
        similarity = np.empty(len(vectors), np.float32)

        def score_block(block: slice) -> None:
            similarity[block] = score(block)

        wait_for_scores = _run_in_blocks(score_block, len(similarity))

        def all_exact(included: NDArray[np.bool_], exact_rows: NDArray[np.int64]) -> ScoredRows:
            wait_for_scores()
            return ScoredRows(RowSelection(), similarity)

        return all_exact

    dimension = vectors.shape[1]
    query_signs = np.packbits(vector > 0)[None]
    cosines = np.round(np.cos(np.pi * np.arange(dimension + 1) / dimension), SIMILARITY_DIGITS)
    similarity_by_distance = np.append(cosines, 0).astype(np.float32)  # the last entry is for excluded rows
    distances = np.empty(len(vectors), np.uint16)

    def measure_block(block: slice) -> None:
        hamming = np.asarray(cdist(query_signs, signs[block], metric="hamming", dtype="bin8"))[0].astype(np.uint16)
        if excluded is not None:
            hamming[excluded[block]] = dimension + 1
        distances[block] = hamming

    wait_for_distances = _run_in_blocks(measure_block, len(vectors))

    def prefiltered(included: NDArray[np.bool_], exact_rows: NDArray[np.int64]) -> ScoredRows:
        wait_for_distances()
        is_exact = distances <= _distance_bound(distances, dimension, RESCORE_ROWS)
        is_exact[exact_rows] = True
        rows = np.flatnonzero(is_exact)
        exact = np.empty(len(rows), np.float32)

        def rescore_block(block: slice) -> None:
            exact[block] = score(rows[block])

        wait_for_scores = _run_in_blocks(rescore_block, len(rows), _BLOCK_ROWS // 8)
        selection = RowSelection(np.flatnonzero(is_exact | included))
        similarity = similarity_by_distance.take(selection.take(distances))
        wait_for_scores()
        similarity[selection.take(is_exact)] = exact
        return ScoredRows(selection, similarity)

    return prefiltered


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


def _distance_bound(distances: NDArray[np.uint16], dimension: int, count: int) -> int:
    """Return the smallest distance within which there are `count` rows, or `dimension` if there are fewer.

    A bisection that starts at an estimate from a sample, so that it rarely counts all rows more than four times.
    """
    low, high = 0, dimension
    sample = distances[::_SAMPLE_STRIDE]
    rank = count // _SAMPLE_STRIDE
    estimate = int(np.partition(sample, rank)[rank]) if rank < len(sample) else dimension
    probes = iter((estimate + 1, estimate - 2, estimate, estimate - 1))
    while low < high:
        middle = next(probes, (low + high) // 2)
        if low <= middle < high:
            enough = np.count_nonzero(distances <= middle) >= count
            low, high = (low, middle) if enough else (middle + 1, high)
    return low


def _run_in_blocks(work: Callable[[slice], None], rows: int, block_rows: int | None = None) -> Callable[[], None]:
    """Start work on blocks of rows in the executor; return a function that waits for all of them."""
    pending: list[Future[None]] = []
    block_rows = block_rows or _BLOCK_ROWS
    for at in range(0, rows, block_rows):
        block = slice(at, at + block_rows)
        try:
            pending.append(_EXECUTOR.submit(work, block))
        except RuntimeError:  # no thread can be started
            work(block)

    def wait() -> None:
        for future in pending:
            future.result()

    return wait

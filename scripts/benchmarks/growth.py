"""Growth of query time with the number of rows, from ten thousand to a million generated rows.

The benchmark measures the part of a query that scores every row: similarities and keywords. Vectors are random, terms
follow Zipf's law as in real code, and questions have ten terms.
"""

from __future__ import annotations

import math
import statistics
import time

import numpy as np

from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.search.row_batch import RowBatch, quantize
from promptls.retrieval.scorers import score_rows

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
DIMENSION, TERMS, PER_ROW = 512, 60_000, 70
QUESTIONS = 20
BATCH = 10_000


def columns(rows: int) -> ChunkIndex:
    """Return a chunk index with this number of rows, a hundred per file."""
    rng = np.random.default_rng(rows)
    share = 1 / np.arange(1, TERMS + 1)
    chances = np.cumsum(share / share.sum())
    words = tuple(f"term{n}" for n in range(TERMS))
    made = ChunkIndex()
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        vectors = rng.normal(size=(n, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        term = chances.searchsorted(rng.random(n * PER_ROW)).astype(np.int32)
        keys = tuple(int(start + i).to_bytes(16, "big") for i in range(n))
        starts = np.arange(0, (n + 1) * PER_ROW, PER_ROW, dtype=np.int32)
        part = RowBatch(keys, words, np.minimum(term, TERMS - 1).tobytes(), starts.tobytes(), quantize(vectors))
        made.set_rows(part)
        made.update_files((f"/w/f{start + i}.py", f"f{start + i}.py", [], keys[i : i + 100]) for i in range(0, n, 100))
    return made


def measure() -> dict[int, tuple[float, float]]:
    """Return (median, 95th percentile) in seconds by number of rows."""
    out = {}
    for size in SIZES:
        view = columns(size).reader()
        rng = np.random.default_rng(1)
        times = []
        for _ in range(QUESTIONS):
            terms = [f"term{int(n)}" for n in rng.integers(20, 3_000, 10)]
            vector = rng.normal(size=DIMENSION).astype(np.float32)
            start = time.perf_counter()
            score_rows(terms, vector / np.linalg.norm(vector), view)
            times.append(time.perf_counter() - start)
        out[size] = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    return out


def table(found: dict[int, tuple[float, float]], prompt: float | None = None) -> str:
    """Return the figures as a Markdown table.

    `prompt` is the time of a prompt in a small workspace in seconds; it extrapolates to complete prompts.
    """
    head, rows = (
        ["rows", "p50 ms", "p95 ms"],
        [[f"{size:,}", *(f"{1000 * t:.1f}" for t in pair)] for size, pair in found.items()],
    )
    if prompt is not None and len(found) > 1:
        first, (least, _) = next(iter(found.items()))
        head += ["complete prompt, ms", f"÷ {first:,} rows", "logarithmic growth"]
        for row, (size, (middle, _)) in zip(rows, found.items(), strict=True):
            whole = prompt - least + middle
            row += [f"{1000 * whole:.1f}", f"{whole / prompt:.2f}", f"{math.log(size) / math.log(first):.2f}"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))

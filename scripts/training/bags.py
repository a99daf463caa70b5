"""Batches of texts as bags of tokens, for training and evaluation.

A batch is one flat array of (row, token) pairs. The model uses distinct pairs and their counts. All functions are
vectorized over the batch, because a loop over texts would take longer than the training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptls.index.embedding.embedder import POSITION_BUCKET

Ints = NDArray[np.int64]
BITS = 16  # a token id fits
PLACES = 20  # the last bucket holds the rest of a text


class Bags(NamedTuple):
    """Distinct (row, token) pairs with counts, sorted by row, and the position of each occurrence."""

    tokens: Ints
    counts: NDArray[np.float32]
    starts: Ints  # of each row
    places: Ints  # position bucket of each occurrence
    of: Ints  # index of the distinct pair of each occurrence


def read(flat: NDArray[np.uint16], at: Ints, rows: Ints, longest: int) -> Bags:
    """Return the texts `rows` unchanged."""
    row, token, _ = gather(flat, at, rows, longest)
    return bags(*positions(row, token, len(rows)), len(rows))


def gather(flat: NDArray[np.uint16], at: Ints, rows: Ints, longest: Ints | int) -> tuple[Ints, Ints, Ints]:
    """Return (row, token) pairs of the texts `rows`, cut to `longest` tokens, and their lengths."""
    begins = at[rows]
    lengths = np.minimum(at[rows + 1] - begins, longest)
    ends = np.cumsum(lengths)
    places = np.repeat(begins - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
    return np.repeat(np.arange(len(rows)), lengths), flat[places].astype(np.int64), lengths


def positions(row: Ints, token: Ints, rows: int) -> tuple[Ints, Ints, Ints]:
    """Return the pairs sorted by row, and the position of each token in its row."""
    order = np.argsort(row, kind="stable")
    row, token = row[order], token[order]
    return row, token, np.arange(len(row)) - np.searchsorted(row, np.arange(rows))[row]


def bags(row: Ints, token: Ints, position: Ints, rows: int) -> Bags:
    """Count equal pairs."""
    key = (row << BITS) | token
    order = np.argsort(key, kind="stable")
    key = key[order]
    new = np.concatenate([[True], key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.bool_)
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(key))).astype(np.float32)
    places = np.minimum(position[order] // POSITION_BUCKET, PLACES - 1)
    distinct = key[first]
    starts = np.searchsorted(distinct >> BITS, np.arange(rows))
    return Bags(distinct & ((1 << BITS) - 1), counts, starts, places, np.cumsum(new) - 1)


def without(row: Ints, token: Ints, kind: Ints, row2: Ints, token2: Ints, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of pairs that remain if these rows lose every token whose stem is also on the other side."""
    shared = np.isin((row << 20) | kind[token], np.unique((row2 << 20) | kind[token2]))
    return ~(shared & rows[row])

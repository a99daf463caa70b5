"""Texts as bags of tokens: the batches that training and evaluation are made of.

A batch of texts is one flat array of (row, token) pairs; distinct pairs and their counts are all that the model
looks at.  Everything here is numpy on whole batches, for a loop over texts would take longer than the training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptls.index.embedding.fast_tokenizer import PLACE

Ints = NDArray[np.int64]
BITS = 16  # a token id fits
PLACES = 20  # the last one is all the rest of a text


class Bags(NamedTuple):
    """Distinct (row, token) with their counts, sorted by row; and each occurrence's place in its text."""

    tokens: Ints
    counts: NDArray[np.float32]
    starts: Ints  # of each row
    places: Ints  # of each occurrence: how far from the beginning
    of: Ints  # the distinct pair that each occurrence is one of


def read(flat: NDArray[np.uint16], at: Ints, rows: Ints, longest: int) -> Bags:
    """The texts `rows` as they are."""
    row, token, _ = gather(flat, at, rows, longest)
    return bags(*positions(row, token, len(rows)), len(rows))


def gather(flat: NDArray[np.uint16], at: Ints, rows: Ints, longest: Ints | int) -> tuple[Ints, Ints, Ints]:
    """(row, token) of the texts `rows`, cut to `longest`, and the length of each."""
    begins = at[rows]
    lengths = np.minimum(at[rows + 1] - begins, longest)
    ends = np.cumsum(lengths)
    places = np.repeat(begins - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
    return np.repeat(np.arange(len(rows)), lengths), flat[places].astype(np.int64), lengths


def positions(row: Ints, token: Ints, rows: int) -> tuple[Ints, Ints, Ints]:
    """Sorted by row, and where in its row each token stands; those of a row are in the order of the text already."""
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
    places = np.minimum(position[order] // PLACE, PLACES - 1)
    distinct = key[first]
    starts = np.searchsorted(distinct >> BITS, np.arange(rows))
    return Bags(distinct & ((1 << BITS) - 1), counts, starts, places, np.cumsum(new) - 1)


def without(row: Ints, token: Ints, kind: Ints, row2: Ints, token2: Ints, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which pairs stay if those rows lose every token whose `kind` (its stem) the other side has as well."""
    shared = np.isin((row << 20) | kind[token], np.unique((row2 << 20) | kind[token2]))
    return ~(shared & rows[row])

"""Every row of the columns against a question: by meaning and by words.

BM25 (Robertson and Zaragoza 2009) over the texts, over the names of their files, and over whole files;
similarity of the vectors.  Only arrays: which places these are is the business of `units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.view import Postings, Totals, View

Floats = NDArray[np.float32]

K1, B = 1.2, 0.75
"""BM25's usual saturation and length normalisation."""
PATH = 0.5
"""What a term in the name of the file counts beside one in the text."""
SEMANTIC, KEYWORD = 0.55, 0.45
"""The legs' shares of the sum of both; flat between 0.5 and 0.65 on development questions."""
LIKELY = (6.2, 2.3, 1.75, 0.62)
"""What similarity, keywords (the best text at 1), the words of the whole file and ln(1 + terms) are worth to a row's
prospects: logistic regression on which rows came to be among the best 60 for thirty questions, sentences from the
documentation of Python's standard library; for thirty others 91 % of the best 80 of some 930 are among the likeliest 400."""
POSSIBLE = 10
"""What is added where there is any evidence, so that such rows are above 0, which the others have."""
NOISE = 0.02
"""Similarity that says nothing: vectors of eight bits are no more exact."""
SCALED = 100
"""A leg's scale has its best score at 1 and that of this rank at 0."""


class Legs(Struct, frozen=True):
    """Scores by row, and by file's number where it says so."""

    terms: tuple[str, ...]  # of the question, those that the workspace holds
    idf: Floats  # [terms]
    postings: tuple[Postings, ...]  # of the terms
    similarity: Floats
    body: Floats  # BM25 of the text
    path: Floats  # by file: BM25 of its name
    keyword: Floats  # text and name of the file together
    held: NDArray[np.bool_]  # [terms, files]: whether a text of the file holds the term
    whole: Floats  # by file: BM25 of its texts and name as one text, the best file at 1
    meant: Floats  # by file: mean similarity of its texts
    semantic: Floats  # similarity on its scale
    worded: Floats  # keyword on its scale
    both: Floats  # the two on their scales, added; -1 for dead rows
    likely: Floats  # prospects of becoming a part of the answer, above 0; 0 for dead rows and those without evidence


def scan(terms: Sequence[str], vector: Floats | None, view: View) -> Legs:
    """Score every row."""
    compared = None if vector is None else view.similarities_soon(vector)
    known = tuple(t for t in terms if view.frequency(t) or len(view.named(t).rows))
    idf = np.array([view.idf(t) for t in known], np.float32)
    postings = tuple(view.postings(t) for t in known)
    totals = view.totals
    dead = None if totals.alive.all() else ~totals.alive
    body = np.zeros(len(view), np.float32)
    for weight, found in zip(idf, postings, strict=True):
        norm = K1 * (1 - B + B * view.length[found.rows] / view.mean_length)
        body[found.rows] += weight * _saturated(found.counts, norm.astype(np.float32))
    path = _of_names(known, idf, view)
    keyword = body + PATH * path[totals.of] if len(path) else body
    held, whole = _of_files(known, postings, view)
    similarity = np.zeros(len(view), np.float32) if compared is None else np.round(compared(), 5)
    if dead is not None:
        similarity[dead] = keyword[dead] = 0
    semantic, worded = scaled(similarity), scaled(keyword)
    both = SEMANTIC * semantic + KEYWORD * worded
    if dead is not None:
        both[dead] = -1
    likely = _likely(similarity, keyword, whole, totals)
    return Legs(
        known, idf, postings, similarity, body, path, keyword, held, whole, _means(similarity, totals), semantic, worded, both,
        likely,
    )  # fmt: skip


def _likely(similarity: Floats, keyword: Floats, whole: Floats, totals: Totals) -> Floats:
    of_whole = whole[totals.of] if len(whole) else np.zeros_like(similarity)
    meaning, words, file, length = LIKELY
    best = max(float(keyword.max(initial=0.0)), 1e-6)
    out = meaning * similarity + (words / best) * keyword + file * of_whole + length * totals.log_length
    spoken_of = (similarity > NOISE) | (keyword > 0) | (of_whole > 0)
    return np.where(totals.alive & spoken_of, out + POSSIBLE, 0).astype(np.float32)


def _saturated(counts: NDArray[np.number[Any]], norm: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(counts * (K1 + 1) / (counts + norm), np.float32)


def _of_names(terms: Sequence[str], idf: Floats, view: View) -> Floats:
    """BM25 of the files' names; terms weigh as in the texts."""
    out = np.zeros(len(view.path_length), np.float32)
    living = view.totals.rows > 0
    mean = float(view.path_length[living].mean()) if living.any() else 1.0
    for weight, term in zip(idf, terms, strict=True):
        found = view.named(term)
        norm = K1 * (1 - B + B * view.path_length[found.rows] / max(1.0, mean))
        out[found.rows] += weight * _saturated(found.counts, norm)
    return out


def _of_files(terms: Sequence[str], postings: Sequence[Postings], view: View) -> tuple[NDArray[np.bool_], Floats]:
    """(terms held by the texts of each file, BM25 with files as texts, divided by the best one's)."""
    n = len(view.path_length)
    out = np.zeros(n, np.float32)
    held = np.zeros((len(terms), n), bool)
    of = view.totals.of
    length, living = view.totals.terms + view.path_length, view.totals.rows > 0
    count = max(1, int(living.sum()))
    norm = (K1 * (1 - B + B * length / max(1.0, float(length[living].sum()) / count))).astype(np.float32)
    for term, found, here in zip(terms, postings, held, strict=True):
        often = np.bincount(of[found.rows], found.counts, n)
        np.greater(often, 0, out=here)
        names = view.named(term)
        often[names.rows] += names.counts
        where = np.flatnonzero((often > 0) & living)
        idf = np.log(1 + (count - len(where) + 0.5) / (len(where) + 0.5))
        out[where] += idf * _saturated(often[where], norm[where])
    best = float(out.max(initial=0.0))
    return held, out / best if best > 0 else out


def _means(similarity: Floats, totals: Totals) -> Floats:
    sums = np.bincount(totals.of, similarity, len(totals.rows))
    return np.round(sums / np.maximum(totals.rows, 1), 5).astype(
        np.float32
    )  # sums depend on the order of rows a little


def scaled(scores: Floats, rank: int = SCALED) -> Floats:
    """Scores on 0…1: 1 for the best, 0 for the one at `rank` and all below; few scores start at 0.

    What is not above 0 makes no difference: of texts and files that are gone, some remember more than others.
    """
    positive = scores[scores > 0]  # partition is slow where many values are equal
    high = float(positive.max(initial=0.0))
    low = float(np.partition(positive, -rank)[-rank]) if len(positive) >= rank else 0.0
    return np.asarray(np.clip((scores - low) / (high - low + 1e-9), 0, 1), np.float32)

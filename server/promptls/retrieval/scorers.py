"""The rows of the columns against a question: by meaning and by words.

BM25 (Robertson and Zaragoza 2009) over the texts, over the names of their files, and over whole files;
similarity of the vectors.  Only arrays: which places these are is the business of `units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.reader import Postings, Totals, IndexReader
from promptls.index.search.vectors import Looked, Near

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

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
NO_ROWS = np.zeros(0, np.int64)
_SAMPLE = 4_000
"""Scores that tell about where those of a rank lie."""


class Scale(Struct, frozen=True):
    """From the scores of a leg to 0…1: 1 for the best, 0 for the one at a rank and all below; few scores start at 0.

    What is not above 0 makes no difference: of texts and files that are gone, some remember more than others.
    """

    low: float
    high: float

    def of(self, scores: Floats) -> Floats:
        """Scores of this leg on the scale."""
        return np.asarray(np.clip((scores - self.low) / (self.high - self.low + 1e-9), 0, 1), np.float32)


class Legs(Struct, frozen=True):
    """Scores of those rows that are looked at, and by file's number where it says so."""

    terms: tuple[str, ...]  # of the question, those that the workspace holds
    idf: Floats  # [terms]
    postings: tuple[Postings, ...]  # of the terms
    vector: Floats | None  # of the question
    looked: Looked
    similarity: Floats
    body: Floats  # BM25 of the text
    path: Floats  # by file: BM25 of its name
    keyword: Floats  # text and name of the file together
    held: NDArray[np.bool_]  # [terms, files]: whether a text of the file holds the term
    whole: Floats  # by file: BM25 of its texts and name as one text, the best file at 1
    meant: Floats  # by file: mean similarity of its texts, those that are not looked at at 0
    semantic: Scale  # of similarity
    worded: Scale  # of keyword
    evident: Numbers  # rows that are above 0 on one of the two scales
    likely: Floats  # prospects of becoming a part of the answer, above 0; 0 for dead rows and those without evidence

    def both(self, rows: Numbers) -> Floats:
        """Similarity and keyword of these rows on their scales, added."""
        similarity, keyword = self.looked.of(rows, self.similarity), self.looked.of(rows, self.keyword)
        return SEMANTIC * self.semantic.of(similarity) + KEYWORD * self.worded.of(keyword)


def scan(terms: Sequence[str], vector: Floats | None, view: IndexReader, closely: Numbers = NO_ROWS) -> Legs:
    """Score every row; of very many those that are near, those that hold a term, and those that `closely` names."""
    compared = None if vector is None else view.similarities_soon(vector)
    totals = view.totals
    found = {term: view.postings(term) for term in terms}
    known = tuple(term for term in terms if len(found[term].rows) or len(view.named(term).rows))
    postings = tuple(found[term] for term in known)
    idf = np.array([view.idf(t) for t in known], np.float32)
    bodies = np.zeros(len(view), np.float32)
    for weight, here in zip(idf, postings, strict=True):
        _add(bodies, here, weight, view.length, view.mean_length)
    path = _of_names(known, idf, view)
    held, whole = _of_files(known, postings, view)
    near = Near(Looked(), np.zeros(len(view), np.float32)) if compared is None else compared(bodies > 0, closely)
    looked, similarity = near.looked, near.similarity
    body, file = looked.pick(bodies), looked.pick(view.file)
    keyword = body + _by_row(np.float32(PATH) * path, looked, file, totals) if path.any() else body
    if not totals.all_alive:
        alive = looked.pick(totals.alive)
        similarity, keyword = similarity * alive, keyword * alive
    semantic, worded = scale(similarity), scale(keyword)
    evident = looked.row(np.flatnonzero((similarity > semantic.low) | (keyword > worded.low)))
    likely = _likely(similarity, keyword, worded.high, _by_row(whole, looked, file, totals), looked, totals)
    meant = _means(similarity, looked, file, totals)
    return Legs(
        known, idf, postings, vector, looked, similarity, body, path, keyword, held, whole, meant, semantic, worded, evident, likely
    )  # fmt: skip


def _by_row(values: Floats, looked: Looked, file: NDArray[np.int32], totals: Totals) -> Floats:
    """Of values by file those of the rows' files; of dead rows nobody asks."""
    return totals.spread(values) if looked.rows is None else values.take(file)


def _likely(similarity: Floats, keyword: Floats, best: float, whole: Floats, looked: Looked, totals: Totals) -> Floats:
    meaning, words, file, length = (np.float32(weight) for weight in LIKELY)
    of_file = file * whole
    spoken_of = similarity > np.float32(NOISE)
    spoken_of |= of_file > 0  # where a text holds a term, its file does
    spoken_of &= looked.pick(totals.alive)
    out: Floats = meaning * similarity
    for weight, part in ((words / np.float32(max(best, 1e-6)), keyword), (length, looked.pick(totals.log_length))):
        out += weight * part
    out += of_file
    out += np.float32(POSSIBLE)
    out *= spoken_of
    return out


def _add(scores: Floats, found: Postings, weight: float, length: NDArray[np.int32], mean: float) -> None:
    """Add what BM25 gives for a term."""
    norm = length.take(found.rows).astype(np.float32)
    norm *= np.float32(K1 * B / mean)
    norm += np.float32(K1 * (1 - B))
    np.add.at(scores, found.rows, weight * _saturated(found.counts, norm))


def _saturated(counts: NDArray[np.floating[Any]], norm: Floats) -> Floats:
    return np.asarray(counts * np.float32(K1 + 1) / (counts + norm), np.float32)


def _of_names(terms: Sequence[str], idf: Floats, view: IndexReader) -> Floats:
    """BM25 of the files' names; terms weigh as in the texts."""
    out = np.zeros(len(view.path_length), np.float32)
    living = view.totals.rows > 0
    mean = float(view.path_length[living].mean()) if living.any() else 1.0
    for weight, term in zip(idf, terms, strict=True):
        _add(out, view.named(term), weight, view.path_length, max(1.0, mean))
    return out


def _of_files(terms: Sequence[str], postings: Sequence[Postings], view: IndexReader) -> tuple[NDArray[np.bool_], Floats]:
    """(terms held by the texts of each file, BM25 with files as texts, divided by the best one's)."""
    n = len(view.path_length)
    out = np.zeros(n, np.float32)
    held = np.zeros((len(terms), n), bool)
    length, living = view.totals.terms + view.path_length, view.totals.rows > 0
    count = max(1, int(living.sum()))
    norm = (K1 * (1 - B + B * length / max(1.0, float(length[living].sum()) / count))).astype(np.float32)
    for term, found, here in zip(terms, postings, held, strict=True):
        often = np.bincount(view.file.take(found.rows), found.counts, n).astype(np.float64, copy=False)
        np.greater(often, 0, out=here)
        names = view.named(term)
        often[names.rows] += names.counts
        where = np.flatnonzero((often > 0) & living)
        idf = np.log(1 + (count - len(where) + 0.5) / (len(where) + 0.5))
        out[where] += idf * _saturated(often[where], norm[where])
    best = float(out.max(initial=0.0))
    return held, out / best if best > 0 else out


def _means(similarity: Floats, looked: Looked, file: NDArray[np.int32], totals: Totals) -> Floats:
    sums = totals.sums(similarity) if looked.rows is None else totals.sums_of(file, similarity)
    return np.round(sums / np.maximum(totals.rows, 1), 5).astype(np.float32)  # sums depend on the order of rows


def scale(scores: Floats, rank: int = SCALED) -> Scale:
    """The scale of a leg."""
    return Scale(bar(scores, rank), max(0.0, float(scores.max(initial=0.0))))


def bar(scores: Floats, rank: int) -> float:
    """The score at this rank of those above 0; 0 where there are fewer.

    Where many are, some tell which are worth looking at.
    """
    every = len(scores) // max(_SAMPLE, 4 * rank)
    if every > 1:
        some = scores[::every]
        few = 2 * rank // every + 8
        best = scores[scores > max(0.0, float(np.partition(some, -few)[-few]))]
        if len(best) >= rank:
            return float(np.partition(best, -rank)[-rank])
    positive = scores[scores > 0]  # partition is slow where many values are equal
    return float(np.partition(positive, -rank)[-rank]) if len(positive) >= rank else 0.0


def best(scores: Floats, most: int) -> Numbers:
    """Indexes of the best scores above 0; more than `most` only where several are equal to the last one."""
    low = bar(scores, most)
    return np.flatnonzero(scores >= low) if low > 0 else np.flatnonzero(scores > 0)

"""First-stage scores: BM25 and vector similarity of all chunks for a question.

BM25 (Robertson and Zaragoza 2009) is computed over chunks, file paths and whole files.  The module works on arrays of
rows only; `candidates` maps rows to chunks of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index import FileStats, IndexReader, Postings
from promptls.util import bm25
from promptls.util.cancellation import check_each

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

BM25_K1, BM25_B = 1.2, 0.75
"""Term frequency saturation and length normalization of BM25; the usual values."""
PATH_WEIGHT = 0.5
"""Weight of a term in the file path relative to a term in the chunk."""
SEMANTIC_WEIGHT, KEYWORD_WEIGHT = 0.55, 0.45
"""Weights of similarity and BM25 in the combined score.

Quality is flat for semantic weights between 0.5 and 0.65 on the development questions.
"""
PRIOR_WEIGHTS = (6.2, 2.3, 1.75, 0.62)
"""Weights of similarity, BM25 (best chunk = 1), file BM25 and ln(1 + terms) in the prior of a row.

Logistic regression predicts the rows ranked among the best 60 for 30 sentences of the documentation of Python's
standard library.  For 30 other sentences, 91 % of the best 80 of about 930 rows are among the 400 of highest prior.
"""
EVIDENCE_OFFSET = 10
"""Added to the prior of rows with any evidence, which keeps it above 0, the prior of all other rows."""
SIMILARITY_NOISE = 0.02
"""Similarities up to this value are noise, given the precision of 8-bit vectors."""
SCALE_RANK = 100
"""Rank whose score is 0 on a score scale; the best score is 1."""
NO_WEIGHTS: Mapping[str, float] = {}
_SAMPLE_SIZE = 4_000
"""Number of sampled scores that bound the score at a rank."""


class ScoreScale(Struct, frozen=True):
    """Linear scale of scores to 0…1: the best score is 1, the score at a certain rank and all below are 0.

    With few scores the scale starts at 0.  Scores up to 0 have no influence, because the number of deleted rows depends
    on the history of the index.
    """

    low: float
    high: float

    def apply(self, scores: Floats) -> Floats:
        """Return scores on the scale."""
        return np.asarray(np.clip((scores - self.low) / (self.high - self.low + 1e-9), 0, 1), np.float32)


class FirstStageScores(Struct, frozen=True):
    """First-stage scores of all rows for one question; fields marked "by file" are indexed by file number."""

    terms: tuple[str, ...]  # terms of the question that occur in the workspace
    idf: Floats  # [terms]
    postings: tuple[Postings, ...]  # [terms]
    query_vector: Floats | None  # embedding of the question
    similarity: Floats
    body: Floats  # BM25 of the chunk
    path: Floats  # by file: BM25 of the path
    keyword: Floats  # BM25 of chunk and path combined
    file_bm25: Floats  # by file: BM25 of all chunks and the path as one text, best file = 1
    file_similarity: Floats  # by file: mean similarity of all chunks
    similarity_scale: ScoreScale  # scale of `similarity`
    keyword_scale: ScoreScale  # scale of `keyword`
    evident_rows: Numbers  # rows above 0 on one of the two scales
    prior: Floats  # cheap estimate of relevance; 0 for deleted rows and rows without evidence

    def combined(self, rows: Numbers) -> Floats:
        """Return the weighted sum of scaled similarity and BM25 of these rows."""
        similarity = self.similarity_scale.apply(self.similarity[rows])
        return SEMANTIC_WEIGHT * similarity + KEYWORD_WEIGHT * self.keyword_scale.apply(self.keyword[rows])


def score_rows(
    terms: Sequence[str],
    vector: Floats | None,
    reader: IndexReader,
    term_weights: Mapping[str, float] = NO_WEIGHTS,
) -> FirstStageScores:
    """Score all rows of the index."""
    compared = None if vector is None else reader.start_similarity_search(vector)
    file_stats = reader.file_stats
    found = {term: reader.postings(term) for term in check_each(terms)}
    known_terms = tuple(
        term for term in check_each(terms) if len(found[term].rows) or len(reader.path_postings(term).rows)
    )
    postings = tuple(found[term] for term in known_terms)
    weights = np.array([term_weights.get(t, 1.0) for t in known_terms], np.float32)
    idf = weights * np.array([reader.idf(t) for t in known_terms], np.float32)
    body = np.zeros(len(reader), np.float32)
    for weight, posting in zip(idf, postings, strict=True):
        _add_bm25(body, posting, weight, reader.lengths, reader.mean_length)
    path = _path_bm25(known_terms, idf, reader)
    file_bm25 = _file_bm25(known_terms, weights, postings, reader)
    similarity = np.zeros(len(reader), np.float32) if compared is None else compared()
    keyword = body + file_stats.broadcast(np.float32(PATH_WEIGHT) * path) if path.any() else body
    if not file_stats.all_live:
        similarity, keyword = similarity * file_stats.live, keyword * file_stats.live
    similarity_scale, keyword_scale = fit_scale(similarity), fit_scale(keyword)
    evident_rows = np.flatnonzero((similarity > similarity_scale.low) | (keyword > keyword_scale.low))
    prior = _priors(similarity, keyword, keyword_scale.high, file_stats.broadcast(file_bm25), file_stats)
    file_similarity = _mean_similarity(similarity, file_stats)
    return FirstStageScores(
        known_terms, idf, postings, vector, similarity, body, path, keyword, file_bm25, file_similarity, similarity_scale, keyword_scale, evident_rows, prior
    )  # fmt: skip


def _priors(similarity: Floats, keyword: Floats, best: float, file_bm25: Floats, file_stats: FileStats) -> Floats:
    similarity_weight, keyword_weight, file, length = (np.float32(weight) for weight in PRIOR_WEIGHTS)
    file_part = file * file_bm25
    has_evidence = similarity > np.float32(SIMILARITY_NOISE)
    has_evidence |= file_part > 0  # a chunk with a term implies a file with the term
    has_evidence &= file_stats.live
    out: Floats = similarity_weight * similarity
    for weight, part in (
        (keyword_weight / np.float32(max(best, 1e-6)), keyword),
        (length, file_stats.log_lengths),
    ):
        out += weight * part
    out += file_part
    out += np.float32(EVIDENCE_OFFSET)
    out *= has_evidence
    return out


def _add_bm25(scores: Floats, posting: Postings, weight: float, length: NDArray[np.int32], mean_length: float) -> None:
    """Add the BM25 scores of one term."""
    norm = length.take(posting.rows).astype(np.float32)
    norm *= np.float32(BM25_K1 * BM25_B / mean_length)
    norm += np.float32(BM25_K1 * (1 - BM25_B))
    np.add.at(scores, posting.rows, weight * _saturate(posting.counts, norm))


def _saturate(counts: NDArray[np.floating[Any]], norm: Floats) -> Floats:
    return np.asarray(bm25.term_score(counts, norm, np.float32(BM25_K1)), np.float32)


def _path_bm25(terms: Sequence[str], idf: Floats, reader: IndexReader) -> Floats:
    """Return BM25 of the file paths, with the term weights of the chunks."""
    out = np.zeros(len(reader.path_lengths), np.float32)
    is_live = reader.file_stats.row_counts > 0
    mean_length = float(reader.path_lengths[is_live].mean()) if is_live.any() else 1.0
    for weight, term in zip(idf, terms, strict=True):
        _add_bm25(out, reader.path_postings(term), weight, reader.path_lengths, max(1.0, mean_length))
    return out


def _file_bm25(terms: Sequence[str], weights: Floats, postings: Sequence[Postings], reader: IndexReader) -> Floats:
    """Return BM25 with files as texts, divided by the best score."""
    n = len(reader.path_lengths)
    out = np.zeros(n, np.float32)
    length, is_live = reader.file_stats.term_counts + reader.path_lengths, reader.file_stats.row_counts > 0
    file_count = max(1, int(is_live.sum()))
    mean_length = max(1.0, float(length[is_live].sum()) / file_count)
    norm = bm25.length_norm(length, mean_length, BM25_K1, BM25_B).astype(np.float32)
    for term, weight, posting in zip(terms, weights, postings, strict=True):
        counts = np.bincount(reader.file_ids.take(posting.rows), posting.counts, n).astype(np.float64, copy=False)
        names = reader.path_postings(term)
        counts[names.rows] += names.counts
        where = np.flatnonzero((counts > 0) & is_live)
        idf = np.float64(weight) * np.float64(bm25.inverse_document_frequency(file_count, len(where)))
        out[where] += idf * _saturate(counts[where], norm[where])
    best = float(out.max(initial=0.0))
    return out / best if best > 0 else out


def _mean_similarity(similarity: Floats, file_stats: FileStats) -> Floats:
    sums = file_stats.sum_by_file(similarity)
    # Rounding hides that floating-point sums depend on the order of rows.
    return np.round(sums / np.maximum(file_stats.row_counts, 1), 5).astype(np.float32)


def fit_scale(scores: Floats, rank: int = SCALE_RANK) -> ScoreScale:
    """Return the scale that maps the best of these scores to 1 and the score at `rank` to 0."""
    return ScoreScale(kth_score(scores, rank), max(0.0, float(scores.max(initial=0.0))))


def kth_score(scores: Floats, rank: int) -> float:
    """Return the score at this rank among scores above 0, or 0 if there are fewer.

    A sample of a long array excludes most scores before the exact selection.
    """
    step = len(scores) // max(_SAMPLE_SIZE, 4 * rank)
    if step > 1:
        sample = scores[::step]
        sample_rank = 2 * rank // step + 8
        best = scores[scores > max(0.0, float(np.partition(sample, -sample_rank)[-sample_rank]))]
        if len(best) >= rank:
            return float(np.partition(best, -rank)[-rank])
    positive = scores[scores > 0]  # np.partition is slow with many equal values
    return float(np.partition(positive, -rank)[-rank]) if len(positive) >= rank else 0.0


def top_indices(scores: Floats, count: int) -> Numbers:
    """Return the indices of the best scores above 0, more than `count` only if scores are tied."""
    low = kth_score(scores, count)
    return np.flatnonzero(scores >= low) if low > 0 else np.flatnonzero(scores > 0)

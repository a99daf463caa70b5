"""Feature extraction: one row of `FEATURE_NAMES` per candidate, the input of the linear ranking model.

Features come from the first-stage scores of the candidate and from its query-independent properties.  Others aggregate
the scores of its neighborhood: file, scope, adjacent chunks, callers and callees.

A search shows the best region of each file first.  All candidates of a file together predict its relevance better than
its best candidate: one row of `FILE_FEATURE_NAMES` per file is the input of the file ranking model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index import IndexReader, Snapshot, find_words, tokenize
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import FileEntry, Symbol
from promptls.retrieval.candidates import Candidate, file_name_features, is_auxiliary_for, referenced_names
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import KEYWORD_WEIGHT, SEMANTIC_WEIGHT, FirstStageScores, Floats

Numbers = NDArray[np.int64]

MAX_DEFINITIONS = 8
"""Maximum number of definitions of a name for which references from other files become edges."""
FEEDBACK_CANDIDATES = 8
"""Number of best candidates whose mean vector is the feedback query (pseudo-relevance feedback after Rocchio)."""

AGGREGATES = ("feedback", "file_best", "file_top", "file_top_rank", "parent", "callers", "callers_best")
"""Names of the features that `aggregate` returns."""


class Neighborhood(Struct, frozen=True):
    """Relations between candidates; a candidate is represented by its index in the list of candidates."""

    file: Numbers  # file number of each candidate, in order of first occurrence
    file_count: int
    scope: Numbers  # number of each candidate's scope, the pair of file and enclosing definition
    scope_count: int
    parent: Numbers  # candidate of the enclosing definition, -1 if that is not a candidate
    caller: Numbers  # edges: caller[i] references callee[i]
    callee: Numbers
    name_count: Floats  # number of distinct names that each candidate's code references
    vectors: Floats  # [candidates, dimension], 0 for candidates without vector


def build_neighborhood(candidates: Sequence[Candidate], snapshot: Snapshot, reader: IndexReader) -> Neighborhood:
    """Return the neighborhood of candidates sorted by path and chunk, as returned by `generate_candidates`."""
    numbers: dict[str, int] = {}
    file = np.array([numbers.setdefault(c.entry.path, len(numbers)) for c in candidates], np.int64)
    scopes: dict[tuple[int, int], int] = {}
    scope = [
        scopes.setdefault((f, c.symbol.parent if c.symbol is not None else -1), len(scopes))
        for f, c in zip(file.tolist(), candidates, strict=True)
    ]
    by_symbol: dict[tuple[str, int], int] = {}
    for i, candidate in enumerate(candidates):
        by_symbol.setdefault((candidate.entry.path, candidate.chunk.symbol), i)
    parent = [
        by_symbol.get((c.entry.path, c.symbol.parent), -1) if c.symbol and c.symbol.parent >= 0 else -1
        for c in candidates
    ]
    rows = np.array([c.row for c in candidates], np.int64)
    vectors = reader.vectors(np.maximum(rows, 0)) if len(reader) else np.zeros((len(candidates), 0), np.float32)
    caller, callee, name_counts = _references(candidates, file, snapshot)
    return Neighborhood(
        file, len(numbers), np.array(scope, np.int64), len(scopes), np.array(parent, np.int64), caller, callee, name_counts,
        vectors * (rows >= 0)[:, None],
    )  # fmt: skip


def _references(candidates: Sequence[Candidate], file: Numbers, snapshot: Snapshot) -> tuple[Numbers, Numbers, Floats]:
    """Return the reference edges between candidates, matched by name.

    Returns:
        Callers, callees, and the number of distinct names that each candidate references.
    """
    file_of = file.tolist()
    targets: dict[str, dict[int, list[int]]] = {}  # name → file → candidates
    seen: set[tuple[int, int]] = set()
    for i, candidate in enumerate(candidates):
        position = (file_of[i], candidate.chunk.symbol)
        # A long definition has several candidates; the first one represents it.
        if candidate.symbol is not None and candidate.symbol.name and position not in seen:
            seen.add(position)
            targets.setdefault(candidate.symbol.name, {}).setdefault(file_of[i], []).append(i)
    target_names = frozenset(targets)
    common: dict[str, bool] = {}
    callers: list[int] = []
    callees: list[int] = []
    name_counts = np.zeros(len(candidates), np.float32)
    first = np.flatnonzero(np.diff(file, prepend=-1)).tolist()
    for number, (start, end) in enumerate(pairwise([*first, len(candidates)])):
        outline = candidates[start].entry.outline
        used = referenced_names(outline, [c.span for c in candidates[start:end]]) if outline is not None else []
        for i, names in enumerate(used, start):
            name_counts[i] = len(names)
            for name in names & target_names:
                targets_by_file = targets[name]
                same_file = targets_by_file.get(number)
                if same_file is not None:
                    for j in same_file:
                        if candidates[j].span != candidates[i].span:
                            callers.append(i)
                            callees.append(j)
                    continue
                if name not in common:
                    common[name] = len(snapshot.names.get(name.lower(), ())) > MAX_DEFINITIONS
                if not common[name]:
                    for others in targets_by_file.values():
                        callers += [i] * len(others)
                        callees += others
    return np.array(callers, np.int64), np.array(callees, np.int64), name_counts


def aggregate(score: Floats, neighborhood: Neighborhood) -> dict[str, Floats]:
    """Aggregate a score over the neighborhood of each candidate: float32[candidates] by name in `AGGREGATES`."""
    n, file = len(score), neighborhood.file
    in_degree = np.bincount(neighborhood.callee, minlength=n)
    top = _group_top3_mean(score, file, neighborhood.file_count)
    callers_best = np.zeros(n, np.float32)
    np.maximum.at(callers_best, neighborhood.callee, score[neighborhood.caller])
    features: dict[str, NDArray[np.generic]] = {
        "feedback": _feedback(score, neighborhood.vectors),
        "file_best": _group_max(score, file, neighborhood.file_count)[file],
        "file_top": top[file],
        "file_top_rank": ranks(top)[file],
        "parent": np.where(neighborhood.parent >= 0, score[np.maximum(neighborhood.parent, 0)], 0),
        "callers": np.bincount(neighborhood.callee, score[neighborhood.caller], n) / np.maximum(in_degree, 1),
        "callers_best": callers_best,
    }
    return {name: np.asarray(features[name], np.float32) for name in AGGREGATES}


def scope_best(score: Floats, neighborhood: Neighborhood) -> Floats:
    """Return the best score in the scope of each candidate."""
    return _group_max(score, neighborhood.scope, neighborhood.scope_count)[neighborhood.scope]


def ranks(values: Floats) -> Floats:
    """Return ln(1 + rank) in descending order of value; tied values share the best rank."""
    return np.log1p(np.searchsorted(np.sort(-values), -values)).astype(np.float32)


def _feedback(score: Floats, vectors: Floats) -> Floats:
    """Return the similarity to the mean vector of the best candidates."""
    best = np.argsort(-np.round(score, 5), kind="stable")[:FEEDBACK_CANDIDATES]
    mean = (vectors[best] * score[best, None]).sum(axis=0)
    norm = float(np.linalg.norm(mean))
    return np.round(vectors @ (mean / norm), 5) if norm > 0 else np.zeros(len(score), np.float32)


def _group_max(values: Floats, group: Numbers, groups: int) -> Floats:
    out = np.zeros(groups, np.float32)
    np.maximum.at(out, group, values)
    return out


def _group_top3_mean(values: Floats, group: Numbers, groups: int) -> Floats:
    """Return the mean of the three largest values of each group, with 0 for missing values."""
    order = np.lexsort((-values, group))
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    position = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    first = position < 3
    return np.asarray(np.bincount(ordered[first], values[order][first], groups) / 3, np.float32)


# ---- features of candidates

SYMBOL_KINDS = ("struct", "interface", "section", "key")
"""Symbol kinds that have a feature of their own."""
_KIND_INDEX = {kind: i for i, kind in enumerate(SYMBOL_KINDS)}

NAME_BONUS, PATH_BONUS, AUXILIARY_FACTOR, UNNAMED_FACTOR = 0.5, 0.2, 0.55, 0.85
"""Constants of the feature `prior`, the score from which the neighborhood features are derived.

There are bonuses for a definition and for a file named by the question.  Factors reduce the score of auxiliary files
such as tests and documents, and of chunks outside definitions.
"""

SHINGLE_FEATURES = ("shingle_rank", "shingle_similarity", "file_shingle_rank")
"""Similarity to the shingles (Broder 1997) of an open question, its pairs of adjacent words.

`shingle_rank` is ln(1 + rank) by the similarity to the shingle for which the candidate ranks best, and
`file_shingle_rank` the best of its file.  `shingle_similarity` is the sum of the standard scores above 0 of the
similarities to all n shingles, divided by √n.
"""

FEATURE_NAMES = (
    *("similarity", "similarity_gap", "similarity_2", "semantic_rank", "keyword_rank", "spelled", "by_path"),
    *("prior_complex", "brief", "covered_any", "hits", "file_words", "file_meaning"),
    *(f"prior_{name}" for name in AGGREGATES),
    "semantic_scope_best",
    *("uses", "mentions", "test", "test_sought", "docs", "minor", "has_name"),
    *(f"is_{kind}" for kind in SYMBOL_KINDS),
    *("simple", "straight", "documented", "file_units", "path_depth"),
    *SHINGLE_FEATURES,
)
"""The input of the ranking model, in order."""
OTHER_COLUMNS = ("prior", "semantic", "keyword", "path", "file_meaning_rank", "lines", "named", "caller_count")
"""Columns for the model of files and for the display of reasons."""


class CandidateFeatures(Struct, frozen=True):
    """The candidates of a question with their features."""

    candidates: Sequence[Candidate]
    neighborhood: Neighborhood
    values: Floats  # [candidates, FEATURE_NAMES]
    others: Floats  # [candidates, OTHER_COLUMNS]

    def column(self, name: str) -> Floats:
        """Return one column of all candidates."""
        if name in OTHER_COLUMNS:
            return self.others[:, OTHER_COLUMNS.index(name)]
        return self.values[:, FEATURE_NAMES.index(name)]


def extract_features(
    query: Query,
    candidates: Sequence[Candidate],
    scores: FirstStageScores,
    snapshot: Snapshot,
    reader: IndexReader,
    shingles: Floats,
) -> CandidateFeatures:
    """Return the features of candidates.

    Args:
        candidates: Sorted by path and chunk, as returned by `generate_candidates`.
        shingles: Vectors of `query.shingles`, float32[n, dimension]; no rows if they were not embedded.
    """
    n = len(candidates)
    neighborhood = build_neighborhood(candidates, snapshot, reader)
    file = neighborhood.file
    rows = np.array([c.row for c in candidates], np.int64)
    is_indexed, safe_rows = rows >= 0, np.maximum(rows, 0)
    entries = [candidates[i].entry for i in np.flatnonzero(np.diff(file, prepend=-1)).tolist()]
    file_ids = np.full(neighborhood.file_count, -1, np.int64)  # file numbers of the index
    file_ids[file[is_indexed]] = reader.file_ids[rows[is_indexed]]

    def by_row(values: Floats) -> Floats:
        if not len(reader):
            return np.zeros(n, np.float32)
        return np.where(is_indexed, values[safe_rows], 0).astype(np.float32)

    def by_file(values: Floats) -> Floats:
        expanded = (
            np.where(file_ids >= 0, values[np.maximum(file_ids, 0)], 0)
            if len(values)
            else np.zeros(neighborhood.file_count)
        )
        return np.asarray(expanded, np.float32)

    similarity, keyword = np.zeros(n, np.float32), by_row(scores.keyword)
    if scores.query_vector is not None:
        similarity[is_indexed] = reader.similarities(scores.query_vector, rows[is_indexed])
    semantic, scaled_keyword = scores.similarity_scale.apply(similarity), scores.keyword_scale.apply(keyword)
    named, by_path = (
        np.array([c.named for c in candidates], np.float32),
        np.array([c.by_path for c in candidates], np.float32),
    )
    name_features = [file_name_features(e.name) for e in entries]
    auxiliary = np.array([is_auxiliary_for(e.name, query) for e in entries], bool)[file]
    test = np.array([f.is_test for f in name_features], bool)[file]
    has_name = np.array([c.symbol is not None and bool(c.symbol.name) for c in candidates], bool)
    combined = SEMANTIC_WEIGHT * semantic + KEYWORD_WEIGHT * scaled_keyword
    prior = combined + NAME_BONUS * named + PATH_BONUS * by_path
    prior = (prior * np.where(auxiliary, AUXILIARY_FACTOR, 1) * np.where(has_name, 1, UNNAMED_FACTOR)).astype(
        np.float32
    )
    file_bm25, file_similarity = by_file(scores.file_bm25), by_file(scores.file_similarity)
    total = float(scores.idf.sum()) + 1e-6
    best_similarity = scores.similarity_scale.high
    symbols = [c.symbol for c in candidates]
    kinds = np.array([_KIND_INDEX.get(s.kind, -1) if s is not None else -1 for s in symbols])
    complexity = np.array([s.complexity if s is not None else 0 for s in symbols], np.float32)
    values: dict[str, NDArray[np.generic] | float] = {
        "similarity": similarity,
        "similarity_gap": best_similarity - similarity,
        "similarity_2": similarity**2,
        "semantic_rank": ranks(similarity),
        "keyword_rank": ranks(keyword),
        "by_path": by_path,
        "spelled": np.array([c.spelled for c in candidates], np.float32),
        "prior_complex": prior * np.minimum(complexity, 10) / 10,
        **_coverage(candidates, file, entries, rows, scores, reader),
        "file_words": file_bm25[file],
        "file_meaning": file_similarity[file],
        **{f"prior_{name}": found for name, found in aggregate(prior, neighborhood).items()},
        "semantic_scope_best": scope_best(semantic, neighborhood),
        "uses": np.log1p(neighborhood.name_count),
        "mentions": _name_frequencies(symbols, reader),
        "test": test,
        "test_sought": test & query.seeks_tests,
        "docs": np.array([f.is_docs for f in name_features], bool)[file],
        "minor": auxiliary,
        "has_name": has_name,
        **{f"is_{kind}": kinds == i for i, kind in enumerate(SYMBOL_KINDS)},
        "simple": complexity == 0,
        "straight": complexity == 1,
        "documented": np.array([s is not None and bool(s.doc) for s in symbols]),
        "file_units": np.log1p([len(e.outline.chunks) if e.outline else 0 for e in entries]).astype(np.float32)[file],
        "path_depth": np.array([e.name.count("/") for e in entries], np.float32)[file],
        **shingle_features(neighborhood.vectors, shingles, file, neighborhood.file_count),
    }
    assert values.keys() == set(FEATURE_NAMES), values.keys() ^ set(FEATURE_NAMES)
    out = np.empty((n, len(FEATURE_NAMES)), np.float32)
    for i, name in enumerate(FEATURE_NAMES):
        out[:, i] = values[name]
    lines = np.log1p([len(c.span) for c in candidates])
    path, meaning_rank = by_file(scores.path)[file] / total, ranks(file_similarity)[file]
    caller_count = np.log1p(np.bincount(neighborhood.callee, minlength=n))
    others = (prior, semantic, scaled_keyword, path, meaning_rank, lines, named, caller_count)
    return CandidateFeatures(candidates, neighborhood, out, np.stack(others, axis=1).astype(np.float32))


def shingle_features(vectors: Floats, shingles: Floats, file: NDArray[np.int64], file_count: int) -> dict[str, Floats]:
    """Return the values of `SHINGLE_FEATURES`, 0 without shingles.

    The vector of a question that names several things is near to none of them; shingles find the code of each thing.

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
    best_rank = np.full(file_count, np.inf, np.float32)
    np.minimum.at(best_rank, file, rank)
    total = np.asarray(standard.sum(axis=1) / np.sqrt(np.float32(count)), np.float32)
    return dict(zip(SHINGLE_FEATURES, (rank, total, best_rank[file]), strict=True))


def _coverage(
    candidates: Sequence[Candidate],
    file: NDArray[np.int64],
    entries: Sequence[FileEntry],
    rows: NDArray[np.int64],
    scores: FirstStageScores,
    reader: IndexReader,
) -> dict[str, Floats]:
    """Return the idf-weighted shares of query terms in the name, and in chunk, name and path together."""
    shape = (len(candidates), len(scores.terms))
    distinct, position = np.unique(rows, return_inverse=True)
    indexed = np.flatnonzero(distinct >= 0)
    # Index of each row in `distinct`; the extra index is for all other rows.
    index = np.full(len(reader), len(distinct), np.int32)
    index[distinct[indexed]] = indexed
    has = np.zeros((len(scores.terms), len(distinct) + 1), bool)
    for has_term, posting in zip(has, scores.postings, strict=True):
        has_term[index[posting.rows]] = True
    text = has.T[position]
    column = {term: j for j, term in enumerate(scores.terms)}
    query_terms = frozenset(column)
    name = np.zeros(shape, bool)
    named = text.any(axis=1) | (rows < 0)  # the chunk of a definition contains its name
    for i in np.flatnonzero(named).tolist():
        symbol = candidates[i].symbol
        if symbol is None or not symbol.name or query_terms.isdisjoint(qualified := _name_terms(symbol.qualified)):
            continue
        for term in query_terms.intersection(qualified):
            name[i, column[term]] = True
    in_path = np.zeros((len(entries), len(scores.terms)), bool)
    for i, entry in enumerate(entries):
        for term in query_terms.intersection(_name_terms(entry.name)):
            in_path[i, column[term]] = True
    weight = scores.idf / (float(scores.idf.sum()) + 1e-6)
    path = in_path[file]

    def share(contained: NDArray[np.bool_]) -> Floats:
        # Unlike a matrix product, this sum does not depend on the position of the row.
        return np.asarray((contained * weight).sum(axis=1))

    return {
        "brief": share(name) / max(1, len(scores.terms)),
        "covered_any": share(text | name | path),
        "hits": np.log1p(text.sum(axis=1)),
    }


def _name_frequencies(symbols: Sequence[Symbol | None], reader: IndexReader) -> Floats:
    """Return ln(1 + number of chunks that contain the symbol's name as a term) for each symbol."""
    last_terms = [_last_term(s.name) if s is not None else "" for s in symbols]
    terms_ = list(dict.fromkeys(last_terms))
    frequency = dict(zip(terms_, reader.document_frequencies(terms_).tolist(), strict=True))
    return np.log1p([frequency[term] for term in last_terms]).astype(np.float32)


@lru_cache(maxsize=1 << 13)
def _name_terms(name: str) -> tuple[str, ...]:
    """Return the terms of a name; cached, because the same names are candidates of many questions."""
    return tuple(tokenize(name))


def _last_term(name: str) -> str:
    """Return the last term of a name, which is the term of the whole name."""
    found = _name_terms(name)
    return found[-1] if found else ""


# ---- features of files

MAX_CANDIDATES_PER_FILE = 8
"""Number of best candidates of a file that contribute to its evidence."""

_SECONDARY = re.compile(
    r"(^|/)(v\d+|legacy|deprecated?|compat(ibility)?|old|obsolete|_?internals?|private|mini|experimental)(/|$|\.)"
    r"|[._-](compat|legacy|deprecated)\.",
    re.I,
)
"""Older, deprecated or internal variants of code that usually exists elsewhere as well."""
_ENTRY_FILE = re.compile(r"(^|/)(index\.[jt]sx?|__init__\.py|mod\.rs|lib\.rs|main\.rs)$")
"""Entry files of modules and packages."""

FILE_FEATURE_NAMES = (
    *("evidence", "path", "meaning", "callers_best", "caller_count", "lines", "covered", "keyword", "stem"),
    *("secondary", "entry", "minor", "docs", "spelled", "spelled_type", "only_stem"),
)


def extract_file_features(query: Query, features: CandidateFeatures) -> tuple[Sequence[str], Floats]:
    """Return the paths of files with candidates and their features, float32[paths, FILE_FEATURE_NAMES]."""
    file, n = features.neighborhood.file, features.neighborhood.file_count
    starts = np.flatnonzero(np.diff(file, prepend=-1)).tolist()
    entries = [features.candidates[i].entry for i in starts]

    def file_max(name: str) -> Floats:
        out = np.zeros(n, np.float32)
        np.maximum.at(out, file, features.column(name))
        return out

    def normalized_total(values: Floats) -> Floats:
        out = np.asarray(np.bincount(file, values, n), np.float32)
        return out / max(1e-9, float(out.max(initial=0.0)))

    prior = features.column("prior")
    order = np.lexsort((-prior, file))
    position = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    best = np.zeros(len(prior), np.float32)
    best[order[position < MAX_CANDIDATES_PER_FILE]] = prior[order[position < MAX_CANDIDATES_PER_FILE]]
    query_terms, query_words = set(query.terms), {w.lower() for w in find_words(query.text)}
    is_single_word = len(query.text.split()) == 1
    stems = [e.name.rsplit("/", 1)[-1].split(".")[0] for e in entries]
    stem_terms = [set(tokenize(stem)) for stem in stems]
    is_type = np.array([u.symbol is not None and u.symbol.kind in TYPE_KINDS for u in features.candidates], bool)
    spelled_type = np.zeros(n, np.float32)
    np.maximum.at(spelled_type, file, features.column("spelled") * is_type)
    lines = np.log1p(np.bincount(file, features.column("lines"), n))
    values: dict[str, NDArray[np.generic]] = {
        "evidence": normalized_total(best),
        "path": _normalize(file_max("path")),
        "meaning": np.exp(-file_max("file_meaning_rank")),
        "callers_best": file_max("prior_callers_best"),
        "caller_count": normalized_total(features.column("caller_count")),
        "lines": lines / max(1e-9, float(lines.max(initial=0.0))),
        "covered": file_max("covered_any"),
        "keyword": file_max("keyword"),
        "stem": np.array([len(p & query_terms) / max(1, len(p)) for p in stem_terms]),
        "secondary": np.array([bool(_SECONDARY.search(e.name)) for e in entries]),
        "entry": np.array([bool(_ENTRY_FILE.search(e.name)) for e in entries]),
        "minor": file_max("minor"),
        "docs": file_max("docs"),
        "spelled": file_max("spelled"),
        "spelled_type": spelled_type,
        "only_stem": np.array([s.lower().strip("_") in query_words for s in stems]) * is_single_word,
    }
    assert values.keys() == set(FILE_FEATURE_NAMES)
    return [e.path for e in entries], np.stack(
        [np.asarray(values[name], np.float32) for name in FILE_FEATURE_NAMES], axis=1
    )


def _normalize(values: Floats) -> Floats:
    return values / max(1e-9, float(values.max(initial=0.0)))

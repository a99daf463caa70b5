"""File features: one row of `FILE_FEATURE_NAMES` per file with candidates, the input of the file ranking model.

A search shows the best region of each file first.  All candidates of a file together predict its relevance better than
its best candidate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from promptls.index import find_words, tokenize
from promptls.languages.kinds import TYPE_KINDS
from promptls.retrieval.features import CandidateFeatures
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import Floats

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

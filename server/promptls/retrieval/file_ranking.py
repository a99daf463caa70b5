"""What is known of each file with units, as numbers: what a search ranks files by.

A search shows the best region of each file first; which file is meant is told better by all that was found in
it than by its best region.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from promptls.index.search.analyzer import terms, words
from promptls.languages.kinds import TYPE_KINDS
from promptls.retrieval.features import Described
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import Floats

SUMMED = 8
"""Units of a file that count for it."""

_SECONDARY = re.compile(
    r"(^|/)(v\d+|legacy|deprecated?|compat(ibility)?|old|obsolete|_?internals?|private|mini|experimental)(/|$|\.)"
    r"|[._-](compat|legacy|deprecated)\.",
    re.I,
)
"""Older or inner versions of what usually stands elsewhere, too."""
_ENTRY = re.compile(r"(^|/)(index\.[jt]sx?|__init__\.py|mod\.rs|lib\.rs|main\.rs)$")
"""Files that a module or package is entered by."""

NAMES = (
    *("evidence", "path", "meaning", "callers_best", "caller_count", "lines", "covered", "keyword", "stem"),
    *("secondary", "entry", "minor", "docs", "spelled", "spelled_type", "only_stem"),
)


def by_file(query: Query, described: Described) -> tuple[Sequence[str], Floats]:
    """(paths in the order of their units, float32[paths, NAMES])."""
    file, n = described.around.file, described.around.files
    starts = np.flatnonzero(np.diff(file, prepend=-1)).tolist()
    entries = [described.units[i].entry for i in starts]

    def most(name: str) -> Floats:
        out = np.zeros(n, np.float32)
        np.maximum.at(out, file, described.column(name))
        return out

    def total(values: Floats) -> Floats:
        out = np.asarray(np.bincount(file, values, n), np.float32)
        return out / max(1e-9, float(out.max(initial=0.0)))

    prior = described.column("prior")
    order = np.lexsort((-prior, file))
    place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    best = np.zeros(len(prior), np.float32)
    best[order[place < SUMMED]] = prior[order[place < SUMMED]]
    asked, lower = set(query.terms), {w.lower() for w in words(query.text)}
    single = len(query.text.split()) == 1
    stems = [e.name.rsplit("/", 1)[-1].split(".")[0] for e in entries]
    parts = [set(terms(stem)) for stem in stems]
    typed = np.array([u.symbol is not None and u.symbol.kind in TYPE_KINDS for u in described.units], bool)
    spelled_type = np.zeros(n, np.float32)
    np.maximum.at(spelled_type, file, described.column("spelled") * typed)
    lines = np.log1p(np.bincount(file, described.column("lines"), n))
    values: dict[str, NDArray[np.generic]] = {
        "evidence": total(best),
        "path": _shared(most("path")),
        "meaning": np.exp(-most("file_meaning_rank")),
        "callers_best": most("prior_callers_best"),
        "caller_count": total(described.column("caller_count")),
        "lines": lines / max(1e-9, float(lines.max(initial=0.0))),
        "covered": most("covered_any"),
        "keyword": most("keyword"),
        "stem": np.array([len(p & asked) / max(1, len(p)) for p in parts]),
        "secondary": np.array([bool(_SECONDARY.search(e.name)) for e in entries]),
        "entry": np.array([bool(_ENTRY.search(e.name)) for e in entries]),
        "minor": most("minor"),
        "docs": most("docs"),
        "spelled": most("spelled"),
        "spelled_type": spelled_type,
        "only_stem": np.array([s.lower().strip("_") in lower for s in stems]) * single,
    }
    assert values.keys() == set(NAMES)
    return [e.path for e in entries], np.stack([np.asarray(values[name], np.float32) for name in NAMES], axis=1)


def _shared(values: Floats) -> Floats:
    return values / max(1e-9, float(values.max(initial=0.0)))

"""What is known of each unit, as numbers: the columns of `NAMES`, which the weights belong to.

Three kinds: what the legs say of the unit itself; what they say of its surroundings (file, class, neighbours,
callers and callees among the units); what it is, whatever was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import terms
from promptls.index.search.reader import IndexReader
from promptls.index.snapshot import Snapshot
from promptls.knowledge.project.file_kind import is_minor, sort_of
from promptls.model import FileEntry, Symbol
from promptls.retrieval.candidates import Unit
from promptls.retrieval.neighborhood import NEARBY, SPREAD, Around, around, nearby, ranks, spread
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import KEYWORD, SEMANTIC, Floats, Legs

KINDS = (
    *("function", "method", "constructor", "class", "struct", "interface", "type", "variable", "constant", "field"),
    *("test", "section", "key", "enum", "trait", "impl", "module", "macro"),
)
"""Kinds of symbols that are told apart."""
_NUMBER = {kind: i for i, kind in enumerate(KINDS)}

NAME_BONUS, PATH_BONUS, MINOR_FACTOR, UNNAMED_FACTOR = 0.5, 0.2, 0.55, 0.85
"""Of the score that the other features are derived from: for a definition or file that the question names,
for tests, examples, documents and the like, and for text that is no definition."""

NAMES = (
    *("similarity", "similarity_gap", "semantic", "semantic_rank", "body", "keyword"),
    *("keyword_rank", "path", "both", "named", "spelled", "by_path", "prior", "prior_complex"),
    *("similarity_2", "covered_any_2"),
    *("covered", "covered_name", "covered_own_name", "brief", "covered_path", "covered_file", "covered_any", "hits"),
    *("file_words", "file_words_rank", "file_meaning", "file_meaning_rank"),
    *(f"prior_{name}" for name in SPREAD),
    *(f"semantic_{name}" for name in NEARBY),
    *("caller_count", "callee_count", "uses", "mentions"),
    *(
        "definitions",
        "test",
        "test_sought",
        "docs",
        "minor",
        "has_name",
        *(f"is_{kind}" for kind in KINDS),
        "lines",
        "depth",
    ),
    *("exported", "complexity", "simple", "straight", "documented", "first", "file_units", "path_depth"),
)


class Described(Struct, frozen=True):
    """The units of a question and what is known of them, before anything is decided."""

    units: Sequence[Unit]
    around: Around
    values: Floats  # [units, NAMES]

    def column(self, name: str) -> Floats:
        """One feature of all units."""
        return self.values[:, NAMES.index(name)]


def features(query: Query, units: Sequence[Unit], legs: Legs, snapshot: Snapshot, view: IndexReader) -> Described:
    """`units` by path and place, as `units_for` gives them."""
    n = len(units)
    place = around(units, snapshot, view)
    file = place.file
    rows = np.array([u.row for u in units], np.int64)
    known, at = rows >= 0, np.maximum(rows, 0)
    entries = [units[i].entry for i in np.flatnonzero(np.diff(file, prepend=-1)).tolist()]
    of_view = np.full(place.files, -1, np.int64)  # the files' numbers there
    of_view[file[known]] = view.file[rows[known]]

    def by_row(values: Floats) -> Floats:
        if not len(view):
            return np.zeros(n, np.float32)
        return np.where(known, legs.looked.of(at, values), 0).astype(np.float32)

    def by_file(values: Floats) -> Floats:
        got = np.where(of_view >= 0, values[np.maximum(of_view, 0)], 0) if len(values) else np.zeros(place.files)
        return np.asarray(got, np.float32)

    similarity, keyword = np.zeros(n, np.float32), by_row(legs.keyword)
    if legs.vector is not None:
        similarity[known] = view.similar(legs.vector, rows[known])
    semantic, worded = legs.semantic.of(similarity), legs.worded.of(keyword)
    named, by_path = np.array([u.named for u in units], np.float32), np.array([u.by_path for u in units], np.float32)
    sorts = [sort_of(e.name) for e in entries]
    minor = np.array([is_minor(e.name, query) for e in entries], bool)[file]
    test = np.array([s.test for s in sorts], bool)[file]
    has_name = np.array([u.symbol is not None and bool(u.symbol.name) for u in units], bool)
    both = SEMANTIC * semantic + KEYWORD * worded
    prior = both + NAME_BONUS * named + PATH_BONUS * by_path
    prior = (prior * np.where(minor, MINOR_FACTOR, 1) * np.where(has_name, 1, UNNAMED_FACTOR)).astype(np.float32)
    whole, meant = by_file(legs.whole), by_file(legs.meant)
    total = float(legs.idf.sum()) + 1e-6
    peak = legs.semantic.high
    symbols = [u.symbol for u in units]
    kinds = np.array([_NUMBER.get(s.kind, -1) if s is not None else -1 for s in symbols])
    complexity = np.array([s.complexity if s is not None else 0 for s in symbols], np.float32)
    values: dict[str, NDArray[np.generic] | float] = {
        "similarity": similarity,
        "similarity_gap": peak - similarity,
        "similarity_2": similarity**2,
        "semantic": semantic,
        "semantic_rank": ranks(similarity),
        "body": by_row(legs.body) / total,
        "keyword": worded,
        "keyword_rank": ranks(keyword),
        "path": by_file(legs.path)[file] / total,
        "both": both,
        "named": named,
        "by_path": by_path,
        "spelled": np.array([u.spelled for u in units], np.float32),
        "prior": prior,
        "prior_complex": prior * np.minimum(complexity, 10) / 10,
        **_coverage(units, file, entries, rows, legs, view, of_view),
        "file_words": whole[file],
        "file_words_rank": ranks(whole)[file],
        "file_meaning": meant[file],
        "file_meaning_rank": ranks(meant)[file],
        **{f"prior_{name}": found for name, found in spread(prior, place).items()},
        **{f"semantic_{name}": found for name, found in nearby(semantic, place).items()},
        "caller_count": np.log1p(np.bincount(place.callee, minlength=n)),
        "callee_count": np.log1p(np.bincount(place.caller, minlength=n)),
        "uses": np.log1p(place.uses),
        "mentions": _mentions(symbols, view),
        "definitions": np.log1p([_definitions(s, snapshot) for s in symbols]),
        "test": test,
        "test_sought": test & query.seeks_tests,
        "docs": np.array([s.docs for s in sorts], bool)[file],
        "minor": minor,
        "has_name": has_name,
        **{f"is_{kind}": kinds == i for i, kind in enumerate(KINDS)},
        "lines": np.log1p([len(u.span) for u in units]),
        "depth": np.array([s.qualified.count(".") if s is not None else -1 for s in symbols]),
        "exported": np.array([s is not None and s.exported for s in symbols]),
        "complexity": np.log1p(complexity),
        "simple": complexity == 0,
        "straight": complexity == 1,
        "documented": np.array([s is not None and bool(s.doc) for s in symbols]),
        "first": np.array([u.index == 0 for u in units]),
        "file_units": np.log1p([len(e.outline.chunks) if e.outline else 0 for e in entries]).astype(np.float32)[file],
        "path_depth": np.array([e.name.count("/") for e in entries], np.float32)[file],
    }
    assert values.keys() == set(NAMES), values.keys() ^ set(NAMES)
    out = np.empty((n, len(NAMES)), np.float32)
    for i, name in enumerate(NAMES):
        out[:, i] = values[name]
    return Described(units, place, out)


def _coverage(
    units: Sequence[Unit],
    file: NDArray[np.int64],
    entries: Sequence[FileEntry],
    rows: NDArray[np.int64],
    legs: Legs,
    view: IndexReader,
    of_view: NDArray[np.int64],
) -> dict[str, Floats]:
    """Shares of the question's terms, by idf, that the text, the name, the path, the file hold."""
    shape = (len(units), len(legs.terms))
    distinct, place = np.unique(rows, return_inverse=True)
    known = np.flatnonzero(distinct >= 0)
    at = np.full(len(view), len(distinct), np.int32)  # of the units' rows; one place more for all others
    at[distinct[known]] = known
    has = np.zeros((len(legs.terms), len(distinct) + 1), bool)
    for here, found in zip(has, legs.postings, strict=True):
        here[at[found.rows]] = True
    text = has.T[place]
    of_file = np.zeros((len(entries), len(legs.terms)), bool)
    of_file[of_view >= 0] = legs.held.T[of_view[of_view >= 0]]
    column = {term: j for j, term in enumerate(legs.terms)}
    asked = frozenset(column)
    name, own = np.zeros(shape, bool), np.zeros(len(units), np.float32)
    named = text.any(axis=1) | (rows < 0)  # a definition's text begins with its name
    for i in np.flatnonzero(named).tolist():
        symbol = units[i].symbol
        if symbol is None or not symbol.name or asked.isdisjoint(qualified := _terms(symbol.qualified)):
            continue
        for term in asked.intersection(qualified):
            name[i, column[term]] = True
        last = frozenset(_terms(symbol.name))
        own[i] = len(last & asked) / max(1, len(last))
    in_path = np.zeros((len(entries), len(legs.terms)), bool)
    for i, entry in enumerate(entries):
        for term in asked.intersection(_terms(entry.name)):
            in_path[i, column[term]] = True
    weight = legs.idf / (float(legs.idf.sum()) + 1e-6)
    path = in_path[file]

    def share(held: NDArray[np.bool_]) -> Floats:
        return np.asarray((held * weight).sum(axis=1))  # no product of matrices: the same sum wherever a row stands

    any_, in_name = share(text | name | path), share(name)
    return {
        "covered": share(text),
        "covered_name": in_name,
        "covered_own_name": own,
        "brief": in_name / max(1, len(legs.terms)),
        "covered_path": share(in_path)[file],
        "covered_file": share(of_file)[file],
        "covered_any": any_,
        "covered_any_2": any_**2,
        "hits": np.log1p(text.sum(axis=1)),
    }


def _mentions(symbols: Sequence[Symbol | None], view: IndexReader) -> Floats:
    """ln(1 + chunks that hold its name as a term) for each: how much of the workspace speaks of it."""
    last = [_last_term(s.name) if s is not None else "" for s in symbols]
    terms_ = list(dict.fromkeys(last))
    often = dict(zip(terms_, view.frequencies(terms_).tolist(), strict=True))
    return np.log1p([often[term] for term in last]).astype(np.float32)


@lru_cache(maxsize=1 << 13)
def _terms(name: str) -> tuple[str, ...]:
    """The terms of a name; the same names come with many questions."""
    return tuple(terms(name))


def _last_term(name: str) -> str:
    """The term of a whole name, that of its only word if it has but one."""
    found = _terms(name)
    return found[-1] if found else ""


def _definitions(symbol: Symbol | None, snapshot: Snapshot) -> int:
    """How many definitions bear its name."""
    return len(snapshot.names.get(symbol.name.lower(), ())) if symbol is not None and symbol.name else 0

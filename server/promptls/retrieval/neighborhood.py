"""Neighborhood of each candidate among the candidates of a question: file, scope, adjacent chunks, callers, callees.

`build_neighborhood` runs once per question.  `aggregate` turns a score of the candidates into features that summarize
the scores of their neighbors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index import IndexReader, Snapshot
from promptls.retrieval.candidates import Candidate, referenced_names
from promptls.retrieval.scorers import Floats

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

"""What surrounds each unit among the units of one question: file, class, neighbours, callers and callees.

Made once per question; `spread` then tells for any score of the units what their surroundings make of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.reader import IndexReader
from promptls.index.snapshot import Snapshot
from promptls.retrieval.candidates import Unit, names_used
from promptls.retrieval.scorers import Floats

Numbers = NDArray[np.int64]

EVIDENCE = 60
"""Units that count as evidence for their files."""
COMMON = 8
"""Definitions of one name from which a reference to it says little, unless one of them is in the same file."""
FEEDBACK = 8
"""Best units whose mean vector the others are compared with (Rocchio's pseudo relevance feedback)."""

SPREAD = (
    *("rank", "feedback", "feedback_rank", "file_best", "file_top", "file_top_rank", "file_evidence"),
    *("scope_best", "scope_mean", "parent", "before", "after"),
    *("callers", "callees", "callers_best", "callees_best"),
)
"""What `spread` gives."""
NEARBY = ("scope_best", "scope_mean", "before", "after", "callers", "callees")
"""What `nearby` gives: the part of it that needs no ranks."""


class Around(Struct, frozen=True):
    """Numbers that stand for units are their places in the list of units."""

    file: Numbers  # of each unit, numbered in the order of units
    files: int
    scope: Numbers  # of each unit: a number for the pair of file and enclosing definition
    scopes: int
    parent: Numbers  # the unit of the enclosing definition, -1 where it is none
    caller: Numbers  # edges: caller[i] refers to callee[i]
    callee: Numbers
    uses: Floats  # distinct names that each unit's code refers to
    vectors: Floats  # [units, dimension], 0 where there is none


def around(units: Sequence[Unit], snapshot: Snapshot, view: IndexReader) -> Around:
    """`units` by path and place, as `units_for` gives them."""
    numbers: dict[str, int] = {}
    file = np.array([numbers.setdefault(u.entry.path, len(numbers)) for u in units], np.int64)
    scopes: dict[tuple[int, int], int] = {}
    scope = [
        scopes.setdefault((f, u.symbol.parent if u.symbol is not None else -1), len(scopes))
        for f, u in zip(file.tolist(), units, strict=True)
    ]
    own: dict[tuple[str, int], int] = {}
    for i, unit in enumerate(units):
        own.setdefault((unit.entry.path, unit.chunk.symbol), i)
    parent = [own.get((u.entry.path, u.symbol.parent), -1) if u.symbol and u.symbol.parent >= 0 else -1 for u in units]
    rows = np.array([u.row for u in units], np.int64)
    vectors = view.vectors(np.maximum(rows, 0)) if len(view) else np.zeros((len(units), 0), np.float32)
    caller, callee, uses = _references(units, file, snapshot)
    return Around(
        file, len(numbers), np.array(scope, np.int64), len(scopes), np.array(parent, np.int64), caller, callee, uses,
        vectors * (rows >= 0)[:, None],
    )  # fmt: skip


def _references(units: Sequence[Unit], file: Numbers, snapshot: Snapshot) -> tuple[Numbers, Numbers, Floats]:
    """Which units refer to which, matched by name: (callers, callees, distinct names that each uses)."""
    of = file.tolist()
    targets: dict[str, dict[int, list[int]]] = {}  # name → file → units
    seen: set[tuple[int, int]] = set()
    for i, unit in enumerate(units):
        place = (of[i], unit.chunk.symbol)
        if unit.symbol is not None and unit.symbol.name and place not in seen:  # a long definition has several units
            seen.add(place)
            targets.setdefault(unit.symbol.name, {}).setdefault(of[i], []).append(i)
    wanted = frozenset(targets)
    common: dict[str, bool] = {}
    callers: list[int] = []
    callees: list[int] = []
    uses = np.zeros(len(units), np.float32)
    first = np.flatnonzero(np.diff(file, prepend=-1)).tolist()
    for number, (start, end) in enumerate(pairwise([*first, len(units)])):
        outline = units[start].entry.outline
        used = names_used(outline, [u.span for u in units[start:end]]) if outline is not None else []
        for i, names in enumerate(used, start):
            uses[i] = len(names)
            for name in names & wanted:
                found = targets[name]
                near = found.get(number)
                if near is not None:
                    for j in near:
                        if units[j].span != units[i].span:
                            callers.append(i)
                            callees.append(j)
                    continue
                if name not in common:
                    common[name] = len(snapshot.names.get(name.lower(), ())) > COMMON
                if not common[name]:
                    for others in found.values():
                        callers += [i] * len(others)
                        callees += others
    return np.array(callers, np.int64), np.array(callees, np.int64), uses


def spread(score: Floats, around: Around) -> dict[str, Floats]:
    """For a score of the units what their surroundings make of it: float32[units] for each of `SPREAD`."""
    n = len(score)
    file = around.file
    top = _mean_of_three(score, file, around.files)
    feedback = _feedback(score, around.vectors)
    callers_best, callees_best = np.zeros(n, np.float32), np.zeros(n, np.float32)
    np.maximum.at(callers_best, around.callee, score[around.caller])
    np.maximum.at(callees_best, around.caller, score[around.callee])
    found: dict[str, NDArray[np.generic]] = {
        "rank": ranks(score),
        "feedback": feedback,
        "feedback_rank": ranks(feedback),
        "file_best": _most(score, file, around.files)[file],
        "file_top": top[file],
        "file_top_rank": ranks(top)[file],
        "file_evidence": _evidence(score, file, around.files)[file],
        "parent": np.where(around.parent >= 0, score[np.maximum(around.parent, 0)], 0),
        "callers_best": callers_best,
        "callees_best": callees_best,
        **nearby(score, around),
    }
    return {name: np.asarray(found[name], np.float32) for name in SPREAD}


def nearby(score: Floats, around: Around) -> dict[str, Floats]:
    """The same for each of `NEARBY`."""
    n, file, scope = len(score), around.file, around.scope
    before, after = np.diff(file, prepend=-1) == 0, np.diff(file, append=-1) == 0
    into, out_of = np.bincount(around.callee, minlength=n), np.bincount(around.caller, minlength=n)
    in_scope = np.bincount(scope, minlength=around.scopes)
    found: dict[str, NDArray[np.generic]] = {
        "scope_best": _most(score, scope, around.scopes)[scope],
        "scope_mean": (np.bincount(scope, score, around.scopes) / np.maximum(in_scope, 1))[scope],
        "before": np.where(before, np.roll(score, 1), 0),
        "after": np.where(after, np.roll(score, -1), 0),
        "callers": np.bincount(around.callee, score[around.caller], n) / np.maximum(into, 1),
        "callees": np.bincount(around.caller, score[around.callee], n) / np.maximum(out_of, 1),
    }
    return {name: np.asarray(found[name], np.float32) for name in NEARBY}


def ranks(values: Floats) -> Floats:
    """ln(1 + rank) by falling value; equal ones share the best of their ranks."""
    return np.log1p(np.searchsorted(np.sort(-values), -values)).astype(np.float32)


def _feedback(score: Floats, vectors: Floats) -> Floats:
    """Similarity to the mean of the best units' vectors."""
    best = np.argsort(-np.round(score, 5), kind="stable")[:FEEDBACK]
    mean = (vectors[best] * score[best, None]).sum(axis=0)
    norm = float(np.linalg.norm(mean))
    return np.round(vectors @ (mean / norm), 5) if norm > 0 else np.zeros(len(score), np.float32)


def _most(values: Floats, group: Numbers, groups: int) -> Floats:
    out = np.zeros(groups, np.float32)
    np.maximum.at(out, group, values)
    return out


def _mean_of_three(values: Floats, group: Numbers, groups: int) -> Floats:
    """The mean of each group's three largest values; of fewer, the missing ones are 0."""
    order = np.lexsort((-values, group))
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    first = place < 3
    return np.asarray(np.bincount(ordered[first], values[order][first], groups) / 3, np.float32)


def _evidence(score: Floats, file: Numbers, files: int) -> Floats:
    """What the best units say for their files, the best file at 1."""
    top = np.argsort(-np.round(score, 5), kind="stable")[:EVIDENCE]
    out = np.bincount(file[top], score[top] / (1 + 0.1 * np.arange(len(top))), files)
    best = float(out.max(initial=0.0))
    return np.asarray(out / best if best > 0 else out, np.float32)

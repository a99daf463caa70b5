"""The stages of retrieval in their order, and what they make: ranked items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.documents import is_prompt
from promptls.index.search import vectors
from promptls.index.search.reader import IndexReader
from promptls.index.snapshot import Snapshot
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import CancelToken, Item, Origin
from promptls.retrieval import scorers as scanning
from promptls.retrieval.candidates import FAR, Limits, Reach, limits_of, units_for
from promptls.retrieval.features import NAME_BONUS, NAMES, PATH_BONUS, Described, features
from promptls.retrieval.file_ranking import NAMES as FILE_NAMES
from promptls.retrieval.file_ranking import by_file
from promptls.retrieval.linear_model import Weights, bundled
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import Floats, Legs


class Index(Protocol):
    """What retrieval needs of the index beside the snapshot."""

    def columns(self) -> IndexReader: ...
    def query_vector(self, text: str) -> NDArray[np.float32] | None: ...


class Strategy(Struct, frozen=True):
    """How far retrieval looks, and what the features are worth to it."""

    reach: Reach = Reach()
    far: Reach = FAR  # of a search, where all depends on one file being there
    weights: Weights | None = None  # None: those of the package


class Retrieved(Struct, frozen=True):
    """Ranked regions, best first."""

    items: tuple[Item, ...]


class Scanned(Struct, frozen=True):
    """A question against every row, wherever one looks for its answer."""

    view: IndexReader
    legs: Legs
    limits: Limits | None  # where its answer is looked for as well, or alone


def scanned(
    query: Query, snapshot: Snapshot, index: Index, token: CancelToken, paths: Iterable[str] | None = None
) -> Scanned:
    """Scan the columns for a question that will be asked within these paths, too.  Raises Cancelled."""
    vector = index.query_vector(query.text) if query.text.strip() else None
    token.check()
    view = index.columns()
    limits = None if paths is None else limits_of(paths, snapshot, view)
    rows = limits.rows if limits is not None and len(limits.rows) <= vectors.EXACT else scanning.NO_ROWS
    legs = scanning.scan(query.terms, vector, view, rows)
    token.check()
    return Scanned(view, legs, limits)


def describe(
    query: Query,
    snapshot: Snapshot,
    index: Index,
    reach: Reach,
    token: CancelToken,
    paths: Iterable[str] | None = None,
    seen: Scanned | None = None,
) -> Described | None:
    """The units for a question, within these paths only, and what is known of them; None where there are none.

    `seen` is what `scanned` said of the same question.  Raises Cancelled.
    """
    seen = seen or scanned(query, snapshot, index, token, paths)
    view, legs = seen.view, seen.legs
    units = units_for(query, legs, snapshot, view, reach, None if paths is None else seen.limits)
    if paths is None:  # a question is no material for an answer, least of all for its own
        units = [unit for unit in units if not is_prompt(unit.entry.path)]
    token.check()
    return features(query, units, legs, snapshot, view) if units else None


def retrieve(
    query: Query,
    snapshot: Snapshot,
    index: Index,
    strategy: Strategy,
    token: CancelToken,
    paths: Iterable[str] | None = None,
    seen: Scanned | None = None,
) -> Retrieved:
    """Regions for a question, best first.  `paths` limit them to these files.  Raises Cancelled."""
    found = describe(query, snapshot, index, strategy.reach, token, paths, seen)
    return Retrieved(tuple(_ranked(found, strategy)) if found is not None else ())


def search(
    query: Query,
    snapshot: Snapshot,
    index: Index,
    strategy: Strategy,
    token: CancelToken,
    paths: Iterable[str] | None = None,
) -> Retrieved:
    """Regions for somebody who looks for a place: the best one of each file first, best file first; then the rest.

    Of a file that defines a name which the query spells out, that definition is the best one.
    """
    found = describe(query, snapshot, index, strategy.far, token, paths)
    if found is None:
        return Retrieved(())
    items = _ranked(found, strategy)
    paths, values = by_file(query, found)
    sums = (strategy.weights or bundled()).files.of(values, FILE_NAMES)
    rank = {path: i for i, (_, path) in enumerate(sorted(zip(-np.round(sums, 6), paths, strict=True)))}
    spelled = {(u.entry.path, u.span): (u.spelled, u.symbol is not None and u.symbol.kind in TYPE_KINDS)
               for u in found.units if u.spelled}  # fmt: skip
    first: dict[str, Item] = {}
    for item in items:
        best = first.setdefault(item.path, item)
        if spelled.get((item.path, item.span), _NOT) > spelled.get((best.path, best.span), _NOT):
            first[item.path] = item
    shown = {(item.path, item.span) for item in first.values()}
    rest = [item for item in items if (item.path, item.span) not in shown]
    return Retrieved((*sorted(first.values(), key=lambda item: rank[item.path]), *rest))


def _ranked(found: Described, strategy: Strategy) -> list[Item]:
    weights = (strategy.weights or bundled()).units
    scores = weights.chances(weights.of(found.values, NAMES))
    reasons = np.stack(list(_reasons(found).values()), axis=1)
    strongest = reasons[:, : len(_LEGS)].argmax(axis=1).tolist()
    start = np.array([unit.span.start for unit in found.units])
    order = np.lexsort((-scores, start, found.around.file, -np.round(scores, 6))).tolist()  # equal ones by place
    values, whys = scores.tolist(), reasons.tolist()
    shown: set[tuple[str, int, int]] = set()
    out: list[Item] = []
    for i in order:
        unit = found.units[i]
        path, span, symbol = unit.entry.path, unit.span, unit.symbol
        if (key := (path, span.start, span.end)) in shown:
            continue
        shown.add(key)
        why = Reasons(whys[i])
        if symbol is None:
            out.append(Item(path, span, "text", _LEGS[strongest[i]], values[i], "", why))
        else:
            out.append(Item(path, span, symbol.kind, _LEGS[strongest[i]], values[i], symbol.qualified, why))
    return out


class Reasons(Mapping[str, float]):
    """What a score is made of, as people are told it; written out when somebody asks."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values

    def _told(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in zip(_WHY, self._values, strict=True) if value > 1e-4}

    def __getitem__(self, name: str) -> float:
        return self._told()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._told())

    def __len__(self) -> int:
        return len(self._told())


def _reasons(found: Described) -> dict[str, Floats]:
    """What people are told of a score, in the order of `_WHY`."""
    graph = np.maximum(found.column("prior_callers_best"), found.column("prior_callees_best"))
    values = (
        scanning.SEMANTIC * found.column("semantic"),
        scanning.KEYWORD * found.column("keyword"),
        NAME_BONUS * found.column("named"),
        PATH_BONUS * found.column("by_path"),
        found.column("prior_file_evidence"),
        graph,
    )
    return dict(zip(_WHY, values, strict=True))


_NOT = (0.0, False)
_WHY = ("semantic", "keyword", "symbol", "path", "file", "graph")
_LEGS = (Origin.SEMANTIC, Origin.KEYWORD, Origin.SYMBOL, Origin.PATH)

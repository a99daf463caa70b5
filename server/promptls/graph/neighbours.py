"""The surroundings of nodes, nearest first, so that a hub does not flood them.

A neighbour's score is a part of its parent's: weight of the edge's type × certainty of the edge, divided by
1 + log10 of how many edges of that kind the parent has, and by 1 + log10 of how many files speak of the
neighbour.  At most `per_node` neighbours of each node, at most `limit` in all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import log10

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge, EdgeType, Scored
from promptls.index.snapshot import OutlineRef
from promptls.model import CancelToken

OUT: Mapping[EdgeType, float] = {
    "calls": 0.8,
    "inherits": 0.8,
    "implements": 0.8,
    "uses": 0.6,
    "tested_by": 0.6,
    "contains": 0.5,
    "imports": 0.5,
    "documents": 0.5,
    "exports": 0.3,
}
"""What an edge passes on from its source to its target."""

INTO: Mapping[EdgeType, float] = {
    "calls": 0.7,
    "inherits": 0.6,
    "implements": 0.7,
    "uses": 0.4,
    "tested_by": 0.5,
    "contains": 0.4,
    "imports": 0.3,
    "documents": 0.5,
    "exports": 0.2,
}
"""What an edge passes on from its target to its source."""

PER_NODE = 8
LIMIT = 40
FILES = 60
"""Files that are looked at for edges into one node: more would say less of each, and cost more."""


def neighbours(
    view: GraphView,
    seeds: Mapping[OutlineRef, float] | Iterable[OutlineRef],
    limit: int = LIMIT,
    per_node: int = PER_NODE,
    kinds: Collection[EdgeType] | None = None,
    hops: int = 1,
    token: CancelToken | None = None,
) -> tuple[Scored, ...]:
    """Neighbours of the seeds (place → score 0..1, or places of score 1), best first; the seeds are not among them.

    `kinds`: edge types to follow, all without.  Ties are broken by path and place in the file.
    """
    level = dict(seeds) if isinstance(seeds, Mapping) else dict.fromkeys(seeds, 1.0)
    start = frozenset(level)
    best: dict[OutlineRef, Scored] = {}
    for hop in range(1, hops + 1):
        found: dict[OutlineRef, Scored] = {}
        for parent, score in sorted(level.items(), key=lambda item: (-item[1], item[0])):
            if token is not None:
                token.check()
            for one in _around(view, parent, score, kinds, hop)[:per_node]:
                if one.place not in start and (one.place not in found or found[one.place].score < one.score):
                    found[one.place] = one
        level = {}
        for place, one in found.items():
            if place not in best or best[place].score < one.score:
                best[place] = one
                level[place] = one.score
        level = dict(sorted(level.items(), key=lambda item: (-item[1], item[0]))[:limit])
    return tuple(sorted(best.values(), key=_rank)[:limit])


def _rank(one: Scored) -> tuple[float, OutlineRef]:
    return -one.score, one.place


def _around(view: GraphView, parent: OutlineRef, score: float, kinds: Collection[EdgeType] | None, hop: int) -> list[Scored]:
    """All neighbours of one node, best first."""
    edges = [edge for edge in view.edges(parent, FILES) if kinds is None or edge.type in kinds]
    counts: dict[tuple[EdgeType, bool], int] = {}
    for edge in edges:
        key = (edge.type, edge.source == parent)
        counts[key] = counts.get(key, 0) + 1
    best: dict[OutlineRef, Scored] = {}
    for edge in edges:
        away = edge.source == parent
        other = edge.target if away else edge.source
        if other == parent:
            continue
        passed = (OUT if away else INTO)[edge.type] * edge.weight / (1 + log10(counts[edge.type, away]))
        one = Scored(other, score * passed / (1 + log10(max(1, view.popularity(other)))), parent, edge, hop)
        if other not in best or best[other].score < one.score:
            best[other] = one
    return sorted(best.values(), key=_rank)


def all_around(
    view: GraphView, seeds: Iterable[OutlineRef], most: int = 2_000
) -> tuple[tuple[OutlineRef, ...], tuple[Edge, ...]]:
    """Understand-Anything's expansion: one hop over all edges, both ways, without weights.

    Gives seeds in their order followed by neighbours in the order of the edges, and the edges among them.
    `most` nodes end it, which that system does not have.
    """
    order = dict.fromkeys(seeds)
    for seed in tuple(order):
        for edge in view.edges(seed, FILES):
            if len(order) >= most:
                break
            order.setdefault(edge.target if edge.source == seed else edge.source)
    return tuple(order), among(view, order)


def among(view: GraphView, places: Collection[OutlineRef]) -> tuple[Edge, ...]:
    """Edges both ends of which are among some nodes, by source in their order."""
    inside = frozenset(places)
    return tuple(edge for place in places for edge in view.out(place, FILES) if edge.target in inside)

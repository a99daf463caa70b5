"""Neighbors of nodes, ranked so that hubs do not dominate.

The score of a neighbor is a fraction of its parent's score: factor of the edge type × certainty of the edge.  It is
divided by 1 + log10 of the number of such edges, and by 1 + log10 of the number of mentioning files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import log10

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge, EdgeType, ScoredNeighbor
from promptls.index import OutlineRef
from promptls.model import CancelToken

OUTGOING_FACTORS: Mapping[EdgeType, float] = {
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
"""Fraction of the score passed from the source of an edge to its target, by edge type."""

INCOMING_FACTORS: Mapping[EdgeType, float] = {
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
"""Fraction of the score passed from the target of an edge to its source, by edge type."""

MAX_PER_NODE = 8
"""Maximum number of neighbors of one node."""
MAX_NEIGHBORS = 40
"""Maximum number of neighbors of all seeds."""
MAX_FILES_PER_NODE = 60
"""Maximum number of files searched for incoming edges of a node; more files add cost, but little relevance."""


def find_neighbors(
    view: GraphView,
    seeds: Mapping[OutlineRef, float] | Iterable[OutlineRef],
    limit: int = MAX_NEIGHBORS,
    per_node: int = MAX_PER_NODE,
    edge_types: Collection[EdgeType] | None = None,
    hops: int = 1,
    token: CancelToken | None = None,
) -> tuple[ScoredNeighbor, ...]:
    """Return the neighbors of seed nodes, best first, without the seeds; ties are broken by path and position.

    Args:
        view: The graph.
        seeds: Seed nodes with scores 0..1, or with score 1.
        limit: Maximum number of neighbors.
        per_node: Maximum number of neighbors of one node.
        edge_types: Edge types to follow, by default all.
        hops: Maximum distance from the seeds.
        token: Cancels the search.
    """
    level = dict(seeds) if isinstance(seeds, Mapping) else dict.fromkeys(seeds, 1.0)
    start = frozenset(level)
    best: dict[OutlineRef, ScoredNeighbor] = {}
    for hop in range(1, hops + 1):
        level_best: dict[OutlineRef, ScoredNeighbor] = {}
        for parent, score in sorted(level.items(), key=lambda item: (-item[1], item[0])):
            if token is not None:
                token.check()
            for neighbor in _neighbors_of(view, parent, score, edge_types, hop)[:per_node]:
                if neighbor.ref not in start and (
                    neighbor.ref not in level_best or level_best[neighbor.ref].score < neighbor.score
                ):
                    level_best[neighbor.ref] = neighbor
        level = {}
        for ref, neighbor in level_best.items():
            if ref not in best or best[ref].score < neighbor.score:
                best[ref] = neighbor
                level[ref] = neighbor.score
        level = dict(sorted(level.items(), key=lambda item: (-item[1], item[0]))[:limit])
    return tuple(sorted(best.values(), key=_sort_key)[:limit])


def _sort_key(neighbor: ScoredNeighbor) -> tuple[float, OutlineRef]:
    return -neighbor.score, neighbor.ref


def _neighbors_of(
    view: GraphView, parent: OutlineRef, score: float, edge_types: Collection[EdgeType] | None, hop: int
) -> list[ScoredNeighbor]:
    """Return all neighbors of one node, best first."""
    edges = [edge for edge in view.edges(parent, MAX_FILES_PER_NODE) if edge_types is None or edge.type in edge_types]
    counts: dict[tuple[EdgeType, bool], int] = {}
    for edge in edges:
        key = (edge.type, edge.source == parent)
        counts[key] = counts.get(key, 0) + 1
    best: dict[OutlineRef, ScoredNeighbor] = {}
    for edge in edges:
        is_outgoing = edge.source == parent
        other = edge.target if is_outgoing else edge.source
        if other == parent:
            continue
        factor = (
            (OUTGOING_FACTORS if is_outgoing else INCOMING_FACTORS)[edge.type]
            * edge.weight
            / (1 + log10(counts[edge.type, is_outgoing]))
        )
        neighbor = ScoredNeighbor(
            other, score * factor / (1 + log10(max(1, view.popularity(other)))), parent, edge, hop
        )
        if other not in best or best[other].score < neighbor.score:
            best[other] = neighbor
    return sorted(best.values(), key=_sort_key)


def all_neighbors(
    view: GraphView, seeds: Iterable[OutlineRef], limit: int = 2_000
) -> tuple[tuple[OutlineRef, ...], tuple[Edge, ...]]:
    """Return all unweighted neighbors one hop from the seeds, and the edges between all these nodes.

    Seeds come first in their order, then neighbors in the order of the edges, at most `limit` nodes.
    """
    order = dict.fromkeys(seeds)
    for seed in tuple(order):
        for edge in view.edges(seed, MAX_FILES_PER_NODE):
            if len(order) >= limit:
                break
            order.setdefault(edge.target if edge.source == seed else edge.source)
    return tuple(order), edges_between(view, order)


def edges_between(view: GraphView, refs: Collection[OutlineRef]) -> tuple[Edge, ...]:
    """Return the edges with both ends in a set of nodes, in order of the source."""
    nodes = frozenset(refs)
    return tuple(edge for ref in refs for edge in view.outgoing(ref, MAX_FILES_PER_NODE) if edge.target in nodes)

"""Answers to promptls/graph: the part of the graph around a question, a symbol or a call path.

Pure functions of a view; the engine turns the values into JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from promptls.graph.call_paths import call_paths
from promptls.graph.graph import GraphView
from promptls.graph.neighbours import all_around, among, neighbours
from promptls.graph.nodes import Edge, GraphResult, LayerView, Node
from promptls.graph.search import LIMIT, search
from promptls.graph.targets import Located, at, locate
from promptls.index.snapshot import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader
from promptls.knowledge.project.layers import LAYER_DESCRIPTIONS, CORE, LAYERS
from promptls.model import CancelToken

MAX_NODES = 60
NAMELESS = ProjectHeader()


def of_query(
    view: GraphView,
    query: str,
    header: ProjectHeader = NAMELESS,
    seeds: int = LIMIT,
    limit: int = MAX_NODES,
    parity: bool = False,
    token: CancelToken | None = None,
) -> GraphResult:
    """Seeds by search and what is around them; no match gives the header alone, with a reason.

    `parity`: Understand-Anything's form, all neighbours over all edges, matches by rank first; `limit` does not hold.
    """
    hits = search(view, query, seeds, token=token)
    if not hits:
        return GraphResult(header, (), (), (), problem="Nothing in the workspace matches the question.")
    if parity:
        places, edges = all_around(view, [hit.place for hit in hits])
        return _result(view, places, edges, header)
    around = neighbours(view, {hit.place: hit.score for hit in hits}, max(0, limit - len(hits)), token=token)
    places = (*(hit.place for hit in hits), *(one.place for one in around))[:limit]
    return _result(view, places, among(view, places), header)


def of_places(
    view: GraphView,
    places: Iterable[OutlineRef],
    header: ProjectHeader = NAMELESS,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """Some nodes and their neighbours."""
    seeds = tuple(dict.fromkeys(places))
    room = max(0, limit - len(seeds))
    around = neighbours(view, seeds, room, per_node=max(8, room // max(1, len(seeds))), token=token)
    chosen = (*seeds, *(one.place for one in around))[:limit]
    return _result(view, chosen, among(view, chosen), header)


def of_symbol(
    view: GraphView,
    symbol: str,
    header: ProjectHeader = NAMELESS,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """The neighbourhood of what a target names."""
    return _located(view, locate(view, symbol), header, limit, token)


def of_position(
    view: GraphView,
    path: str,
    line: int | None = None,
    header: ProjectHeader = NAMELESS,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """The neighbourhood of a file, or of the definition at a 0-based line of it."""
    return _located(view, at(view, path, -1 if line is None else line), header, limit, token)


def _located(
    view: GraphView, found: Located, header: ProjectHeader, limit: int, token: CancelToken | None
) -> GraphResult:
    if not found.places:
        return GraphResult(header, (), (), (), problem=found.problem, suggestions=found.suggestions)
    return of_places(view, found.places[:LIMIT], header, limit, token)


def of_paths(
    view: GraphView,
    source: str,
    target: str,
    header: ProjectHeader = NAMELESS,
    limit: int = 5,
    token: CancelToken | None = None,
) -> GraphResult:
    """Shortest call paths from one target to another."""
    ends = [locate(view, source), locate(view, target)]
    for end in ends:
        if not end.places:
            return GraphResult(header, (), (), (), problem=end.problem, suggestions=end.suggestions)
    found = call_paths(view, ends[0].places, ends[1].places, limit, token)
    if not found:
        problem = f"No path of calls leads from {source} to {target}, as far as calls can be told from the source."
        return GraphResult(header, (), (), (), problem=problem)
    places = tuple(dict.fromkeys(place for path in found for place in path))
    edges = tuple(edge for edge in among(view, places) if edge.type in ("calls", "contains"))
    result = _result(view, places, edges, header)
    return GraphResult(result.project, result.layers, result.nodes, result.edges, found)


def _result(view: GraphView, places: Iterable[OutlineRef], edges: Iterable[Edge], header: ProjectHeader) -> GraphResult:
    nodes = tuple(node for place in places if (node := view.node(place)) is not None)
    kept = {node.place for node in nodes}
    return GraphResult(
        header,
        layers_of(nodes, view.extra),
        nodes,
        tuple(edge for edge in edges if edge.source in kept and edge.target in kept),
    )


def layers_of(nodes: Iterable[Node], extra: Mapping[str, Iterable[str]] | None = None) -> tuple[LayerView, ...]:
    """Layers that hold any of the nodes, in the table's order."""
    held: dict[str, list[str]] = {name: [] for name in [*(extra or {}), *(layer.name for layer in LAYERS), CORE]}
    for node in nodes:
        held.setdefault(node.layer, []).append(node.id)
    return tuple(LayerView(name, LAYER_DESCRIPTIONS.get(name, ""), tuple(ids)) for name, ids in held.items() if ids)

"""Graph queries: the part of the graph around a question, symbol, position or call path; results of promptls/graph.

Pure functions of a graph view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge, GraphLayer, GraphResult, Node
from promptls.graph.search import MAX_RESULTS, search_nodes
from promptls.graph.targets import TargetMatches, resolve_position, resolve_target
from promptls.graph.traversal.call_paths import call_paths
from promptls.graph.traversal.neighbors import all_neighbors, edges_between, find_neighbors
from promptls.index import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader
from promptls.knowledge.project.file_kind import CORE, LAYER_DESCRIPTIONS, LAYERS
from promptls.model import CancelToken

MAX_NODES = 60
"""Maximum number of nodes in a result."""
NO_HEADER = ProjectHeader()


def graph_for_query(
    view: GraphView,
    query: str,
    header: ProjectHeader = NO_HEADER,
    seeds: int = MAX_RESULTS,
    limit: int = MAX_NODES,
    all_edges: bool = False,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around the nodes that match a question; without a match, a result with a problem.

    Args:
        view: The graph.
        query: The question.
        header: Summary of the project.
        seeds: Maximum number of matching nodes.
        limit: Maximum number of nodes, ignored with `all_edges`.
        all_edges: Add all neighbors over all edges, instead of ranked neighbors.
        token: Cancels the query.
    """
    matches = search_nodes(view, query, seeds, token=token)
    if not matches:
        return GraphResult(header, (), (), (), problem="Nothing in the workspace matches the question.")
    if all_edges:
        refs, edges = all_neighbors(view, [match.ref for match in matches])
        return _build_result(view, refs, edges, header)
    neighbors = find_neighbors(
        view, {match.ref: match.score for match in matches}, max(0, limit - len(matches)), token=token
    )
    refs = (*(match.ref for match in matches), *(neighbor.ref for neighbor in neighbors))[:limit]
    return _build_result(view, refs, edges_between(view, refs), header)


def graph_for_nodes(
    view: GraphView,
    refs: Iterable[OutlineRef],
    header: ProjectHeader = NO_HEADER,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around some nodes."""
    seeds = tuple(dict.fromkeys(refs))
    remaining = max(0, limit - len(seeds))
    neighbors = find_neighbors(view, seeds, remaining, per_node=max(8, remaining // max(1, len(seeds))), token=token)
    nodes = (*seeds, *(neighbor.ref for neighbor in neighbors))[:limit]
    return _build_result(view, nodes, edges_between(view, nodes), header)


def graph_for_symbol(
    view: GraphView,
    symbol: str,
    header: ProjectHeader = NO_HEADER,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around the nodes that match a target."""
    return _graph_for_matches(view, resolve_target(view, symbol), header, limit, token)


def graph_for_position(
    view: GraphView,
    path: str,
    line: int | None = None,
    header: ProjectHeader = NO_HEADER,
    limit: int = MAX_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around a file, or around the definition at a 0-based line."""
    return _graph_for_matches(view, resolve_position(view, path, -1 if line is None else line), header, limit, token)


def _graph_for_matches(
    view: GraphView, matches: TargetMatches, header: ProjectHeader, limit: int, token: CancelToken | None
) -> GraphResult:
    if not matches.refs:
        return GraphResult(header, (), (), (), problem=matches.problem, suggestions=matches.suggestions)
    return graph_for_nodes(view, matches.refs[:MAX_RESULTS], header, limit, token)


def graph_for_call_paths(
    view: GraphView,
    source: str,
    target: str,
    header: ProjectHeader = NO_HEADER,
    limit: int = 5,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the shortest call paths from one target to another."""
    ends = [resolve_target(view, source), resolve_target(view, target)]
    for end in ends:
        if not end.refs:
            return GraphResult(header, (), (), (), problem=end.problem, suggestions=end.suggestions)
    paths = call_paths(view, ends[0].refs, ends[1].refs, limit, token)
    if not paths:
        problem = f"No call path from {source} to {target} was found by static analysis."
        return GraphResult(header, (), (), (), problem=problem)
    refs = tuple(dict.fromkeys(ref for path in paths for ref in path))
    edges = tuple(edge for edge in edges_between(view, refs) if edge.type in ("calls", "contains"))
    result = _build_result(view, refs, edges, header)
    return GraphResult(result.project, result.layers, result.nodes, result.edges, paths)


def _build_result(
    view: GraphView, refs: Iterable[OutlineRef], edges: Iterable[Edge], header: ProjectHeader
) -> GraphResult:
    nodes = tuple(node for ref in refs if (node := view.node(ref)) is not None)
    shown = {node.ref for node in nodes}
    return GraphResult(
        header,
        layers_with_nodes(nodes, view.custom_layers),
        nodes,
        tuple(edge for edge in edges if edge.source in shown and edge.target in shown),
    )


def layers_with_nodes(
    nodes: Iterable[Node], custom: Mapping[str, Iterable[str]] | None = None
) -> tuple[GraphLayer, ...]:
    """Return the layers of the nodes, custom layers first, then in order of the built-in layers."""
    ids_by_layer: dict[str, list[str]] = {
        name: [] for name in [*(custom or {}), *(layer.name for layer in LAYERS), CORE]
    }
    for node in nodes:
        ids_by_layer.setdefault(node.layer, []).append(node.id)
    return tuple(
        GraphLayer(name, LAYER_DESCRIPTIONS.get(name, ""), tuple(ids)) for name, ids in ids_by_layer.items() if ids
    )

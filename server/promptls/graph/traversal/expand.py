"""Graph expansion: adds definitions next to the items found by retrieval or mentions.

The score of an added item is a fraction of the score of its seed, and its `reasons` contain the edge type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from promptls.graph.graph import GraphView
from promptls.graph.nodes import EdgeType
from promptls.graph.traversal.neighbors import MAX_PER_NODE, find_neighbors
from promptls.index import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import CancelToken, Item, Origin

EDGE_TYPES: frozenset[EdgeType] = frozenset({"calls", "inherits", "implements", "uses", "tested_by", "documents"})
"""Edge types that lead to relevant code; "contains" and "imports" do not."""

MAX_ITEMS = 12
"""Maximum number of added items."""
MAX_SEEDS = 15
"""Number of best items used as seeds."""
MIN_RELATIVE_SCORE = 0.1
"""Minimum score of an added item, relative to the best seed."""


def expand_items(
    view: GraphView,
    items: Iterable[Item],
    limit: int = MAX_ITEMS,
    per_node: int = MAX_PER_NODE,
    edge_types: Collection[EdgeType] = EDGE_TYPES,
    seeds: int = MAX_SEEDS,
    hops: int = 1,
    token: CancelToken | None = None,
) -> tuple[Item, ...]:
    """Return definitions next to the first items in the graph, best first, that do not overlap any item.

    Args:
        view: The graph.
        items: Items found so far, best first; an item inside a definition represents that definition.
        limit: Maximum number of definitions.
        per_node: Maximum number of neighbors of one node.
        edge_types: Edge types to follow.
        seeds: Number of items used as seeds.
        hops: Maximum distance from the seeds.
        token: Cancels the search.
    """
    all_items = tuple(items)
    seed_scores: dict[OutlineRef, float] = {}
    for item in all_items[:seeds]:
        ref = node_of_item(view, item)
        if ref is not None:
            seed_scores[ref] = max(item.score, seed_scores.get(ref, 0.0))
    out: list[Item] = []
    for neighbor in find_neighbors(view, seed_scores, 4 * limit, per_node, edge_types, hops, token):
        symbol = view.symbol(neighbor.ref)
        if symbol is None or neighbor.score < MIN_RELATIVE_SCORE * max(seed_scores.values(), default=1.0):
            continue
        if symbol.kind not in CALLABLE_KINDS | TYPE_KINDS | {"section", "type"}:
            continue
        if any(item.path == neighbor.ref[0] and item.span.overlaps(symbol.span) for item in all_items):
            continue
        out.append(
            Item(
                path=neighbor.ref[0],
                span=symbol.span,
                kind=symbol.kind,
                origin=Origin.GRAPH,
                score=neighbor.score,
                symbol=symbol.qualified,
                reasons={neighbor.edge.type: neighbor.score},
            )
        )
    return tuple(out[:limit])


def node_of_item(view: GraphView, item: Item) -> OutlineRef | None:
    """Return the node that contains an item."""
    file_symbols = view.file_symbols(item.path)
    if file_symbols is None:
        return None
    if item.symbol:
        for i in file_symbols.by_qualified_name.get(item.symbol, ()):
            if file_symbols.symbols[i].span.overlaps(item.span):
                return item.path, i
    index = -1
    for i, symbol in enumerate(file_symbols.symbols):
        if symbol.span.contains(item.span):
            index = i
    return item.path, index

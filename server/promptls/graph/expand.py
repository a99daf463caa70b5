"""Regions for a prompt from what stands around other regions in the graph.

The seeds are what retrieval or a mention has found; what comes back is scored as a part of the seed that led
there, and says by which edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from promptls.graph.graph import GraphView
from promptls.graph.neighbours import PER_NODE, neighbours
from promptls.graph.nodes import EdgeType
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import CancelToken, Item, Origin

KINDS: frozenset[EdgeType] = frozenset({"calls", "inherits", "implements", "uses", "tested_by", "documents"})
"""Edges that lead to code that says something of the seed; what only contains or imports it does not."""

LIMIT = 12
SEEDS = 15
LEAST = 0.1


def expand(
    view: GraphView,
    items: Iterable[Item],
    limit: int = LIMIT,
    per_node: int = PER_NODE,
    kinds: Collection[EdgeType] = KINDS,
    seeds: int = SEEDS,
    hops: int = 1,
    token: CancelToken | None = None,
) -> tuple[Item, ...]:
    """At most `limit` definitions next to the first `seeds` of the items, best first, none that an item shows.

    An item that is part of a definition stands for it; a whole file for itself.  `reasons` names the edge: {"calls": .4}.
    """
    given = tuple(items)
    start: dict[OutlineRef, float] = {}
    for item in given[:seeds]:
        place = place_of(view, item)
        if place is not None:
            start[place] = max(item.score, start.get(place, 0.0))
    out: list[Item] = []
    for one in neighbours(view, start, 4 * limit, per_node, kinds, hops, token):
        symbol = view.symbol(one.place)
        if symbol is None or one.score < LEAST * max(start.values(), default=1.0):
            continue
        if symbol.kind not in CALLABLE_KINDS | TYPE_KINDS | {"section", "type"}:
            continue
        if any(item.path == one.place[0] and item.span.overlaps(symbol.span) for item in given):
            continue
        out.append(
            Item(
                path=one.place[0],
                span=symbol.span,
                kind=symbol.kind,
                origin=Origin.GRAPH,
                score=one.score,
                symbol=symbol.qualified,
                reasons={one.edge.type: one.score},
            )
        )
    return tuple(out[:limit])


def place_of(view: GraphView, item: Item) -> OutlineRef | None:
    """The node that an item shows, or is a part of."""
    facts = view.facts(item.path)
    if facts is None:
        return None
    if item.symbol:
        for i in facts.qualified.get(item.symbol, ()):
            if facts.symbols[i].span.overlaps(item.span):
                return item.path, i
    index = -1
    for i, symbol in enumerate(facts.symbols):
        if symbol.span.contains(item.span):
            index = i
    return item.path, index

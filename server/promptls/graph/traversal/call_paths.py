"""Shortest call paths between definitions, by bidirectional breadth-first search over "calls" edges.

A call of a type continues in its constructor.  The search is bounded by visited nodes and path length, and
deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from promptls.graph.graph import GraphView
from promptls.index import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import CancelToken

MAX_NODES = 4_000
"""Maximum number of visited nodes; bounds the time."""
MAX_LENGTH = 16
"""Maximum number of search levels."""
MIN_CERTAINTY = 0.3
"""Minimum certainty of edges that are followed."""

Steps = Callable[[OutlineRef], list[OutlineRef]]


def call_paths(
    view: GraphView,
    sources: Iterable[OutlineRef],
    targets: Iterable[OutlineRef],
    limit: int = 5,
    token: CancelToken | None = None,
) -> tuple[tuple[OutlineRef, ...], ...]:
    """Return at most `limit` shortest paths, all of the same length, sorted; () if there is none."""
    start = {ref for source in sources for ref in callables_in(view, source)}
    goal = {ref for target in targets for ref in callables_in(view, target)}
    both = sorted(start & goal)
    if both:
        return tuple((ref,) for ref in both[:limit])
    forward: dict[OutlineRef, list[OutlineRef]] = {ref: [] for ref in start}  # node → predecessors
    backward: dict[OutlineRef, list[OutlineRef]] = {ref: [] for ref in goal}  # node → successors
    forward_level, backward_level = sorted(start), sorted(goal)
    for _ in range(MAX_LENGTH):
        if not forward_level or not backward_level or len(forward) + len(backward) > MAX_NODES:
            return ()
        if token is not None:
            token.check()
        if len(forward_level) <= len(backward_level):
            forward_level = _next_level(forward_level, forward, lambda ref: callees(view, ref))
            meeting = [ref for ref in forward_level if ref in backward]
        else:
            backward_level = _next_level(backward_level, backward, lambda ref: callers(view, ref))
            meeting = [ref for ref in backward_level if ref in forward]
        if meeting:
            paths = [
                (*reversed(head), ref, *tail)
                for ref in sorted(meeting)
                for head in _paths_from(forward, ref, limit)
                for tail in _paths_from(backward, ref, limit)
            ]
            return tuple(sorted(paths))[:limit]
    return ()


def _next_level(
    forward_level: list[OutlineRef], visited: dict[OutlineRef, list[OutlineRef]], steps: Steps
) -> list[OutlineRef]:
    """Return the next level of the search and record the predecessors of its nodes."""
    level: dict[OutlineRef, list[OutlineRef]] = {}
    for ref in forward_level:
        for other in steps(ref):
            if other not in visited:
                level.setdefault(other, []).append(ref)
    visited.update(level)
    return sorted(level)


def _paths_from(
    visited: dict[OutlineRef, list[OutlineRef]], ref: OutlineRef, limit: int
) -> list[tuple[OutlineRef, ...]]:
    """Return at most `limit` paths from a node to the start of its search, without the node itself."""
    previous = visited[ref]
    if not previous:
        return [()]
    out: list[tuple[OutlineRef, ...]] = []
    for other in sorted(previous):
        out += [(other, *rest) for rest in _paths_from(visited, other, limit)]
        if len(out) >= limit:
            break
    return out[:limit]


def callables_in(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the callables that a node represents: itself, or the callables in a type or file."""
    file_symbols, symbol = view.file_symbols(ref[0]), view.symbol(ref)
    if file_symbols is None or (symbol is not None and symbol.kind in CALLABLE_KINDS):
        return [ref]
    span = symbol.span if symbol is not None else None
    nested = [
        (ref[0], i)
        for i, inner in enumerate(file_symbols.symbols)
        if inner.kind in CALLABLE_KINDS | TYPE_KINDS and (span is None or (span.contains(inner.span) and i != ref[1]))
    ]
    return [ref, *nested]


def callees(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the nodes called by a definition, and for a type its constructors."""
    symbol, file_symbols = view.symbol(ref), view.file_symbols(ref[0])
    out = [edge.target for edge in view.outgoing(ref) if edge.type == "calls" and edge.weight >= MIN_CERTAINTY]
    if symbol is not None and file_symbols is not None and symbol.kind in TYPE_KINDS:
        out += [
            (ref[0], i) for i in file_symbols.children.get(ref[1], ()) if file_symbols.symbols[i].kind == "constructor"
        ]
    return sorted(set(out))


def callers(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the callers of a definition, and for a constructor its type."""
    symbol = view.symbol(ref)
    out = [edge.source for edge in view.incoming(ref) if edge.type == "calls" and edge.weight >= MIN_CERTAINTY]
    if symbol is not None and symbol.kind == "constructor" and symbol.parent >= 0:
        out.append((ref[0], symbol.parent))
    return sorted(set(out))

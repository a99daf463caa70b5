"""Shortest call paths from one definition to another.

Breadth first from both ends, the smaller front first, over edges of type "calls"; making an object goes on in
its constructor.  Bounded by nodes looked at and by length; deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from promptls.graph.graph import GraphView
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import CancelToken

MAX_NODES = 4_000
MAX_LENGTH = 16
LEAST = 0.3
"""Edges less sure than this are not followed."""

Steps = Callable[[OutlineRef], list[OutlineRef]]


def call_paths(
    view: GraphView,
    sources: Iterable[OutlineRef],
    targets: Iterable[OutlineRef],
    limit: int = 5,
    token: CancelToken | None = None,
) -> tuple[tuple[OutlineRef, ...], ...]:
    """At most `limit` shortest paths, all of the same length, in order of their places; () if there is none."""
    start = {place for source in sources for place in inside(view, source)}
    goal = {place for target in targets for place in inside(view, target)}
    both = sorted(start & goal)
    if both:
        return tuple((place,) for place in both[:limit])
    ahead: dict[OutlineRef, list[OutlineRef]] = {place: [] for place in start}  # place → those it was reached from
    behind: dict[OutlineRef, list[OutlineRef]] = {place: [] for place in goal}  # place → those it leads to
    front, back = sorted(start), sorted(goal)
    for _ in range(MAX_LENGTH):
        if not front or not back or len(ahead) + len(behind) > MAX_NODES:
            return ()
        if token is not None:
            token.check()
        if len(front) <= len(back):
            front = _grow(front, ahead, lambda place: callees(view, place))
            met = [place for place in front if place in behind]
        else:
            back = _grow(back, behind, lambda place: callers(view, place))
            met = [place for place in back if place in ahead]
        if met:
            found = [
                (*reversed(head), place, *tail)
                for place in sorted(met)
                for head in _chains(ahead, place, limit)
                for tail in _chains(behind, place, limit)
            ]
            return tuple(sorted(found))[:limit]
    return ()


def _grow(front: list[OutlineRef], known: dict[OutlineRef, list[OutlineRef]], steps: Steps) -> list[OutlineRef]:
    """The next level; all ways into it are kept, ways back into earlier levels are not."""
    level: dict[OutlineRef, list[OutlineRef]] = {}
    for place in front:
        for other in steps(place):
            if other not in known:
                level.setdefault(other, []).append(place)
    known.update(level)
    return sorted(level)


def _chains(known: dict[OutlineRef, list[OutlineRef]], place: OutlineRef, limit: int) -> list[tuple[OutlineRef, ...]]:
    """Ways from a place to where its search began, the place itself left out; at most `limit`."""
    before = known[place]
    if not before:
        return [()]
    out: list[tuple[OutlineRef, ...]] = []
    for other in sorted(before):
        out += [(other, *rest) for rest in _chains(known, other, limit)]
        if len(out) >= limit:
            break
    return out[:limit]


def inside(view: GraphView, place: OutlineRef) -> list[OutlineRef]:
    """The callables that a node stands for: itself, or those in a type or file."""
    facts, symbol = view.facts(place[0]), view.symbol(place)
    if facts is None or (symbol is not None and symbol.kind in CALLABLE_KINDS):
        return [place]
    end = symbol.span if symbol is not None else None
    held = [
        (place[0], i)
        for i, one in enumerate(facts.symbols)
        if one.kind in CALLABLE_KINDS | TYPE_KINDS and (end is None or (end.contains(one.span) and i != place[1]))
    ]
    return [place, *held]


def callees(view: GraphView, place: OutlineRef) -> list[OutlineRef]:
    """What a definition calls; for a type, its constructor."""
    symbol, facts = view.symbol(place), view.facts(place[0])
    out = [edge.target for edge in view.out(place) if edge.type == "calls" and edge.weight >= LEAST]
    if symbol is not None and facts is not None and symbol.kind in TYPE_KINDS:
        out += [(place[0], i) for i in facts.children.get(place[1], ()) if facts.symbols[i].kind == "constructor"]
    return sorted(set(out))


def callers(view: GraphView, place: OutlineRef) -> list[OutlineRef]:
    """What calls a definition; for a constructor, its type."""
    symbol = view.symbol(place)
    out = [edge.source for edge in view.into(place) if edge.type == "calls" and edge.weight >= LEAST]
    if symbol is not None and symbol.kind == "constructor" and symbol.parent >= 0:
        out.append((place[0], symbol.parent))
    return sorted(set(out))

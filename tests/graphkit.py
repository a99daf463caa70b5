"""Graphs of workspaces written as one string, and short names for their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import ImportResolver
from promptls.graph.nodes import Edge
from promptls.index.snapshot import OutlineRef
from promptls.mentions.context import ResolveContext, Services
from workspaces import context_of, snapshot_of


def view_of(text: str, top: Path, roots: Iterable[str] = ()) -> GraphView:
    """The graph of a workspace string."""
    return Graph(ImportResolver).at(snapshot_of(text, top, roots))


def short(view: GraphView, place: OutlineRef) -> str:
    """ "a.py:Class.method", "a.py" for the file."""
    symbol = view.symbol(place)
    label = view.snapshot.label(place[0])
    return f"{label}:{symbol.qualified}" if symbol is not None else label


def place_of(view: GraphView, name: str) -> OutlineRef:
    """The place of a short name; the last one of several alike."""
    found = [place for place in view.all_refs() if short(view, place) == name]
    assert found, f"{name} is not in the graph"
    return found[-1]


def edges(view: GraphView, found: Iterable[Edge], *types: str) -> list[str]:
    """Edges as "a.py:f calls b.py:g .95", in their order."""
    return [
        f"{short(view, e.source)} {e.type} {short(view, e.target)} {e.weight:.2f}".replace(" 0.", " .").replace(
            " 1.00", ""
        )
        for e in found
        if not types or e.type in types
    ]


def calls(view: GraphView, name: str, *types: str) -> list[str]:
    """Targets of the edges out of a node, calls unless types are given: "b.py:g .95"."""
    shown = edges(view, view.outgoing(place_of(view, name)), *(types or ("calls",)))
    return [one.split(" ", 2)[2] for one in shown]


def asking(text: str, top: Path, roots: Iterable[str] = ()) -> ResolveContext:
    """A request on a workspace string, with its graph."""
    snapshot, graph = snapshot_of(text, top, roots), Graph(ImportResolver)
    return replace(context_of(snapshot), services=Services(graph=graph.at))

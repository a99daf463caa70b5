"""Code graphs of workspaces that are written as one string, and short names of their nodes and edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import ImportResolver
from promptls.graph.nodes import Edge
from promptls.index.snapshot import OutlineRef
from promptls.mentions.context import ResolveContext, Services
from workspaces import IndexedSnapshot, context_of, snapshot_of


def view_of(text: str, top: Path, roots: Iterable[str] = ()) -> GraphView:
    """Return the graph of a workspace string."""
    return Graph(ImportResolver).at(snapshot_of(text, top, roots))


def all_refs(view: GraphView) -> Iterator[OutlineRef]:
    """Yield all nodes, sorted by path."""
    for path, entry in sorted(view.snapshot.files.items()):
        yield path, -1
        for i in range(len(entry.outline.symbols) if entry.outline else 0):
            yield path, i


def short_name(view: GraphView, ref: OutlineRef) -> str:
    """Return the short name of a node: "a.py:Class.method", or "a.py" for the file."""
    symbol = view.symbol(ref)
    label = view.snapshot.label(ref[0])
    return f"{label}:{symbol.qualified}" if symbol is not None else label


def ref_of(view: GraphView, name: str) -> OutlineRef:
    """Return the node with a short name; of several the last one."""
    refs = [ref for ref in all_refs(view) if short_name(view, ref) == name]
    assert refs, f"{name} is not in the graph"
    return refs[-1]


def edges(view: GraphView, found: Iterable[Edge], *types: str) -> list[str]:
    """Return edges, optionally of some types only, in the form "a.py:f calls b.py:g .95", in their order."""
    out = []
    for edge in found:
        if not types or edge.type in types:
            weight = f" {edge.weight:.2f}".replace(" 0.", " .").replace(" 1.00", "")
            out.append(f"{short_name(view, edge.source)} {edge.type} {short_name(view, edge.target)}{weight}")
    return out


def calls(view: GraphView, name: str, *types: str) -> list[str]:
    """Return the targets of the outgoing edges of a node, by default of its calls, in the form "b.py:g .95"."""
    outgoing = edges(view, view.outgoing(ref_of(view, name)), *(types or ("calls",)))
    return [edge.split(" ", 2)[2] for edge in outgoing]


def context_for(text: str, top: Path, roots: Iterable[str] = ()) -> ResolveContext:
    """Return the resolve context of a workspace string, with its graph."""
    snapshot, graph = snapshot_of(text, top, roots), Graph(ImportResolver)
    return replace(context_of(snapshot), services=Services(graph=graph.at, index=IndexedSnapshot(snapshot)))

"""Values of the graph: nodes, edges, layers and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from promptls.index import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader
from promptls.model import Span

EdgeType = Literal[
    "contains", "imports", "calls", "inherits", "implements", "uses", "exports", "tested_by", "documents"
]
Complexity = Literal["simple", "moderate", "complex"]


class Node(Struct, frozen=True):
    """A file or a definition."""

    id: str  # "file:src/a.py", "method:src/a.py:A.b"; a second one of the same name ends in "@line"
    type: str  # "file", or the symbol's kind
    name: str
    path: str  # absolute
    label: str  # path as shown to users
    span: Span
    index: int = -1  # into Outline.symbols, -1 for the file
    qualified: str = ""  # "Server.ping"; "" for a file
    complexity: Complexity = "simple"
    summary: str = ""
    tags: tuple[str, ...] = ()
    language_notes: tuple[str, ...] = ()
    layer: str = ""

    @property
    def ref(self) -> tuple[str, int]:
        """Path, and index into the symbols or -1 for the file."""
        return self.path, self.index


class Edge(Struct, frozen=True):
    """A relation from source to target: "source calls target"."""

    source: tuple[str, int]  # (path, index of the symbol or -1 for the file)
    target: tuple[str, int]
    type: EdgeType
    weight: float  # 0..1: certainty of the target, see resolution.CERTAINTY
    path: str  # file that contains the evidence
    line: int  # 0-based line of the evidence
    note: str = ""  # method of resolution


class ScoredNeighbor(Struct, frozen=True):
    """A neighbor with its score and the edge that leads to it."""

    ref: tuple[str, int]
    score: float  # 0..1, a fraction of the parent's score
    parent: tuple[str, int]
    edge: Edge
    hops: int = 1


class GraphLayer(Struct, frozen=True):
    """A layer with the nodes of a result that belong to it."""

    name: str
    description: str
    nodes: tuple[str, ...]  # ids


class GraphResult(Struct, frozen=True):
    """A part of the graph, the result of promptls/graph."""

    project: ProjectHeader
    layers: tuple[GraphLayer, ...]
    nodes: tuple[Node, ...]  # most relevant first
    edges: tuple[Edge, ...]  # both ends among `nodes`
    paths: tuple[tuple[tuple[str, int], ...], ...] = ()  # call paths, shortest first
    problem: str = ""  # reason for an empty result
    suggestions: tuple[str, ...] = ()  # similar names that exist


def deduplicate_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Keep the most certain of edges with the same ends and type, at the position of the first one."""
    out: dict[tuple[OutlineRef, OutlineRef, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.type)
        other = out.get(key)
        if other is None or other.weight < edge.weight:
            out[key] = edge
    return tuple(out.values())

"""The nouns of the graph: nodes, edges, layers and the header of the project they belong to.

Frozen values without behaviour beyond their own names.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

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
    label: str  # the path as people write it
    span: Span
    index: int = -1  # into Outline.symbols, -1 for the file
    qualified: str = ""  # "Server.ping"; "" for a file
    complexity: Complexity = "simple"
    summary: str = ""
    tags: tuple[str, ...] = ()
    language_notes: tuple[str, ...] = ()
    layer: str = ""

    @property
    def place(self) -> tuple[str, int]:
        return self.path, self.index


class Edge(Struct, frozen=True):
    """What one node is to another, read from source to target: "source calls target"."""

    source: tuple[str, int]  # (path, index of the symbol or -1 for the file)
    target: tuple[str, int]
    type: EdgeType
    weight: float  # 0..1: how sure it is that the target is this one; see found.CERTAINTY
    path: str  # file of the evidence
    line: int  # of the evidence, 0-based
    note: str = ""  # how the target was found, in words


class Scored(Struct, frozen=True):
    """A neighbour: how near it is, and by which edge it was reached."""

    place: tuple[str, int]
    score: float  # 0..1, a part of its parent's
    parent: tuple[str, int]
    edge: Edge
    hops: int = 1


class LayerView(Struct, frozen=True):
    """A layer with the nodes of a result that belong to it."""

    name: str
    about: str
    nodes: tuple[str, ...]  # ids


class GraphResult(Struct, frozen=True):
    """A part of the graph: the answer to promptls/graph."""

    project: ProjectHeader
    layers: tuple[LayerView, ...]
    nodes: tuple[Node, ...]  # most relevant first
    edges: tuple[Edge, ...]  # both ends among `nodes`
    paths: tuple[tuple[tuple[str, int], ...], ...] = ()  # call paths, shortest first
    problem: str = ""  # why there is nothing, as a sentence
    suggestions: tuple[str, ...] = ()  # names that exist

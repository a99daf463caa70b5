"""A part of the graph as markdown: project, layers, components, relationships.

The order of sections and the form "a --[calls]--> b" are Understand-Anything's; lines that would be empty are left
out, and every component has its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from promptls.graph.nodes import Edge, GraphResult, Node
from promptls.index.snapshot import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """A name or a sentence of the workspace where a line is meant: a file's name may hold line ends and more."""
    return _BREAKS.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text)


def markdown(result: GraphResult) -> str:
    """The whole page; "" where there is nothing to say."""
    sections = [project(result.project)]
    if result.problem:
        sections.append(result.problem)
        if result.suggestions:
            sections.append("Did you mean: " + ", ".join(f"`{name}`" for name in result.suggestions) + "?")
    if result.paths:
        sections.append(paths(result))
    if result.layers:
        about = [
            f"### {layer.name}\n\n{layer.about}" if layer.about else f"### {layer.name}" for layer in result.layers
        ]
        sections.append("## Relevant Layers\n\n" + "\n\n".join(about))
    if result.nodes:
        sections.append("## Code Components\n\n" + "\n\n".join(map(component, result.nodes)))
    shown = relationships(result.nodes, result.edges)
    if shown:
        sections.append("## Relationships\n\n" + "\n".join(f"- {line}" for line in shown))
    return "\n\n".join(section for section in sections if section)


def project(header: ProjectHeader) -> str:
    """The header, "" without a name."""
    lines = [f"# Project: {one_line(header.name)}"] if header.name else []
    if header.description:
        lines += ["", one_line(header.description)]
    facts = [("Languages", header.languages), ("Frameworks", header.frameworks)]
    shown = [f"{word}: {', '.join(values)}" for word, values in facts if values]
    if shown:
        lines += ["", *shown]
    return "\n".join(lines).strip("\n")


def where(node: Node) -> str:
    """ "src/a.py:3-9", lines 1-based; the path alone for a file without any."""
    label = one_line(node.label)
    return f"{label}:{node.span.label}" if len(node.span) else label


def component(node: Node) -> str:
    """One node as a heading with its facts."""
    lines = [f"### {called(node)} ({node.type})", "", f"- File: {where(node)}", f"- Complexity: {node.complexity}"]
    facts = (("Summary", node.summary), ("Tags", ", ".join(node.tags)), ("Language", ", ".join(node.language_notes)))
    return "\n".join([*lines, *(f"- {word}: {one_line(text)}" for word, text in facts if text)])


def relationships(nodes: Iterable[Node], edges: Iterable[Edge]) -> list[str]:
    """Edges as "a --[calls]--> b: how it is known"; of several nodes of one name each says its file."""
    by_place = {node.place: node for node in nodes}
    names: dict[str, set[OutlineRef]] = {}
    for node in by_place.values():
        names.setdefault(called(node), set()).add(node.place)

    def told(place: OutlineRef) -> str:
        node = by_place[place]
        return f"{called(node)} ({one_line(node.label)})" if len(names[called(node)]) > 1 else called(node)

    return [
        f"{told(edge.source)} --[{edge.type}]--> {told(edge.target)}{description(edge)}"
        for edge in edges
        if edge.source in by_place and edge.target in by_place
    ]


def called(node: Node) -> str:
    """Its qualified name, a file's path."""
    return one_line(node.qualified or node.label)


def description(edge: Edge) -> str:
    """Where the evidence is and, where that is not certain, how the target was found."""
    if edge.type in ("contains", "exports"):
        return ""
    doubt = {
        "unique": ", by its name alone",
        "several": ", one of several of that name",
        "returned": ", by a declared result",
        "typed": ", by a declared type",
    }
    return f": line {edge.line + 1}{doubt.get(edge.note, '')}"


def paths(result: GraphResult) -> str:
    """Call paths, one a line."""
    by_place = {node.place: node for node in result.nodes}
    lines = []
    for path in result.paths:
        steps = [f"{called(by_place[place])} ({where(by_place[place])})" for place in path if place in by_place]
        lines.append(f"- {' → '.join(steps)}")
    return "## Call Paths\n\n" + "\n".join(lines)

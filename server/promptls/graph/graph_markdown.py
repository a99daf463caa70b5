"""Markdown rendering of graph results: project, call paths, layers, components and relationships.

Relationships have the form "a --[calls]--> b".  Empty lines and sections are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from promptls.graph.nodes import Edge, GraphResult, Node
from promptls.index import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def escape_control(text: str) -> str:
    """Escape control characters and line breaks, which file names may contain."""
    return _BREAKS.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text)


_ACTIVE = re.compile(r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))|!\[|<(?=[A-Za-z/!?])")
"""Code spans, which are kept, and the beginning of images and of HTML."""


def as_text(text: str) -> str:
    """Escape control characters, images and HTML in a line of Markdown with text of the workspace."""
    return _ACTIVE.sub(lambda found: found["code"] or ("!\\[" if found[0] == "![" else "\\<"), escape_control(text))


def render_graph(result: GraphResult) -> str:
    """Render a result, "" if it is empty."""
    sections = [render_header(result.project)]
    if result.problem:
        sections.append(result.problem)
        if result.suggestions:
            sections.append("Did you mean: " + ", ".join(f"`{name}`" for name in result.suggestions) + "?")
    if result.paths:
        sections.append(render_call_paths(result))
    if result.layers:
        about = [
            f"### {layer.name}\n\n{layer.description}" if layer.description else f"### {layer.name}"
            for layer in result.layers
        ]
        sections.append("## Relevant Layers\n\n" + "\n\n".join(about))
    if result.nodes:
        sections.append("## Code Components\n\n" + "\n\n".join(map(render_node, result.nodes)))
    shown = render_edges(result.nodes, result.edges)
    if shown:
        sections.append("## Relationships\n\n" + "\n".join(f"- {line}" for line in shown))
    return "\n\n".join(section for section in sections if section)


def render_header(header: ProjectHeader) -> str:
    """Render the summary of a project, "" without a name."""
    lines = [f"# Project: {escape_control(header.name)}"] if header.name else []
    if header.description:
        lines += ["", escape_control(header.description)]
    properties = [("Languages", header.languages), ("Frameworks", header.frameworks)]
    shown = [f"{word}: {', '.join(values)}" for word, values in properties if values]
    if shown:
        lines += ["", *shown]
    return "\n".join(lines).strip("\n")


def node_location(node: Node) -> str:
    """Return path and 1-based lines of a node, "src/a.py:3-9", or the path for an empty file."""
    label = escape_control(node.label)
    return f"{label}:{node.span.label}" if len(node.span) else label


def render_node(node: Node) -> str:
    """Render a node as a heading with its properties."""
    lines = [
        f"### {display_name(node)} ({node.type})",
        "",
        f"- File: {node_location(node)}",
        f"- Complexity: {node.complexity}",
    ]
    properties = (
        ("Summary", node.summary),
        ("Tags", ", ".join(node.tags)),
        ("Language", ", ".join(node.language_notes)),
    )
    return "\n".join([*lines, *(f"- {word}: {escape_control(text)}" for word, text in properties if text)])


def render_edges(nodes: Iterable[Node], edges: Iterable[Edge]) -> list[str]:
    """Render edges as "a --[calls]--> b: evidence"; ambiguous names are followed by their file."""
    by_ref = {node.ref: node for node in nodes}
    names: dict[str, set[OutlineRef]] = {}
    for node in by_ref.values():
        names.setdefault(display_name(node), set()).add(node.ref)

    def name_of(ref: OutlineRef) -> str:
        node = by_ref[ref]
        return (
            f"{display_name(node)} ({escape_control(node.label)})"
            if len(names[display_name(node)]) > 1
            else display_name(node)
        )

    return [
        f"{name_of(edge.source)} --[{edge.type}]--> {name_of(edge.target)}{edge_evidence(edge)}"
        for edge in edges
        if edge.source in by_ref and edge.target in by_ref
    ]


def display_name(node: Node) -> str:
    """Return the qualified name of a definition, or the path of a file."""
    return escape_control(node.qualified or node.label)


def edge_evidence(edge: Edge) -> str:
    """Return the line of the evidence and, if the target is uncertain, the method of resolution."""
    if edge.type in ("contains", "exports"):
        return ""
    doubt = {
        "unique": ", by its name alone",
        "several": ", one of several of that name",
        "returned": ", by a declared result",
        "typed": ", by a declared type",
    }
    return f": line {edge.line + 1}{doubt.get(edge.note, '')}"


def render_call_paths(result: GraphResult) -> str:
    """Render call paths, one per line."""
    by_ref = {node.ref: node for node in result.nodes}
    lines = []
    for path in result.paths:
        steps = [f"{display_name(by_ref[ref])} ({node_location(by_ref[ref])})" for ref in path if ref in by_ref]
        lines.append(f"- {' → '.join(steps)}")
    return "## Call Paths\n\n" + "\n".join(lines)

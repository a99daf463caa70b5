"""Explanation of one node: signature, callers, callees, types, tests and imports; the result of promptls/explain.

Pure functions of a graph view that return a value, and its rendering as Markdown; `relation_line` is the short form in
one line, for regions of code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from promptls.graph import graph_markdown
from promptls.graph.definition_items import parts_of
from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge, Node
from promptls.graph.traversal import TargetMatches, resolve_position, resolve_target
from promptls.index import OutlineRef, Snapshot
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import Symbol
from promptls.util.text.display import code_span

MAX_LISTED = 25
"""Maximum number of entries shown in each list."""


class RelatedNode(Struct, frozen=True):
    """A node and the edge that leads to it."""

    node: Node
    edge: Edge


class Explanation(Struct, frozen=True):
    """All information about one node; without a node, `problem` and `suggestions` are set."""

    node: Node | None = None
    signature: str = ""
    doc: str = ""
    exported: bool = False
    cyclomatic: int = 0  # cyclomatic complexity of a callable, otherwise 0
    parent: Node | None = None
    children: tuple[Node, ...] = ()
    callers: tuple[RelatedNode, ...] = ()
    callees: tuple[RelatedNode, ...] = ()
    supertypes: tuple[RelatedNode, ...] = ()
    subtypes: tuple[RelatedNode, ...] = ()
    users: tuple[RelatedNode, ...] = ()  # uses as a type or decorator
    tests: tuple[RelatedNode, ...] = ()
    imports: tuple[RelatedNode, ...] = ()
    importers: tuple[RelatedNode, ...] = ()
    documents: tuple[RelatedNode, ...] = ()  # prose that mentions the node
    parts: tuple[Node, ...] = ()  # the other parts of the definition; members and relations are those of all parts
    others: tuple[Node, ...] = ()  # other matches of the target
    problem: str = ""
    suggestions: tuple[str, ...] = ()


def explain_symbol(view: GraphView, target: str) -> Explanation:
    """Explain a target: "path", "path:function", "Class.method", "function" or the id of a node."""
    return _build_explanation(view, resolve_target(view, target))


def explain_position(view: GraphView, path: str, line: int, word: str = "") -> Explanation:
    """Explain the reference `word` at a 0-based line, otherwise the definition at that line, otherwise the file."""
    return _build_explanation(view, resolve_position(view, path, line, word))


def _build_explanation(view: GraphView, matches: TargetMatches) -> Explanation:
    node = view.node(matches.refs[0]) if matches.refs else None
    if node is None:
        return Explanation(problem=matches.problem, suggestions=matches.suggestions)
    symbol, file = view.symbol(node.ref), (node.path, -1)
    parts = parts_of(view, node.ref)
    outgoing = [edge for part in parts for edge in view.outgoing(part) if edge.target not in parts]
    incoming = [edge for part in parts for edge in view.incoming(part) if edge.source not in parts]
    return Explanation(
        node=node,
        signature=symbol.signature if symbol else "",
        doc=symbol.doc if symbol else "",
        exported=symbol.exported if symbol else False,
        cyclomatic=symbol.complexity if symbol else 0,
        parent=view.node((node.path, symbol.parent)) if symbol else None,
        children=_nodes(view, [member for part in parts for member in _members(view, part)]),
        callers=_related(view, incoming, ("calls",), source=True, tests=False),
        callees=_related(view, outgoing, ("calls",)),
        supertypes=_related(view, outgoing, ("inherits", "implements")),
        subtypes=_related(view, incoming, ("inherits", "implements"), source=True),
        users=_related(view, incoming, ("uses",), source=True, tests=False),
        tests=_related(view, outgoing, ("tested_by",)),
        imports=_related(view, outgoing if symbol is None else (), ("imports",)),
        importers=_related(view, view.incoming(file) if symbol is None else (), ("imports",), source=True),
        documents=_related(view, incoming, ("documents",), source=True),
        parts=_nodes(view, parts[1:]),
        others=_nodes(view, [ref for ref in matches.refs if ref not in parts][:5]),
    )


def _members(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    file_symbols = view.file_symbols(ref[0])
    return [(ref[0], i) for i in (file_symbols.children.get(ref[1], ()) if file_symbols is not None else ())]


def _nodes(view: GraphView, refs: Iterable[OutlineRef]) -> tuple[Node, ...]:
    return tuple(node for ref in refs if (node := view.node(ref)) is not None)


def _related(
    view: GraphView, edges: Iterable[Edge], types: tuple[str, ...], source: bool = False, tests: bool = True
) -> tuple[RelatedNode, ...]:
    """Return the other ends of edges of some types, most certain first, optionally without tests."""
    related: dict[tuple[OutlineRef, int], RelatedNode] = {}  # by node and line: parts have edges from the same place
    for edge in sorted(edges, key=lambda edge: -edge.weight):
        other = edge.source if source else edge.target
        node = view.node(other) if edge.type in types else None
        if node is not None and (tests or not view.is_test(other)):
            related.setdefault((other, edge.line), RelatedNode(node, edge))
    return tuple(related.values())


def render_explanation(view: GraphView, explanation: Explanation) -> str:
    """Render an explanation as Markdown."""
    node = explanation.node
    if node is None:
        names = [f"- {name}" for name in explanation.suggestions]
        return "\n".join(["# Not found", "", explanation.problem, *(["", "Near names:", "", *names] if names else [])])
    lines = [f"# {graph_markdown.display_name(node)} ({node.type})", ""]
    properties = [
        ("File", graph_markdown.node_location(node)),
        ("Layer", node.layer),
        ("Complexity", f"{node.complexity}{f' ({explanation.cyclomatic})' if explanation.cyclomatic else ''}"),
        ("Part of", explanation.parent.name if explanation.parent is not None else ""),
        ("Visible to other files", "yes" if explanation.exported else ""),
        ("Language", ", ".join(node.language_notes)),
        ("Tags", ", ".join(node.tags)),
    ]
    lines += [f"- {word}: {text}" for word, text in properties if text]
    if explanation.signature:
        lines += ["", f"Signature: {code_span(explanation.signature)}"]
    summary = explanation.doc or node.summary
    if summary:
        lines += ["", summary]
    if explanation.children:
        lines += ["", "## Contains", ""]
        lines += [
            f"- {c.name} ({c.type}), {graph_markdown.node_location(c)}: {c.summary}"
            for c in explanation.children[:MAX_LISTED]
        ]
        lines += _remaining_count(len(explanation.children))
    for title, related in (
        ("Called by", explanation.callers),
        ("Calls", explanation.callees),
        ("Extends", explanation.supertypes),
        ("Extended by", explanation.subtypes),
        ("Used by", explanation.users),
        ("Tested by", explanation.tests),
        ("Imports", explanation.imports),
        ("Imported by", explanation.importers),
        ("Described in", explanation.documents),
    ):
        lines += _render_related(title, related)
    if explanation.parts:
        lines += ["", f"Other parts: {', '.join(map(graph_markdown.node_location, explanation.parts))}."]
    if explanation.others:
        lines += ["", f"Others of that name: {', '.join(code_span(other.id) for other in explanation.others)}."]
    return "\n".join(map(graph_markdown.as_text, lines))


def _render_related(title: str, related: tuple[RelatedNode, ...]) -> list[str]:
    if not related:
        return []
    lines = ["", f"## {title}", ""]
    for related_node in related[:MAX_LISTED]:
        node, evidence = related_node.node, graph_markdown.edge_evidence(related_node.edge)
        lines.append(
            f"- {graph_markdown.display_name(node)} ({node.type}), {graph_markdown.node_location(node)}{evidence}"
        )
    return lines + _remaining_count(len(related))


def _remaining_count(count: int) -> list[str]:
    return [f"- and {count - MAX_LISTED} more"] if count > MAX_LISTED else []


# ---------------------------------------------------------------- relation line


MAX_FILES = 24
"""Maximum number of files in which callers are resolved; bounds the time to a few milliseconds."""
MAX_TARGETS, MAX_SOURCES = 6, 3
"""Maximum number of called definitions and of calling places that are named; all are counted."""


def relation_line(view: GraphView, ref: OutlineRef) -> str:
    """Return the relations of a definition, "" if none are known: "calls f (a.py:10) · called by 3 · tests t.py:40"."""
    symbol = view.symbol(ref)
    if symbol is None:
        return ""
    outgoing = view.outgoing(ref, 0)
    incoming = [edge for edge in view.incoming(ref, MAX_FILES) if edge.source != ref]
    tests = [edge for edge in incoming if edge.type == "calls" and view.is_test(edge.source)]
    callers = [edge for edge in incoming if edge.type == "calls" and not view.is_test(edge.source)]
    more = "+" if view.mention_count(symbol.name) > MAX_FILES else ""
    parts = [
        _targets(view, ref[0], "calls", [e for e in outgoing if e.type == "calls" and e.target != ref]),
        _targets(view, ref[0], "extends", [e for e in outgoing if e.type in ("inherits", "implements")]),
        _sources(view, "called by", callers, more) if symbol.kind in CALLABLE_KINDS | TYPE_KINDS else "",
        _sources(view, "extended by", [e for e in incoming if e.type in ("inherits", "implements")], more),
        _sources(view, "used by", [e for e in incoming if e.type == "uses"], more) if not callers else "",
        _sources(view, "tests", tests, more),
    ]
    return " · ".join(filter(None, parts))


def _targets(view: GraphView, path: str, verb: str, edges: Iterable[Edge]) -> str:
    """Return the definitions that edges lead to, by file: "calls a, b (x.py:10,20)"."""
    targets = list(dict.fromkeys(edge.target for edge in edges))
    by_file: dict[str, list[Symbol]] = {}
    for target in targets[:MAX_TARGETS]:
        symbol = view.symbol(target)
        if symbol is not None:
            by_file.setdefault(target[0], []).append(symbol)
    groups = []
    for other, symbols in by_file.items():
        names = ", ".join(symbol.name or symbol.qualified for symbol in symbols)
        lines = ",".join(str(symbol.span.start + 1) for symbol in symbols)
        groups.append(f"{names} ({'' if other == path else short_path(view.snapshot, other)}:{lines})")
    hidden = len(targets) - MAX_TARGETS
    return f"{verb} {', '.join(groups)}{f', {hidden} more' if hidden > 0 else ''}" if groups else ""


def _sources(view: GraphView, verb: str, edges: Sequence[Edge], more: str) -> str:
    """Return the number of definitions that edges come from, and the first places: "called by 3 (a.py:10,20, …)"."""
    first = list({edge.source: edge for edge in reversed(edges)}.values())[::-1]
    if not first:
        return ""
    by_file: dict[str, list[str]] = {}
    for edge in first[:MAX_SOURCES]:
        by_file.setdefault(edge.path, []).append(str(edge.line + 1))
    shown = ", ".join(f"{short_path(view.snapshot, path)}:{','.join(lines)}" for path, lines in by_file.items())
    return f"{verb} {len(first)}{more} ({shown}{', …' if len(first) > MAX_SOURCES else ''})"


def short_path(snapshot: Snapshot, path: str) -> str:
    """Return the name of a file if no other file has it, else its whole label."""
    name = path.rpartition("/")[2]
    return name if len(snapshot.basenames.get(name.lower(), ())) == 1 else snapshot.label(path)

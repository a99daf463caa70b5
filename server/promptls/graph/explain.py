"""One component explained: what it is, what it calls and what calls it, what it extends, what tests it.

The answer to promptls/explain, as a value and as markdown.  Pure functions of a view.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from promptls.graph import markdown
from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge, Node
from promptls.graph.targets import Located, at, locate
from promptls.index.snapshot import OutlineRef

MAX_LISTED = 25
"""Of each list; the rest is counted."""


class Related(Struct, frozen=True):
    """A node and the edge that leads to it."""

    node: Node
    edge: Edge


class Explanation(Struct, frozen=True):
    """Everything that the graph knows of one node.  Without one, `problem` says why and `suggestions` what is near."""

    node: Node | None = None
    signature: str = ""
    doc: str = ""
    exported: bool = False
    cyclomatic: int = 0  # McCabe's number of a callable, else 0
    parent: Node | None = None
    children: tuple[Node, ...] = ()
    callers: tuple[Related, ...] = ()
    callees: tuple[Related, ...] = ()
    supertypes: tuple[Related, ...] = ()
    subtypes: tuple[Related, ...] = ()
    users: tuple[Related, ...] = ()  # use it as a type or decorator
    tests: tuple[Related, ...] = ()
    imports: tuple[Related, ...] = ()
    importers: tuple[Related, ...] = ()
    documents: tuple[Related, ...] = ()  # prose that speaks of it
    others: tuple[Node, ...] = ()  # what else the target could mean
    problem: str = ""
    suggestions: tuple[str, ...] = ()


def explain_symbol(view: GraphView, target: str) -> Explanation:
    """What "path", "path:function", "Class.method", "function" or a node's id means."""
    return _explained(view, locate(view, target))


def explain_position(view: GraphView, path: str, line: int, word: str = "") -> Explanation:
    """What the `word` at a 0-based line of a file refers to, else the definition that holds the line, else the file."""
    return _explained(view, at(view, path, line, word))


def _explained(view: GraphView, found: Located) -> Explanation:
    node = view.node(found.places[0]) if found.places else None
    if node is None:
        return Explanation(problem=found.problem, suggestions=found.suggestions)
    place, symbol = node.place, view.symbol(node.place)
    facts = view.facts(node.path)
    out, into = view.out(place), view.into(place)
    file = (node.path, -1)
    return Explanation(
        node=node,
        signature=symbol.signature if symbol else "",
        doc=symbol.doc if symbol else "",
        exported=symbol.exported if symbol else False,
        cyclomatic=symbol.complexity if symbol else 0,
        parent=view.node((node.path, symbol.parent)) if symbol else None,
        children=_nodes(view, [(node.path, i) for i in (facts.children.get(place[1], ()) if facts else ())]),
        callers=_related(view, into, ("calls",), source=True, tests=False),
        callees=_related(view, out, ("calls",)),
        supertypes=_related(view, out, ("inherits", "implements")),
        subtypes=_related(view, into, ("inherits", "implements"), source=True),
        users=_related(view, into, ("uses",), source=True, tests=False),
        tests=_related(view, out, ("tested_by",)),
        imports=_related(view, out if symbol is None else (), ("imports",)),
        importers=_related(view, view.into(file) if symbol is None else (), ("imports",), source=True),
        documents=_related(view, into, ("documents",), source=True),
        others=_nodes(view, found.places[1:6]),
    )


def _nodes(view: GraphView, places: Iterable[OutlineRef]) -> tuple[Node, ...]:
    return tuple(node for place in places if (node := view.node(place)) is not None)


def _related(
    view: GraphView, edges: Iterable[Edge], types: tuple[str, ...], source: bool = False, tests: bool = True
) -> tuple[Related, ...]:
    """Other ends of the edges of some types, surest first; without `tests` those in tests are left out."""
    out = []
    for edge in edges:
        other = edge.source if source else edge.target
        node = view.node(other) if edge.type in types else None
        if node is not None and (tests or not view.is_test(other)):
            out.append(Related(node, edge))
    return tuple(sorted(out, key=lambda one: -one.edge.weight))


def page(view: GraphView, explanation: Explanation) -> str:
    """The component as markdown."""
    node = explanation.node
    if node is None:
        return _missing(explanation)
    lines = [f"# {markdown.called(node)} ({node.type})", ""]
    facts = [
        ("File", markdown.where(node)),
        ("Layer", node.layer),
        ("Complexity", f"{node.complexity}{f' ({explanation.cyclomatic})' if explanation.cyclomatic else ''}"),
        ("Part of", explanation.parent.name if explanation.parent is not None else ""),
        ("Visible to other files", "yes" if explanation.exported else ""),
        ("Language", ", ".join(node.language_notes)),
        ("Tags", ", ".join(node.tags)),
    ]
    lines += [f"- {word}: {text}" for word, text in facts if text]
    if explanation.signature:
        lines += ["", f"Signature: `{explanation.signature}`"]
    summary = explanation.doc or node.summary
    if summary:
        lines += ["", summary]
    if explanation.children:
        lines += ["", "## Contains", ""]
        lines += [f"- {c.name} ({c.type}), {markdown.where(c)}: {c.summary}" for c in explanation.children[:MAX_LISTED]]
        lines += _more(len(explanation.children))
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
        lines += _listed(title, related)
    if explanation.others:
        lines += ["", "Others of that name: " + ", ".join(f"`{other.id}`" for other in explanation.others) + "."]
    return "\n".join(map(markdown.one_line, lines))


def _listed(title: str, related: tuple[Related, ...]) -> list[str]:
    if not related:
        return []
    lines = ["", f"## {title}", ""]
    for one in related[:MAX_LISTED]:
        lines.append(
            f"- {markdown.called(one.node)} ({one.node.type}), {markdown.where(one.node)}{markdown.description(one.edge)}"
        )
    return lines + _more(len(related))


def _more(count: int) -> list[str]:
    return [f"- and {count - MAX_LISTED} more"] if count > MAX_LISTED else []


def _missing(explanation: Explanation) -> str:
    lines = ["# Not found", "", explanation.problem]
    if explanation.suggestions:
        lines += ["", "Near names:", "", *(f"- {name}" for name in explanation.suggestions)]
    return "\n".join(lines)

"""Items of definitions, with the lines that use given names; and the tests of definitions."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.graph.graph import GraphView
from promptls.graph.traversal.call_paths import callables_in
from promptls.index import OutlineRef
from promptls.model import Item, Origin


def definition_item(
    view: GraphView, ref: OutlineRef, origin: Origin, score: float, names: frozenset[str] = frozenset()
) -> Item | None:
    """Return a definition as an item with its call sites of `names`; None for a file."""
    symbol = view.symbol(ref)
    if symbol is None:
        return None
    sites = call_sites(view, ref, names)
    return Item(ref[0], symbol.span, symbol.kind, origin, score, symbol.qualified, call_sites=sites)


def call_sites(view: GraphView, ref: OutlineRef, names: frozenset[str]) -> tuple[int, ...]:
    """Return the lines in a definition that use one of these names."""
    facts = view.file_symbols(ref[0])
    if facts is None:
        return ()
    return tuple(sorted({use.line for name in names for owner, use in facts.references_named(name) if owner == ref[1]}))


def used_names(view: GraphView, refs: Iterable[OutlineRef]) -> frozenset[str]:
    """Return the names by which definitions are used; a constructor is also used by the name of its type."""
    names: set[str] = set()
    for ref in refs:
        definition = view.symbol(ref)
        if definition is not None:
            names.add(definition.name)
            if definition.kind == "constructor":
                names.add(definition.qualified.rpartition(".")[0].rpartition(".")[2])
    return frozenset(names - {""})


def tests_of(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the tests that call a definition, or a definition in a type or file; each once."""
    edges = (edge for inner in callables_in(view, ref) for edge in view.outgoing(inner) if edge.type == "tested_by")
    return list(dict.fromkeys(edge.target for edge in edges))

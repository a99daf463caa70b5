"""Items of definitions, with the lines that use given names; and the tests of definitions and files.

Tests named after a file are found without resolvable calls, for example tests that run a program or inspect a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.graph.graph import INDEX_STEMS, GraphView
from promptls.graph.resolution.name_lookup import equivalent_definitions
from promptls.graph.traversal import callables_in
from promptls.index import OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_test_path
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import Item, Origin, Symbol


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


def parts_of(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return a definition and its other parts: partial types, variants for other platforms, extensions, `impl` blocks.

    Blocks that implement a trait for a type are not parts of it.
    """
    symbol = view.symbol(ref)
    if symbol is None:
        return [ref]
    variants = sorted(equivalent_definitions(view.snapshot, ref) - {ref})
    return list(dict.fromkeys((ref, *variants, *_blocks(view, ref, symbol))))


def _blocks(view: GraphView, ref: OutlineRef, symbol: Symbol) -> Iterator[OutlineRef]:
    """Yield the blocks that add members to a type."""
    file_symbols = view.file_symbols(ref[0])
    if symbol.kind not in TYPE_KINDS or file_symbols is None or not file_symbols.language.part_block:
        return
    for edge in view.incoming(ref):
        block = view.symbol(edge.source)
        if block is None or block.kind != "impl" or " for " in block.signature:
            continue
        if block.qualified.rpartition(".")[2] == symbol.name:
            yield edge.source


def node_of_item(view: GraphView, item: Item) -> OutlineRef | None:
    """Return the node that contains an item."""
    file_symbols = view.file_symbols(item.path)
    if file_symbols is None:
        return None
    if item.symbol:
        for i in file_symbols.by_qualified_name.get(item.symbol, ()):
            if file_symbols.symbols[i].span.overlaps(item.span):
                return item.path, i
    index = -1
    for i, symbol in enumerate(file_symbols.symbols):
        if symbol.span.contains(item.span):
            index = i
    return item.path, index


# ---- tests by file name

MAX_MATCHES = 3
"""Maximum number of equally good matches; more matches are not specific."""
_NAME_PATTERNS = (
    *("test_{}", "test-{}", "test{}", "{}_test", "{}-test", "{}.test", "{}test", "{}_tests", "{}tests"),
    *("{}_spec", "{}-spec", "{}.spec", "{}spec", "{}"),
)
_SCRIPT_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
_JVM_SUFFIXES = (".java", ".kt", ".scala", ".groovy")
_TEST_SUFFIXES = {
    **dict.fromkeys((*_SCRIPT_SUFFIXES, ".vue", ".svelte"), _SCRIPT_SUFFIXES),
    **dict.fromkeys((*_C_SUFFIXES, ".h", ".hh", ".hpp", ".hxx"), _C_SUFFIXES),
    **dict.fromkeys(_JVM_SUFFIXES, _JVM_SUFFIXES),
    ".ex": (".exs",),
    ".pm": (".t",),
}
"""Suffixes of tests by suffix of the source file, if they may differ."""


def find_tests_named_after(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the tests (absolute paths) named after a file, with the most folders in common; () for a test."""
    label = snapshot.label(path)
    if is_test_path(label):
        return ()
    folder, _, base = path.lower().rpartition("/")
    stem, dot, ending = base.rpartition(".")
    names = {stem, stem.strip("_-")}
    if stem in INDEX_STEMS:
        names.add(folder.rpartition("/")[2])
    candidates = {
        f"{pattern.format(name)}{end}"
        for name in names - {""}
        for pattern in _NAME_PATTERNS
        for end in _TEST_SUFFIXES.get(dot + ending, (dot + ending,))
    }
    tests = [
        p
        for name in candidates
        for p in snapshot.basenames.get(name, ())
        if p != path and is_test_path(snapshot.label(p))
    ]
    folders = frozenset(label.lower().split("/")[:-1])
    common = {p: len(folders.intersection(snapshot.label(p).lower().split("/")[:-1])) for p in tests}
    max_common = max(common.values(), default=0)
    best = tuple(sorted(p for p, count in common.items() if count == max_common))
    return best if len(best) <= MAX_MATCHES else ()

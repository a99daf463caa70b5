"""Runs the queries of a language on a syntax tree, and returns their captures as positions in the text.

A tree is queried in pieces: each subtree of at most `MAX_SUBTREE_BYTES` as a whole, and of a larger node only the
matches that begin at the node itself. The union equals the result of one query of the whole tree, because each
pattern has one root. For large nodes with a syntax error it may be smaller, since cursors with a depth limit skip
some matches.

Pieces limit the work of the query engine. They also make edits cheap: the captures of a subtree in an open document
are cached under its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from promptls.index.syntax.masks.c_macro_names import MacroName
from promptls.index.syntax.symbol_builder import Extent, SymbolDraft, draft_from_match, extent_of, shift_extent
from promptls.index.syntax.tree_sitter.incremental import VersionedCache
from promptls.index.syntax.tree_sitter.queries import CompiledQueries
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.model import CALL, IMPLEMENT, INHERIT, USE

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor, Tree

    RunQuery = Callable[["Captures", Node, bool], None]

MAX_SUBTREE_BYTES = 4_000
"""Largest subtree that is queried as a whole, in bytes."""

MAX_CHILDREN = 4_000
"""Largest number of children of a node that is queried in pieces. Tables of numbers have more."""

_MIN_CACHED_BYTES = 40
"""Smallest subtree whose captures are cached; querying a smaller one is as fast as the lookup."""

MATCH_LIMIT = 512
"""States that the query engine may hold, which bounds its work; real code needs fewer than 128."""

_REFERENCE_KINDS = {"ref": USE, "call": CALL, "base": INHERIT, "implements": IMPLEMENT}

SubtreeKey = tuple[int, int, bytes, bytes, tuple[tuple[int, MacroName], ...]]
"""Everything that the captures of a subtree depend on: node kind, number of descendants, text, parser input, and
definitions by macros."""

CaptureCache = VersionedCache[SubtreeKey, "Captures"]
"""Captures of the subtrees of an open document, with positions relative to the subtree."""


class Captures:
    """The captures in a tree or subtree, in no particular order; positions are bytes."""

    __slots__ = ("attributes", "definitions", "imports", "positions", "references", "wrappers")

    definitions: list[SymbolDraft]
    wrappers: dict[Extent, Extent]
    """Nodes that only wrap a definition, by the node directly inside."""
    attributes: list[tuple[int, int]]
    """Attributes before definitions."""
    imports: list[tuple[int, int]]
    """Statements that may import something."""
    references: list[tuple[int, int, int]]
    """Names of references: (first byte, end byte, kind of reference)."""
    positions: dict[str, list[int]]
    """First bytes of other captures by name: "branch", "typed", "bound" and the traits."""

    def __init__(self) -> None:
        self.definitions, self.wrappers, self.attributes, self.imports = [], {}, [], []
        self.references, self.positions = [], {}

    def add(self, other: Captures, by: int) -> None:
        """Add the captures of a subtree that begins at a byte."""
        self.definitions += [draft.shifted(by) for draft in other.definitions]
        for inner, wrapper in other.wrappers.items():
            self.wrappers[shift_extent(inner, by)] = shift_extent(wrapper, by)
        self.attributes += [(start + by, end + by) for start, end in other.attributes]
        self.imports += [(start + by, end + by) for start, end in other.imports]
        self.references += [(start + by, end + by, kind) for start, end, kind in other.references]
        for capture, positions in other.positions.items():
            self.positions.setdefault(capture, []).extend([position + by for position in positions])

    def shifted(self, by: int) -> Captures:
        """Return a copy moved by a number of bytes."""
        captures = Captures()
        captures.add(self, by)
        return captures


def run_queries(
    source: SourceText, tree: Tree, queries: CompiledQueries, language: Language, cache: CaptureCache | None = None
) -> Captures:
    """Return all captures in a tree; cached subtrees are not queried again.

    The cache is not used for a tree with a syntax error: a parser may then choose another reading of the same text.
    """
    captures = Captures()
    if tree.root_node.has_error:
        cache = None
    run = _query_runner(source, queries, language)
    if not queries.single_rooted:
        run(captures, tree.root_node, True)
        return captures
    large_nodes = [tree.root_node]
    while large_nodes:
        node = large_nodes.pop()
        if node.child_count > MAX_CHILDREN:
            run(captures, node, True)
            continue
        run(captures, node, False)
        for child in node.children:
            size = child.end_byte - child.start_byte
            if size > MAX_SUBTREE_BYTES and child.child_count:
                large_nodes.append(child)
            elif cache is None or size < _MIN_CACHED_BYTES:
                run(captures, child, True)
            else:
                captures.add(_cached_captures(source, child, run, cache), child.start_byte)
    return captures


def _cached_captures(source: SourceText, node: Node, run: RunQuery, cache: CaptureCache) -> Captures:
    """Return the captures in a subtree, with positions relative to its beginning."""
    start, end = node.start_byte, node.end_byte
    text = source.data[start:end]
    code = text if source.code is source.data else source.code[start:end]
    key = node.kind_id, node.descendant_count, text, code, source.macros_between(start, end)
    captures = cache.get(key)
    if captures is None:
        absolute = Captures()
        run(absolute, node, True)
        captures = cache.put(key, absolute.shifted(-start))
    return captures


def _query_runner(source: SourceText, queries: CompiledQueries, language: Language) -> RunQuery:
    """Return a function that queries a node, and its descendants if the last argument is true."""
    cursors = _cursors(queries.query) if queries.query is not None else None
    roles = queries.roles

    def run(captures: Captures, root: Node, deep: bool) -> None:
        if cursors is None:
            return
        references, positions = captures.references, captures.positions
        for pattern, captured in cursors[deep].matches(root):
            role = roles[pattern]
            if not role:
                for capture, nodes in captured.items():
                    kind = _REFERENCE_KINDS.get(capture)
                    for node in nodes:
                        if kind is None:
                            positions.setdefault(capture, []).append(node.start_byte)
                        else:
                            references.append((node.start_byte, node.end_byte, kind))
            elif role == "wrap":
                captures.wrappers[extent_of(captured["inner"][0])] = extent_of(captured[role][0])
            elif role == "attribute":
                captures.attributes.append(extent_of(captured[role][0])[:2])
            elif role == "import":
                captures.imports.append(extent_of(captured[role][0])[:2])
            else:
                draft = draft_from_match(source, pattern, role, captured, language)
                if draft is not None:
                    captures.definitions.append(draft)

    return run


def _cursors(query: Query) -> tuple[QueryCursor, QueryCursor]:
    """Return a cursor for a node by itself, and one for a node with its descendants."""
    from tree_sitter import QueryCursor

    shallow, deep = QueryCursor(query, match_limit=MATCH_LIMIT), QueryCursor(query, match_limit=MATCH_LIMIT)
    shallow.set_max_start_depth(0)
    return shallow, deep

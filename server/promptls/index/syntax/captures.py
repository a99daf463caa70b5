"""What the queries of a language find in a syntax tree, as positions in the text.

A tree is asked piece by piece: every subtree of at most `PIECE` bytes by itself, and of a larger node only what begins
at it.  That finds what one query of the whole would (a pattern has one root; of large nodes with an error in them it
may find less, for cursors that are bound to a depth do), keeps the work of the query
engine small, and lets an edit ask anew only where it was: what was found in a piece of an open document is known
by the piece's text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from promptls.index.syntax.queries import Tags
from promptls.index.syntax.source_text import Source
from promptls.index.syntax.symbol_builder import Draft, Extent, draft_of, extent_of, moved
from promptls.languages.table import Language
from promptls.model import CALL, IMPLEMENT, INHERIT, USE

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor, Tree

    from promptls.index.syntax.incremental import Kept

    Ask = Callable[["Findings", Node, bool], None]

PIECE = 4_000  # bytes
MOST_CHILDREN = 4_000  # of a node that is taken apart: a table of numbers has more
_WORTH_KEEPING = 40  # bytes; less is asked as fast as it is looked up
MATCH_LIMIT = 512  # states the query engine may hold, which bounds its work; real code needs fewer than 128

_KINDS = {"ref": USE, "call": CALL, "base": INHERIT, "iface": IMPLEMENT}


class Findings:
    """What was found, in no order; bytes counted from the beginning of what was asked."""

    __slots__ = ("definitions", "leads", "names", "places", "statements", "wraps")

    definitions: list[Draft]
    wraps: dict[Extent, Extent]  # nodes that only wrap a definition, by the node that is directly in them
    leads: list[tuple[int, int]]  # attributes before definitions
    statements: list[tuple[int, int]]  # what may import something
    names: list[tuple[int, int, int]]  # (first byte, end byte, kind of reference)
    places: dict[str, list[int]]  # decisions ("fork"), declarations ("typed") and marks

    def __init__(self) -> None:
        self.definitions, self.wraps, self.leads, self.statements = [], {}, [], []
        self.names, self.places = [], {}

    def add(self, other: Findings, by: int) -> None:
        """Take over what was found in a piece that begins at this byte."""
        self.definitions += [draft.moved(by) for draft in other.definitions]
        for inner, wrap in other.wraps.items():
            self.wraps[moved(inner, by)] = moved(wrap, by)
        self.leads += [(start + by, end + by) for start, end in other.leads]
        self.statements += [(start + by, end + by) for start, end in other.statements]
        self.names += [(start + by, end + by, kind) for start, end, kind in other.names]
        for capture, places in other.places.items():
            self.places.setdefault(capture, []).extend([place + by for place in places])

    def moved(self, by: int) -> Findings:
        """The same, so many bytes further on."""
        found = Findings()
        found.add(self, by)
        return found


def find(source: Source, tree: Tree, tags: Tags, row: Language, kept: Kept | None = None) -> Findings:
    """Everything that the queries find in a tree; pieces that are `kept` are not asked again.

    Where there is an error anywhere, all are asked: of several readings of one text a parser may then choose another.
    """
    found = Findings()
    if tree.root_node.has_error:
        kept = None
    ask = _asking(source, tags, row)
    if not tags.single:
        ask(found, tree.root_node, True)
        return found
    large = [tree.root_node]
    while large:
        node = large.pop()
        if node.child_count > MOST_CHILDREN:
            ask(found, node, True)
            continue
        ask(found, node, False)
        for child in node.children:
            size = child.end_byte - child.start_byte
            if size > PIECE and child.child_count:
                large.append(child)
            elif kept is None or size < _WORTH_KEEPING:
                ask(found, child, True)
            else:
                found.add(_kept(source, child, ask, kept), child.start_byte)
    return found


def _kept(source: Source, node: Node, ask: Ask, kept: Kept) -> Findings:
    """What is found in a piece, counted from its beginning."""
    start, end = node.start_byte, node.end_byte
    written = source.data[start:end]
    code = written if source.code is source.data else source.code[start:end]
    key = node.kind_id, node.descendant_count, written, code
    found = kept.pieces.get(key)
    if found is None:
        asked = Findings()
        ask(asked, node, True)
        found = kept.pieces.put(key, asked.moved(-start))
    return found


def _asking(source: Source, tags: Tags, row: Language) -> Ask:
    """A function that puts a node to the queries; with the last argument also what is in it, else only itself."""
    cursors = _cursors(tags.query) if tags.query is not None else None
    roles = tags.roles

    def ask(found: Findings, node: Node, deep: bool) -> None:
        if cursors is None:
            return
        names, places = found.names, found.places
        for pattern, captures in cursors[deep].matches(node):
            role = roles[pattern]
            if not role:
                for capture, nodes in captures.items():
                    kind = _KINDS.get(capture)
                    for one in nodes:
                        if kind is None:
                            places.setdefault(capture, []).append(one.start_byte)
                        else:
                            names.append((one.start_byte, one.end_byte, kind))
            elif role == "wrap":
                found.wraps[extent_of(captures["inner"][0])] = extent_of(captures[role][0])
            elif role == "lead":
                found.leads.append(extent_of(captures[role][0])[:2])
            elif role == "import":
                found.statements.append(extent_of(captures[role][0])[:2])
            else:
                found.definitions.append(draft_of(source, pattern, role, captures, row))

    return ask


def _cursors(query: Query) -> tuple[QueryCursor, QueryCursor]:
    """One for a node by itself, one for all that is in it."""
    from tree_sitter import QueryCursor

    shallow, deep = QueryCursor(query, match_limit=MATCH_LIMIT), QueryCursor(query, match_limit=MATCH_LIMIT)
    shallow.set_max_start_depth(0)
    return shallow, deep

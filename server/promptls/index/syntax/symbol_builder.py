"""Definitions on their way from a match of a query to a symbol.

A draft begins as what one match says (`draft_of`), in positions and texts alone, so that it can outlive the
tree.  `settled` then chooses among the matches of one node and adds what stands around it: what wraps it, the
attributes before it, how far a heading reaches.  Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptls.index.syntax import doc_comments, names, signature
from promptls.index.syntax.source_text import Source
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS
from promptls.languages.table import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Extent = tuple[int, int, int]
"""A node when the tree is gone: (first byte, end byte, number of its kind in the grammar)."""

STATED = CALLABLE_KINDS | REPEATED_KINDS | {"type", "property", "table", "view"}  # one statement, shown in whole
_REACHING = {"heading": "section", "package": "module", "stage": "stage"}  # up to the next of the same level
_BLANK = b" \t\n\f\v"
_OF_MODULES = (b"@behaviour", b"@moduledoc")  # Elixir's attributes that are of no definition below them


class Draft:
    """A definition while it is put together.  Bytes are of `Source.data`, lines of `Source.lines`."""

    __slots__ = (
        "body", "clause", "doc", "end", "first", "head", "kind", "last", "name", "named", "node",
        "owner", "parent", "qualified", "rank", "start", "tail", "text",
    )  # fmt: skip

    rank: tuple[int, int]  # of several matches of one node the lowest counts: pattern, and how little it says
    node: Extent
    start: int  # byte, attributes before it not included
    end: int
    head: int  # byte at which the signature begins
    body: Extent | None
    tail: bool  # the body lies behind the node
    kind: str  # "": a match that comes to nothing
    text: str  # its name as written
    named: tuple[int, ...]  # bytes at which its name begins
    owner: str  # its owner as written, "" without
    clause: bool  # one of several adjacent parts of a definition
    doc: str
    first: int  # line, attributes before it included; this and the next are set by `settled`
    last: int  # line
    parent: int  # index of the enclosing definition, -1 at top level; this and the next two are set by nesting
    name: str
    qualified: str

    def moved(self, by: int) -> Draft:
        """The same as `draft_of` made it, so many bytes further on."""
        draft = Draft()
        draft.rank, draft.kind, draft.text, draft.owner = self.rank, self.kind, self.text, self.owner
        draft.clause, draft.doc, draft.tail = self.clause, self.doc, self.tail
        draft.start, draft.end, draft.head = self.start + by, self.end + by, self.head + by
        draft.node = moved(self.node, by)
        draft.body = moved(self.body, by) if self.body is not None else None
        draft.named = tuple([start + by for start in self.named])
        return draft


def moved(extent: Extent, by: int) -> Extent:
    """An extent so many bytes further on."""
    return extent[0] + by, extent[1] + by, extent[2]


def extent_of(node: Node) -> Extent:
    """Where a node is, and what it is."""
    return node.start_byte, node.end_byte, node.kind_id


def node_at(tree: Tree, extent: Extent) -> Node | None:
    """The node again, in the tree of the same text."""
    node = tree.root_node.descendant_for_byte_range(extent[0], extent[1])
    while node is not None and node.kind_id != extent[2]:
        node = node.parent
    return node


def draft_of(source: Source, pattern: int, role: str, captures: dict[str, list[Node]], row: Language) -> Draft:
    """A definition as far as one match of a pattern tells it."""
    draft = Draft()
    draft.rank = pattern, -len(captures)
    draft.kind, draft.node = role, extent_of(captures[role][0])
    draft.start = draft.head = draft.node[0]
    draft.end = draft.node[1]
    data = source.data
    if role == "definition":
        verb = captures["verb"][0]
        word = ("@" if data[draft.start] == 0x40 else "") + source.slice(verb.start_byte, verb.end_byte)
        draft.kind = "test" if word in row.tests else names.VERBS.get(row.name, {}).get(word, "")
    draft.named = tuple([node.start_byte for node in captures.get("name", ())])
    name = captures["name"][0] if "name" in captures else None
    if name is None and "declarator" in captures:
        name = signature.declared(captures["declarator"][0])
    draft.text = source.slice(name.start_byte, name.end_byte) if name is not None else ""
    if "owner" in captures:
        owner = captures["owner"][0]
        draft.owner = source.slice(owner.start_byte, owner.end_byte)
    else:
        draft.owner = ""
    if (name is not None and not draft.text) or (row.name in ("c", "cpp") and draft.text in signature.C_KEYWORDS):
        draft.kind = ""
    draft.body = extent_of(captures["body"][0]) if "body" in captures else None
    draft.clause = "clause" in captures
    draft.doc = ""
    if "doc" in captures:
        start, end, _ = extent_of(captures["doc"][0])
        draft.doc = doc_comments.paragraph(data[start:end])
        if start == draft.start:
            draft.head = end
    elif draft.body is not None and row.name in ("python", "elixir"):
        read = doc_comments.docstring if row.name == "python" else doc_comments.attribute_doc
        draft.doc = read(data, draft.body[0], draft.body[1])
    draft.tail = "tail" in captures
    if draft.tail:
        draft.body = extent_of(captures["tail"][0])
    return draft


def settled(
    source: Source, found: Iterable[Draft], wraps: dict[Extent, Extent], leads: Sequence[tuple[int, int]], row: Language
) -> list[Draft]:
    """The definitions that count, in document order, with all that stands around them.

    `wraps` are nodes by what is directly in them; `leads` are attributes that stand before definitions.
    """
    chosen: dict[tuple[int, int], Draft] = {}
    for draft in found:
        key = draft.node[:2]
        other = chosen.get(key)
        if other is None or draft.rank < other.rank:
            chosen[key] = draft
    drafts = [draft for draft in chosen.values() if draft.kind]
    own = {draft.node[:2] for draft in drafts} if leads else set()  # Elixir's "@callback" is no attribute of the next
    own |= {lead for lead in leads if source.data.startswith(_OF_MODULES, lead[0])}
    by_end = {source.row(max(0, lead[1] - 1)): lead for lead in sorted(leads) if lead not in own}
    for draft in drafts:
        wrap = wraps.get(draft.node)
        while wrap is not None:
            draft.start, draft.end = min(draft.start, wrap[0]), max(draft.end, wrap[1])
            if row.name != "python":  # there only decorators wrap, and they are no part of the signature
                draft.head = draft.start
            wrap = wraps.get(wrap)
        if draft.tail and draft.body is not None:
            draft.end = draft.body[1]
        draft.first = source.row(draft.start)
        if by_end:
            _attach(source, draft, by_end, row)
    if any(draft.kind in _REACHING for draft in drafts):
        _reach(source, drafts)
    for draft in drafts:
        while draft.end > draft.start and source.data[draft.end - 1] in _BLANK:
            draft.end -= 1
        draft.last = source.row(max(draft.start, draft.end - 1))
        if row.name == "python":  # comments after the last statement are not its body
            while draft.last > draft.first and source.lines[draft.last].strip()[:1] in ("#", ""):
                draft.last -= 1
    drafts.sort(key=lambda draft: (draft.start, -draft.end, draft.node))
    return drafts


def _attach(source: Source, draft: Draft, by_end: dict[int, tuple[int, int]], row: Language) -> None:
    """Move the first line of a definition up over the attributes before it; they may hold its documentation."""
    start = draft.start
    while True:
        lead = by_end.get(draft.first)
        if lead is None or lead[1] > start:
            above = doc_comments.comment_start(source.lines, draft.first, row)
            lead = by_end.get(above - 1)
            if lead is None or lead[1] > start:
                return
        start = lead[0]
        draft.first = source.row(start)
        draft.doc = (
            draft.doc or doc_comments.attribute_doc(source.data, start) or doc_comments.docstring(source.data, start)
        )


def _reach(source: Source, drafts: list[Draft]) -> None:
    """Give headings and the like their extent: up to the next one of the same level or above."""
    reaching = sorted((draft for draft in drafts if draft.kind in _REACHING), key=lambda draft: draft.start)
    open_: list[tuple[int, Draft]] = []
    for draft in reaching:
        level = signature.level(source.slice(draft.start, draft.end)) if draft.kind == "heading" else 1
        while open_ and open_[-1][0] >= level:
            open_.pop()[1].end = draft.start
        open_.append((level, draft))
        draft.end = len(source.data)
        draft.kind = _REACHING[draft.kind]

"""Structural patterns: where a code shape or a tree-sitter query matches in a text.

A shape is a piece of code in which `$NAME` stands for one node, the same one wherever the name comes again, and
`$$$` or `$$$NAME` for any number of neighbours, as in ast-grep.  It matches by the kinds of nodes and the texts of
leaves, white space and comments aside; punctuation that the shape leaves out may be there.  A text that begins with
"(" and is a query of the grammar is one.  Runs in worker processes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from promptls.index.syntax.grammars import SOURCES, grammars
from promptls.index.syntax.grammars import Source as Origin
from promptls.index.syntax.guards import misshapen, unparsable
from promptls.index.syntax.source_text import Source
from promptls.languages.table import BY_NAME
from promptls.model import Span

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

_MANY = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)?")
_ONE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_HOLE = re.compile(r"^qz(one|many)_(\w*?)zq$")

MOST = 500
"""Matches in one text."""

EFFORT = 200_000
"""Comparisons of nodes that one text may cost."""


class Pattern(Struct, frozen=True):
    """A pattern as it was written, and the words that a text must have for it to match."""

    text: str
    words: tuple[str, ...]


def pattern(text: str) -> Pattern:
    """Take a pattern in; nothing is parsed yet."""
    bare = _ONE.sub(" ", _MANY.sub(" ", text))
    words = () if text.lstrip().startswith("(") else tuple(dict.fromkeys(_WORD.findall(bare)))
    return Pattern(text, words)


def find(
    wanted: Pattern, text: str, language: str, order: tuple[Origin, ...] = SOURCES, seconds: float = 0.5
) -> list[Span] | None:
    """The lines of each match, in document order; None where the pattern has no meaning in the language."""
    row = BY_NAME.get(language)
    if row is None or any(word not in text for word in wanted.words):
        return []
    compiled = _compiled(wanted.text, language, order)
    if compiled is None:
        return None
    source = Source(text, row.mask)
    if unparsable(source.data, language):
        return []
    grammar, query, shape, code = compiled
    root = _tree(grammar, source.code, seconds)
    if root is None or misshapen(root):
        return []
    from tree_sitter import QueryCursor

    cursor = QueryCursor(query)
    if shape is None:
        found = [nodes[0] for _, captures in cursor.matches(root) for nodes in captures.values() if nodes]
    else:
        alike = (node for nodes in cursor.captures(root).values() for node in nodes)
        words = [word.encode() for word in wanted.words]
        found = list(_Matcher(code, source.code).all(shape, alike, words))
    spans = {
        Span(n.start_point.row, n.end_point.row + (n.end_point.column > 0 or n.end_point.row == n.start_point.row))
        for n in found
    }
    return sorted(spans)[:MOST]


def _tree(grammar: Language, data: bytes, seconds: float) -> Node | None:
    from tree_sitter import Parser

    deadline = time.thread_time() + seconds
    if not data.endswith(b"\n"):
        data += b"\n"  # Perl's scanner looks for the end of a comment for ever, and asks nobody
    try:
        tree = Parser(grammar).parse(
            lambda at, _point: data[at : at + 65_536],
            progress_callback=lambda _at, _failed: time.thread_time() > deadline,
        )
    except ValueError:
        return None
    return tree.root_node


Compiled = tuple["Language", "Query", "Node | None", bytes]


@lru_cache(maxsize=256)
def _compiled(text: str, language: str, order: tuple[Origin, ...]) -> Compiled | None:
    """(grammar, query, root of the shape, code of the shape), None if it is neither in this language.

    Of a shape the query finds the nodes of its kind.
    """
    from tree_sitter import Query, QueryError

    grammar = grammars(order).grammar(language)
    if grammar is None:
        return None
    if text.lstrip().startswith("("):
        written = text if "@" in text else f"{text} @match"
        try:
            return grammar, Query(grammar, written), None, b""
        except (QueryError, ValueError):
            pass
    holes = _ONE.sub(lambda m: f"qzone_{m[1]}zq", _MANY.sub(lambda m: f"qzmany_{m[1] or ''}zq", text))
    for form in (holes, holes + ";", holes + " {}", f"({holes})"):
        code = form.encode("utf-8", "surrogatepass")
        root = _tree(grammar, code, 0.5)
        if root is None or root.has_error:
            continue
        node = _core(root, len(holes.encode("utf-8", "surrogatepass")))
        if node is not None:
            return grammar, Query(grammar, f"({node.type}) @alike"), node, code
    return None


def _core(node: Node, end: int) -> Node | None:
    """The innermost node that is all of the shape; None if the shape is several things."""
    while True:
        if _HOLE.match(node.text.decode("utf-8", "replace") if node.text else ""):
            return None  # a hole alone would match everything
        inner = [child for child in node.named_children if child.start_byte < end]
        if len(inner) == 1 and (node.parent is None or _wraps(node, inner[0])):
            node = inner[0]
        elif node.parent is None:
            return None
        else:
            return node


def _wraps(node: Node, inner: Node) -> bool:
    """Whether a node adds nothing to the one inside but a semicolon or parentheses that were put there."""
    return node.type in ("expression_statement", "statement", "parenthesized_expression", "program") and inner.is_named


class _Matcher:
    """Compares nodes of a shape with nodes of a text."""

    def __init__(self, shape: bytes, code: bytes) -> None:
        self._shape = shape
        self._code = code
        self._left = EFFORT
        self._holes: dict[int, tuple[str, str] | None] = {}  # by the id of a node of the shape

    def all(self, shape: Node, alike: Iterable[Node], words: Sequence[bytes]) -> Iterator[Node]:
        """Those of the nodes of the shape's kind that it matches, outermost first; none inside of another.

        `words`: what stands in each of them.
        """
        end = 0
        for node in sorted(alike, key=lambda node: (node.start_byte, -node.end_byte)):
            if self._left <= 0:
                return
            if node.start_byte < end or any(word not in self._text(node, self._code) for word in words):
                continue
            if self._node(shape, node, {}) is not None:
                end = node.end_byte
                yield node

    def _text(self, node: Node, code: bytes) -> bytes:
        return code[node.start_byte : node.end_byte]

    def _hole(self, shape: Node) -> tuple[str, str] | None:
        """(one or many, name) of a node of the shape that is a hole, with what wraps it."""
        try:
            return self._holes[shape.id]
        except KeyError:
            found = _HOLE.match(self._text(shape, self._shape).decode("utf-8", "replace").rstrip(";"))
            hole = self._holes[shape.id] = (found[1], found[2]) if found else None
            return hole

    def _node(self, shape: Node, node: Node, bound: dict[str, bytes]) -> dict[str, bytes] | None:
        """What the holes stand for if the nodes match, else None."""
        self._left -= 1
        if self._left <= 0:
            return None
        hole = self._hole(shape)
        if hole is not None and (node.is_named or hole[0] == "many"):
            name, text = hole[1], self._text(node, self._code)
            if not name or name == "_":
                return bound
            if name in bound:
                return bound if bound[name] == text else None
            return {**bound, name: text}
        if shape.type != node.type:
            return None
        if shape.child_count == 0:
            return bound if self._text(shape, self._shape) == self._text(node, self._code) else None
        return self._row(_solid(shape), _solid(node), bound)

    def _row(self, shapes: Sequence[Node], nodes: Sequence[Node], bound: dict[str, bytes]) -> dict[str, bytes] | None:
        """The same for neighbours."""
        self._left -= 1
        if self._left <= 0:
            return None
        if not shapes:
            return bound if not any(n.is_named for n in nodes) else None
        hole = self._hole(shapes[0])
        if hole is not None and hole[0] == "many":
            rest = shapes[1:]
            if rest and not rest[0].is_named and self._text(rest[0], self._shape) == b",":
                whole = self._row(rest[1:], nodes, bound)  # none of them, and no comma either
                if whole is not None:
                    return whole
            for taken in range(len(nodes) + 1):
                found = self._row(rest, nodes[taken:], bound)
                if found is not None:
                    return found
            return None
        if not nodes:
            # A hole for many at the end may be nothing, its comma with it.
            return bound if all(self._optional(s) for s in shapes) else None
        found = self._node(shapes[0], nodes[0], bound)
        if found is not None:
            rest_found = self._row(shapes[1:], nodes[1:], found)
            if rest_found is not None:
                return rest_found
        if self._optional(shapes[0]):
            without = self._row(shapes[1:], nodes, bound)
            if without is not None:
                return without
        return None if nodes[0].is_named else self._row(shapes, nodes[1:], bound)

    def _optional(self, shape: Node) -> bool:
        hole = self._hole(shape)
        if hole is not None:
            return hole[0] == "many"
        return not shape.is_named and self._text(shape, self._shape) in (b",", b";", b"")


def _solid(node: Node) -> list[Node]:
    return [child for child in node.children if "comment" not in child.type]

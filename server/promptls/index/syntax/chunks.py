"""Chunks: the pieces of a file that are embedded, searched and put into prompts.

A definition with a body is a chunk together with the comment above it; a long one is cut between its
statements; a type is a chunk without its methods; what stands between definitions goes by windows.
Chunks never overlap and stand in document order.  Pure functions of lines, symbols and (only to cut
long definitions) nodes; works without a grammar, so it must not import one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax.doc_comments import is_legal
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import Chunk, Span, Symbol
from promptls.util.hashing import digest_of

if TYPE_CHECKING:
    from tree_sitter import Node

CHUNKER_VERSION = 1
"""Part of the store's identity: a change of what follows rebuilds it."""

MAX_LINES = 80  # of a definition in one chunk
WINDOW_LINES = 40  # of text between definitions, and of a section with its subsections
MAX_CHARS = 6000  # of the lines of one chunk; a single longer line is cut off in its text
MIN_INK = 60  # visible characters below which text between definitions is no chunk
NESTED_LINES = 5  # of a definition in a long one to be a chunk of its own

_ALWAYS = (CALLABLE_KINDS | TYPE_KINDS) - SPACE_KINDS
"""Kinds of which the head is a chunk however little it holds; of others only if it is all of them."""

_SMALL = {"field": 6, "property": 4}
"""Lines below which a definition of such a kind stays in the text around it; of other kinds 3."""

_MARKS = ("//", "#", "--", "/*", "*", ";", "<!--", "(*", "{-", "%", '"')
"""What a line of a legal notice may begin with, besides a blank."""


class _Part(NamedTuple):
    """Lines that belong to a symbol (-1: to none), still to be made into chunks."""

    start: int
    end: int
    owner: int
    whole: bool = False  # all of a definition, or of the file; else a piece of one
    first: bool = False  # the piece with its head


class Chunker:
    """Cuts one file.  `chunks` and `texts` are the result."""

    __slots__ = ("_budget", "_children", "_lines", "_node_of", "_solid", "_symbols", "chunks", "texts")

    def __init__(
        self,
        lines: Sequence[str],
        symbols: Sequence[Symbol] = (),
        solid: Sequence[bool] = (),
        node_of: Callable[[int], Node | None] = lambda _symbol: None,
    ) -> None:
        self.chunks: list[Chunk] = []
        self.texts: dict[bytes, str] = {}
        self._lines, self._symbols, self._solid, self._node_of = lines, symbols, solid, node_of
        self._budget = list(accumulate(map(len, lines), initial=0))  # characters before each line, ends not counted
        self._children: dict[int, list[int]] = {}
        for index, symbol in enumerate(symbols):
            self._children.setdefault(symbol.parent, []).append(index)
        self._run()

    def _run(self) -> None:
        """Walk the symbols, each region once; an explicit stack, for files nest as deep as they like."""
        stack = [_Part(self._skip_notice(), len(self._lines), -1, whole=True)]
        while stack:
            part = stack.pop()
            if part.whole:
                # Later parts are pushed first, so that chunks come out in document order.
                stack += reversed(list(self._parts(part.start, part.end, part.owner)))
            else:
                self._piece(part)
        if not self.chunks and len(self._lines) <= WINDOW_LINES:
            written = [i for i, line in enumerate(self._lines) if line.strip()]
            if written:  # a file of a line or two is something to be found as well
                self._emit(written[0], written[-1] + 1, -1)

    def _parts(self, start: int, end: int, owner: int) -> Iterator[_Part]:
        """The definitions of a region that stand alone, and the pieces between them."""
        if owner >= 0 and self._fits(start, end, owner):
            yield _Part(start, end, owner, first=True)
            return
        at = start
        floor = start + 1 if owner >= 0 else start  # the head's line belongs to the head
        for child in self._children.get(owner, ()):
            symbol = self._symbols[child]
            first, last = max(symbol.doc_start, floor), min(symbol.span.end, end)
            if first >= last or not self._stands_alone(child, owner):
                continue
            if at < first:
                yield _Part(at, first, owner, first=at == start)
            yield _Part(first, last, child, whole=True)
            at = floor = last
        if at < end:
            yield _Part(at, end, owner, first=at == start)

    def _fits(self, start: int, end: int, index: int) -> bool:
        """Whether a definition is one chunk, whatever is nested in it."""
        kind = self._symbols[index].kind
        holds = kind in TYPE_KINDS or kind in SPACE_KINDS
        if holds and end - start > 1 and any(self._stands_alone(c, index) for c in self._children.get(index, ())):
            return False
        limit = WINDOW_LINES if kind == "section" else MAX_LINES
        return end - start <= limit and self._size(start, end) <= MAX_CHARS

    def _stands_alone(self, index: int, owner: int) -> bool:
        """Whether a definition is worth a chunk of its own inside `owner`, which is too long for one."""
        symbol = self._symbols[index]
        height = len(symbol.span)
        if owner >= 0 and self._symbols[owner].kind in CALLABLE_KINDS:
            return height >= NESTED_LINES
        if symbol.kind in CALLABLE_KINDS and symbol.kind != "macro":
            return self._solid[index] or height > 1
        if symbol.kind in TYPE_KINDS and any(self._stands_alone(c, index) for c in self._children.get(index, ())):
            return True
        return height >= _SMALL.get(symbol.kind, 3)

    def _piece(self, part: _Part) -> None:
        """Chunks of lines that belong to one symbol, or to none."""
        start, end, owner = part.start, part.end, part.owner
        while start < end and not self._lines[start].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        if start >= end:
            return
        symbol = self._symbols[owner] if owner >= 0 else None
        must = part.first and symbol is not None and (symbol.kind in _ALWAYS or end >= symbol.span.end)
        compact = symbol is not None and symbol.kind not in SPACE_KINDS and symbol.kind != "section"
        cuts = self._cuts(start, end, MAX_LINES if compact else WINDOW_LINES, owner)
        for i, (first, last) in enumerate(cuts):
            if (must and i == 0) or self._ink(first, last) >= MIN_INK or self._defines(first, last, owner):
                self._emit(first, last, owner)

    def _cuts(self, start: int, end: int, limit: int, owner: int) -> list[tuple[int, int]]:
        """Split lines into stretches within the limits, at the best places there are."""
        if end - start <= limit and self._size(start, end) <= MAX_CHARS:
            return [(start, end)]
        places = self._places(start, end, owner)
        found: list[tuple[int, int]] = []
        at = start
        while at < end:
            stop = self._reach(at, end, limit)
            if stop < end:
                pieces = -(-(end - at) // limit)
                ideal = min(stop, at + -(-(end - at) // max(2, pieces)))
                span = range(max(at + 1, at + (ideal - at) * 3 // 5), stop + 1)
                known = [line for line in span if line in places]
                if known:
                    stop = min(known, key=lambda line: (places[line], abs(line - ideal)))
                else:
                    stop = min(span, key=lambda line: (self._rank(line), abs(line - ideal)))
            found.append((at, stop))
            at = stop
        return found

    def _places(self, start: int, end: int, owner: int) -> dict[int, int]:
        """Lines before which a cut falls between statements or definitions, and how deep they stand."""
        lines = self._lines
        places: dict[int, int] = {}
        node = self._node_of(owner) if owner >= 0 else None
        if node is not None:
            for line, depth in _statements(node, start, end):
                while line - 1 > start and self._is_comment(line - 1):
                    line -= 1
                rank = depth * 10 - (5 if not lines[line - 1].strip() else 0)
                places[line] = min(rank, places.get(line, rank))
        for child in self._within(start, end, owner):
            line = self._symbols[child].doc_start
            if start < line < end:
                places[line] = -5 if not lines[line - 1].strip() else 0
        return places

    def _rank(self, line: int) -> int:
        """How bad a cut before a line would be where no statement is known to begin: by blank lines and indentation."""
        text = self._lines[line] if line < len(self._lines) else ""
        bare = text.lstrip()
        indent = min(len(text) - len(bare), 60)
        after_blank = not self._lines[line - 1].strip()
        closes = bare[:1] in ("", "}", ")", "]")
        return indent * 2 - (30 if after_blank else 0) + (400 if closes else 0)

    def _is_comment(self, line: int) -> bool:
        return self._lines[line].lstrip().startswith(("//", "#", "--", "/*", "*", ";"))

    def _reach(self, start: int, end: int, limit: int) -> int:
        """Furthest end of a stretch that begins at `start`; at least one line."""
        stop = min(end, start + limit)
        while stop > start + 1 and self._size(start, stop) > MAX_CHARS:
            stop -= 1
        return stop

    def _size(self, start: int, end: int) -> int:
        return self._budget[end] - self._budget[start] + end - start

    def _ink(self, start: int, end: int) -> int:
        """Visible characters, counted no further than it matters."""
        ink = 0
        for line in self._lines[start:end]:
            ink += len(line.strip())
            if ink >= MIN_INK:
                break
        return ink

    def _defines(self, start: int, end: int, owner: int) -> bool:
        """Whether a function of more than a line begins there: small ones within a long one have no chunk of their own."""
        symbols = (self._symbols[child] for child in self._within(start, end, owner))
        return any(s.kind in CALLABLE_KINDS and s.kind != "macro" and len(s.span) > 1 for s in symbols)

    def _skip_notice(self) -> int:
        """First line after a legal notice at the top of the file."""
        lines = self._lines
        end = 0
        while end < len(lines) and lines[end].strip():
            end += 1
        return end if end and self._notice(end) else 0

    def _notice(self, end: int) -> bool:
        first = next((symbol.doc_start for symbol in self._symbols), len(self._lines))
        return end <= first and all(map(_marked, self._lines[:end])) and is_legal("\n".join(self._lines[:end]))

    def _emit(self, start: int, end: int, owner: int) -> None:
        text = self.text(start, end, owner)
        key = digest_of(text, person=b"chunk")
        self.texts[key] = text
        self.chunks.append(Chunk(key, Span(start, end), owner))

    def text(self, start: int, end: int, owner: int) -> str:
        """What is embedded and searched for some lines; no path in it, so that a rename changes nothing."""
        body = "\n".join(self._lines[start:end])[:MAX_CHARS]
        if owner >= 0:
            symbol = self._symbols[owner]
            return f"{symbol.qualified} {symbol.name} {symbol.name} {symbol.signature}\n{body}"
        named = [self._symbols[child].qualified for child in self._within(start, end, owner)]
        return f"{' '.join(named)}\n{body}" if named else body

    def _within(self, start: int, end: int, owner: int) -> Sequence[int]:
        """Definitions directly in `owner` that begin between two lines."""
        children = self._children.get(owner, [])
        first = bisect_left(children, start, key=lambda child: self._symbols[child].span.start)
        last = bisect_left(children, end, lo=first, key=lambda child: self._symbols[child].span.start)
        return children[first:last]


def _marked(line: str) -> bool:
    return line.lstrip().startswith(_MARKS) or line.startswith(" ")


def _statements(node: Node, start: int, end: int) -> list[tuple[int, int]]:
    """(line, depth) of the nodes that begin a line between `start` and `end`; long ones are looked into."""
    found: list[tuple[int, int]] = []
    stack = [(node, 0)]
    while stack:
        parent, depth = stack.pop()
        for child in parent.named_children:
            first, last = child.start_point[0], child.end_point[0]
            if last <= start or first >= end:
                continue
            if start < first:
                found.append((first, depth))
            if last - first > WINDOW_LINES // 2 and depth < 40:
                stack.append((child, depth + 1))
    return found

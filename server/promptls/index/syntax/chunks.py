"""Chunking: splits a file into the pieces that are embedded, searched and put into prompts.

A definition with a body is a chunk together with the comment above it. A long definition is split between its
statements. A type is a chunk without its methods. Text between definitions is split into windows of lines. Chunks
never overlap and are in document order.

Pure functions of lines, symbols and, to split long definitions, nodes. Works without a grammar and must not import
one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax.doc_comments import is_legal_notice
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import Chunk, Span, Symbol
from promptls.util.hashing import content_hash
from promptls.util.text.display import shorten_lines

if TYPE_CHECKING:
    from tree_sitter import Node

CHUNKER_VERSION = 9
"""Version of outlines and chunks, part of the store's identity; increment it with every change of the result."""

MAX_CHUNK_LINES = 80
"""Lines of a definition in one chunk."""

WINDOW_LINES = 40
"""Lines of one chunk of text between definitions, or of a section with its subsections."""

MAX_CHUNK_CHARS = 6000
"""Characters of the lines of one chunk; the text of a single longer line is cut off."""

_MIN_VISIBLE_CHARS = 60
"""Visible characters below which comments between definitions are not a chunk."""

_WORD = re.compile(r"[^\W_]{2}|\d")
"""Two letters or a digit: every statement has them, a line of brackets has not."""

_NO_STATEMENT = re.compile(r"[{(\[:]\s*$|\b(?:do|begin|then)\s*$|^\s*(?:end\w*|fi|done|esac|#endif)\b[\s;)]*$")
"""A line that only begins or ends a block."""

_MIN_NESTED_LINES = 5
"""Lines of a definition inside of a long function from which on it is a chunk of its own."""

_MIN_LINES = {"field": 6, "property": 4}
"""Lines from which on a definition of this kind is a chunk of its own."""

_DEFAULT_MIN_LINES = 3
"""The same for other kinds."""

_MAX_STATEMENT_DEPTH = 40
"""Depth to which long statements are split."""

_VALUE_KINDS = frozenset({"variable", "constant", "property", "field"})
_HEAD_KINDS = (CALLABLE_KINDS | TYPE_KINDS) - SPACE_KINDS
"""Kinds whose head is a chunk however short it is. The head of another kind must be the complete definition."""

_COMMENT_MARKERS = ("//", "#", "--", "/*", "*", ";")
_NOTICE_MARKERS = (*_COMMENT_MARKERS, "<!--", "(*", "{-", "%", '"')
"""Beginnings of a line of a legal notice, besides a blank."""


class ChunkedText(NamedTuple):
    """The chunks of a file, and their texts by key."""

    chunks: tuple[Chunk, ...]
    texts: dict[bytes, str]


def split_into_chunks(
    lines: Sequence[str],
    symbols: Sequence[Symbol] = (),
    has_body: Sequence[bool] = (),
    node_of: Callable[[int], Node | None] = lambda _symbol: None,
) -> ChunkedText:
    """Split a file into chunks.

    Args:
        lines: Lines of the file.
        symbols: Definitions in document order, parents before children.
        has_body: Whether each definition has a body.
        node_of: Returns the syntax node of a definition, if there is one.
    """
    chunker = _Chunker(lines, symbols, has_body, node_of)
    chunker.run()
    return ChunkedText(tuple(chunker.chunks), chunker.texts)


class _Region(NamedTuple):
    """Lines of a symbol, or of none (-1), that are to be chunked."""

    start: int
    end: int
    owner: int
    is_complete: bool = False  # a complete definition or file, otherwise a piece of one
    has_head: bool = False  # the piece with the head of the definition


class _Chunker:
    """The state of chunking one file."""

    __slots__ = ("_chars_before", "_children", "_has_body", "_lines", "_node_of", "_symbols", "chunks", "texts")

    def __init__(
        self,
        lines: Sequence[str],
        symbols: Sequence[Symbol],
        has_body: Sequence[bool],
        node_of: Callable[[int], Node | None],
    ) -> None:
        self.chunks: list[Chunk] = []
        self.texts: dict[bytes, str] = {}
        self._lines = shorten_lines(lines)
        self._symbols, self._has_body, self._node_of = symbols, has_body, node_of
        self._chars_before = list(accumulate(map(len, self._lines), initial=0))  # before each line, without line ends
        self._children: dict[int, list[int]] = {}
        for index, symbol in enumerate(symbols):
            self._children.setdefault(symbol.parent, []).append(index)

    def run(self) -> None:
        """Chunk every region once, with an explicit stack because files nest arbitrarily deep."""
        stack = [_Region(self._legal_notice_end(), len(self._lines), -1, is_complete=True)]
        while stack:
            region = stack.pop()
            if region.is_complete:
                # Later regions are pushed first, so that chunks are in document order.
                stack += reversed(list(self._split_region(region.start, region.end, region.owner)))
            else:
                self._chunk_region(region)
        if not self.chunks and len(self._lines) <= WINDOW_LINES:
            non_blank = [i for i, line in enumerate(self._lines) if line.strip()]
            if non_blank:  # a file of one or two lines must be found too
                self._add_chunk(non_blank[0], non_blank[-1] + 1, -1)

    def _split_region(self, start: int, end: int, owner: int) -> Iterator[_Region]:
        """Yield the definitions of a region that are chunks of their own, and the pieces between them."""
        if owner >= 0 and self._fits_one_chunk(start, end, owner):
            yield _Region(start, end, owner, has_head=True)
            return
        position = start
        min_start = start + 1 if owner >= 0 else start  # the line of the head belongs to the head
        for child in self._children.get(owner, ()):
            symbol = self._symbols[child]
            first, last = max(symbol.doc_start, min_start), min(symbol.span.end, end)
            if first >= last or not self._is_separate(child, owner):
                continue
            if position < first:
                yield _Region(position, first, owner, has_head=position == start)
            yield _Region(first, last, child, is_complete=True)
            position = min_start = last
        if position < end:
            yield _Region(position, end, owner, has_head=position == start)

    def _fits_one_chunk(self, start: int, end: int, index: int) -> bool:
        """Return whether a definition is one chunk together with everything nested in it."""
        kind = self._symbols[index].kind
        is_container = kind in TYPE_KINDS or kind in SPACE_KINDS
        if is_container and end - start > 1 and self._has_separate_child(index):
            return False
        limit = WINDOW_LINES if kind == "section" else MAX_CHUNK_LINES
        return end - start <= limit and self._size(start, end) <= MAX_CHUNK_CHARS

    def _has_separate_child(self, index: int) -> bool:
        return any(self._is_separate(child, index) for child in self._children.get(index, ()))

    def _is_separate(self, index: int, owner: int) -> bool:
        """Return whether a definition is a chunk of its own inside of `owner`, which is too long for one chunk."""
        symbol = self._symbols[index]
        height = len(symbol.span)
        if owner >= 0 and self._symbols[owner].kind in CALLABLE_KINDS:
            return height >= _MIN_NESTED_LINES
        if symbol.kind in CALLABLE_KINDS and symbol.kind != "macro":
            return self._has_body[index] or height > 1
        if (symbol.kind in TYPE_KINDS or symbol.kind in _VALUE_KINDS) and self._has_separate_child(index):
            return True  # also "const View = memo(function View(", whose function begins on the same line
        return height >= _MIN_LINES.get(symbol.kind, _DEFAULT_MIN_LINES)

    def _chunk_region(self, region: _Region) -> None:
        """Add the chunks of lines that belong to one symbol, or to none."""
        start, end, owner = region.start, region.end, region.owner
        while start < end and not self._lines[start].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        if start >= end:
            return
        symbol = self._symbols[owner] if owner >= 0 else None
        keeps_head = region.has_head and symbol is not None and (symbol.kind in _HEAD_KINDS or end >= symbol.span.end)
        is_code = symbol is not None and symbol.kind not in SPACE_KINDS and symbol.kind != "section"
        windows = self._split_lines(start, end, MAX_CHUNK_LINES if is_code else WINDOW_LINES, owner)
        for i, (first, last) in enumerate(windows):
            if (keeps_head and i == 0) or self._has_enough_text(first, last) or self._has_statement(first, last, owner):
                self._add_chunk(first, last, owner)

    def _split_lines(self, start: int, end: int, limit: int, owner: int) -> list[tuple[int, int]]:
        """Split lines into windows within the limits, at the best positions."""
        if end - start <= limit and self._size(start, end) <= MAX_CHUNK_CHARS:
            return [(start, end)]
        penalties = self._split_penalties(start, end, owner)
        windows: list[tuple[int, int]] = []
        position = start
        while position < end:
            stop = self._max_end(position, end, limit)
            if stop < end:
                count = -(-(end - position) // limit)
                ideal = min(stop, position + -(-(end - position) // max(2, count)))
                options = range(max(position + 1, position + (ideal - position) * 3 // 5), stop + 1)
                preferred = [line for line in options if line in penalties]
                if preferred:
                    stop = min(preferred, key=lambda line: (penalties[line], abs(line - ideal)))
                else:
                    stop = min(options, key=lambda line: (self._layout_penalty(line), abs(line - ideal)))
            windows.append((position, stop))
            position = stop
        return windows

    def _split_penalties(self, start: int, end: int, owner: int) -> dict[int, int]:
        """Return the lines before which a split is between statements or definitions, with a penalty for depth."""
        lines = self._lines
        penalties: dict[int, int] = {}
        node = self._node_of(owner) if owner >= 0 else None
        if node is not None:
            for line, depth in _statements(node, start, end):
                while line - 1 > start and self._is_comment(line - 1):
                    line -= 1
                penalty = depth * 10 - (5 if not lines[line - 1].strip() else 0)
                penalties[line] = min(penalty, penalties.get(line, penalty))
        for child in self._children_between(start, end, owner):
            line = self._symbols[child].doc_start
            if start < line < end:
                penalties[line] = -5 if not lines[line - 1].strip() else 0
        return penalties

    def _layout_penalty(self, line: int) -> int:
        """Return the penalty of a split before a line, by blank lines and indentation, without a known statement."""
        text = self._lines[line] if line < len(self._lines) else ""
        code = text.lstrip()
        indent = min(len(text) - len(code), 60)
        is_after_blank = not self._lines[line - 1].strip()
        is_closing = code[:1] in ("", "}", ")", "]")
        return indent * 2 - (30 if is_after_blank else 0) + (400 if is_closing else 0)

    def _is_comment(self, line: int) -> bool:
        return self._lines[line].lstrip().startswith(_COMMENT_MARKERS)

    def _max_end(self, start: int, end: int, limit: int) -> int:
        """Return the greatest end of a window within the limits that begins at `start`; at least one line."""
        stop = min(end, start + limit)
        while stop > start + 1 and self._size(start, stop) > MAX_CHUNK_CHARS:
            stop -= 1
        return stop

    def _size(self, start: int, end: int) -> int:
        return self._chars_before[end] - self._chars_before[start] + end - start

    def _has_enough_text(self, start: int, end: int) -> bool:
        """Return whether lines have `_MIN_VISIBLE_CHARS` visible characters."""
        visible = 0
        for line in self._lines[start:end]:
            visible += len(line.strip())
            if visible >= _MIN_VISIBLE_CHARS:
                return True
        return False

    def _has_statement(self, start: int, end: int, owner: int) -> bool:
        """Return whether a definition begins there, or a statement outside of functions; both are searched for."""
        kind = self._symbols[owner].kind if owner >= 0 else ""
        if kind == "section":
            return False  # a heading without text
        if self._children_between(start, end, owner):
            return True
        if kind in CALLABLE_KINDS:
            return False
        return any(map(self._is_statement, range(start, end)))

    def _is_statement(self, line: int) -> bool:
        text = self._lines[line]
        return bool(_WORD.search(text)) and not self._is_comment(line) and not _NO_STATEMENT.search(text)

    def _legal_notice_end(self) -> int:
        """Return the first line after a legal notice at the top of the file."""
        lines = self._lines
        end = 0
        while end < len(lines) and lines[end].strip():
            end += 1
        return end if end and self._is_legal_notice(end) else 0

    def _is_legal_notice(self, end: int) -> bool:
        first_definition = next((symbol.doc_start for symbol in self._symbols), len(self._lines))
        return (
            end <= first_definition
            and all(map(_is_notice_line, self._lines[:end]))
            and is_legal_notice("\n".join(self._lines[:end]))
        )

    def _add_chunk(self, start: int, end: int, owner: int) -> None:
        text = self._chunk_text(start, end, owner)
        key = content_hash(text, person=b"chunk")
        self.texts[key] = text
        self.chunks.append(Chunk(key, Span(start, end), owner))

    def _chunk_text(self, start: int, end: int, owner: int) -> str:
        """Return the text that is embedded and searched. It has no path, so that renaming a file changes nothing."""
        body = "\n".join(self._lines[start:end])[:MAX_CHUNK_CHARS]
        if owner >= 0:
            symbol = self._symbols[owner]
            return f"{symbol.qualified} {symbol.name} {symbol.name} {symbol.signature}\n{body}"
        qualified_names = [self._symbols[child].qualified for child in self._children_between(start, end, owner)]
        return f"{' '.join(qualified_names)}\n{body}" if qualified_names else body

    def _children_between(self, start: int, end: int, owner: int) -> Sequence[int]:
        """Return the definitions directly in `owner` that begin between two lines."""
        children = self._children.get(owner, [])
        first = bisect_left(children, start, key=lambda child: self._symbols[child].span.start)
        last = bisect_left(children, end, lo=first, key=lambda child: self._symbols[child].span.start)
        return children[first:last]


def _is_notice_line(line: str) -> bool:
    return line.lstrip().startswith(_NOTICE_MARKERS) or line.startswith(" ")


def _statements(node: Node, start: int, end: int) -> list[tuple[int, int]]:
    """Return (line, depth) of the nodes that begin a line between `start` and `end`; long ones are split further."""
    statements: list[tuple[int, int]] = []
    stack = [(node, 0)]
    while stack:
        parent, depth = stack.pop()
        for child in parent.named_children:
            first, last = child.start_point[0], child.end_point[0]
            if last <= start or first >= end:
                continue
            if start < first:
                statements.append((first, depth))
            if last - first > WINDOW_LINES // 2 and depth < _MAX_STATEMENT_DEPTH:
                stack.append((child, depth + 1))
    return statements

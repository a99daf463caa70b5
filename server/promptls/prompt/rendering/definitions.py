"""Definitions of a file that an item shows, contains, or is a part of.

Only outlines and raw lines are read; nothing is rendered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import AnyOutline, FileText, Item, Span, Symbol
from promptls.prompt.rendering.renderer import Renderer

MAX_HEADER_LINES = 3
"""Maximum lines that are shown of the signature of an enclosing definition."""

_ENCLOSING_KINDS = TYPE_KINDS | SPACE_KINDS | CALLABLE_KINDS
_DECORATORS = ("@", "#[", "[", "//", "/*", "*")


def definition_of(item: Item, file: FileText, renderer: Renderer) -> Symbol | None:
    """Return the symbol with the span of the item, with or without its comment; of several, the one with its name."""
    if item.kind == "file" or file.entry.outline is None:
        return None
    symbol = _starting_with(item, _enclosing_chunk_symbols(file.entry.outline, item.span.end))
    if item.symbol and (symbol is None or symbol.qualified != item.symbol):
        # Few symbols have no chunk, and decoding all symbols is slow.
        symbol = _starting_with(item, renderer.symbols_ending_at(file, item.span.end))
    return symbol


def _starting_with(item: Item, symbols: Iterable[Symbol]) -> Symbol | None:
    """Return the symbol that starts at the item's first line: the one with the item's name, else the first."""
    at_start = [s for s in symbols if item.span.start in (s.span.start, s.doc_start)]
    return next((s for s in at_start if s.qualified == item.symbol), at_start[0] if at_start else None)


def _enclosing_chunk_symbols(outline: AnyOutline, end: int) -> list[Symbol]:
    """Return the symbols that end at `end` and enclose the chunk there, outermost first."""
    at = bisect_left(outline.chunks, end, key=lambda chunk: chunk.span.start) - 1
    index = outline.chunks[at].symbol if at >= 0 else -1
    symbols: list[Symbol] = []
    while index >= 0 and (symbol := outline.symbols[index]).span.end <= end:
        symbols += [symbol] if symbol.span.end == end else []
        index = symbol.parent
    return symbols[::-1]


# ---------------------------------------------------------------- headers


def enclosing_headers(file: FileText | None, span: Span, symbol: Symbol | None) -> list[Span]:
    """Return the lines that open the definitions around `span`, each without decorators and documentation.

    `symbol` is the definition that the lines belong to, if they are one.
    """
    outline = file.entry.outline if file is not None else None
    if file is None or outline is None:
        return []
    at = symbol.parent if symbol is not None else _innermost_symbol(outline, span.start)
    headers: list[Span] = []
    if symbol is not None and symbol.body_start <= span.start:  # an excerpt of the definition
        headers.append(_header_of(symbol, file.lines))
    while 0 <= at < len(outline.symbols):
        enclosing = outline.symbols[at]
        if enclosing.kind in _ENCLOSING_KINDS and enclosing.span.start < span.start and enclosing.span.contains(span):
            headers.append(_header_of(enclosing, file.lines))
        at = enclosing.parent if enclosing.parent < at else -1  # parents are before their children
    return [header for header in headers if not header.overlaps(span)]


def member_headers(file: FileText | None, symbol: Symbol | None) -> list[Span]:
    """Return the signature of each function and type directly in a class or module."""
    outline = file.entry.outline if file is not None else None
    if file is None or outline is None or symbol is None or symbol.kind not in TYPE_KINDS | SPACE_KINDS:
        return []
    own = next((n for n, other in enumerate(outline.symbols) if other == symbol), None)
    members = [s for s in outline.symbols if s.parent == own and s.kind in _ENCLOSING_KINDS]
    return [_header_of(member, file.lines) for member in members]


def start_of_cut_function(file: FileText | None, region: Span, line: int) -> int:
    """Return the first line of the function in `region` that a cut before `line` would split, else `line`."""
    outline = file.entry.outline if file is not None else None
    return min(
        (
            symbol.doc_start
            for symbol in (outline.symbols if outline is not None else ())
            if symbol.kind in CALLABLE_KINDS
            and region.contains(symbol.span)
            and symbol.doc_start < line < symbol.span.end
        ),
        default=line,
    )


def _innermost_symbol(outline: AnyOutline, line: int) -> int:
    """Return the index of the symbol of the chunk at a line, -1 for none."""
    at = bisect_right(outline.chunks, line, key=lambda chunk: chunk.span.start) - 1
    return outline.chunks[at].symbol if at >= 0 else -1


def _header_of(symbol: Symbol, lines: Sequence[str]) -> Span:
    """Return the lines of a definition from its keyword to the end of its signature; decorators are left out."""
    end = min(symbol.body_start, symbol.span.end, len(lines))
    start = symbol.span.start
    named = [n for n in range(start, end) if not lines[n].lstrip().startswith(_DECORATORS) and symbol.name in lines[n]]
    start = named[0] if named else start
    return Span(start, max(start + 1, min(end, start + MAX_HEADER_LINES))) if start < len(lines) else Span(0, 0)

"""The way into this package: a text goes in, its outline, chunks and chunk texts come out.

Runs in the worker processes and, for single edited files, in the server.  A parse is bounded in time
and falls back to plain chunks, always with a reason.  The grammars are imported by the first `scan`
that needs one; `plain` never does, so it works where they are broken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from promptls.index.syntax.chunks import Chunker
from promptls.index.syntax.doc_comments import file_doc
from promptls.index.syntax.guards import misshapen, unparsable
from promptls.index.syntax.incremental import Kept
from promptls.index.syntax.source_text import Source
from promptls.languages.table import BY_NAME
from promptls.model import Outline

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

    from promptls.index.syntax.grammars import Source as GrammarSource

ORDER: tuple[GrammarSource, ...] = ("pack", "legacy")
SLICE = 64 * 1024  # bytes handed to the parser at a time; other threads run in between
LEAST_SLICE = 128  # after a step back: with 64 kB each a parse of Perl took 26 times as long, with these 1.4 times
SLOWEST = 500_000  # bytes a second of processor time: a parse that is slower has gone astray
LEAST_S = 0.2
LOOKS = 16
"""Times that the parser offers to stop between two looks at the clock, which cost a twentieth of a parse."""


class Parsed:
    """One version of a text, and what the next version can be parsed from.  Not for other processes."""

    __slots__ = ("data", "kept", "language", "order", "outline", "texts", "tree")

    def __init__(
        self,
        outline: Outline,
        texts: dict[bytes, str],
        data: bytes = b"",
        tree: Tree | None = None,
        order: tuple[GrammarSource, ...] = ORDER,
        kept: Kept | None = None,
    ) -> None:
        self.outline = outline
        self.texts = texts  # chunk key → what is embedded and searched
        self.data = data  # the bytes that `tree` was parsed from
        self.tree = tree
        self.order = order
        self.kept = kept
        self.language = outline.language


def scan(
    text: str,
    language: str,
    previous: Parsed | None = None,
    timeout_s: float = 1.0,
    order: tuple[GrammarSource, ...] = ORDER,
    edited: bool = False,
) -> Parsed:
    """Outline and chunks of a text; `previous` is an earlier version of it and makes this faster.  `edited` says that
    there will be a next version; for others nothing is kept.

    Never fails: without a grammar, or when the parse takes more than `timeout_s` of processor time (less
    for small texts), the chunks are plain windows and `Outline.problem` says why.
    """
    row = BY_NAME.get(language)
    if row is None:
        return plain(text, language)
    source = Source(text, row.mask)
    problem = unparsable(source.data, language)
    if problem:
        return plain(text, language, problem)
    from promptls.index.syntax.queries import tags

    found = tags(language, order)
    if found is None:
        return plain(text, language, f"no grammar for {language} is installed")
    from tree_sitter import Parser

    from promptls.index.syntax.outline import outline_of
    from promptls.index.syntax.symbol_builder import node_at

    parser = Parser(found.grammar)
    tree = None
    budget_s = min(timeout_s, LEAST_S + len(source.data) / SLOWEST)
    deadline = time.thread_time() + budget_s
    kept = Kept() if edited else None
    if previous is not None and (previous.language, previous.order) == (language, order):
        tree = _reparse(parser, source.code, previous, deadline)
        kept = previous.kept or Kept()
    if tree is None:
        tree = _parse(parser, source.code, None, deadline)
    if tree is None:
        return plain(text, language, f"parsing took more than {budget_s:.2g} s")
    if misshapen(tree.root_node):
        return plain(text, language, "it is nested too deeply, or mostly not understood")
    shape = outline_of(source, tree, found, language, kept)
    cut = Chunker(source.lines, shape.symbols, shape.solid, lambda symbol: node_at(tree, shape.nodes[symbol]))
    if kept is not None:
        kept.turn()
    outline = Outline(
        language=language,
        lines=len(source.lines),
        symbols=tuple(shape.symbols),
        chunks=tuple(cut.chunks),
        imports=tuple(shape.imports),
        ref_names=shape.references.names,
        refs=shape.references.refs,
        typed=shape.references.typed,
        words=shape.references.words,
        problem=shape.problem,
        doc=file_doc(
            source.lines, source.data, min((s.doc_start for s in shape.symbols), default=len(source.lines)), row
        ),
    )
    return Parsed(outline, cut.texts, source.code, tree, order, kept)


def plain(text: str, language: str, problem: str = "") -> Parsed:
    """Chunks by lines alone, no symbols."""
    source = Source(text)
    cut = Chunker(source.lines)
    outline = Outline(language=language, lines=len(source.lines), chunks=tuple(cut.chunks), problem=problem)
    return Parsed(outline, cut.texts)


def _parse(parser: Parser, data: bytes, old: Tree | None, deadline: float) -> Tree | None:
    """A tree, None when the time is up.  Only this form of `parse` can be cancelled."""
    offers = 0

    def late(_at: int, _failed: bool) -> bool:
        nonlocal offers
        offers += 1
        return offers % LOOKS == 0 and time.thread_time() > deadline

    try:
        if old is None:
            return parser.parse(slices(data), progress_callback=late)
        return parser.parse(slices(data), old, progress_callback=late)
    except ValueError:
        parser.reset()
        return None


def slices(data: bytes) -> Callable[[int, object], bytes]:
    """What hands a text to the parser: from a byte on, as much as it is likely to want.

    The scanners of some grammars (Perl's, Scala's) go back to the beginning of the line at each word, and what was
    handed over is then handed over again: little at first, twice as much each time that it simply goes on.
    """
    end, size = 0, SLICE

    def read(at: int, _point: object) -> bytes:
        nonlocal end, size
        size = min(2 * size, SLICE) if at == end else LEAST_SLICE
        end = at + size
        return data[at:end]

    return read


def _reparse(parser: Parser, data: bytes, previous: Parsed, deadline: float) -> Tree | None:
    """The tree of a changed text from the tree before; None if only a full parse is sure to be right.

    How a parser gets over an error depends on what it could reuse, so that a tree with errors may come
    out differently; one without does not (property test).
    """
    if data == previous.data:
        return previous.tree
    if previous.tree is None or previous.tree.root_node.has_error:
        return None
    start, old_end, new_end = edit(previous.data, data)
    tree = previous.tree.copy()
    tree.edit(
        start,
        old_end,
        new_end,
        _point(previous.data, start),
        _point(previous.data, old_end),
        _point(data, new_end),
    )
    new = _parse(parser, data, tree, deadline)
    return new if new is not None and not new.root_node.has_error else None


def edit(old: bytes, new: bytes) -> tuple[int, int, int]:
    """The one region that differs: (start, end in `old`, end in `new`), widened to whole UTF-8 characters."""
    start = _common(old, new)
    limit = min(len(old), len(new)) - start
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle :] == new[len(new) - middle :]:
            low = middle
        else:
            high = middle - 1
    while start > 0 and (_inside(old, start) or _inside(new, start)):
        start -= 1
    while low > 0 and _inside(old, len(old) - low):
        low -= 1
    return start, len(old) - low, len(new) - low


def _inside(data: bytes, at: int) -> bool:
    """Whether a byte continues a UTF-8 character."""
    return at < len(data) and data[at] & 0xC0 == 0x80


def _common(old: bytes, new: bytes) -> int:
    """Length of the common prefix, by halving: comparing slices is far cheaper than a loop."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _point(data: bytes, at: int) -> tuple[int, int]:
    """Row and column, in bytes, of a byte."""
    return data.count(b"\n", 0, at), at - (data.rfind(b"\n", 0, at) + 1)

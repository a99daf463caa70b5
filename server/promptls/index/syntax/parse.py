"""Entry point of syntax analysis: from the text of a file to its outline, chunks and chunk texts.

Runs in the worker processes, and in the server for edited documents. A parse is limited in time and falls back to
chunks of plain text, with a reason. Grammars are imported by the first `parse_source` that needs one, and never by
`parse_as_text`, which therefore works even if they are broken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from promptls.index.syntax.chunks import split_into_chunks
from promptls.index.syntax.doc_comments import file_documentation
from promptls.index.syntax.tree_sitter.grammars import (
    GRAMMAR_SOURCES,
    GrammarSource,
    unparsable_reason,
)
from promptls.index.syntax.tree_sitter.nesting import is_pathological, parse_shallow, without_deep_text
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language, Mask, language_named
from promptls.model import Outline

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

    from promptls.index.syntax.outline import IncrementalCache
    from promptls.index.syntax.tree_sitter.grammar_queries import Captures

READ_BYTES = 64 * 1024
"""Bytes handed to the parser at a time; other threads run in between."""

MIN_READ_BYTES = 128
"""Bytes handed to the parser after it stepped back: a parse of Perl took 26 times as long with 64 kB, 1.4 with 128 B."""

_MIN_BYTES_PER_S = 500_000
"""Expected speed in bytes of source per second of processor time; a slower parse has run into a pathological case."""

_MIN_TIMEOUT_S = 0.2
"""Timeout of the smallest text, in seconds of processor time."""

_CALLBACKS_PER_CLOCK_CHECK = 16
"""Progress callbacks of the parser per check of the clock; a check costs 5 % of a parse if it is done every time."""


class ParseResult:
    """The analysis of one version of a text, reusable for the next version. Not sent to other processes."""

    __slots__ = ("cache", "chunk_texts", "code", "grammar_sources", "language", "outline", "tree")

    def __init__(
        self,
        outline: Outline,
        chunk_texts: dict[bytes, str],
        code: bytes = b"",
        tree: Tree | None = None,
        grammar_sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES,
        cache: IncrementalCache | None = None,
    ) -> None:
        """Combine the parts of a result.

        Args:
            outline: The outline, with its chunks.
            chunk_texts: Text that is embedded and searched, by chunk key.
            code: Parser input that `tree` was parsed from.
            tree: The syntax tree, None for plain text.
            grammar_sources: Order of grammar sources that was used.
            cache: Intermediate results, None for a file that is not edited.
        """
        self.outline = outline
        self.chunk_texts = chunk_texts
        self.code = code
        self.tree = tree
        self.grammar_sources = grammar_sources
        self.cache = cache
        self.language = outline.language


def parse_source(
    text: str,
    language: str,
    previous: ParseResult | None = None,
    timeout_s: float = 1.0,
    grammar_sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES,
    incremental: bool = False,
    path: str = "",
) -> ParseResult:
    """Return the outline and chunks of a text.

    Never fails: without a grammar, or after a timeout, the chunks are windows of lines and `Outline.problem` contains
    the reason.

    Args:
        text: The content of the file.
        language: Name of its language.
        previous: Result for an earlier version of the text, which makes this faster.
        timeout_s: Maximum seconds of processor time; less for small texts.
        grammar_sources: Order of grammar sources.
        incremental: Whether to cache results for a next version of the text.
        path: Path of the file, which some definitions depend on.
    """
    definition = language_named(language)
    if not definition.pack_grammar and not definition.embedded:
        return parse_as_text(text, language, path=path)
    source = SourceText(text, definition.mask, path=path)
    problem = unparsable_reason(source.data)
    if problem:
        return parse_as_text(text, language, problem, path=path)
    source.code = without_deep_text(source.code)
    if not definition.pack_grammar:
        deadline = time.thread_time() + timeout_s
        return parse_as_text(
            text, language, embedded=_all_embedded_captures(text, source, definition, deadline), path=path
        )
    from tree_sitter import Parser

    from promptls.index.syntax.outline import IncrementalCache, extract_outline
    from promptls.index.syntax.symbol_builder import node_at
    from promptls.index.syntax.tree_sitter.grammar_queries import compiled_queries

    more = next((file for pattern, file in definition.path_queries if re.search(pattern, path)), "")
    queries = compiled_queries(language, grammar_sources, more)
    if queries is None:
        return parse_as_text(text, language, f"no grammar for {language} is installed", path=path)
    parser = Parser(queries.grammar)
    tree = None
    limit_s = min(timeout_s, _MIN_TIMEOUT_S + len(source.data) / _MIN_BYTES_PER_S)
    deadline = time.thread_time() + limit_s
    cache = IncrementalCache() if incremental else None
    if previous is not None and (previous.language, previous.grammar_sources) == (language, grammar_sources):
        tree = _reparse(parser, source.code, previous, deadline)
        cache = previous.cache or IncrementalCache()
    if tree is None:
        tree = _parse_tree(parser, source.code, None, deadline)
    if tree is None:
        return parse_as_text(text, language, f"parsing took more than {limit_s:.2g} s", path=path)
    if is_pathological(tree.root_node):
        shallow = parse_shallow(source.code, tree, lambda code: _parse_tree(parser, code, None, deadline))
        if shallow is None:
            return parse_as_text(text, language, "it is nested too deeply, or mostly not understood", path=path)
        source.code, tree = shallow
    embedded = _all_embedded_captures(text, source, definition, deadline)
    extracted = extract_outline(source, tree, queries, definition, cache, embedded)
    chunked = split_into_chunks(
        source.lines, extracted.symbols, extracted.has_body, lambda symbol: node_at(tree, extracted.nodes[symbol])
    )
    if cache is not None:
        cache.end_version()
    first_definition = min((symbol.doc_start for symbol in extracted.symbols), default=len(source.lines))
    outline = Outline(
        language=language,
        lines=len(source.lines),
        symbols=tuple(extracted.symbols),
        chunks=chunked.chunks,
        imports=tuple(extracted.imports),
        ref_names=extracted.references.names,
        refs=extracted.references.refs,
        variable_types=extracted.references.variable_types,
        identifiers=extracted.references.identifiers,
        problem=extracted.problem,
        doc=file_documentation(source.lines, source.data, first_definition, definition),
    )
    return ParseResult(outline, chunked.texts, source.code, tree, grammar_sources, cache)


def _all_embedded_captures(text: str, source: SourceText, language: Language, deadline: float) -> list[Captures]:
    parts = language.embedded
    return [captures for part in parts for captures in _embedded_captures(text, source, part, deadline)]


def _embedded_captures(
    text: str, source: SourceText, embedded: tuple[Mask, str], deadline: float
) -> Iterator[Captures]:
    """Yield the captures in the code of another language inside of a text; none after the deadline."""
    from tree_sitter import Parser

    from promptls.index.syntax.tree_sitter.grammar_queries import compiled_queries, run_queries

    mask, name = embedded
    queries = compiled_queries(name)
    masked = SourceText(text, mask, name)
    if queries is None or not masked.code.strip():
        return
    tree = _parse_tree(Parser(queries.grammar), masked.code, None, deadline)
    if tree is not None and not is_pathological(tree.root_node):
        yield run_queries(source, tree, queries, language_named(name))


def parse_as_text(
    text: str, language: str, problem: str = "", embedded: Sequence[Captures] = (), path: str = ""
) -> ParseResult:
    """Return the outline and chunks of a text without a grammar.

    The symbols are those that the scanner of the language finds. Without a scanner, the chunks are windows of lines.

    Args:
        text: The content of the file.
        language: Name of its language.
        problem: Why the text is not parsed with a grammar.
        embedded: Captures in code of other languages inside of the text.
        path: Path of the file, which some definitions depend on.
    """
    definition = language_named(language)
    source = SourceText(text, definition.mask if not definition.pack_grammar else "", path=path)
    if not definition.scanner and not embedded:
        chunked = split_into_chunks(source.lines)
        outline = Outline(language=language, lines=len(source.lines), chunks=chunked.chunks, problem=problem)
        return ParseResult(outline, chunked.texts)
    from promptls.index.syntax.outline import scan_outline

    scanned = scan_outline(source, definition, embedded)
    chunked = split_into_chunks(source.lines, scanned.symbols, scanned.has_body)
    first_definition = min((symbol.doc_start for symbol in scanned.symbols), default=len(source.lines))
    outline = Outline(
        language=language,
        lines=len(source.lines),
        symbols=tuple(scanned.symbols),
        chunks=chunked.chunks,
        ref_names=scanned.references.names,
        refs=scanned.references.refs,
        variable_types=scanned.references.variable_types,
        identifiers=scanned.references.identifiers,
        problem=problem or scanned.problem,
        doc=file_documentation(source.lines, source.data, first_definition, definition),
    )
    return ParseResult(outline, chunked.texts)


def _parse_tree(parser: Parser, code: bytes, edited_tree: Tree | None, deadline: float) -> Tree | None:
    """Return the tree of a text, None after the deadline. Only this form of `Parser.parse` can be cancelled."""
    callbacks = 0

    def is_late(_position: int, _has_error: bool) -> bool:
        nonlocal callbacks
        callbacks += 1
        return callbacks % _CALLBACKS_PER_CLOCK_CHECK == 0 and time.thread_time() > deadline

    try:
        if edited_tree is None:
            return parser.parse(reader_of(code), progress_callback=is_late)
        return parser.parse(reader_of(code), edited_tree, progress_callback=is_late)
    except ValueError:
        parser.reset()
        return None


def reader_of(code: bytes) -> Callable[[int, object], bytes]:
    """Return the read callback for the parser.

    The scanners of some grammars (Perl, Scala) go back to the beginning of the line at each word. The parser then reads
    the same bytes again. The size of a read is therefore reduced after a step back, and doubled for each read
    that continues the one before.
    """
    end, size = 0, READ_BYTES

    def read(start: int, _point: object) -> bytes:
        nonlocal end, size
        size = min(2 * size, READ_BYTES) if start == end else MIN_READ_BYTES
        end = start + size
        return code[start:end]

    return read


def _reparse(parser: Parser, code: bytes, previous: ParseResult, deadline: float) -> Tree | None:
    """Return the tree of a changed text, derived from the previous tree; None if a full parse is needed.

    The error recovery of a parser depends on the nodes that it could reuse, so a tree with errors may differ from a
    full parse. A tree without errors does not; a property test checks this.
    """
    if code == previous.code:
        return previous.tree
    if previous.tree is None or previous.tree.root_node.has_error:
        return None
    start, old_end, new_end = changed_region(previous.code, code)
    tree = previous.tree.copy()
    tree.edit(
        start,
        old_end,
        new_end,
        _point(previous.code, start),
        _point(previous.code, old_end),
        _point(code, new_end),
    )
    new_tree = _parse_tree(parser, code, tree, deadline)
    return new_tree if new_tree is not None and not new_tree.root_node.has_error else None


def changed_region(old: bytes, new: bytes) -> tuple[int, int, int]:
    """Return the one region that differs: (start, end in `old`, end in `new`), widened to complete UTF-8 characters."""
    start = _common_prefix_length(old, new)
    low, high = 0, min(len(old), len(new)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle :] == new[len(new) - middle :]:
            low = middle
        else:
            high = middle - 1
    while start > 0 and (_is_continuation(old, start) or _is_continuation(new, start)):
        start -= 1
    while low > 0 and _is_continuation(old, len(old) - low):
        low -= 1
    return start, len(old) - low, len(new) - low


def _is_continuation(data: bytes, position: int) -> bool:
    """Return whether a byte continues a UTF-8 character."""
    return position < len(data) and data[position] & 0xC0 == 0x80


def _common_prefix_length(old: bytes, new: bytes) -> int:
    """Return the length of the common prefix by bisection: comparing slices is far cheaper than a loop over bytes."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _point(code: bytes, position: int) -> tuple[int, int]:
    """Return (row, column) of a byte, where the column is in bytes."""
    return code.count(b"\n", 0, position), position - (code.rfind(b"\n", 0, position) + 1)

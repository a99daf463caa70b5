"""Structural search: finds the matches of a code pattern or a tree-sitter query in a text.

A code pattern is code with metavariables, as in ast-grep: `$NAME` matches one node, and the same text wherever the
name is repeated; `$$$` or `$$$NAME` matches any number of siblings. Nodes match by their kind, leaves by their text.
Whitespace and comments are ignored, and the text may have punctuation that the pattern lacks. A pattern that begins
with "(" and is a valid query of the grammar is used as a query. Runs in worker processes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from promptls.index.syntax.tree_sitter.grammars import (
    GRAMMAR_SOURCES,
    GrammarSource,
    grammar_loader,
    unparsable_reason,
)
from promptls.index.syntax.tree_sitter.nesting import is_pathological, without_deep_text
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import LANGUAGES
from promptls.model import Span

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

_MULTI_METAVARIABLE = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)?")
_METAVARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_PLACEHOLDER = re.compile(r"^qz(one|many)_(\w*?)zq$")
_WORD = re.compile(r"(?<!\w)[A-Za-z_][A-Za-z0-9_]{2,}(?!\w)")

MAX_MATCHES = 500
"""Matches that are returned for one text."""

MAX_COMPARISONS = 200_000
"""Node comparisons per text, which bounds the time of backtracking."""

_PATTERN_TIMEOUT_S = 0.5
"""Processor time for parsing a code pattern, in seconds."""


class StructuralPattern(Struct, frozen=True):
    """A code pattern or query as written, and the words that every matching text contains."""

    text: str
    words: tuple[str, ...]


def parse_pattern(text: str) -> StructuralPattern:
    """Return the pattern for a text. Its syntax is checked later, because it depends on the language."""
    without_metavariables = _METAVARIABLE.sub(" ", _MULTI_METAVARIABLE.sub(" ", text))
    words = () if text.lstrip().startswith("(") else tuple(dict.fromkeys(_WORD.findall(without_metavariables)))
    return StructuralPattern(text, words)


def find_matches(
    pattern: StructuralPattern,
    text: str,
    language: str,
    grammar_sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES,
    timeout_s: float = 0.5,
) -> list[Span] | None:
    """Return the lines of each match in document order; None if the pattern is invalid in the language."""
    definition = LANGUAGES.get(language)
    if definition is None or any(word not in text for word in pattern.words):
        return []
    compiled = _compile(pattern.text, language, grammar_sources)
    if compiled is None:
        return None
    source = SourceText(text, "" if definition.mask in ("c", "cpp") else definition.mask)
    if unparsable_reason(source.data):
        return []
    source.code = without_deep_text(source.code)
    grammar, query, pattern_node, pattern_code = compiled
    root = _parse_root(grammar, source.code, timeout_s)
    if root is None or is_pathological(root):
        return []
    from tree_sitter import QueryCursor

    cursor = QueryCursor(query)
    if pattern_node is None:
        matches = [nodes[0] for _, captures in cursor.matches(root) for nodes in captures.values() if nodes]
    else:
        candidates = (node for nodes in cursor.captures(root).values() for node in nodes)
        words = [word.encode() for word in pattern.words]
        matches = list(_Matcher(pattern_code, source.code).find_all(pattern_node, candidates, words))
    spans = {
        Span(n.start_point.row, n.end_point.row + (n.end_point.column > 0 or n.end_point.row == n.start_point.row))
        for n in matches
    }
    return sorted(spans)[:MAX_MATCHES]


def _parse_root(grammar: Language, code: bytes, timeout_s: float) -> Node | None:
    """Return the root of the syntax tree, None after the timeout."""
    from tree_sitter import Parser

    deadline = time.thread_time() + timeout_s
    if not code.endswith(b"\n"):
        code += b"\n"  # the Perl scanner never terminates on an unterminated comment, and ignores the callback
    try:
        tree = Parser(grammar).parse(
            lambda start, _point: code[start : start + 65_536],
            progress_callback=lambda _position, _has_error: time.thread_time() > deadline,
        )
    except ValueError:
        return None
    return tree.root_node


CompiledPattern = tuple["Language", "Query", "Node | None", bytes]
"""(grammar, query, root of the code pattern, its code). The root is None for a pattern that is a query itself."""


@lru_cache(maxsize=256)
def _compile(text: str, language: str, grammar_sources: tuple[GrammarSource, ...]) -> CompiledPattern | None:
    """Compile a pattern; None if it is neither a query nor code of the language.

    The query of a code pattern captures the nodes of the same kind as its root.
    """
    from tree_sitter import Query, QueryError

    grammar = grammar_loader(grammar_sources).grammar(language)
    if grammar is None:
        return None
    if text.lstrip().startswith("("):
        query_text = text if "@" in text else f"{text} @match"
        try:
            return grammar, Query(grammar, query_text), None, b""
        except (QueryError, ValueError):
            pass
    with_placeholders = _METAVARIABLE.sub(
        lambda m: f"qzone_{m[1]}zq", _MULTI_METAVARIABLE.sub(lambda m: f"qzmany_{m[1] or ''}zq", text)
    )
    for variant in (with_placeholders, with_placeholders + ";", with_placeholders + " {}", f"({with_placeholders})"):
        code = variant.encode("utf-8", "surrogatepass")
        root = _parse_root(grammar, code, _PATTERN_TIMEOUT_S)
        if root is None or root.has_error:
            continue
        node = _pattern_node(root, len(with_placeholders.encode("utf-8", "surrogatepass")))
        if node is not None:
            return grammar, Query(grammar, f"({node.type}) @candidate"), node, code
    return None


def _pattern_node(node: Node, end: int) -> Node | None:
    """Return the innermost node that spans the whole pattern; None if the pattern has several roots."""
    while True:
        if _PLACEHOLDER.match(node.text.decode("utf-8", "replace") if node.text else ""):
            return None  # a metavariable by itself would match everything
        inner = [child for child in node.named_children if child.start_byte < end]
        if len(inner) == 1 and (node.parent is None or _is_wrapper(node, inner[0])):
            node = inner[0]
        elif node.parent is None:
            return None
        else:
            return node


def _is_wrapper(node: Node, inner: Node) -> bool:
    """Return whether a node only adds a semicolon or parentheses to its child."""
    return node.type in ("expression_statement", "statement", "parenthesized_expression", "program") and inner.is_named


class _Matcher:
    """Compares the nodes of a code pattern with the nodes of a text."""

    def __init__(self, pattern_code: bytes, code: bytes) -> None:
        self._pattern_code = pattern_code
        self._code = code
        self._comparisons_left = MAX_COMPARISONS
        self._metavariables: dict[int, tuple[str, str] | None] = {}  # by the id of a pattern node

    def find_all(self, pattern: Node, candidates: Iterable[Node], words: Sequence[bytes]) -> Iterator[Node]:
        """Yield the candidates that match, outermost first and none inside of another.

        Args:
            pattern: Root of the code pattern.
            candidates: Nodes of the same kind.
            words: Words that every match contains.
        """
        end = 0
        for node in sorted(candidates, key=lambda node: (node.start_byte, -node.end_byte)):
            if self._comparisons_left <= 0:
                return
            if node.start_byte < end or any(word not in self._text(node, self._code) for word in words):
                continue
            if self._match_node(pattern, node, {}) is not None:
                end = node.end_byte
                yield node

    def _text(self, node: Node, code: bytes) -> bytes:
        return code[node.start_byte : node.end_byte]

    def _metavariable(self, pattern: Node) -> tuple[str, str] | None:
        """Return ("one" or "many", name) of a pattern node that is a metavariable, also if it is wrapped."""
        try:
            return self._metavariables[pattern.id]
        except KeyError:
            match = _PLACEHOLDER.match(self._text(pattern, self._pattern_code).decode("utf-8", "replace").rstrip(";"))
            metavariable = self._metavariables[pattern.id] = (match[1], match[2]) if match else None
            return metavariable

    def _match_node(self, pattern: Node, node: Node, bindings: dict[str, bytes]) -> dict[str, bytes] | None:
        """Return the bindings of the metavariables if the nodes match, None otherwise."""
        self._comparisons_left -= 1
        if self._comparisons_left <= 0:
            return None
        metavariable = self._metavariable(pattern)
        if metavariable is not None and (node.is_named or metavariable[0] == "many"):
            name, text = metavariable[1], self._text(node, self._code)
            if not name or name == "_":
                return bindings
            if name in bindings:
                return bindings if bindings[name] == text else None
            return {**bindings, name: text}
        if pattern.type != node.type:
            return None
        if pattern.child_count == 0:
            return bindings if self._text(pattern, self._pattern_code) == self._text(node, self._code) else None
        return self._match_siblings(_without_comments(pattern), _without_comments(node), bindings)

    def _match_siblings(
        self, patterns: Sequence[Node], nodes: Sequence[Node], bindings: dict[str, bytes]
    ) -> dict[str, bytes] | None:
        """Return the bindings of the metavariables if lists of siblings match, None otherwise."""
        self._comparisons_left -= 1
        if self._comparisons_left <= 0:
            return None
        if not patterns:
            return bindings if not any(n.is_named for n in nodes) else None
        metavariable = self._metavariable(patterns[0])
        if metavariable is not None and metavariable[0] == "many":
            rest = patterns[1:]
            if rest and not rest[0].is_named and self._text(rest[0], self._pattern_code) == b",":
                without_comma = self._match_siblings(rest[1:], nodes, bindings)  # neither a node nor the comma after it
                if without_comma is not None:
                    return without_comma
            for count in range(len(nodes) + 1):
                matched = self._match_siblings(rest, nodes[count:], bindings)
                if matched is not None:
                    return matched
            return None
        if not nodes:
            # A "$$$" at the end may match nothing, together with the comma before it.
            return bindings if all(self._is_optional(pattern) for pattern in patterns) else None
        first = self._match_node(patterns[0], nodes[0], bindings)
        if first is not None:
            both = self._match_siblings(patterns[1:], nodes[1:], first)
            if both is not None:
                return both
        if self._is_optional(patterns[0]):
            skipped = self._match_siblings(patterns[1:], nodes, bindings)
            if skipped is not None:
                return skipped
        return None if nodes[0].is_named else self._match_siblings(patterns, nodes[1:], bindings)

    def _is_optional(self, pattern: Node) -> bool:
        metavariable = self._metavariable(pattern)
        if metavariable is not None:
            return metavariable[0] == "many"
        return not pattern.is_named and self._text(pattern, self._pattern_code) in (b",", b";", b"")


def _without_comments(node: Node) -> list[Node]:
    return [child for child in node.children if "comment" not in child.type]

"""Tree-sitter queries of each language, compiled for the installed grammar.

The patterns of a language are compiled together if the grammar knows every node that they name. Otherwise they are
compiled one by one, and those that the grammar rejects are left out. Two generations of a grammar can therefore share
one query file. All patterns form one query, because walking the tree takes most of the time.

Some patterns capture references and properties of code:

- `@ref`, `@call`, `@base`, `@implements`: a reference.
- `@bound`: a name that is not a reference.
- `@branch`: a decision, for the cyclomatic complexity.
- `@typed`: a declaration with a type.
- `@yields`, `@spawns`, `@defers`, `@awaits`: a trait of the enclosing function.

All others capture definitions and the nodes around them. Queries are compiled once per language and order of grammar
sources; any thread may use the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from promptls.index.syntax.c_masks import MacroName
from promptls.index.syntax.symbol_builder import Extent, SymbolDraft, draft_from_match, extent_of, shift_extent
from promptls.index.syntax.tree_sitter.grammars import GRAMMAR_SOURCES, GrammarSource, grammar_loader
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import LANGUAGES, Language, read_query_file
from promptls.model import CALL, IMPLEMENT, INHERIT, USE

if TYPE_CHECKING:
    from collections.abc import Hashable

    import tree_sitter
    from tree_sitter import Node, Query, QueryCursor, Tree

    RunQuery = Callable[["Captures", Node, bool], None]


Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class VersionedCache(Generic[Key, Value]):
    """Results that the current version of a text has used, or the version before."""

    __slots__ = ("_current", "_previous")

    def __init__(self) -> None:
        self._current: dict[Key, Value] = {}
        self._previous: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the result for a key, None if it is not cached."""
        value = self._current.get(key)
        if value is None and (value := self._previous.get(key)) is not None:
            self._current[key] = value
        return value

    def put(self, key: Key, value: Value) -> Value:
        """Store a result, and return it."""
        self._current[key] = value
        return value

    def end_version(self) -> None:
        """Drop the results that the current version has not used, unless it has used none at all."""
        if self._current:
            self._previous, self._current = self._current, {}


_PART_CAPTURES = frozenset({"name", "body", "head", "owner", "inner", "callee", "doc", "declarator", "clause", "tail"})
"""Captures of the parts of a match. The other capture of a pattern names its role: a kind, "wrap", "import" …"""

_CAPTURE = re.compile(r"@(\w+)")
_REFERENCE_CAPTURE = re.compile(r"@(?:ref|call|base|implements|branch|typed|yields|spawns|defers|awaits|bound)\b")
_NODE = re.compile(r"\((?!_\b)(\w+)")
_FIELD = re.compile(r"\b(\w+):")
_LITERAL = re.compile(r'"([^"]+)"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|@[\w.]+|[()\[\]]')


class CompiledQueries(NamedTuple):
    """The compiled queries of a language."""

    grammar: tree_sitter.Language
    query: tree_sitter.Query | None
    roles: tuple[str, ...]
    """Role of each pattern; "" for a pattern whose captures each have a meaning of their own."""
    single_rooted: bool
    """Every pattern has one root: its matches in a node do not depend on the nodes around it."""


@cache
def compiled_queries(
    language: str, grammar_sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES, more: str = ""
) -> CompiledQueries | None:
    """Return the queries of a language, and of one more file; None if no source has a grammar for it."""
    grammar = grammar_loader(grammar_sources).grammar(language)
    if grammar is None:
        return None
    files = LANGUAGES[language].query_files + ((more,) if more else ())
    patterns = [pattern for name in files for pattern in split_patterns(read_query_file(name))]
    query, accepted = _compile_supported(grammar, patterns)
    return CompiledQueries(
        grammar=grammar,
        query=query,
        roles=tuple(_role(pattern) for pattern in accepted),
        single_rooted=query is None or all(query.is_pattern_rooted(i) for i in range(query.pattern_count)),
    )


def split_patterns(source: str) -> list[str]:
    """Return the top-level patterns of a query file with their captures, without comments."""
    patterns: list[str] = []
    start = depth = 0
    for token in _TOKEN.finditer(source):
        text = token.group()
        if text in "([":
            if depth == 0:
                start = token.start()
            depth += 1
        elif text in ")]":
            depth -= 1
            if depth == 0:
                patterns.append(source[start : token.end()])
        elif text[0] == "@" and depth == 0:
            patterns[-1] += " " + text
    return patterns


def _role(pattern: str) -> str:
    if _REFERENCE_CAPTURE.search(pattern):
        return ""
    captures: list[str] = _CAPTURE.findall(pattern)
    return next(name for name in captures if name not in _PART_CAPTURES)


def _compile_supported(
    grammar: tree_sitter.Language, patterns: list[str]
) -> tuple[tree_sitter.Query | None, list[str]]:
    """Compile the patterns that the grammar accepts, and return the query with these patterns."""
    accepted = [pattern for pattern in patterns if _knows_names(grammar, pattern)]
    try:
        return _compile(grammar, accepted), accepted
    except ValueError:  # the names exist, but never in this arrangement
        accepted = [pattern for pattern in accepted if _accepts(grammar, pattern)]
        return _compile(grammar, accepted), accepted


def _knows_names(grammar: tree_sitter.Language, pattern: str) -> bool:
    """Return whether the grammar has all names of a pattern, which is far cheaper than compiling it."""
    return (
        all(grammar.id_for_node_kind(name, True) for name in _NODE.findall(pattern))
        and all(grammar.field_id_for_name(name) for name in _FIELD.findall(pattern))
        and all(grammar.id_for_node_kind(text, False) for text in _LITERAL.findall(pattern))
    )


def _accepts(grammar: tree_sitter.Language, pattern: str) -> bool:
    try:
        _compile(grammar, [pattern])
    except ValueError:
        return False
    return True


def _compile(grammar: tree_sitter.Language, patterns: list[str]) -> tree_sitter.Query | None:
    import tree_sitter

    return tree_sitter.Query(grammar, "\n".join(patterns)) if patterns else None


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

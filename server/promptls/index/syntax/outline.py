"""Outline extraction: from a syntax tree to the definitions, imports and references of a file.

The queries find definitions; this module adds names, owners, extents, signatures and documentation, and nests the
definitions. The work is proportional to the number of captures; the tree itself is never walked. Pure functions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax import doc_comments
from promptls.index.syntax.doc_types import documented_imports
from promptls.index.syntax.jinja import tag_references
from promptls.index.syntax.line_calls import find_calls
from promptls.index.syntax.references import DeclarationCache, EncodedReferences, ReferenceCache, find_references
from promptls.index.syntax.symbol_builder import (
    SINGLE_STATEMENT_KINDS,
    Extent,
    SymbolDraft,
    body_start_line,
    finish_drafts,
    is_constructor,
    new_draft,
    signature_between,
)
from promptls.index.syntax.tree_sitter.grammar_queries import (
    CaptureCache,
    Captures,
    CompiledQueries,
    VersionedCache,
    run_queries,
)
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language, names
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, SPACE_KINDS, TITLED_KINDS, TYPE_KINDS
from promptls.languages.language import FileDefinition
from promptls.languages.visibility import Definition
from promptls.model import Import, Span, Symbol
from promptls.util.entry_points import service
from promptls.util.text.display import truncate_words

if TYPE_CHECKING:
    from tree_sitter import Tree


TRAITS = ("yields", "spawns", "defers", "awaits")
"""Query captures that are traits of the enclosing function."""

_DECORATOR = re.compile(rb"@(?!interface\b)([A-Za-z_][\w.]*)|#!?\[(?:cfg_attr\([^,]*,\s*)?([A-Za-z_][\w:]*)")
_MAX_DECORATORS = 6
_MAX_HEAD_BYTES = 400
"""Bytes of a head that are searched for decorators."""


def cyclomatic_complexities(
    spans: Sequence[tuple[int, int, int]], kinds: Sequence[str], branches: Sequence[int]
) -> list[int]:
    """Return the cyclomatic complexity of each definition, 0 for those that cannot be called.

    Args:
        spans: (first byte, end byte, index of the parent) of each definition, in document order.
        kinds: Kind of each definition.
        branches: Bytes of decisions, in ascending order.
    """
    complexities = [1 if kind in CALLABLE_KINDS else 0 for kind in kinds]
    for owner in innermost_definitions(spans, branches):
        while owner >= 0 and not complexities[owner]:
            owner = spans[owner][2]
        if owner >= 0:
            complexities[owner] += 1
    return complexities


def innermost_definitions(spans: Sequence[tuple[int, int, int]], positions: Sequence[int]) -> list[int]:
    """Return the index of the innermost definition around each byte, -1 for none; bytes are in ascending order."""
    owners: list[int] = []
    stack: list[int] = []
    next_span = 0
    for position in positions:
        while next_span < len(spans) and spans[next_span][0] <= position:
            while stack and spans[stack[-1]][1] <= spans[next_span][0]:
                stack.pop()
            stack.append(next_span)
            next_span += 1
        while stack and spans[stack[-1]][1] <= position:
            stack.pop()
        owners.append(stack[-1] if stack else -1)
    return owners


def decorators(data: bytes, start: int, head: int, end: int, language: Language) -> list[str]:
    """Return the decorators and attributes of a definition as "@name".

    Args:
        data: The text of the file.
        start: First byte of the first line, attributes included.
        head: First byte of the signature.
        end: Byte after the signature.
        language: The language of the file.
    """
    if not language.annotations:
        return []
    text = data[start : min(end, head + _MAX_HEAD_BYTES) if language.annotations == "in_head" else head]
    if b"@" not in text and b"#[" not in text:
        return []
    names = [(match.group(1) or match.group(2)).decode("utf-8", "replace") for match in _DECORATOR.finditer(text)]
    return [f"@{name}" for name in dict.fromkeys(names)][:_MAX_DECORATORS]


def is_exported(
    name: str,
    kind: str,
    signature: str,
    parent: tuple[str, bool] | None,
    language: Language,
    exports: frozenset[str] | None,
) -> bool:
    """Return whether other files may use a definition.

    Args:
        name: Name of the definition.
        kind: Kind of the definition.
        signature: Signature of the definition.
        parent: (kind, exported) of the enclosing definition, None at top level.
        language: The language of the file, whose `visibility` rule applies.
        exports: Names in the export lists of the file, None without such a list.
    """
    if kind in SPACE_KINDS:
        return True
    if parent is not None and (parent[0] in CALLABLE_KINDS or not parent[1]):
        return False
    parent_kind = parent[0] if parent is not None else ""
    return language.visibility.is_exported(Definition(name, signature, parent_kind, exports))


MAX_SYMBOLS = 20_000
"""Definitions per file; more are left out, and the outline's problem mentions it."""

MAX_CACHED_SYMBOL_BYTES = 10_000
"""Longest definition that is cached for the next version. Longer ones are few, and their content is cached."""

_MAX_TITLE_CHARS = 200
"""Longest name of a test, section or key."""

_MAX_SECTION_SUMMARY_LINES = 20
"""Lines of a Markdown section that are searched for its first paragraph."""

_DECLARED_KINDS = REPEATED_KINDS | {"property", "type"}
"""Kinds whose declaration may have several names."""

SymbolCache = VersionedCache[Hashable, Symbol]
"""Symbols by everything that they depend on, except their position."""


class IncrementalCache:
    """Intermediate results for one open document, reused for its next version."""

    __slots__ = ("captures", "declarations", "references", "symbols")

    def __init__(self) -> None:
        self.captures: CaptureCache = VersionedCache()
        self.symbols: SymbolCache = VersionedCache()
        self.references: ReferenceCache = VersionedCache()
        self.declarations: DeclarationCache = VersionedCache()

    def end_version(self) -> None:
        """Drop the results that the current version has not used."""
        self.captures.end_version()
        self.symbols.end_version()
        self.references.end_version()
        self.declarations.end_version()


class ExtractedOutline:
    """The result of `extract_outline`. The lists `nodes` and `has_body` are parallel to `symbols`."""

    __slots__ = ("has_body", "imports", "nodes", "problem", "references", "symbols")

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.nodes: list[Extent] = []
        self.has_body: list[bool] = []
        self.imports: list[Import] = []
        self.references = EncodedReferences()
        self.problem = ""


def extract_outline(
    source: SourceText,
    tree: Tree,
    queries: CompiledQueries,
    language: Language,
    cache: IncrementalCache | None = None,
    embedded: Sequence[Captures] = (),
) -> ExtractedOutline:
    """Extract the symbols, imports and references of a parsed file.

    Args:
        source: The text of the file.
        tree: Its syntax tree.
        queries: The queries of the language.
        language: The language of the file.
        cache: Results of the previous version, updated for the next one; None for a file that is not edited.
        embedded: Captures in code of other languages inside of the file.
    """
    captures = run_queries(source, tree, queries, language, cache.captures if cache is not None else None)
    for other in embedded:
        captures.add(other, 0)
    _scan(source, language, captures)
    return _outline_of(source, captures, language, cache)


def _scan(source: SourceText, language: Language, captures: Captures) -> None:
    """Add what the scanner and the patterns of a language find, and the definition that the file is."""
    scan = service(f"scan-{language.scanner}") if language.scanner else None
    if scan is not None:
        captures.definitions += scan(source, language)
    captures.references += find_calls(source, language)
    if language.mask == "jinja":
        captures.references += tag_references(source.data)
    if language.file_definition is not None and source.path:
        captures.definitions += _file_definition(source, language.file_definition, captures.definitions)


def _file_definition(source: SourceText, file: FileDefinition, others: Sequence[SymbolDraft]) -> list[SymbolDraft]:
    """Return the definition that a file is as a whole, if it is one."""
    positions = [match.start() for match in re.finditer(file.text, source.data)]
    spans = sorted((draft.start, draft.end, -1) for draft in others)
    is_definition = -1 in innermost_definitions(spans, positions)
    if not is_definition and (others or not source.data.strip() or not re.search(file.path, source.path)):
        return []
    draft = new_draft(file.kind, source.path.rpartition("/")[2].partition(".")[0], 0, 0, len(source.data))
    draft.name_starts = ()
    draft.node = 0, source.line_starts[1], 0  # the first line is the signature
    return [draft]


def scan_outline(source: SourceText, language: Language, embedded: Sequence[Captures] = ()) -> ExtractedOutline:
    """Extract the symbols and calls that the scanner of a language finds in the text, and those of embedded code."""
    captures = Captures()
    for other in embedded:
        captures.add(other, 0)
    _scan(source, language, captures)
    return _outline_of(source, captures, language, None)


def _outline_of(
    source: SourceText, captures: Captures, language: Language, cache: IncrementalCache | None
) -> ExtractedOutline:
    """Build the outline from the captures of a file."""
    outline = ExtractedOutline()
    drafts = finish_drafts(source, captures.definitions, captures.wrappers, captures.attributes, language)
    non_references = {start for draft in drafts for start in draft.name_starts}.union(
        captures.positions.get("bound", ())
    )
    if len(drafts) > MAX_SYMBOLS:
        outline.problem = f"only the first {MAX_SYMBOLS} definitions are known"
        del drafts[MAX_SYMBOLS:]
    outline.imports, import_starts = _extract_imports(source, captures, language)
    drafts = [draft for draft in drafts if draft.kind != "variable" or not _contains_any(draft, import_starts)]
    nested = _nest(drafts, language)
    declarations = _declarations(nested) if language.declares_before else ()
    if declarations:
        nested = _nest([draft for draft in drafts if draft not in declarations], language)
    complexities = cyclomatic_complexities(
        [(draft.start, draft.end, draft.parent) for draft in nested],
        [draft.kind for draft in nested],
        sorted(captures.positions.get("branch", ())),
    )
    traits = _traits(nested, captures.positions)
    exported_names = language.visibility.exports
    exports = exported_names(source.data) if exported_names is not None else None
    for index, draft in enumerate(nested):
        parent = outline.symbols[draft.parent] if draft.parent >= 0 else None
        inputs = _SymbolInputs(source, draft, language, parent, complexities[index], traits.get(index, ()), exports)
        symbol = _build_symbol(inputs) if cache is None else _cached_symbol(inputs, cache.symbols)
        outline.symbols.append(symbol)
        outline.nodes.append(draft.node)
        outline.has_body.append(draft.body is not None)
    outline.references = find_references(
        source,
        captures,
        language,
        non_references,
        cache.references if cache is not None else None,
        cache.declarations if cache is not None else None,
    )
    return outline


def _extract_imports(source: SourceText, captures: Captures, language: Language) -> tuple[list[Import], list[int]]:
    """Return the imports of a file by line, and the bytes at which the importing statements begin."""
    imports: list[Import] = []
    starts: list[int] = []
    covered = 0
    for start, end in sorted(captures.imports, key=lambda statement: (statement[0], -statement[1])):
        if end <= covered:
            continue  # a call within a declaration whose import is already known
        for parsed in language.imports.parse(source.text(start, end).strip()) if language.imports is not None else ():
            imports.append(Import(parsed.module, parsed.names, source.line_at(start), parsed.local_names))
            starts.append(start)
            covered = end
    imports += [
        Import(module, imported, line, local_names)
        for module, imported, local_names, line in documented_imports(source, language)
    ]
    imports.sort(key=lambda imported: imported.line)
    return imports, starts


def _traits(drafts: Sequence[SymbolDraft], positions: dict[str, list[int]]) -> dict[int, list[str]]:
    """Return the traits of the code directly in each definition, in the order of `TRAITS`."""
    traits: dict[int, list[str]] = {}
    spans = [(draft.start, draft.end, draft.parent) for draft in drafts]
    for trait in TRAITS:
        for owner in set(innermost_definitions(spans, sorted(positions.get(trait, ())))):
            while owner >= 0 and drafts[owner].kind not in CALLABLE_KINDS:
                owner = drafts[owner].parent
            if owner >= 0 and trait not in traits.setdefault(owner, []):
                traits[owner].append(trait)
    return traits


def _contains_any(draft: SymbolDraft, starts: list[int]) -> bool:
    """Return whether one of these bytes, in ascending order, is in a definition of one line."""
    index = bisect_left(starts, min(draft.head, draft.start))
    return index < len(starts) and starts[index] < draft.end and draft.first_line == draft.last_line


def _nest(drafts: Sequence[SymbolDraft], language: Language) -> list[SymbolDraft]:
    """Set parents, qualified names and final kinds; drop repeated definitions and merge adjacent clauses."""
    nested: list[SymbolDraft] = []
    stack: list[int] = []
    seen: set[tuple[int, str]] = set()
    last_child: dict[int, SymbolDraft] = {}
    for draft in drafts:
        while stack and nested[stack[-1]].end <= draft.start:
            stack.pop()
        parent = stack[-1] if stack else -1
        if parent >= 0 and draft.body is not None and draft.body == nested[parent].body:
            if draft.name_text == nested[parent].name_text:  # "typedef struct a {…} a"
                continue
            parent = nested[parent].parent
        if parent >= 0 and draft.kind in CALLABLE_KINDS and _is_named_by(nested[parent], draft):
            continue
        if parent >= 0 and draft.name_starts and draft.name_starts == nested[parent].name_starts:
            continue
        while parent >= 0 and draft.shares_declaration and nested[parent].kind in _DECLARED_KINDS:
            parent = nested[parent].parent
        draft.parent = parent
        if parent >= 0 and draft.end > nested[parent].end:  # broken code: a definition never exceeds its parent
            draft.end, draft.last_line = nested[parent].end, nested[parent].last_line
        _set_name(draft, nested[parent] if parent >= 0 else None, language)
        if not draft.name and draft.kind != "impl":  # an empty key
            continue
        if draft.kind in REPEATED_KINDS:
            if (parent, draft.qualified) in seen:
                continue
            seen.add((parent, draft.qualified))
        previous = last_child.get(parent)
        if draft.is_clause and previous is not None and previous.is_clause and previous.name == draft.name:
            previous.end, previous.last_line = draft.end, draft.last_line
            previous.body = previous.body or draft.body
            continue
        last_child[parent] = draft
        stack.append(len(nested))
        nested.append(draft)
    return nested


def _declarations(nested: Sequence[SymbolDraft]) -> list[SymbolDraft]:
    """Return the callables without a body that the same file defines with one."""
    callables = [draft for draft in nested if draft.kind in CALLABLE_KINDS]
    defined = {draft.qualified.lower() for draft in callables if draft.body is not None}
    return [draft for draft in callables if draft.body is None and draft.qualified.lower() in defined]


def _is_named_by(constant: SymbolDraft, function: SymbolDraft) -> bool:
    """Return whether a function expression has the name of the constant that it is a part of: "const F = memo(function F"."""
    return (
        constant.kind in ("constant", "variable")
        and constant.first_line == function.first_line
        and constant.name_text == function.name_text
    )


def _names_method(name: str, separators: tuple[str, ...]) -> bool:
    """Return whether a qualified name of a function is that of a method: "A::b" in C++, "A:b" in Lua."""
    return any(separator in name for separator in separators if ":" in separator)


def _set_name(draft: SymbolDraft, parent: SymbolDraft | None, language: Language) -> None:
    """Set the name, qualified name and final kind from the name as written and the parent."""
    kind = draft.kind
    if kind == "impl":
        draft.name, path = "", [names.type_name(draft.owner_text or draft.name_text)]
    elif kind in TITLED_KINDS and not (kind == "key" and language.name_separators):
        draft.name = truncate_words(names.unquote(draft.name_text), _MAX_TITLE_CHARS)
        if draft.owner_text:
            path = [names.unquote(draft.owner_text), draft.name]
        else:
            path = [language.block_prefixes.get(draft.name, draft.name)]
    else:
        path = names.name_parts(draft.name_text, language)
        if draft.owner_text:
            path = [*names.owner_parts(draft.owner_text, language), *path]
        draft.name = path[-1]
        if kind == "function" and (
            (parent is not None and parent.kind in TYPE_KINDS)
            or (
                len(path) > 1
                and (language.assignment_defines_method or _names_method(draft.name_text, language.name_separators))
            )
        ):
            kind = "method"
        elif kind == "method" and parent is None and len(path) == 1:
            kind = "function"
        if kind == "method" and is_constructor(path, parent.qualified if parent is not None else "", language):
            kind = "constructor"
        if kind == "property" and parent is None:
            kind = "variable"
        if kind in ("variable", "field", "property") and draft.name.isupper() and len(draft.name) > 1:
            kind = "constant"
    draft.kind = kind
    prefix = parent.qualified if parent is not None else ""
    draft.qualified = ".".join([prefix, *path] if prefix else path)


class _SymbolInputs(NamedTuple):
    """Everything that a symbol is built from."""

    source: SourceText
    draft: SymbolDraft
    language: Language
    parent: Symbol | None
    complexity: int
    traits: Sequence[str]
    exports: frozenset[str] | None
    """Names in the export lists of the file, None without such a list."""


def _build_symbol(inputs: _SymbolInputs) -> Symbol:
    """Build the symbol of a draft: spans, signature, documentation and properties."""
    source, draft, language, parent, complexity, traits, exports = inputs
    end = draft.last_line + 1
    body = draft.body[0] if draft.body is not None else None
    body_start = body_start_line(source, draft.first_line, body, end, language)
    doc = draft.doc
    is_document = language.pack_grammar == "markdown" or language.scanner == "headings"
    if draft.kind == "section" and draft.body is None and is_document:
        body_start = min(source.line_at(draft.node[1] - 1) + 1, end)
        doc = doc_comments.section_summary(source.lines[body_start : min(end, body_start + _MAX_SECTION_SUMMARY_LINES)])
    doc_start = doc_comments.comment_start(source.lines, draft.first_line, language)
    if doc_start < draft.first_line:
        comment = source.lines[doc_start : draft.first_line]
        if not doc_comments.is_documentation(comment):
            doc_start = draft.first_line
        elif not doc:
            doc = doc_comments.comment_text(comment)
    head_end = _head_end(draft)
    multiline = head_end < draft.node[1] or draft.kind in SINGLE_STATEMENT_KINDS
    signature = signature_between(source, draft.head, head_end, language, multiline)
    return Symbol(
        name=draft.name,
        kind=draft.kind,
        qualified=draft.qualified,
        signature=signature,
        doc=doc,
        span=Span(draft.first_line, end),
        doc_start=doc_start,
        body_start=body_start,
        parent=draft.parent,
        complexity=complexity,
        exported=is_exported(
            draft.name,
            draft.kind,
            signature,
            (parent.kind, parent.exported) if parent is not None else None,
            language,
            exports,
        ),
        traits=" ".join(
            [*decorators(source.data, source.line_starts[draft.first_line], draft.head, head_end, language), *traits]
        ),
    )


def _cached_symbol(inputs: _SymbolInputs, cache: SymbolCache) -> Symbol:
    """Return the symbol of a draft, from the cache if possible, moved to its current position."""
    source, draft, language, parent, complexity, traits, exports = inputs
    comment_start = doc_comments.comment_start(source.lines, draft.first_line, language)
    start, head_end = source.line_starts[comment_start], _head_end(draft)
    end = max(source.line_starts[draft.last_line + 1], head_end)
    if end - start > MAX_CACHED_SYMBOL_BYTES:
        return _build_symbol(inputs)
    key = (
        source.data[start:end],
        (draft.first_line - comment_start, draft.last_line - comment_start),
        (draft.head - start, head_end - start, draft.node[1] - start),
        draft.body[0] - start if draft.body is not None else None,
        (draft.kind, draft.qualified, draft.doc, complexity, *traits),
        (parent.kind, parent.exported) if parent is not None else None,
        exports if exports is None else draft.name in exports,
    )
    symbol = cache.get(key)
    if symbol is None:
        return cache.put(key, _build_symbol(inputs))
    by = draft.first_line - symbol.span.start
    if by == 0 and draft.parent == symbol.parent:
        return symbol
    return Symbol(
        symbol.name,
        symbol.kind,
        symbol.qualified,
        symbol.signature,
        symbol.doc,
        Span(draft.first_line, symbol.span.end + by),
        symbol.doc_start + by,
        symbol.body_start + by,
        draft.parent,
        symbol.complexity,
        symbol.exported,
        symbol.traits,
    )


def _head_end(draft: SymbolDraft) -> int:
    """Return the byte before which the signature ends."""
    end = draft.node[1]
    if draft.body is not None and draft.kind not in REPEATED_KINDS and draft.head < draft.body[0] < end:
        return draft.body[0]
    return end

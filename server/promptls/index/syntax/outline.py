"""From a syntax tree to an outline: what a file defines, imports and refers to.

The queries say where definitions are; this module gives them names, owners, extents, heads and
documentation, and nests them.  All work is proportional to what the queries find; the tree itself
is never walked.  Pure functions of text and tree: no I/O, any thread, any process.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax import doc_comments, doc_types, names
from promptls.index.syntax import signature as heads
from promptls.index.syntax.captures import find
from promptls.index.syntax.imports import imports_of
from promptls.index.syntax.metrics import MARKS, complexities, decorators, exported, listed, owners
from promptls.index.syntax.queries import Tags
from promptls.index.syntax.references import References, references
from promptls.index.syntax.source_text import Source
from promptls.index.syntax.symbol_builder import STATED, Draft, Extent, settled
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, SYMBOL_KINDS, TITLED_KINDS, TYPE_KINDS
from promptls.languages.table import BY_NAME, Language
from promptls.model import Import, Span, Symbol
from promptls.util.truncate import clipped

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tree_sitter import Tree

    from promptls.index.syntax.incremental import Kept, Memo

__all__ = ["SYMBOL_KINDS", "Shape", "outline_of"]

MAX_SYMBOLS = 20_000  # a file; the rest is left out and said to be
LONGEST_KEPT = 10_000
"""Bytes of a definition that is kept for the next version; longer ones are few, and hold others that are kept."""

_OWNED_BY_NAME = frozenset(
    {"cpp", "javascript", "jsx", "typescript", "tsx", "vue", "svelte"}
)  # "A.b = function" makes a method


class Shape:
    """What `outline_of` finds; `nodes` and `solid` (has it a body?) go with the symbols, for cutting."""

    __slots__ = ("imports", "nodes", "problem", "references", "solid", "symbols")

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.nodes: list[Extent] = []
        self.solid: list[bool] = []
        self.imports: list[Import] = []
        self.references = References()
        self.problem = ""


def outline_of(source: Source, tree: Tree, tags: Tags, language: str, kept: Kept | None = None) -> Shape:
    """Symbols, imports and references of a parsed file; `kept` is of the version before, and for the next one."""
    row = BY_NAME[language]
    shape = Shape()
    found = find(source, tree, tags, row, kept)
    drafts = settled(source, found.definitions, found.wraps, found.leads, row)
    named = {start for draft in drafts for start in draft.named}.union(found.places.get("bound", ()))
    if len(drafts) > MAX_SYMBOLS:
        shape.problem = f"only the first {MAX_SYMBOLS} definitions are known"
        del drafts[MAX_SYMBOLS:]
    imported: list[int] = []  # where the statements that import something begin
    covered = 0
    for start, end in sorted(found.statements, key=lambda statement: (statement[0], -statement[1])):
        if end <= covered:
            continue  # a call within a declaration that has told its import already
        for told in imports_of(source.slice(start, end), language):
            shape.imports.append(Import(told[0], told[1], source.row(start), *told[2:]))
            imported.append(start)
            covered = end
    shape.imports += [
        Import(module, told, line, called) for module, told, called, line in doc_types.imports(source, language)
    ]
    shape.imports.sort(key=lambda one: one.line)
    nested = _nest([draft for draft in drafts if draft.kind != "variable" or not _holds(draft, imported)], language)
    counts = complexities(
        [(draft.start, draft.end, draft.parent) for draft in nested],
        [draft.kind for draft in nested],
        sorted(found.places.get("fork", ())),
    )
    marks = _marks(nested, found.places)
    public = listed(source, language)
    for at, draft in enumerate(nested):
        parent = shape.symbols[draft.parent] if draft.parent >= 0 else None
        facts = _Facts(source, draft, row, parent, counts[at], marks.get(at, ()), public)
        shape.symbols.append(_symbol(facts) if kept is None else _known_symbol(facts, kept.symbols))
        shape.nodes.append(draft.node)
        shape.solid.append(draft.body is not None)
    shape.references = references(source, found, language, named, kept)
    return shape


def _marks(drafts: Sequence[Draft], places: dict[str, list[int]]) -> dict[int, list[str]]:
    """By definition the marks of the code that is its own, in the order of `MARKS`."""
    found: dict[int, list[str]] = {}
    spans = [(draft.start, draft.end, draft.parent) for draft in drafts]
    for mark in MARKS:
        for owner in set(owners(spans, sorted(places.get(mark, ())))):
            while owner >= 0 and drafts[owner].kind not in CALLABLE_KINDS:
                owner = drafts[owner].parent
            if owner >= 0 and mark not in found.setdefault(owner, []):
                found[owner].append(mark)
    return found


def _holds(draft: Draft, starts: list[int]) -> bool:
    """Whether one of these bytes, in ascending order, lies in a definition of one line."""
    at = bisect_left(starts, draft.start)
    return at < len(starts) and starts[at] < draft.end and draft.first == draft.last


def _nest(drafts: Sequence[Draft], language: str) -> list[Draft]:
    """Parents, qualified names and final kinds; repeated and folded definitions are left out."""
    kept: list[Draft] = []
    stack: list[int] = []
    seen: set[tuple[int, str]] = set()
    latest: dict[int, Draft] = {}  # last child by parent
    for draft in drafts:
        while stack and kept[stack[-1]].end <= draft.start:
            stack.pop()
        parent = stack[-1] if stack else -1
        if parent >= 0 and draft.body is not None and draft.body == kept[parent].body:
            if draft.text == kept[parent].text:  # "typedef struct a {…} a"
                continue
            parent = kept[parent].parent
        draft.parent = parent
        if parent >= 0 and draft.end > kept[parent].end:  # broken code: nothing reaches out of what is around it
            draft.end, draft.last = kept[parent].end, kept[parent].last
        _name(draft, kept[parent] if parent >= 0 else None, language)
        if not draft.name and draft.kind != "impl":  # an empty key is nothing to be named
            continue
        if draft.kind in REPEATED_KINDS:
            if (parent, draft.name) in seen:
                continue
            seen.add((parent, draft.name))
        before = latest.get(parent)
        if draft.clause and before is not None and before.clause and before.name == draft.name:
            before.end, before.last = draft.end, draft.last
            before.body = before.body or draft.body
            continue
        latest[parent] = draft
        stack.append(len(kept))
        kept.append(draft)
    return kept


def _name(draft: Draft, parent: Draft | None, language: str) -> None:
    """Set name, qualified name and final kind from what is written and where it stands."""
    kind = draft.kind
    if kind == "impl":
        draft.name, path = "", [names.type_name(draft.owner or draft.text)]
    elif kind in TITLED_KINDS:
        draft.name = clipped(names.unquoted(draft.text), 200)
        path = [*([names.unquoted(draft.owner)] if draft.owner else []), draft.name]
    else:
        path = names.parts(draft.text, language)
        if draft.owner:
            path = [*names.owner(draft.owner, language), *path]
        draft.name = path[-1]
        if kind == "function" and (
            (parent is not None and parent.kind in TYPE_KINDS)
            or (len(path) > 1 and (language in _OWNED_BY_NAME or ":" in draft.text))
        ):
            kind = "method"
        elif kind == "method" and parent is None and len(path) == 1:
            kind = "function"
        if kind == "method" and heads.is_constructor(path, parent.qualified if parent is not None else "", language):
            kind = "constructor"
        if kind == "property" and parent is None:
            kind = "variable"
        if kind in ("variable", "field", "property") and draft.name.isupper() and len(draft.name) > 1:
            kind = "constant"
    draft.kind = kind
    prefix = parent.qualified if parent is not None else ""
    draft.qualified = ".".join([prefix, *path] if prefix else path)


class _Facts(NamedTuple):
    """What a symbol is made of."""

    source: Source
    draft: Draft
    row: Language
    parent: Symbol | None
    complexity: int
    marks: Sequence[str]
    public: frozenset[str] | None  # the names that the file lists, if it does


def _symbol(facts: _Facts) -> Symbol:
    """The finished symbol: spans, head, documentation and facts."""
    source, draft, row, parent, complexity, marks, public = facts
    end = draft.last + 1
    body_start = heads.body_start(source, draft.first, draft.body[0] if draft.body is not None else None, end, row)
    doc = draft.doc
    if draft.kind == "section" and draft.body is None and row.name == "markdown":
        body_start = min(source.row(draft.node[1] - 1) + 1, end)
        doc = doc_comments.prose(source.lines[body_start : min(end, body_start + 20)])
    doc_start = doc_comments.comment_start(source.lines, draft.first, row)
    if doc_start < draft.first:
        comment = source.lines[doc_start : draft.first]
        if not doc_comments.documents(comment):
            doc_start = draft.first
        elif not doc:
            doc = doc_comments.comment_text(comment)
    stop = _head_end(draft)
    signature = heads.signature(source, draft.head, stop, row, whole=stop < draft.node[1] or draft.kind in STATED)
    return Symbol(
        name=draft.name,
        kind=draft.kind,
        qualified=draft.qualified,
        signature=signature,
        doc=doc,
        span=Span(draft.first, end),
        doc_start=doc_start,
        body_start=body_start,
        parent=draft.parent,
        complexity=complexity,
        exported=exported(
            draft.name, draft.kind, signature, (parent.kind, parent.exported) if parent else None, row.name, public
        ),
        marks=" ".join([*decorators(source.data, source.starts[draft.first], draft.head, stop, row.name), *marks]),
    )


def _known_symbol(facts: _Facts, known: Memo[Hashable, Symbol]) -> Symbol:
    """The same as `_symbol`, found by all that it depends on if it is known, and moved to where it stands."""
    source, draft, row, parent, complexity, marks, public = facts
    above = doc_comments.comment_start(source.lines, draft.first, row)
    begin, head_end = source.starts[above], _head_end(draft)
    reach = max(source.starts[draft.last + 1], head_end)
    if reach - begin > LONGEST_KEPT:
        return _symbol(facts)
    key = (
        source.data[begin:reach],
        (draft.first - above, draft.last - above),
        (draft.head - begin, head_end - begin, draft.node[1] - begin),
        draft.body[0] - begin if draft.body is not None else None,
        (draft.kind, draft.qualified, draft.doc, complexity, *marks),
        (parent.kind, parent.exported) if parent is not None else None,
        public if public is None else draft.name in public,
    )
    symbol = known.get(key)
    if symbol is None:
        return known.put(key, _symbol(facts))
    by = draft.first - symbol.span.start
    if by == 0 and draft.parent == symbol.parent:
        return symbol
    return Symbol(
        symbol.name,
        symbol.kind,
        symbol.qualified,
        symbol.signature,
        symbol.doc,
        Span(draft.first, symbol.span.end + by),
        symbol.doc_start + by,
        symbol.body_start + by,
        draft.parent,
        symbol.complexity,
        symbol.exported,
        symbol.marks,
    )


def _head_end(draft: Draft) -> int:
    """The byte before which a signature ends."""
    stop = draft.node[1]
    if draft.body is not None and draft.kind not in REPEATED_KINDS and draft.head < draft.body[0] < stop:
        return draft.body[0]
    return stop

"""From a syntax tree to an outline: what a file defines, imports and refers to.

The queries say where definitions are; this module gives them names, owners, extents, heads and
documentation, and nests them.  All work is proportional to what the queries find; the tree itself
is never walked.  Pure functions of text and tree: no I/O, any thread, any process.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptls.index.syntax import docs, heads, names
from promptls.index.syntax.facts import MARKS, complexities, decorators, exported, listed, owners
from promptls.index.syntax.imports import imports_of
from promptls.index.syntax.kinds import CALLABLE_KINDS, REPEATED_KINDS, SYMBOL_KINDS, TITLED_KINDS, TYPE_KINDS
from promptls.index.syntax.languages import BY_NAME, Language
from promptls.index.syntax.references import References, references
from promptls.index.syntax.source import Source
from promptls.index.syntax.tags import Tags
from promptls.model import Import, Span, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

__all__ = ["SYMBOL_KINDS", "Shape", "outline_of"]

MAX_SYMBOLS = 20_000  # a file; the rest is left out and said to be
MATCH_LIMIT = 256  # states the query engine may hold, which bounds its work; real code needs fewer than 64

_STATED = CALLABLE_KINDS | REPEATED_KINDS | {"type", "property", "table", "view"}  # one statement, shown in whole
_REACHING = {"heading": "section", "package": "module", "stage": "stage"}  # up to the next of the same level
_OWNED_BY_NAME = frozenset(
    {"cpp", "javascript", "jsx", "typescript", "tsx", "vue", "svelte"}
)  # "A.b = function" makes a method
_BLANK = b" \t\n\f\v"


class Draft:
    """A definition while it is put together.  Bytes are of `Source.data`, lines of `Source.lines`."""

    __slots__ = (
        "body", "clause", "doc", "end", "first", "head", "kind", "last", "name", "node",
        "owner", "parent", "qualified", "start", "text",
    )  # fmt: skip

    start: int  # byte, attributes before it not included
    end: int
    head: int  # byte at which the signature begins
    first: int  # line, attributes before it included
    last: int  # line
    node: Node
    body: Node | None
    kind: str
    text: str  # its name as written
    owner: str  # its owner as written, "" without
    clause: bool  # one of several adjacent parts of a definition
    doc: str
    parent: int  # index of the enclosing definition, -1 at top level; this and the next two are set by `_nest`
    name: str
    qualified: str


class Shape:
    """What `outline_of` finds; `nodes` and `solid` (has it a body?) go with the symbols, for cutting."""

    __slots__ = ("imports", "nodes", "problem", "references", "solid", "symbols")

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.nodes: list[Node] = []
        self.solid: list[bool] = []
        self.imports: list[Import] = []
        self.references = References()
        self.problem = ""


def outline_of(source: Source, tree: Tree, tags: Tags, language: str) -> Shape:
    """Symbols, imports and references of a parsed file."""
    row = BY_NAME[language]
    shape = Shape()
    drafts, statements, named = _find(source, tree, tags, row)
    if len(drafts) > MAX_SYMBOLS:
        shape.problem = f"only the first {MAX_SYMBOLS} definitions are known"
        del drafts[MAX_SYMBOLS:]
    imported: list[int] = []  # where the statements that import something begin
    covered = 0
    for node in sorted(statements, key=lambda node: (node.start_byte, -node.end_byte)):
        start = node.start_byte
        if node.end_byte <= covered:
            continue  # a call within a declaration that has told its import already
        for found in imports_of(source.slice(start, node.end_byte), language):
            shape.imports.append(Import(found[0], found[1], source.row(start), *found[2:]))
            imported.append(start)
            covered = node.end_byte
    kept = _nest([draft for draft in drafts if draft.kind != "variable" or not _holds(draft, imported)], language)
    captures = _captures(tree, tags)
    counts = complexities(
        [(draft.start, draft.end, draft.parent) for draft in kept],
        [draft.kind for draft in kept],
        captures.get("fork", []),
    )
    marks = _marks(kept, captures)
    public = listed(source, language)
    for at, draft in enumerate(kept):
        shape.symbols.append(_symbol(source, draft, row, shape.symbols, counts[at], marks.get(at, ()), public))
        shape.nodes.append(draft.node)
        shape.solid.append(draft.body is not None)
    shape.references = references(source, captures, language, named)
    return shape


def _captures(tree: Tree, tags: Tags) -> dict[str, list[Node]]:
    """What the reference query finds, by capture."""
    if tags.references is None:
        return {}
    from tree_sitter import QueryCursor

    return QueryCursor(tags.references, match_limit=MATCH_LIMIT).captures(tree.root_node)


def _marks(drafts: Sequence[Draft], captures: dict[str, list[Node]]) -> dict[int, list[str]]:
    """By definition the marks of the code that is its own, in the order of `MARKS`."""
    found: dict[int, list[str]] = {}
    spans = [(draft.start, draft.end, draft.parent) for draft in drafts]
    for mark in MARKS:
        for owner in set(owners(spans, sorted(node.start_byte for node in captures.get(mark, ())))):
            while owner >= 0 and drafts[owner].kind not in CALLABLE_KINDS:
                owner = drafts[owner].parent
            if owner >= 0 and mark not in found.setdefault(owner, []):
                found[owner].append(mark)
    return found


def _holds(draft: Draft, starts: list[int]) -> bool:
    """Whether one of these bytes, in ascending order, lies in a definition of one line."""
    at = bisect_left(starts, draft.start)
    return at < len(starts) and starts[at] < draft.end and draft.first == draft.last


def _find(source: Source, tree: Tree, tags: Tags, row: Language) -> tuple[list[Draft], list[Node], set[int]]:
    """Definitions in document order, import statements, and where the names of definitions begin."""
    chosen: dict[tuple[int, int], tuple[int, dict[str, list[Node]]]] = {}
    wraps: dict[int, Node] = {}
    leads: list[Node] = []
    statements: list[Node] = []
    roles = tags.roles
    if tags.structure is None:
        return [], [], set()
    from tree_sitter import QueryCursor

    for index, captures in QueryCursor(tags.structure, match_limit=MATCH_LIMIT).matches(tree.root_node):
        role = roles[index]
        node = captures[role][0]
        if role == "wrap":
            wraps[captures["inner"][0].id] = node
        elif role == "lead":
            leads.append(node)
        elif role == "import":
            statements.append(node)
        else:
            key = (node.start_byte, node.end_byte)
            other = chosen.get(key)
            if other is None or index < other[0] or (index == other[0] and len(captures) > len(other[1])):
                chosen[key] = (index, captures)
    by_end = {source.row(max(0, lead.end_byte - 1)): lead for lead in leads}
    drafts: list[Draft] = []
    named: set[int] = set()
    for (start, end), (index, captures) in chosen.items():
        draft = _draft(source, captures, roles[index], row)
        if draft is None:
            continue
        named.update(node.start_byte for node in captures.get("name", ()))
        draft.start = draft.head = start
        draft.end = end
        if "doc" in captures and captures["doc"][0].start_byte == start:
            draft.head = captures["doc"][0].end_byte
        wrap = wraps.get(draft.node.id)
        while wrap is not None:
            draft.start, draft.end = min(draft.start, wrap.start_byte), max(draft.end, wrap.end_byte)
            if wrap.type != "decorated_definition":
                draft.head = draft.start
            wrap = wraps.get(wrap.id)
        if "tail" in captures:
            draft.body = captures["tail"][0]
            draft.end = draft.body.end_byte
        draft.first = source.row(draft.start)
        if by_end:
            _attach(source, draft, by_end, row)
        drafts.append(draft)
    if any(draft.kind in _REACHING for draft in drafts):
        _reach(source, drafts)
    for draft in drafts:
        while draft.end > draft.start and source.data[draft.end - 1] in _BLANK:
            draft.end -= 1
        draft.last = source.row(max(draft.start, draft.end - 1))
        if row.name == "python":  # comments after the last statement are not its body
            while draft.last > draft.first and source.lines[draft.last].strip()[:1] in ("#", ""):
                draft.last -= 1
    drafts.sort(key=lambda draft: (draft.start, -draft.end))
    return drafts, statements, named


def _draft(source: Source, captures: dict[str, list[Node]], role: str, row: Language) -> Draft | None:
    """A definition with its parts; None where a call turns out to define nothing."""
    draft = Draft()
    draft.kind, draft.node = role, captures[role][0]
    data = source.data
    if role == "definition":
        verb = captures["verb"][0]
        word = source.slice(verb.start_byte, verb.end_byte)
        draft.kind = "test" if word in row.tests else names.VERBS.get(row.name, {}).get(word, "")
        if not draft.kind:
            return None
    name = captures["name"][0] if "name" in captures else None
    if name is None and "declarator" in captures:
        name = heads.declared(captures["declarator"][0])
    draft.text = source.slice(name.start_byte, name.end_byte) if name is not None else ""
    if "owner" in captures:
        owner = captures["owner"][0]
        draft.owner = source.slice(owner.start_byte, owner.end_byte)
    else:
        draft.owner = ""
    if (name is not None and not draft.text) or (row.name in ("c", "cpp") and draft.text in heads.C_KEYWORDS):
        return None
    draft.body = captures["body"][0] if "body" in captures else None
    draft.clause = "clause" in captures
    draft.doc = ""
    if "doc" in captures:
        node = captures["doc"][0]
        draft.doc = docs.paragraph(data[node.start_byte : node.end_byte])
    elif draft.body is not None and row.name in ("python", "elixir"):
        read = docs.docstring if row.name == "python" else docs.attribute_doc
        draft.doc = read(data, draft.body.start_byte)
    return draft


def _attach(source: Source, draft: Draft, by_end: dict[int, Node], row: Language) -> None:
    """Move the first line of a definition up over the attributes before it; they may hold its documentation."""
    start = draft.start
    while True:
        lead = by_end.get(draft.first)
        if lead is None or lead.end_byte > start:
            above = docs.comment_start(source.lines, draft.first, row)
            lead = by_end.get(above - 1)
            if lead is None or lead.end_byte > start:
                return
        start = lead.start_byte
        draft.first = source.row(start)
        draft.doc = draft.doc or docs.attribute_doc(source.data, start) or docs.docstring(source.data, start)


def _reach(source: Source, drafts: list[Draft]) -> None:
    """Give headings and the like their extent: up to the next one of the same level or above."""
    reaching = sorted((draft for draft in drafts if draft.kind in _REACHING), key=lambda draft: draft.start)
    open_: list[tuple[int, Draft]] = []
    for draft in reaching:
        level = heads.level(source.slice(draft.start, draft.end)) if draft.kind == "heading" else 1
        while open_ and open_[-1][0] >= level:
            open_.pop()[1].end = draft.start
        open_.append((level, draft))
        draft.end = len(source.data)
        draft.kind = _REACHING[draft.kind]


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
        draft.name = names.unquoted(draft.text)[:200]
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


def _symbol(
    source: Source,
    draft: Draft,
    row: Language,
    before: Sequence[Symbol],
    complexity: int,
    marks: Sequence[str],
    public: frozenset[str] | None,
) -> Symbol:
    """The finished symbol: spans, head, documentation and facts; `before` are the symbols before it."""
    end = draft.last + 1
    body_start = heads.body_start(source, draft.body, end, row)
    if draft.kind == "section" and draft.body is None and row.name == "markdown":
        body_start = min(source.row(draft.node.end_byte - 1) + 1, end)
        draft.doc = docs.prose(source.lines[body_start : min(end, body_start + 20)])
    stop = draft.node.end_byte
    if draft.body is not None and draft.kind not in REPEATED_KINDS and draft.head < draft.body.start_byte < stop:
        stop = draft.body.start_byte
    doc_start = docs.comment_start(source.lines, draft.first, row)
    if doc_start < draft.first:
        comment = source.lines[doc_start : draft.first]
        if not docs.documents(comment):
            doc_start = draft.first
        elif not draft.doc:
            draft.doc = docs.comment_text(comment)
    signature = heads.signature(
        source, draft.head, stop, row, whole=stop < draft.node.end_byte or draft.kind in _STATED
    )
    parent = before[draft.parent] if draft.parent >= 0 else None
    return Symbol(
        name=draft.name,
        kind=draft.kind,
        qualified=draft.qualified,
        signature=signature,
        doc=draft.doc,
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

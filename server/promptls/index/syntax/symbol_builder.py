"""Symbol drafts: definitions between the match of a query and the finished symbol.

A draft starts with the data of one match (`draft_from_match`), as positions and texts only, so that it can outlive
the syntax tree. `finish_drafts` then chooses among the matches of one node and adds the context: wrapping nodes,
preceding attributes, and the extent of headings. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptls.index.syntax import doc_comments
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS
from promptls.languages.language import NAMED_AFTER_TYPE
from promptls.util.text.display import truncate_words

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


MAX_SIGNATURE_CHARS = 240
"""Longest signature; parameters are left out of a longer one."""

_MAX_HEAD_BYTES = 1200
"""Bytes of a head that are read; a signature is cut off far earlier."""

_MAX_DECLARATOR_DEPTH = 20
"""Nested C declarators that are followed to a name."""

_NAME_NODES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name"}
)
_NAMELESS_NODES = frozenset(
    {"argument_list", "field_expression", "macrocall_expression", "parenthesized_expression", "tuple_expression"}
)
_MARKDOWN_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?")
_MARKDOWN_LINK = re.compile(r"(?<!\w)\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKDOWN_TAG = re.compile(r"(?<!\w)</?[a-z][\w-]*(?:\s[^>]*)?/?>|\{#[^}]*\}|`")
_OPERATOR_NODES = frozenset({"operator_name", "operator_cast"})

_STRING = r""""(?:\\.|[^"\\])*"|`[^`]*`"""
_BRACKETS = r"[()\[\]{},]|(?<=\w)<|(?<![\s=-])>"
_TOKENS = re.compile(rf"""{_STRING}|(?:(?<=[=(])|(?<== ))'(?:\\.|[^'\\])*'|'(?:\\.|[^'\\])'|{_BRACKETS}""")
"""Strings and brackets. A longer text in apostrophes is a string only after "=" or "(": elsewhere, as in Rust's
`<'a, 'b>`, an apostrophe begins a lifetime."""

_HASH_COMMENT = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|#[^\n]*""")
_SLASH_COMMENT = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_SQL_COMMENT = re.compile(r"--[^\n]*|/\*!\d*|\*/|/\*.*?\*/", re.DOTALL)
_ANNOTATIONS = re.compile(
    r"(?:@(?!interface\b)[\w.]+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?\s+|#?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s+)+"
)
_BRACKET_SPACING = (("( ", "("), (", )", ")"), (" )", ")"), ("[ ", "["), (", ]", "]"), (" ]", "]"))


def declared_name(node: Node) -> Node | None:
    """Return the name in a C declarator, or in the head of a Julia function; None if it has none.

    It is "get" for "*(*get(int))(int)", and "f" for "f(x)::Int where T".
    """
    for _ in range(_MAX_DECLARATOR_DEPTH):
        if node.type in _NAME_NODES or node.type in _OPERATOR_NODES:
            break
        if node.type == "call_expression":
            return node.child(0)
        if node.type in _NAMELESS_NODES:
            return None
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = node.named_child(0) if node.named_child_count else None
        if inner is None:
            break
        node = inner
    return node


def is_constructor(name_path: list[str], owner: str, language: Language) -> bool:
    """Return whether a method initializes an object.

    Args:
        name_path: Parts of the method's name as written.
        owner: Qualified name of the enclosing definition, "" at top level.
        language: The language of the file.
    """
    if language.constructor == NAMED_AFTER_TYPE:
        type_name = name_path[-2] if len(name_path) > 1 else owner.rpartition(".")[2]
        return name_path[-1] == type_name
    return name_path[-1] == language.constructor


def heading_level(text: str) -> int:
    """Return the level of a Markdown heading."""
    heading = text.lstrip()
    if heading.startswith("#"):
        return len(heading) - len(heading.lstrip("#"))
    return 1 if heading.rstrip().endswith("=") else 2


def without_markup(heading: str) -> str:
    """Return the text of a Markdown heading as readers see it: no images, tags and anchors, and links by their text."""
    text = _MARKDOWN_IMAGE.sub("", heading)
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = " ".join(_MARKDOWN_TAG.sub("", text).split())
    return text or heading


def signature_between(source: SourceText, start: int, end: int, language: Language, multiline: bool) -> str:
    """Return the signature between two bytes on one line, without attributes and comments.

    Args:
        source: The text of the file.
        start: First byte of the head.
        end: Byte after the head.
        language: The language of the file.
        multiline: Whether lines after the first one belong to the signature.
    """
    text = source.text(start, min(end, start + _MAX_HEAD_BYTES))
    if not multiline:
        text = text.strip()
        if text[:1] in "@[#" and language.annotations:
            text = _ANNOTATIONS.sub("", text, count=1)
        text = text.partition("\n")[0]
    if "#" in text and "#" in language.line_comments:
        text = _HASH_COMMENT.sub(r"\1", text)
    elif language.scanner == "sql":
        text = _SQL_COMMENT.sub(" ", text)
    elif "//" in language.line_comments and ("//" in text or "/*" in text):
        text = _SLASH_COMMENT.sub(r"\1", text)
    text = " ".join(text.split())
    if text[:1] in "@[#" and language.annotations:
        text = _ANNOTATIONS.sub("", text, count=1)
    for spaced, compact in _BRACKET_SPACING:
        text = text.replace(spaced, compact)
    text = text.rstrip(" {:;,")
    if text.endswith("=") and text[-2:-1] not in ("=", "!", "<", ">"):
        text = text[:-1].rstrip()
    text = text.removesuffix(" do").removesuffix(" where").removesuffix(" is")
    if len(text) <= MAX_SIGNATURE_CHARS:
        return text
    return truncate_words(_with_fewer_parameters(text), MAX_SIGNATURE_CHARS)


def _with_fewer_parameters(text: str) -> str:
    """Leave out the last parameters of a long signature, so that the return type after them still fits."""
    depth, start, longest = 0, 0, (0, 0)
    commas: list[int] = []
    for position, token in ((match.start(), match.group()) for match in _TOKENS.finditer(text)):
        if token in "([{<":
            depth += 1
            start = position if depth == 1 else start
        elif token in ")]}>":
            depth -= 1
            if depth == 0 and position - start > longest[1] - longest[0]:
                longest = (start, position)
        elif token == "," and depth == 1:
            commas.append(position)
    limit = MAX_SIGNATURE_CHARS - len(", …") - len(text[longest[1] :])
    kept = [position for position in commas if longest[0] < position <= min(limit, longest[1])]
    return f"{text[: kept[-1]]}, …{text[longest[1] :]}" if kept else text


def body_start_line(source: SourceText, first_line: int, body: int | None, end_line: int, language: Language) -> int:
    """Return the first line after the head of a definition.

    Args:
        source: The text of the file.
        first_line: First line of the definition.
        body: Byte at which the body begins, None without a body.
        end_line: Line after the definition.
        language: The language of the file.
    """
    if body is None:
        return end_line
    char = source.data[body : body + 1]
    if not char or char.isalnum() or char in b"\"'@_":
        end = body
        while end > 0 and source.data[end - 1] in b" \t\n":
            end -= 1
        line = source.line_at(max(0, end - 1))
        markers = language.line_comments
        while line > first_line and markers and source.lines[line].lstrip().startswith(markers):
            line -= 1
    else:
        line = source.line_at(body)
    return min(line + 1, end_line)


Extent = tuple[int, int, int]
"""Identity of a node without its tree: (first byte, end byte, node kind as a number of the grammar)."""

SINGLE_STATEMENT_KINDS = CALLABLE_KINDS | REPEATED_KINDS | {"type", "property", "table", "view"}
"""Kinds that are one statement, whose signature may span several lines."""

_KINDS_UP_TO_NEXT = {"heading": "section", "package": "module", "stage": "stage"}
"""Kinds that extend to the next definition of the same level → kind of the finished symbol."""

_BLANKS = b" \t\n\f\v"

_MODULE_ATTRIBUTES = (b"@behaviour", b"@moduledoc")
"""Elixir attributes that do not belong to the definition below them."""


class SymbolDraft:
    """A definition under construction. Bytes refer to `SourceText.data`, lines to `SourceText.lines`."""

    __slots__ = (
        "body", "doc", "end", "first_line", "head", "is_clause", "kind", "last_line", "name", "name_starts", "name_text",
        "node", "owner_text", "parent", "qualified", "rank", "shares_declaration", "start", "trailing_body",
    )  # fmt: skip

    rank: tuple[int, int]
    """Among several matches of one node the lowest wins: (pattern number, negative number of captures)."""
    node: Extent
    start: int
    """First byte, without preceding attributes."""
    end: int
    head: int
    """Byte at which the signature begins."""
    body: Extent | None
    trailing_body: bool
    """The body is a sibling that follows the node."""
    kind: str
    """"" for a match that defines nothing."""
    shares_declaration: bool
    """The declaration has other names too; the head begins with the declaration."""
    name_text: str
    """Name as written."""
    name_starts: tuple[int, ...]
    """Bytes at which the name begins."""
    owner_text: str
    """Owner as written, "" without one."""
    is_clause: bool
    """One of several adjacent parts of a definition."""
    doc: str

    first_line: int
    """First line, with preceding attributes. Set by `finish_drafts`, like `last_line`."""
    last_line: int

    parent: int
    """Index of the enclosing definition, -1 at top level. Set when definitions are nested, like the two names."""
    name: str
    qualified: str

    def shifted(self, by: int) -> SymbolDraft:
        """Return a copy of a draft from `draft_from_match`, moved by a number of bytes."""
        draft = SymbolDraft()
        draft.rank, draft.kind, draft.name_text, draft.owner_text = (
            self.rank,
            self.kind,
            self.name_text,
            self.owner_text,
        )
        draft.is_clause, draft.doc, draft.trailing_body = self.is_clause, self.doc, self.trailing_body
        draft.shares_declaration = self.shares_declaration
        draft.start, draft.end, draft.head = self.start + by, self.end + by, self.head + by
        draft.node = shift_extent(self.node, by)
        draft.body = shift_extent(self.body, by) if self.body is not None else None
        draft.name_starts = tuple([start + by for start in self.name_starts])
        return draft


def shift_extent(extent: Extent, by: int) -> Extent:
    """Return an extent moved by a number of bytes."""
    return extent[0] + by, extent[1] + by, extent[2]


def extent_of(node: Node) -> Extent:
    """Return the extent of a node."""
    return node.start_byte, node.end_byte, node.kind_id


def node_at(tree: Tree, extent: Extent) -> Node | None:
    """Return the node of an extent in a tree of the same text."""
    node = tree.root_node.descendant_for_byte_range(extent[0], extent[1])
    while node is not None and node.kind_id != extent[2]:
        node = node.parent
    return node


def draft_from_match(
    source: SourceText, pattern: int, role: str, captures: dict[str, list[Node]], language: Language
) -> SymbolDraft | None:
    """Create a draft from one match of a query pattern, None for a call that defines nothing."""
    draft = SymbolDraft()
    draft.rank = pattern, -len(captures)
    draft.kind, draft.node = role, extent_of(captures[role][0])
    draft.start = draft.head = draft.node[0]
    draft.end = draft.node[1]
    data = source.data
    if role in ("definition", "member"):
        draft.kind = _kind_of_call(source, draft.start, role, captures, language)
        if not draft.kind:
            return None
    draft.name_starts = tuple([node.start_byte for node in captures.get("name", ())])
    name = captures["name"][0] if "name" in captures else None
    if name is None and "declarator" in captures:
        name = declared_name(captures["declarator"][0])
        if name is None:
            draft.kind = ""
        elif name.type != "qualified_identifier":  # which begins with a reference to the owner
            draft.name_starts = (name.start_byte,)
    draft.name_text = source.text(name.start_byte, name.end_byte) if name is not None else ""
    if name is not None and name.type == "simple_symbol":
        draft.name_text = draft.name_text.lstrip(":")
    if draft.kind == "heading" and name is not None:
        draft.name_text = without_markup(draft.name_text)
    if "owner" in captures:
        owner = captures["owner"][0]
        draft.owner_text = source.text(owner.start_byte, owner.end_byte)
    else:
        draft.owner_text = ""
    if language.block_prefixes and role == "block" and "callee" in captures:
        draft.owner_text = _block_owner(source, captures["callee"][0], draft.owner_text, language)
    if (name is not None and not draft.name_text) or draft.name_text in language.reserved_names:
        draft.kind = ""
    if name is not None and (made := source.macro_names.get(name.start_byte)) is not None:
        draft.name_text, draft.owner_text, draft.kind = made.name, made.owner, made.kind or draft.kind
    draft.body = extent_of(captures["body"][0]) if "body" in captures else None
    draft.is_clause = "clause" in captures
    draft.doc = ""
    if "doc" in captures:
        start, end, _ = extent_of(captures["doc"][0])
        draft.doc = doc_comments.first_paragraph(data[start:end])
        if start == draft.start:
            draft.head = end
    elif draft.body is not None and language.documentation == "docstring":
        draft.doc = doc_comments.docstring(data, draft.body[0], draft.body[1])
    elif draft.body is not None and language.documentation == "attribute":
        draft.doc = doc_comments.doc_attribute(data, draft.body[0], draft.body[1])
    draft.shares_declaration = "head" in captures
    if draft.shares_declaration:
        draft.head = captures["head"][0].start_byte
        if role == "variable" and data.startswith(b"extern", draft.head):
            return None  # a declaration
    draft.trailing_body = "tail" in captures
    if draft.trailing_body:
        draft.body = extent_of(captures["tail"][0])
    return draft


def _block_owner(source: SourceText, block_type: Node, label: str, language: Language) -> str:
    """Return the owner of a block as code refers to it: "data.aws_ami" for `data "aws_ami" "x"`, "var" for a variable."""
    text = source.text(block_type.start_byte, block_type.end_byte)
    return ".".join(filter(None, (language.block_prefixes.get(text, "" if label else text), label.strip('"'))))


def _kind_of_call(
    source: SourceText, start: int, role: str, captures: dict[str, list[Node]], language: Language
) -> str:
    """Return the kind of what a call defines, "" for any other call."""
    callee = captures["callee"][0]
    function = ("@" if source.data[start] == ord("@") else "") + source.text(callee.start_byte, callee.end_byte)
    if role == "member":
        return language.member_calls.get(function, "")
    kind = language.definition_calls.get(function, "")
    if kind == "test" and captures.get("name") == [callee]:
        return ""
    return kind if kind == "impl" or "name" in captures else ""


def finish_drafts(
    source: SourceText,
    matches: Iterable[SymbolDraft],
    wrappers: dict[Extent, Extent],
    attributes: Sequence[tuple[int, int]],
    language: Language,
) -> list[SymbolDraft]:
    """Choose one draft per node, add its context, and return the drafts in document order.

    Args:
        source: The text of the file.
        matches: Drafts from all matches.
        wrappers: Nodes that only wrap a definition, by the node directly inside.
        attributes: Byte ranges of attributes that precede definitions.
        language: The language of the file.
    """
    chosen: dict[tuple[int, int], SymbolDraft] = {}
    for draft in matches:
        key = draft.node[:2]
        other = chosen.get(key)
        if other is None or draft.rank < other.rank:
            chosen[key] = draft
    drafts = [draft for draft in chosen.values() if draft.kind]
    excluded: set[tuple[int, int]] = set()
    if attributes:  # Elixir's "@callback" is a definition, not an attribute of the next one
        excluded = {draft.node[:2] for draft in drafts}
        excluded |= {attribute for attribute in attributes if source.data.startswith(_MODULE_ATTRIBUTES, attribute[0])}
    attribute_by_last_line = {
        source.line_at(max(0, attribute[1] - 1)): attribute
        for attribute in sorted(attributes)
        if attribute not in excluded
    }
    for draft in drafts:
        wrapper = wrappers.get(draft.node)
        while wrapper is not None:
            draft.start, draft.end = min(draft.start, wrapper[0]), max(draft.end, wrapper[1])
            if language.annotations != "before_head":  # else decorators wrap, which are not part of the signature
                draft.head = draft.start
            wrapper = wrappers.get(wrapper)
        if draft.trailing_body and draft.body is not None:
            draft.end = draft.body[1]
        draft.first_line = source.line_at(draft.start)
        if attribute_by_last_line:
            _include_attributes(source, draft, attribute_by_last_line, language)
    if any(draft.kind in _KINDS_UP_TO_NEXT for draft in drafts):
        _extend_to_next(source, drafts)
    for draft in drafts:
        while draft.end > draft.start and source.data[draft.end - 1] in _BLANKS:
            draft.end -= 1
        draft.last_line = source.line_at(max(draft.start, draft.end - 1))
        if language.name == "python":  # comments after the last statement do not belong to the body
            while draft.last_line > draft.first_line and source.lines[draft.last_line].strip()[:1] in ("#", ""):
                draft.last_line -= 1
    drafts.sort(key=lambda draft: (draft.start, -draft.end, draft.node))
    return drafts


def _include_attributes(
    source: SourceText, draft: SymbolDraft, attribute_by_last_line: dict[int, tuple[int, int]], language: Language
) -> None:
    """Move the first line of a definition up over the preceding attributes, which may contain its documentation."""
    start = draft.start
    while True:
        attribute = attribute_by_last_line.get(draft.first_line)
        if attribute is None or attribute[1] > start:
            comment = doc_comments.comment_start(source.lines, draft.first_line, language)
            attribute = attribute_by_last_line.get(comment - 1)
            if attribute is None or attribute[1] > start:
                return
        start = attribute[0]
        draft.first_line = source.line_at(start)
        draft.doc = (
            draft.doc or doc_comments.doc_attribute(source.data, start) or doc_comments.docstring(source.data, start)
        )


def _extend_to_next(source: SourceText, drafts: list[SymbolDraft]) -> None:
    """Extend headings and similar definitions to the next one of the same level or above."""
    extended = sorted((draft for draft in drafts if draft.kind in _KINDS_UP_TO_NEXT), key=lambda draft: draft.start)
    open_drafts: list[tuple[int, SymbolDraft]] = []
    for draft in extended:
        level = heading_level(source.text(draft.start, draft.end)) if draft.kind == "heading" else 1
        while open_drafts and open_drafts[-1][0] >= level:
            open_drafts.pop()[1].end = draft.start
        open_drafts.append((level, draft))
        draft.end = len(source.data)
        draft.kind = _KINDS_UP_TO_NEXT[draft.kind]


def new_draft(kind: str, name: str, name_start: int, start: int, end: int, body: int = -1) -> SymbolDraft:
    """Return a draft.

    Args:
        kind: Kind of the symbol.
        name: Name as the user would write it.
        name_start: First byte of the name.
        start: First byte of the definition.
        end: Byte after the definition.
        body: First byte of the body, -1 without one.
    """
    draft = SymbolDraft()
    draft.rank = 0, 0
    draft.kind, draft.name_text, draft.owner_text, draft.doc = kind, name, "", ""
    draft.name_starts = (name_start,)
    draft.node = start, end, 0
    draft.start = draft.head = start
    draft.end = end
    draft.body = (body, end, 0) if body >= 0 else None
    draft.trailing_body = draft.is_clause = draft.shares_declaration = False
    return draft

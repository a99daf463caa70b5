"""Signature of a definition: its text, its name in nested C declarators, and the first line of the body.

Rules about the text between the first token of a definition and its body. Pure functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.languages.language import NAMED_AFTER_TYPE
from promptls.util.text.truncate import truncate_words

if TYPE_CHECKING:
    from tree_sitter import Node

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

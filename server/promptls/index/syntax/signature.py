"""The head of a definition: its signature, where it ends, what it declares.

Small rules about text between the first token of a definition and its body.  Pure functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptls.index.syntax.source_text import Source
from promptls.languages.table import Language
from promptls.util.truncate import clipped

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SIGNATURE = 240
_MAX_HEAD = 1200  # bytes of a head that are looked at

C_KEYWORDS = frozenset({"if", "else", "for", "while", "do", "switch", "case", "return", "sizeof", "defined"})
"""What C's grammar takes for the name of a function when macros confuse it."""

_CONSTRUCTORS = {
    "python": "__init__",
    "javascript": "constructor",
    "jsx": "constructor",
    "typescript": "constructor",
    "tsx": "constructor",
    "vue": "constructor",
    "svelte": "constructor",
    "ruby": "initialize",
    "php": "__construct",
    "scala": "this",
}
_DECLARED = frozenset({"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name"})
_OPERATORS = frozenset({"operator_name", "operator_cast"})

_STRING = r""""(?:\\.|[^"\\])*"|`[^`]*`"""
_BRACKETS = r"[()\[\]{},]|(?<=\w)<|(?<![\s=-])>"
_MARKS = re.compile(rf"""{_STRING}|'(?:\\.|[^'\\])*'|{_BRACKETS}""")
_RUST_MARKS = re.compile(rf"{_STRING}|{_BRACKETS}")  # its apostrophe begins a lifetime

_ANNOTATED = frozenset(
    {"java", "kotlin", "scala", "swift", "dart", "typescript", "tsx", "javascript", "jsx", "csharp", "php"}
)

_HASH = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|#[^\n]*""")
_SLASHES = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_ANNOTATIONS = re.compile(
    r"(?:@(?!interface\b)[\w.]+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?\s+|#?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s+)+"
)
_LOOSE = (("( ", "("), (", )", ")"), (" )", ")"), ("[ ", "["), (", ]", "]"), (" ]", "]"))


def declared(node: Node) -> Node:
    """The innermost name of a C declarator: "*(*get(int))(int)" → get."""
    for _ in range(20):
        if node.type in _DECLARED or node.type in _OPERATORS:
            break
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = node.named_child(0) if node.named_child_count else None
        if inner is None:
            break
        node = inner
    return node


def is_constructor(path: list[str], prefix: str, language: str) -> bool:
    """Whether a method of these name parts, inside a definition called `prefix`, makes its object."""
    if language == "cpp":
        owner = path[-2] if len(path) > 1 else prefix.rpartition(".")[2]
        return path[-1] == owner
    return path[-1] == _CONSTRUCTORS.get(language)


def level(text: str) -> int:
    """Level of a Markdown heading."""
    marks = text.lstrip()
    if marks.startswith("#"):
        return len(marks) - len(marks.lstrip("#"))
    return 1 if marks.rstrip().endswith("=") else 2


def signature(source: Source, start: int, end: int, row: Language, whole: bool) -> str:
    """The head between two bytes on one line: no attributes, no comments, at most MAX_SIGNATURE characters.

    Of a head of several lines only the first one counts unless it is `whole`.
    """
    text = source.slice(start, min(end, start + _MAX_HEAD))
    if not whole:
        text = text.strip().partition("\n")[0]
    if "#" in text and "#" in row.line:
        text = _HASH.sub(r"\1", text)
    elif "//" in row.line and ("//" in text or "/*" in text):
        text = _SLASHES.sub(r"\1", text)
    text = " ".join(text.split())
    if text[:1] in "@[#" and row.name in _ANNOTATED:
        text = _ANNOTATIONS.sub("", text, count=1)
    for loose, tight in _LOOSE:
        text = text.replace(loose, tight)
    text = text.rstrip(" {:;,")
    if text.endswith("=") and text[-2:-1] not in ("=", "!", "<", ">"):
        text = text[:-1].rstrip()
    text = text.removesuffix(" do").removesuffix(" where")
    return text if len(text) <= MAX_SIGNATURE else clipped(_fewer_parameters(text, row.name), MAX_SIGNATURE)


def _fewer_parameters(text: str, language: str) -> str:
    """A long head with only the first of its parameters, so that what is behind them can be read: what it returns."""
    depth, start, longest = 0, 0, (0, 0)
    commas: list[int] = []
    marks = (_RUST_MARKS if language == "rust" else _MARKS).finditer(text)
    for at, mark in ((found.start(), found.group()) for found in marks):
        if mark in "([{<":
            depth += 1
            start = at if depth == 1 else start
        elif mark in ")]}>":
            depth -= 1
            if depth == 0 and at - start > longest[1] - longest[0]:
                longest = (start, at)
        elif mark == "," and depth == 1:
            commas.append(at)
    room = MAX_SIGNATURE - len(", …") - len(text[longest[1] :])
    kept = [at for at in commas if longest[0] < at <= min(room, longest[1])]
    return f"{text[: kept[-1]]}, …{text[longest[1] :]}" if kept else text


def body_start(source: Source, first: int, body: int | None, end: int, row: Language) -> int:
    """First line after the head of a definition of the lines from `first` to `end`, of which the body begins at a
    byte; `end` without a body."""
    if body is None:
        return end
    at = body
    char = source.data[at : at + 1]
    if not char or char.isalnum() or char in b"\"'@_":
        while at > 0 and source.data[at - 1] in b" \t\n":
            at -= 1
        line = source.row(max(0, at - 1))
        while line > first and row.line and source.lines[line].lstrip().startswith(row.line):
            line -= 1
    else:
        line = source.row(at)
    return min(line + 1, end)

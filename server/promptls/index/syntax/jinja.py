"""Tags of Jinja in a text of another language, such as SQL: their extents, the calls in them, and the text without them.

A tag that names a relation, `{{ ref('orders') }}`, becomes this name for the parser. Everything is linear in the size of
the text. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.index.syntax.c_masks import BLANK
from promptls.model import CALL

_DELIMITER = re.compile(rb"\{[{%#]|[}%#]\}")
_OPENERS = {b"}}": b"{{", b"%}": b"{%", b"#}": b"{#"}
_RELATION = re.compile(
    rb"\b(?:ref|source)\([ \t\n]{0,20}(?:(?P<scope>['\"])[^'\"\n]{0,200}(?P=scope)[ \t\n]{0,20},[ \t\n]{0,20})?"
    rb"(?P<quote>['\"])(?P<name>[^'\"\n]{1,200})(?P=quote)"
)
"""Call of dbt for a model, with its package before it, or for a table of a source."""

_CALL = re.compile(rb"(?P<name>[A-Za-z_]\w{0,100})(?=\()")
_EXPRESSION = re.compile(rb"\{\{-?[ \t]{0,20}(?P<name>[A-Za-z_]\w*)")
_MAX_INDENT_BYTES = 200
"""Bytes before a tag that are searched for other code on its line."""


def tags(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the extents of tags and comments. A comment contains no tags; an unclosed tag is text."""
    start, opener = 0, b""
    for match in _DELIMITER.finditer(data):
        delimiter = match[0]
        if opener != b"{#" and delimiter not in _OPENERS:
            start, opener = match.start(), delimiter
        elif opener and opener == _OPENERS.get(delimiter):
            yield start, match.end()
            opener = b""


def blank_tags(data: bytes, *openers: bytes) -> bytes:
    """Blank the tags with one of these openers, "{#" for comments."""
    if not any(opener in data for opener in openers):
        return data
    masked = bytearray(data)
    for start, end in tags(data):
        if data.startswith(openers, start):
            masked[start:end] = data[start:end].translate(BLANK)
    return bytes(masked)


def relations_only(code: bytes) -> bytes:
    """Blank all tags, except the relation that a tag names, and one word of an expression with other code before it."""
    masked = bytearray(code)
    for start, end in tags(code):
        masked[start:end] = code[start:end].translate(BLANK)
        if code.startswith(b"{{", start):
            kept = _RELATION.search(code, start, end)
            before = code[max(0, start - _MAX_INDENT_BYTES) : start].rpartition(b"\n")[2]
            if kept is None and before.strip():
                kept = _EXPRESSION.match(code, start, end)
            if kept is not None:
                masked[kept.start("name") : kept.end("name")] = kept["name"]
    return bytes(masked)


def tag_references(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the calls and relations in tags as (first byte, end byte, kind of reference)."""
    for start, end in tags(data):
        if not data.startswith(b"{#", start):
            for pattern in (_RELATION, _CALL):
                for match in pattern.finditer(data, start, end):
                    yield *match.span("name"), CALL

"""Documentation of definitions and files: the comment directly above, a docstring, or an attribute.

Comments are found in the lines of the text and not in the tree, which is cheap and works the same for every grammar.
Pure functions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from promptls.languages import Language
from promptls.util.text.display import truncate_words

MAX_DOC_CHARS = 400
"""Longest documentation of a symbol or file; longer text is cut off."""

_MAX_FILE_HEADER_LINES = 60
"""Lines at the top of a file that are searched for its documentation."""

_MAX_BLOCK_COMMENT_LINES = 400
"""Longest block comment that is recognized."""

_MAX_DOCSTRING_BYTES = 20_000
"""Longest docstring or documentation attribute that is recognized."""

_COMMENT_OPENER = re.compile(
    r"^\s*(?:/{2,3}!?|/\*+!?|\*+(?=[\s/]|$)|#+['!:|]?|--\[\[|--+(?:\s?[|^])?|/-+!?|;+|\"|<!--|\(\*+|\{-\|?|\{(?=\s)|!+[<>]?|%+\{?|'+(?=\s)|rem\b)\s?",
    re.IGNORECASE,
)
_COMMENT_CLOSERS = ("*/", "-->", "*)", "-}", "]]", " }", "%}", "-/")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PRAGMA = re.compile(
    r"(?:go:\w|eslint|nolint|prettier-|@ts-|noqa|pylint:|type:|mypy:|istanbul |c8 |tslint|region\b|%%(?:\s|$))"
)
_LEGAL_NOTICE = re.compile(r"copyright|licen[sc]e|spdx-", re.IGNORECASE)
_DOCSTRING = re.compile(
    rb"(?:[rR]|[uU])?(?:\"\"\"(.*?)\"\"\"|'''(.*?)'''|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')[ \t]*(?:[\n;#]|$)",
    re.DOTALL,
)
_DOC_ATTRIBUTE = re.compile(rb"(?:do\s+)?@(?:module|type)?doc\s+(?:~[sS])?(?:\"\"\"(.*?)\"\"\"|\"(.*?)\")", re.DOTALL)


def comment_start(lines: Sequence[str], line: int, language: Language) -> int:
    """Return the first line of the comment that ends on the line before `line`; `line` without a comment."""
    start = line
    while start > 0:
        above = lines[start - 1].strip()
        if not above:
            break
        if language.line_comments and above.startswith(language.line_comments):
            if start == 1 and above.startswith("#!"):
                break
            start -= 1
            continue
        block_start = _block_comment_start(lines, start - 1, above, language)
        if block_start is None:
            break
        start = block_start
    return start


def _block_comment_start(lines: Sequence[str], line: int, text: str, language: Language) -> int | None:
    """Return the first line of a block comment that ends on `line`, if its lines contain nothing else."""
    for opener, closer in language.block_comments:
        if text.endswith(closer):
            for above in range(line, max(-1, line - _MAX_BLOCK_COMMENT_LINES), -1):
                column = lines[above].find(opener)
                if column >= 0:
                    return above if not lines[above][:column].strip() else None
            return None
    return None


def is_documentation(lines: Sequence[str]) -> bool:
    """Return whether a comment documents what follows: it has text and is not a legal notice."""
    text = "\n".join(lines)
    return _LEGAL_NOTICE.search(text) is None and any(map(str.isalnum, text))


def is_legal_notice(text: str) -> bool:
    """Return whether a comment is a copyright or license notice."""
    return _LEGAL_NOTICE.search(text) is not None


def comment_text(lines: Sequence[str]) -> str:
    """Return the first paragraph of a comment on one line, without comment markers."""
    paragraph: list[str] = []
    for line in lines:
        text = _COMMENT_OPENER.sub("", line, count=1).strip()
        if text.endswith(_COMMENT_CLOSERS):
            text = text[:-2].rstrip("*- ")
        if "<" in text:
            text = _TAG.sub("", text).strip()
        if _PRAGMA.match(text):
            continue
        if text[:1] in ("@", "\\") or not any(map(str.isalnum, text)):
            if paragraph:
                break
            continue
        paragraph.append(text)
    return _one_line(" ".join(paragraph))


def docstring(data: bytes, start: int, end: int = sys.maxsize) -> str:
    """Return the first paragraph of the string literal between two bytes; "" if there is none at `start`."""
    if data[start : start + 1] not in (b'"', b"'", b"r", b"R", b"u", b"U"):
        return ""
    match = _DOCSTRING.match(data, start, min(end, start + _MAX_DOCSTRING_BYTES))
    return first_paragraph(next(g for g in match.groups() if g is not None)) if match else ""


def doc_attribute(data: bytes, start: int, end: int = sys.maxsize) -> str:
    """Return the first paragraph of an attribute such as Elixir's `@doc`; "" if there is none at `start`."""
    match = _DOC_ATTRIBUTE.match(data, start, min(end, start + _MAX_DOCSTRING_BYTES))
    return first_paragraph(match.group(1) or match.group(2) or b"") if match else ""


def first_paragraph(data: bytes) -> str:
    """Return the first paragraph of a text on one line."""
    lines: list[str] = []
    for line in data.decode("utf-8", "replace").strip("\"' \t\n").split("\n"):
        if line.strip():
            lines.append(line)
        elif lines:
            break
    return _one_line(" ".join(lines))


def file_documentation(lines: Sequence[str], data: bytes, first_definition: int, language: Language) -> str:
    """Return the documentation of a file: its docstring, or the first comment that documents no definition.

    Args:
        lines: Lines of the file.
        data: Bytes of the file.
        first_definition: First line that belongs to a definition, comments included.
        language: The language of the file.
    """
    top = 0
    while top < min(len(lines), _MAX_FILE_HEADER_LINES) and (not lines[top].strip() or lines[top].startswith("#!")):
        top += 1
    if language.documentation == "docstring":
        return docstring(data, _offset_after_comments(lines, top))
    while top < min(len(lines), first_definition, _MAX_FILE_HEADER_LINES):
        end = top
        while end < min(len(lines), _MAX_FILE_HEADER_LINES) and comment_start(lines, end + 1, language) <= top:
            end += 1
        if end == top:  # a block comment of several lines
            last_lines = range(top, min(len(lines), _MAX_FILE_HEADER_LINES))
            last = next((line for line in last_lines if comment_start(lines, line + 1, language) <= top), -1)
            if last < 0:
                return ""
            end = last + 1
        if end > first_definition:
            return ""
        if is_documentation(lines[top:end]):
            return comment_text(lines[top:end])
        top = end
        while top < len(lines) and not lines[top].strip():
            top += 1
    return ""


def _offset_after_comments(lines: Sequence[str], top: int) -> int:
    """Return the offset of the first line from `top` on that is neither a "#" comment nor blank after one."""
    offset = sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines[:top])
    while top < min(len(lines), _MAX_FILE_HEADER_LINES) and lines[top].lstrip().startswith("#"):
        offset += len(lines[top].encode("utf-8", "surrogatepass")) + 1
        top += 1
        while top < len(lines) and not lines[top].strip():
            offset += len(lines[top].encode("utf-8", "surrogatepass")) + 1
            top += 1
    return offset


def section_summary(lines: Sequence[str]) -> str:
    """Return the first paragraph of a section in prose, "" if the section begins with something else."""
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if len(set(underline := "".join(lines[first + 1 : first + 2]).strip())) == 1 and not underline.isalnum():
        return ""  # a heading
    doc = first_paragraph("\n".join(lines).encode("utf-8", "replace"))
    return "" if doc.startswith(("```", "~~~", "#", "|", "<", "[![", ".. ", "[source", "=", "\\")) else doc


def _one_line(text: str) -> str:
    return truncate_words(" ".join(text.split()), MAX_DOC_CHARS)

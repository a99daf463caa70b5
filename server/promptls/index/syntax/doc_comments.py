"""Documentation of a definition: the comment directly above it, or the string it begins with.

Comments are found in the lines, not in the tree: that is the same for every grammar, and cheap.
Pure functions of text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from promptls.languages.table import Language
from promptls.util.truncate import clipped

MAX_DOC = 400
_MAX_TOP = 60  # lines of a file in which it may speak of itself
_MAX_COMMENT = 400  # lines of a block comment that are looked at

_OPENER = re.compile(
    r"^\s*(?:/{2,3}!?|/\*+!?|\*+(?=[\s/]|$)|#+['!:|]?|--\[\[|--+(?:\s?[|^])?|;+|\"|<!--|\(\*+|\{-\|?)\s?"
)
_CLOSERS = ("*/", "-->", "*)", "-}", "]]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PRAGMA = re.compile(r"(?:go:\w|eslint|nolint|prettier-|@ts-|noqa|pylint:|type:|mypy:|istanbul |c8 |tslint|region\b)")
_LEGAL = re.compile(r"copyright|licen[sc]e|spdx-", re.IGNORECASE)
_DOCSTRING = re.compile(
    rb"(?:[rR]|[uU])?(?:\"\"\"(.*?)\"\"\"|'''(.*?)'''|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')[ \t]*(?:[\n;#]|$)",
    re.DOTALL,
)
_ATTRIBUTE_DOC = re.compile(rb"(?:do\s+)?@(?:module|type)?doc\s+(?:~[sS])?(?:\"\"\"(.*?)\"\"\"|\"(.*?)\")", re.DOTALL)


def comment_start(lines: Sequence[str], row: int, language: Language) -> int:
    """First line of the comment block that ends on the line before `row`; `row` without one."""
    top = row
    while top > 0:
        line = lines[top - 1].strip()
        if not line:
            break
        if language.line and line.startswith(language.line):
            if top == 1 and line.startswith("#!"):
                break
            top -= 1
            continue
        above = _block_start(lines, top - 1, line, language)
        if above is None:
            break
        top = above
    return top


def _block_start(lines: Sequence[str], row: int, line: str, language: Language) -> int | None:
    """First line of a block comment that ends `row` and shares its lines with nothing else."""
    for opener, closer in language.block:
        if line.endswith(closer):
            for above in range(row, max(-1, row - _MAX_COMMENT), -1):
                at = lines[above].find(opener)
                if at >= 0:
                    return above if not lines[above][:at].strip() else None
            return None
    return None


def documents(lines: Sequence[str]) -> bool:
    """Whether a comment block belongs to what follows it: it says something, and is no legal notice."""
    text = "\n".join(lines)
    return _LEGAL.search(text) is None and any(map(str.isalnum, text))


def is_legal(text: str) -> bool:
    """Whether a comment is a notice of copyright or licence."""
    return _LEGAL.search(text) is not None


def comment_text(lines: Sequence[str]) -> str:
    """First paragraph of a comment block on one line, without its markers."""
    found: list[str] = []
    for line in lines:
        text = _OPENER.sub("", line, count=1).strip()
        if text.endswith(_CLOSERS):
            text = text[:-2].rstrip("*- ")
        if "<" in text:
            text = _TAG.sub("", text).strip()
        if _PRAGMA.match(text):
            continue
        if text[:1] in ("@", "\\") or not any(map(str.isalnum, text)):
            if found:
                break
            continue
        found.append(text)
    return _clip(" ".join(found))


def docstring(data: bytes, start: int, end: int = sys.maxsize) -> str:
    """First paragraph of the string literal that stands at a byte and ends before another, "" if there is none."""
    if data[start : start + 1] not in (b'"', b"'", b"r", b"R", b"u", b"U"):
        return ""
    match = _DOCSTRING.match(data, start, min(end, start + 20_000))
    return paragraph(next(g for g in match.groups() if g is not None)) if match else ""


def attribute_doc(data: bytes, start: int, end: int = sys.maxsize) -> str:
    """First paragraph of the attribute that stands at a byte, such as Elixir's `@doc`, and ends before another; "" if
    there is none."""
    match = _ATTRIBUTE_DOC.match(data, start, min(end, start + 20_000))
    return paragraph(match.group(1) or match.group(2) or b"") if match else ""


def paragraph(data: bytes) -> str:
    """First paragraph of a text, on one line."""
    lines: list[str] = []
    for line in data.decode("utf-8", "replace").strip("\"' \t\n").split("\n"):
        if line.strip():
            lines.append(line)
        elif lines:
            break
    return _clip(" ".join(lines))


def file_doc(lines: Sequence[str], data: bytes, first: int, language: Language) -> str:
    """What a file says of itself: its docstring, or the comment at its top that is no notice and belongs to no
    definition; `first` is the first line that belongs to one."""
    top = 0
    while top < min(len(lines), _MAX_TOP) and (not lines[top].strip() or lines[top].startswith("#!")):
        top += 1
    if language.name == "python":
        start = sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines[:top])
        while top < min(len(lines), _MAX_TOP) and lines[top].lstrip().startswith("#"):
            start += len(lines[top].encode("utf-8", "surrogatepass")) + 1
            top += 1
            while top < len(lines) and not lines[top].strip():
                start += len(lines[top].encode("utf-8", "surrogatepass")) + 1
                top += 1
        return docstring(data, start)
    while top < min(len(lines), first, _MAX_TOP):
        end = top
        while end < min(len(lines), _MAX_TOP) and comment_start(lines, end + 1, language) <= top:
            end += 1
        if end == top:  # a block comment of several lines
            stop = next(
                (i for i in range(top, min(len(lines), _MAX_TOP)) if comment_start(lines, i + 1, language) <= top), -1
            )
            if stop < 0:
                return ""
            end = stop + 1
        if end > first:
            return ""
        if documents(lines[top:end]):
            return comment_text(lines[top:end])
        top = end
        while top < len(lines) and not lines[top].strip():
            top += 1
    return ""


def prose(lines: Sequence[str]) -> str:
    """First paragraph of running text, "" where a section begins with something else."""
    if len(lines) > 1 and lines[1].strip() and not lines[1].strip(" -="):
        return ""  # a heading
    doc = paragraph("\n".join(lines).encode("utf-8", "replace"))
    return "" if doc.startswith(("```", "~~~", "#", "|", "<", "[![")) else doc


def _clip(text: str) -> str:
    return clipped(" ".join(text.split()), MAX_DOC)

"""Lines of a file that say nothing about its code: licence headers, and change notes in its documentation.

Expressions are applied to the first `MAX_LINE_CHARACTERS` of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from promptls.model import FileText, Span

MIN_NOTE_LINES = 4
"""Minimum lines of a note that is left out; a shorter one costs little more than its mark."""

MAX_LICENCE_LINE = 300
"""Lines at the start of a file that may belong to its licence."""

MAX_LINE_CHARACTERS = 200

_LICENCE = re.compile(
    r"copyright|licen[cs]e|\bspdx\b|all rights reserved|warrant(?:y|ies)|redistribut|permission is hereby|"
    r"permission notice|\bliab(?:le|ility)\b|\"as is\"|©",
    re.I,
)
_COMMENT = re.compile(r"\s*(?:#(?!!)|//|--|;|%|\*|/\*|<!--|\(\*|\{-)")
_BLOCK_START, _BLOCK_END = re.compile(r"\s*(?:/\*|<!--|\(\*|\{-)"), re.compile(r"\*/|-->|\*\)|-\}")
_PREAMBLE = re.compile(r"\s*$|#!|<\?|#.{0,20}coding[:=]|/[/*]{1,2}\s*eslint|\"use strict\"")

_MARKER = r"^(?P<indent>\s*(?:(?:#+|//+!?|\*+|--+|;+|%+)\s*)?)"
_DIRECTIVE = re.compile(_MARKER + r"\.\. (?:versionadded|versionchanged|deprecated)::")
_SECTION = re.compile(_MARKER + r"(?:Change ?log|Changes|History|Revision history|Version history):?\s*$", re.I)
_WORDS = (".. version", ".. deprecated", "history", "change log", "changelog", "changes")
_ENTRY = re.compile(r"[-*•]|v?\d")
_END = re.compile(r"\*/|-->|\"\"\"|'''")
_PROSE_LANGUAGES = frozenset({"text", "markdown", "rst", "restructuredtext", "yaml", "toml", "json", "html", "xml"})


class Note(Struct, frozen=True):
    """Lines that may be left out."""

    span: Span
    name: str  # "licence" or "change notes"


_NOTES: dict[tuple[bytes, str], tuple[Note, ...]] = {}
"""Cache: (content hash, language) → notes.  Losing entries only costs time."""
_MAX_FILES = 1 << 14


def notes_of(file: FileText) -> tuple[Note, ...]:
    """Return the notes of a file."""
    language = file.entry.outline.language if file.entry.outline is not None else "text"
    key = (file.entry.content_hash, language)
    notes = _NOTES.get(key) if file.entry.content_hash else None
    if notes is None:
        notes = find_notes(file.lines, language)
        if file.entry.content_hash:
            if len(_NOTES) >= _MAX_FILES:
                _NOTES.clear()
            _NOTES[key] = notes
    return notes


def find_notes(lines: Sequence[str], language: str) -> tuple[Note, ...]:
    """Return the licence at the top of a file and the change notes in its comments and docstrings."""
    licence = _licence(lines[:MAX_LICENCE_LINE])
    notes = [] if licence is None else [Note(licence, "licence")]
    if language not in _PROSE_LANGUAGES:
        notes += [Note(span, "change notes") for span in _change_notes(lines)]
    return tuple(note for note in notes if len(note.span) >= MIN_NOTE_LINES)


def _licence(lines: Sequence[str]) -> Span | None:
    """Return the paragraphs about the licence in the first comment of a file, with the blank lines after them."""
    start = next((n for n, line in enumerate(lines) if not _PREAMBLE.match(line[:MAX_LINE_CHARACTERS])), len(lines))
    end = _comment_end(lines, start)
    paragraphs = list(_paragraphs(lines, Span(start, end)))
    legal = [n for n, span in enumerate(paragraphs) if any(_LICENCE.search(_cut(lines[i])) for i in _numbers(span))]
    if not legal:
        return None
    is_all = legal[-1] == len(paragraphs) - 1
    first = start if legal[0] == 0 and is_all else paragraphs[legal[0]].start
    last = end if is_all else paragraphs[legal[-1]].end
    if is_all and legal[0] > 0 and _BLOCK_START.match(_cut(lines[start])):
        last = paragraphs[-1].end  # the comment is still closed
    while last < len(lines) and not lines[last].strip():
        last += 1
    return Span(first, last)


def _comment_end(lines: Sequence[str], start: int) -> int:
    """Return the line after the comment that starts at a line."""
    if start < len(lines) and _BLOCK_START.match(_cut(lines[start])):
        return next((n + 1 for n in range(start, len(lines)) if _BLOCK_END.search(lines[n])), start)
    end = start
    while end < len(lines) and _COMMENT.match(_cut(lines[end])):
        end += 1
    return end


def _paragraphs(lines: Sequence[str], comment: Span) -> Iterator[Span]:
    """Yield the runs of lines with words in a comment."""
    start = None
    for n in _numbers(comment):
        has_words = re.search(r"\w", _cut(lines[n])) is not None
        if has_words and start is None:
            start = n
        elif not has_words and start is not None:
            yield Span(start, n)
            start = None
    if start is not None:
        yield Span(start, comment.end)


def _change_notes(lines: Sequence[str]) -> Iterator[Span]:
    """Yield runs of change notes: Sphinx directives and sections with a list of changes."""
    start, end = None, 0
    for at in _lines_with_words(lines):
        line = _cut(lines[at])
        match = _DIRECTIVE.match(line) or _SECTION.match(line)
        if at < end or match is None or (".." not in line and not _has_entries(lines, at, match["indent"])):
            continue
        if start is not None and any(lines[n].strip() for n in range(end, at)):
            yield Span(start, end)
            start = None
        start, end = at if start is None else start, _block_end(lines, at, match["indent"])
    if start is not None:
        yield Span(start, end)


def _lines_with_words(lines: Sequence[str]) -> list[int]:
    """Return the lines with a word that change notes start with; faster than a search in each line."""
    text = "\n".join(lines).lower()
    found = set()
    for word in _WORDS:
        at, line, counted = text.find(word), 0, 0
        while at >= 0:
            line, counted = line + text.count("\n", counted, at), at
            found.add(line)
            at = text.find(word, at + len(word))
    return sorted(found)


def _has_entries(lines: Sequence[str], at: int, indent: str) -> bool:
    """Return whether the heading of a section is in a comment or deeper text follows, with a list of changes."""
    following = _cut(lines[at + 1]) if at + 1 < len(lines) else ""
    if indent.strip():
        return following.startswith(indent.rstrip()) and _ENTRY.match(following[len(indent) :].lstrip()) is not None
    return following.startswith(indent) and _ENTRY.match(following.strip()) is not None


def _block_end(lines: Sequence[str], at: int, indent: str) -> int:
    """Return the line after the lines below `at` that are indented deeper, or are entries of its list."""
    end = at + 1
    for n in range(at + 1, len(lines)):
        line = _cut(lines[n])
        if _END.search(line) or not line.startswith(indent.rstrip() if indent.strip() else ""):
            break
        content = line[len(indent) :] if line.startswith(indent) else line.strip().removeprefix(indent.strip())
        if not content.strip():
            continue
        if not line.startswith(indent) or not (content[0].isspace() or _ENTRY.match(content)):
            break
        end = n + 1
    return end


def _cut(line: str) -> str:
    return line[:MAX_LINE_CHARACTERS]


def _numbers(span: Span) -> range:
    return range(span.start, span.end)

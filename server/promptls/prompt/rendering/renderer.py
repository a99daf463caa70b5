"""Rendering of items into the text of a prompt: fence, header and token count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import FileText, FormName, Item, Origin, RenderedItem, Span, Symbol
from promptls.prompt.rendering.fences import SPECIMEN, fence
from promptls.prompt.rendering.sanitized_lines import SanitizedLines
from promptls.prompt.sanitize import clean, header_text
from promptls.prompt.tokens import Counter, count_all
from promptls.redaction.place import origin_of
from promptls.redaction.secrets import redact

SEPARATOR = "\n\n"
"""Text between two elements; its tokens are counted with the element before it."""

_MAX_NAME_CHARACTERS = 120
"""Maximum characters of a symbol's name in a header: the heading of a section can be a paragraph."""
_CITATION_SPECIMEN = "P10"
"""Citation label with which items are counted."""


_FENCE_TOKENS: dict[tuple[str, str], int] = {}
"""Cache: (name of the counter, label of a file) → tokens of an empty fence.  Losing entries only costs time."""
_MAX_FENCES = 1 << 14


class Renderer:
    """State that the forms of one request share: counter, labels of paths, sanitized files."""

    __slots__ = (
        "_notes",
        "_sanitized",
        "_symbol_lines",
        "_symbols_by_end",
        "citations",
        "counter",
        "label",
        "line_numbers",
        "omit_notes",
    )

    def __init__(
        self,
        counter: Counter,
        label: Callable[[str], str],
        *,
        citations: bool = False,
        omit_notes: bool = False,
        line_numbers: bool = False,
    ) -> None:
        self.counter = counter
        self.label = lru_cache(label)
        self.citations = citations
        self.omit_notes = omit_notes  # whether licences and change notes are left out
        self.line_numbers = line_numbers  # whether each line of a file starts with its number and a tab
        # By path and text: the text of a file can differ between overlays.
        self._sanitized: dict[tuple[str, str], SanitizedLines] = {}
        self._notes: dict[tuple[str, str], tuple[Note, ...]] = {}
        self._symbol_lines: dict[tuple[str, str], list[str]] = {}
        self._symbols_by_end: dict[tuple[str, str], dict[int, list[Symbol]]] = {}

    def sanitized_lines(self, file: FileText) -> SanitizedLines:
        """Return the sanitized lines of a file."""
        key = (file.entry.path, file.text)
        lines = self._sanitized.get(key)
        if lines is None:
            lines = self._sanitized[key] = SanitizedLines(file)
        return lines

    def notes(self, file: FileText) -> tuple[Note, ...]:
        """Return the lines of a file that are left out, unless they are requested."""
        if not self.omit_notes:
            return ()
        key = (file.entry.path, file.text)
        notes = self._notes.get(key)
        if notes is None:
            notes = self._notes[key] = notes_of(file)
        return notes

    def fence_tokens(self, path: str) -> int:
        """Return the tokens of an empty fence for a file."""
        key = (self.counter.name, self.label(path))
        tokens = _FENCE_TOKENS.get(key)
        if tokens is None:
            if len(_FENCE_TOKENS) >= _MAX_FENCES:
                _FENCE_TOKENS.clear()
            tokens = _FENCE_TOKENS[key] = self.counter.count(fence([("path", key[1])], "", SPECIMEN))
        return tokens

    def symbol_lines(self, file: FileText) -> list[str]:
        """Return the outline text of each symbol of a file."""
        key = (file.entry.path, file.text)
        lines = self._symbol_lines.get(key)
        if lines is None:
            symbols = file.entry.outline.symbols if file.entry.outline else ()
            text = "\n".join(" ".join((s.signature or s.name or s.kind).split("\n")) for s in symbols)
            lines = self._symbol_lines[key] = redact(text, origin_of(file.entry))[0].split("\n")
        return lines

    def symbols_ending_at(self, file: FileText, end: int) -> Sequence[Symbol]:
        """Return the symbols of a file whose span ends at a line."""
        key = (file.entry.path, file.text)
        by_end = self._symbols_by_end.get(key)
        if by_end is None:
            by_end = self._symbols_by_end[key] = {}
            for symbol in file.entry.outline.symbols if file.entry.outline else ():
                by_end.setdefault(symbol.span.end, []).append(symbol)
        return by_end.get(end, ())

    def render(self, item: Item, form: FormName, body: str, spans: Iterable[Span] = ()) -> RenderedItem:
        """Return a rendered item with its tokens, those of fence, header and separator included."""
        return self.count_tokens([RenderedItem(item, form, body, tuple(spans), 0)])[0]

    def count_tokens(self, items: Sequence[RenderedItem]) -> list[RenderedItem]:
        """Return the rendered items with their tokens."""
        citation = _CITATION_SPECIMEN if self.citations else ""
        texts = [render_element(item, self.label, SPECIMEN, citation) + SEPARATOR for item in items]
        counts = count_all(self.counter, texts)
        return [replace(item, tokens=count) for item, count in zip(items, counts, strict=True)]


def render_element(rendered: RenderedItem, label: Callable[[str], str], boundary: str, citation: str = "") -> str:
    """Return the fenced text of an item; a `citation` ("P1") adds the line "[P1] source: path:lines" before it."""
    item = rendered.item
    path, symbol = label(item.path), clean_symbol_name(item.symbol)
    spans = hunk_spans(rendered.body) if item.kind == "diff" else rendered.spans
    lines = ", ".join(span.label for span in spans)
    if rendered.form == "outline" and item.kind != "folder":
        lines = item.span.label
    if rendered.form == "reference":
        text = fence([("see", rendered.body), ("cite", citation)], None, boundary)
    else:
        form = rendered.form if rendered.form in ("outline", "signature") else ""
        attributes = [("path", path), ("lines", lines), ("symbol", symbol), ("form", form)]
        attributes += [("at", lines_of_interest(rendered)), ("cite", citation)]
        text = fence(attributes, rendered.body, boundary)
    if not citation or rendered.form == "reference":
        return text
    return f"[{citation}] source: {header_text(path)}{':' if lines else ''}{lines}\n{text}"


def lines_of_interest(rendered: RenderedItem) -> str:
    """Return the shown lines that an item of a task is about, 1-based: "12, 40"; "" for items of other origins.

    These are the lines of a stack trace, or the calls of changed code.
    """
    if rendered.item.origin is not Origin.TASK:
        return ""
    shown = (n for n in rendered.item.call_sites if any(n in span for span in rendered.spans))
    return ", ".join(str(n + 1) for n in shown)


def hunk_spans(diff: str) -> list[Span]:
    """Return the lines of the new file that the hunks of a diff show; a hunk header is the only line with "@@ "."""
    starts = [(int(match[1]) - 1, int(match[2] or 1)) for match in _HUNK.finditer(diff)]
    return [Span(max(0, start), start + count) for start, count in starts if count > 0]


_HUNK = re.compile(r"^@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.M)


@lru_cache(maxsize=1 << 12)
def clean_symbol_name(symbol: str) -> str:
    """Return a symbol's name for a header; it is cut after secrets are redacted."""
    return clean(symbol).lines[0][:_MAX_NAME_CHARACTERS] if symbol else ""


# ---------------------------------------------------------------- notes


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

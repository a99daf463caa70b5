"""Rendering of items into the text of a prompt: fence, header and token count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from promptls.model import FileText, FormName, Item, Origin, RenderedItem, Span, Symbol
from promptls.prompt.rendering.fences import SPECIMEN, fence
from promptls.prompt.rendering.notes import Note, notes_of
from promptls.prompt.rendering.sanitized_lines import SanitizedLines
from promptls.prompt.sanitize import clean, header_text, origin_of, redact
from promptls.prompt.tokens import Counter, count_all

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

"""Scanner of documents: sections of reStructuredText, AsciiDoc, Org and LaTeX.

A section extends from its heading to the next heading of its level or above, as in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

Heading = tuple[int, tuple[int, int], tuple[int, int]]
"""Level, and the bytes of the heading and of its title."""

_ASCIIDOC = re.compile(rb"^(?P<marks>={1,6})[ \t]+(?P<title>\S[^\n]{0,300})$", re.MULTILINE)
_ORG = re.compile(
    rb"^(?P<marks>\*{1,12})[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#[A-Z]\][ \t]*)?(?P<title>\S[^\n]{0,300}?)"
    rb"(?:[ \t]+:[\w@#%:]+:)?[ \t]*$",
    re.MULTILINE,
)
_LATEX = re.compile(
    rb"^[ \t]*\\(?P<marks>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]\n]{0,200}\])?"
    rb"\{(?P<title>[^\n]{1,300}?)\}(?=[ \t]*(?:\\label\{|%|$))",
    re.MULTILINE,
)
_LATEX_LEVELS = (b"part", b"chapter", b"section", b"subsection", b"subsubsection", b"paragraph", b"subparagraph")
_UNDERLINED = re.compile(rb"^(?P<title>\S[^\n]{0,300})\n(?P<marks>([=\-`:.'\"~^_*+#<>])\3{2,})[ \t]*$", re.MULTILINE)
"""The adornments that docutils recommends."""


def scan_headings(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the sections of a document."""
    drafts: list[SymbolDraft] = []
    pending: list[tuple[int, SymbolDraft]] = []
    for level, (start, end), (title_start, title_end) in _FINDERS[language.name](source.data):
        while pending and pending[-1][0] >= level:
            pending.pop()[1].end = start
        title = source.text(title_start, title_end).strip()
        draft = new_draft("section", title, title_start, start, len(source.data))
        draft.node = start, end, 0
        drafts.append(draft)
        pending.append((level, draft))
    return drafts


def _marked(pattern: re.Pattern[bytes], level: Callable[[bytes], int]) -> Callable[[bytes], Iterator[Heading]]:
    """Return a function that finds headings with a mark before their title."""

    def find(data: bytes) -> Iterator[Heading]:
        for match in pattern.finditer(data):
            yield level(match["marks"]), match.span(), match.span("title")

    return find


def _underlined(data: bytes) -> Iterator[Heading]:
    """Yield the headings of reStructuredText; the order of their adornments gives the levels."""
    levels: dict[tuple[bytes, bool], int] = {}
    for match in _UNDERLINED.finditer(data):
        title, marks = match["title"].rstrip(), match["marks"]
        if len(marks) < len(title.decode("utf-8", "replace")) or not re.search(rb"\w|[^\x00-\x7f]", title):
            continue  # a transition, or a line of a table
        line_end = max(0, match.start() - 1)
        above = data[data.rfind(b"\n", 0, line_end) + 1 : line_end]
        has_overline = len(above) >= len(title) and above == marks[:1] * len(above)
        level = levels.setdefault((marks[:1], has_overline), len(levels))
        yield level, match.span(), match.span("title")


_FINDERS: dict[str, Callable[[bytes], Iterator[Heading]]] = {
    "asciidoc": _marked(_ASCIIDOC, len),
    "org": _marked(_ORG, len),
    "latex": _marked(_LATEX, _LATEX_LEVELS.index),
    "restructuredtext": _underlined,
}

"""Scanner of documents: sections of reStructuredText, AsciiDoc, Org and LaTeX.

A section extends from its heading to the next heading of its level or above, as in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

Heading = tuple[int, int, int, int]
"""Level, start and end of the heading, and start of its title, in bytes."""

_MARKED = re.compile(rb"^(?P<marks>\*{1,12}|={1,6})[ \t]+(?P<title>\S[^\n]{0,300})$", re.MULTILINE)
_ORG_EXTRAS = re.compile(r"^(?:TODO|DONE|NEXT|WAITING)\s+|^\[#[A-Z]\]\s*|\s+:[\w@#%:]+:$")
"""Keyword, priority and tags of an Org heading."""
_COMMAND = re.compile(
    rb"^[ \t]*\\(?P<marks>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]\n]{0,200}\])?\{(?P<title>[^\n]{1,300}?)\}"
    rb"(?=[ \t]*(?:\\label\{|%|$))",
    re.MULTILINE,
)
_COMMANDS = (b"part", b"chapter", b"section", b"subsection", b"subsubsection", b"paragraph", b"subparagraph")
_UNDERLINED = re.compile(rb"^(?P<title>\S[^\n]{0,300})\n(?P<marks>([=\-`:.'\"~^_*+#<>])\3{2,})[ \t]*$", re.MULTILINE)
"""The adornments that docutils recommends."""


def scan_headings(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the sections of a document."""
    find = {"latex": _commands, "restructuredtext": _underlined}.get(language.name, _marked)
    drafts: list[SymbolDraft] = []
    pending: list[tuple[int, SymbolDraft]] = []
    for level, start, end, title_start in find(source.data):
        title = source.data[title_start:end].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        if language.name == "org":
            title = _ORG_EXTRAS.sub("", _ORG_EXTRAS.sub("", title))
        while pending and pending[-1][0] >= level:
            pending.pop()[1].end = start
        title = title.removesuffix("}") if language.name == "latex" else title
        draft = new_draft("section", title, title_start, start, len(source.data))
        draft.node = start, end, 0
        drafts.append(draft)
        pending.append((level, draft))
    return drafts


def _marked(data: bytes) -> Iterator[Heading]:
    for match in _MARKED.finditer(data):
        yield len(match["marks"]), match.start(), match.end(), match.start("title")


def _commands(data: bytes) -> Iterator[Heading]:
    for match in _COMMAND.finditer(data):
        yield _COMMANDS.index(match["marks"]), match.start(), match.end("title") + 1, match.start("title")


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
        yield level, match.start(), match.end(), match.start("title")

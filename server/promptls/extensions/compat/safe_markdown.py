"""Markdown for layouts: fences and quotations that their content cannot close, one-line headers."""

from __future__ import annotations

import re

from promptls.languages import language_of
from promptls.prompt.packing.pack import PackedItem
from promptls.prompt.rendering.renderer import Renderer, clean_symbol_name
from promptls.prompt.sanitize import header_text

_BACKTICKS = re.compile(r"`{3,}")


def fenced(body: str, info: str = "") -> str:
    """Return a code block whose fence has more backticks than any run of backticks in the body."""
    ticks = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(body)), default=0))
    return f"{ticks}{info}\n{body}\n{ticks}"


def block_quote(text: str) -> str:
    """Return the text as a Markdown quotation; every line is prefixed, so that none can leave it."""
    return "\n".join(f"> {line}" for line in re.split(r"\r\n|\r|\n", text))


def code(packed: PackedItem, info: str | None = None) -> str:
    """Return a code block of the item, its info string by default the language; a reference is quoted."""
    if packed.rendered.form == "reference":
        return f"> {header_text(packed.rendered.body)}"  # a name can be a whole sentence
    return fenced(packed.rendered.body, language(packed) if info is None else info)


def language(packed: PackedItem) -> str:
    """Return the language of the item's file; "" for plain text and folders."""
    name = "" if packed.rendered.item.kind == "folder" else language_of(packed.rendered.item.path, "")
    return "" if name == "text" else name


def symbol_name(packed: PackedItem) -> str:
    """Return the item's symbol, sanitized for a header; "" for none."""
    return header_text(clean_symbol_name(packed.rendered.item.symbol))


def path(packed: PackedItem, renderer: Renderer) -> str:
    """Return the path of the item's file, sanitized for a header."""
    return header_text(renderer.label(packed.rendered.item.path))


def line_ranges(packed: PackedItem) -> str:
    """Return the shown lines, such as "12-20, 31"; "" if no lines of a file are shown."""
    return ", ".join(span.label for span in packed.rendered.spans)


def location(packed: PackedItem, renderer: Renderer) -> str:
    """Return path and lines, such as "src/a.py:12-20"."""
    ranges = line_ranges(packed)
    return f"{path(packed, renderer)}:{ranges}" if ranges else path(packed, renderer)


def citation_line(packed: PackedItem, citation: str, renderer: Renderer) -> str:
    """Return "[P1] source: src/a.py:12-20" with its line end; "" without a citation label.

    A line before the text, because labels in an attribute of a tag made answers three times less faithful.
    """
    return f"[{citation}] source: {location(packed, renderer)}\n" if citation else ""

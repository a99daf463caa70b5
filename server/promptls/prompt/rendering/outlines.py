"""Outlines of files and folders: one line for each definition."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.model import FileText, Span
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.sanitize import header_text


def file_entries(file: FileText, region: Span, base_depth: int, renderer: Renderer) -> list[tuple[int, str]]:
    """Return (depth, "12-40  def name(...)") for each symbol in the region."""
    symbols = file.entry.outline.symbols if file.entry.outline else ()
    depths: dict[int, int] = {-1: base_depth - 1}
    entries: list[tuple[int, str]] = []
    symbol_lines = renderer.symbol_lines(file)
    for i, symbol in enumerate(symbols):
        if not region.contains(symbol.span):
            continue
        depths[i] = depths.get(symbol.parent, base_depth - 1) + 1
        entries.append((depths[i], f"{symbol.span.label}  {symbol_lines[i]}"))
    return entries


def folder_entries(path: str, files: Sequence[FileText], renderer: Renderer) -> list[tuple[int, str]]:
    """Return (0, file) for each file of the folder, followed by its symbols, one level deeper."""
    prefix = renderer.label(path).rstrip("/") + "/"
    entries: list[tuple[int, str]] = []
    for file in files:
        entries.append((0, header_text(renderer.label(file.entry.path).removeprefix(prefix))))
        entries += file_entries(file, Span(0, len(file.lines)), 1, renderer)
    return entries

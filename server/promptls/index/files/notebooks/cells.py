"""Lines of open notebooks: conversion between notebook texts and what the editor shows.

An editor shows a notebook as cells, which are documents of their own, or as its JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from promptls.index.files.notebooks.json_text import decode_notebook, source_lines
from promptls.index.files.notebooks.notebook import is_notebook, kernel_language, render_cells
from promptls.util.text.span import Span


class OpenCell(Struct, frozen=True):
    """A cell in an editor, and its lines in the notebook text."""

    uri: str  # "" for a cell in the JSON of the notebook
    lines: Span  # from its marker, which its source follows, to its last output; empty for an empty cell
    source_lines: tuple[int, ...] = ()  # of the JSON, for each line of the source; () if the document is the source


def json_cells(path: str, content: bytes | str) -> tuple[OpenCell, ...]:
    """Return the cells in the JSON of a notebook; none if it is not a valid notebook."""
    content = content.encode("utf-8", "replace") if isinstance(content, str) else content
    notebook = decode_notebook(content) if is_notebook(path) else None
    if notebook is None:
        return ()
    rendered = render_cells(notebook.cells, kernel_language(notebook.language_names))
    try:
        lines_by_cell = source_lines(content)
    except msgspec.DecodeError:  # JSON with NaN
        return ()
    return tuple(
        OpenCell("", lines, tuple(in_json)) for lines, in_json in zip(rendered.cells, lines_by_cell, strict=True)
    )


def to_cell(cells: Sequence[OpenCell], span: Span) -> tuple[str, Span] | None:
    """Return (URI of the cell in which a span of the notebook text begins, lines in its document).

    Returns None for the whole notebook and for a notebook without text.
    """
    filled = [cell for cell in cells if cell.lines]
    if not filled or (span.start <= filled[0].lines.start and span.end >= filled[-1].lines.end and len(filled) > 1):
        return None
    cell = next((cell for cell in reversed(filled) if cell.lines.start <= span.start), filled[0])
    first = max(0, span.start - cell.lines.start - 1)
    last = max(first, min(span.end, cell.lines.end) - cell.lines.start - 2)
    if cell.source_lines:
        first, last = (cell.source_lines[min(line, len(cell.source_lines) - 1)] for line in (first, last))
    return cell.uri, Span(first, last + 1)


def from_cell(cells: Sequence[OpenCell], uri: str, span: Span) -> Span | None:
    """Return the lines of the notebook text that a span of an editor's document shows; None if it shows none.

    With the URI "", the document is the JSON of the notebook.
    """
    lines: list[int] = []
    for cell in cells:
        first, last = cell.lines.start + 1, cell.lines.end - 1
        if cell.uri != uri or first > last:
            continue
        if not uri:
            lines += [min(first + i, last) for i, line in enumerate(cell.source_lines) if line in span]
            continue
        start = min(first + span.start, last)
        return Span(start, max(start, min(first + span.end - 1, last)) + 1)
    return Span(min(lines), max(lines) + 1) if lines else None

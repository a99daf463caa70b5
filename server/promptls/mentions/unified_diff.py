"""Unified diffs whose hunk headers name the enclosing symbol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from promptls.index import split_lines
from promptls.model import AnyOutline, CancelToken, Span
from promptls.util.text.line_diff import DiffBlock, patience_diff

CONTEXT_LINES = 3
"""Unchanged lines before and after a change, as in git."""

MAX_HEADING_CHARS = 80
"""Maximum length of a hunk heading without an outline, as in git."""

_HEADING = re.compile(r"[^\W\d]|\$")
"""Start of a line that git uses as a hunk heading."""


def unified_diff(
    before: str | None, after: str | None, outline: AnyOutline | None = None, token: CancelToken | None = None
) -> tuple[str, int, int]:
    """Return the unified diff of two texts and the numbers of added and removed lines.

    A hunk heading is the symbol in which the hunk starts.  Without an outline it is the last line before the hunk
    that starts with a letter, as in git.
    """
    old, new = (split_lines(text) if text else [] for text in (before, after))
    out: list[str] = []
    added = removed = searched = 0
    heading = ""
    for hunk in _hunks(patience_diff(old, new, token)):
        old_span = Span(hunk[0].old.start, hunk[-1].old.end)
        new_span = Span(hunk[0].new.start, hunk[-1].new.end)
        heading = next((line for line in reversed(old[searched : old_span.start]) if _HEADING.match(line)), heading)
        searched = old_span.start
        first = next(block for block in hunk if not block.equal)
        name = (
            _enclosing_symbol(outline, first.new.start) if outline is not None else heading[:MAX_HEADING_CHARS].rstrip()
        )
        out.append(f"@@ -{_format_range(old_span)} +{_format_range(new_span)} @@{' ' + name if name else ''}")
        for block in hunk:
            old_lines, new_lines = old[block.old.start : block.old.end], new[block.new.start : block.new.end]
            if block.equal:
                out += [" " + line for line in new_lines]
            else:
                out += ["-" + line for line in old_lines] + ["+" + line for line in new_lines]
                removed, added = removed + len(old_lines), added + len(new_lines)
    return "\n".join(out), added, removed


def _hunks(blocks: Sequence[DiffBlock]) -> Iterator[list[DiffBlock]]:
    """Group changes with their context; changes whose contexts touch share a hunk."""
    hunk: list[DiffBlock] = []
    for i, block in enumerate(blocks):
        if not block.equal or (0 < i < len(blocks) - 1 and len(block.old) <= 2 * CONTEXT_LINES):
            hunk.append(block)
            continue
        if hunk:
            yield [*hunk, _slice(block, 0, CONTEXT_LINES)]
        hunk = [_slice(block, max(0, len(block.old) - CONTEXT_LINES), len(block.old))]
    if any(not block.equal for block in hunk):
        yield hunk


def _slice(block: DiffBlock, start: int, end: int) -> DiffBlock:
    """Return the lines `start` to `end` of an equal block."""
    end = min(end, len(block.old))
    old, new = block.old.start, block.new.start
    return DiffBlock(True, Span(old + start, old + end), Span(new + start, new + end))


def _format_range(span: Span) -> str:
    return f"{span.start + bool(len(span))},{len(span)}"


def _enclosing_symbol(outline: AnyOutline, line: int) -> str:
    enclosing = [s for s in outline.symbols if line in s.span and s.name]
    return min(enclosing, key=lambda s: len(s.span)).qualified if enclosing else ""

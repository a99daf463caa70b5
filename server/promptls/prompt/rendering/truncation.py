"""Truncation of code excerpts: omission lines, the position of a cut, and the largest form that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from promptls.model import RenderedItem, Span


def elision_lines(span: Span, name: str = "") -> list[str]:
    """Return the line that replaces omitted lines, with their name if they have one; none if the span is empty."""
    if not span:
        return []
    if name:
        return [f"… {len(span)} lines ({name})"]
    return [f"… {len(span)} more line{'s' if len(span) > 1 else ''} ({span.label})"]


def largest_fitting(low: int, high: int, make: Callable[[int], RenderedItem | None]) -> RenderedItem | None:
    """Return the result of `make` for the largest number that has one; all smaller numbers must have one too."""
    best = None
    while low <= high:
        middle = (low + high) // 2
        rendered = make(middle)
        if rendered is not None:
            best, low = rendered, middle + 1
        else:
            high = middle - 1
    return best


_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;)")
_CONTINUATION = re.compile(r"^\s*[)\]}>.,:;|&+*/%=?-]|^\s*(?:else|elif|except|finally|catch|and|or|end)\b")
_UNFINISHED = re.compile(r"[(\[{,\\+*/%=&|<?:-]\s*$|\b(?:and|or|not|return|in|is)\s*$")


def cut_position(lines: Sequence[str], start: int, earliest: int, latest: int) -> int:
    """Return the end of a truncated excerpt: before the line with the least indentation that starts a statement.

    Of several such lines the last one.  At most 30 % of the lines are given up.  Blank lines at the end are dropped.
    """
    best, best_rank = latest, (-1, 0, 0)
    for end in range(latest, max(earliest, latest - max(3, (latest - start) * 3 // 10)) - 1, -1):
        after = next((line for line in lines[end : end + 3] if line.strip()), "")
        before = next((line for line in reversed(lines[max(start, end - 3) : end]) if line.strip()), "")
        is_complete = not (_CONTINUATION.match(after) or _UNFINISHED.search(before) or _COMMENT.match(before))
        rank = (int(is_complete), -(len(after) - len(after.lstrip())), end)
        if rank > best_rank:
            best, best_rank = end, rank
    while best > earliest and not lines[best - 1].strip():
        best -= 1
    return best

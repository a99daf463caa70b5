"""Operations on sequences of line spans, and the truncation of excerpts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from promptls.model import Span

T = TypeVar("T")


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort the spans, and merge those that overlap or touch; empty ones are left out."""
    out: list[Span] = []
    for span in sorted(s for s in spans if s):
        if out and span.start <= out[-1].end:
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return tuple(out)


def merge_across_blank_lines(spans: Iterable[Span], lines: Sequence[str]) -> list[Span]:
    """Sort the spans, and merge those that overlap or have only blank lines between them."""
    out: list[Span] = []
    for span in sorted(spans):
        if out and not any(map(str.strip, lines[out[-1].end : span.start])):
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return out


def intersect_spans(spans: Iterable[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """Return the lines of the spans that are in one of the others."""
    return merge_spans(Span(max(a.start, b.start), min(a.end, b.end)) for a in spans for b in others if a.overlaps(b))


def subtract_spans(spans: Sequence[Span], removed: Sequence[Span]) -> list[Span]:
    """Return the parts of the spans outside of `removed`, which is sorted."""
    left: list[Span] = []
    for span in spans:
        at = span.start
        for other in removed:
            if other.end <= at or other.start >= span.end:
                continue
            if other.start > at:
                left.append(Span(at, other.start))
            at = max(at, other.end)
        if at < span.end:
            left.append(Span(at, span.end))
    return left


def first_lines(spans: Sequence[Span], count: int | None = None, until: int | None = None) -> tuple[Span, ...]:
    """Return the first `count` lines of the spans, or the lines before the line `until`."""
    out: list[Span] = []
    for span in spans:
        end = span.end if until is None else min(span.end, until)
        if count is not None:
            end = min(end, span.start + count)
            count -= max(0, end - span.start)
        if end <= span.start:
            break
        out.append(Span(span.start, end))
    return tuple(out)


def count_lines(spans: Iterable[Span]) -> int:
    """Return the number of lines of disjoint spans."""
    return sum(map(len, spans))


# ---------------------------------------------------------------- truncation


def elision_lines(span: Span, name: str = "") -> list[str]:
    """Return the line that replaces omitted lines, with their name if they have one; none if the span is empty."""
    if not span:
        return []
    if name:
        return [f"… {len(span)} lines ({name})"]
    return [f"… {len(span)} more line{'s' if len(span) > 1 else ''} ({span.label})"]


def largest_fitting(low: int, high: int, make: Callable[[int], T | None]) -> T | None:
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

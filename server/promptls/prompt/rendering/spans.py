"""Operations on sequences of line spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptls.model import Span


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

"""Short gaps between shown lines: lines that cost no more than leaving them out are shown."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.model import Span
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.truncation import elision_lines

MAX_CLOSED_LINES = 2
"""Maximum lines of a gap that are shown instead of a mark; more lines cost more than the mark."""

_MAX_COUNTED_CHARACTERS = 200  # a longer gap costs more than any mark


def close_gaps(
    forms: ItemForms, shown: Sequence[Span], region: Span, elsewhere: Sequence[Span]
) -> tuple[list[Span], Span]:
    """Extend the shown lines over gaps that cost no more than their mark; blank lines at the ends are left out.

    Args:
        forms: the forms whose lines are shown.
        shown: the shown lines, sorted and disjoint.
        region: the lines that are shown or elided.
        elsewhere: lines that other fences show, which are not added.

    Returns:
        The shown lines, and the region without blank lines at its ends.
    """
    start, end = region.start, region.end
    if _is_blank(forms, Span(start, shown[0].start)):
        start = shown[0].start
    if _is_blank(forms, Span(shown[-1].end, end)):
        end = shown[-1].end
    spans: list[Span] = []
    at = start
    for span in (*shown, Span(end, end)):
        gap = Span(at, span.start)
        if gap and _is_cheap(forms, gap) and not any(gap.overlaps(other) for other in elsewhere):
            span = Span(gap.start, span.end)
        if spans and span.start == spans[-1].end:
            spans[-1] = Span(spans[-1].start, span.end)
        elif span:
            spans.append(span)
        at = span.end
    return spans, Span(start, end)


def _is_blank(forms: ItemForms, gap: Span) -> bool:
    return not any(map(str.strip, forms.raw_lines[gap.start : gap.end]))


def _is_cheap(forms: ItemForms, gap: Span) -> bool:
    """Return whether the lines of a gap cost no more tokens than their mark and another range in the header."""
    if len(gap) > MAX_CLOSED_LINES or sum(map(len, forms.raw_lines[gap.start : gap.end])) > _MAX_COUNTED_CHARACTERS:
        return False
    count = forms.renderer.counter.count
    text = "".join(f"{line}\n" for line in forms.sanitized_lines[gap.start : gap.end])
    mark = "".join(f"{line}\n" for line in elision_lines(gap))
    return count(text) <= count(f"{mark}, {gap.label}")  # a gap also splits a range in the header

"""Parts of a packed item: what one fence shows of each candidate in it.

The parts of one file share a fence.  Their lines are in file order and shown once; the lines between them are elided.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import EXPLICIT_ORIGINS, FormName, Item, RenderedItem, Span
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.spans import (
    count_lines,
    merge_across_blank_lines,
    merge_spans,
    subtract_spans,
)


class Part(Struct, frozen=True, eq=False):
    """What an item of the prompt shows of one candidate, or of several that show the same lines."""

    quality: int  # of the form; see packer.py
    rendered: RenderedItem  # the part in a fence of its own
    forms: ItemForms
    sources: tuple[tuple[int, Item], ...]  # (rank, candidate)

    @property
    def rank(self) -> int:
        """Best rank of the candidates."""
        return min(rank for rank, _ in self.sources)

    @property
    def priority(self) -> tuple[int, int, int]:
        """Sort key; of two parts for the same candidates, the higher one is better."""
        return (self.quality, count_lines(self.rendered.spans), self.rendered.tokens)


class Fence(Struct, frozen=True):
    """The rendered form of parts that share a fence, and the forms that it belongs to."""

    rendered: RenderedItem
    forms: ItemForms


def sources_of(parts: Sequence[Part]) -> tuple[Item, ...]:
    """Return the candidates of the parts by rank."""
    return tuple(item for _, item in sorted((s for part in parts for s in part.sources), key=lambda source: source[0]))


def join_contained(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts without those whose lines a full part shows; their candidates join that part."""
    out: list[Part] = []
    for part in sorted(parts, key=lambda part: -count_lines(part.rendered.spans)):
        lines = part.rendered.spans
        full = [n for n, p in enumerate(out) if p.rendered.form == "full"]
        at = next((n for n in full if not subtract_spans(lines, out[n].rendered.spans)), None)
        if at is None:
            out.append(part)
        else:
            out[at] = replace(out[at], sources=(*out[at].sources, *part.sources))
    return tuple(out)


def render_parts(parts: Sequence[Part], elsewhere: Sequence[Span] = (), headers: bool = False) -> Fence:
    """Render parts of one file into one fence.

    Args:
        parts: the parts, which show lines unless there is only one.
        elsewhere: lines that other fences show, sorted; none of them is added.
        headers: whether the lines that open the enclosing definitions are added.
    """
    own = [span for part in parts for span in part.rendered.spans]
    added = subtract_spans(_enclosing_headers(parts), elsewhere) if headers else []
    added = subtract_spans(merge_spans(added), sorted(own))
    if len(parts) == 1 and not added:
        return Fence(parts[0].rendered, parts[0].forms)
    hull = Span(min(s.start for s in own), max(s.end for s in own))
    covering = next((part.forms for part in reversed(parts) if part.forms.full_spans() == (hull,)), None)
    forms = covering or min(parts, key=lambda part: part.rank).forms.for_span(hull)
    if len(parts) == 1:
        forms = parts[0].forms
    merged = merge_across_blank_lines([*own, *added], forms.raw_lines)
    reduced = [part for part in parts if part.rendered.form != "full"]
    if not reduced and forms.full_spans() == tuple(merged) and (full := forms.full()) is not None:
        return Fence(full, forms)
    shown = subtract_spans(merged, elsewhere)  # blank lines between the parts can be shown elsewhere
    end = max([hull.end, *(part.forms.region.end for part in reduced)])
    return Fence(forms.render_lines(shown, Span(shown[0].start, end), _common_form(parts)), forms)


def _enclosing_headers(parts: Sequence[Part]) -> list[Span]:
    """Return the lines that open the definitions around each part; an explicit range of lines has none."""
    spans: list[Span] = []
    for part in parts:
        forms = part.forms
        if forms.symbol is not None or forms.item.origin not in EXPLICIT_ORIGINS:
            for span in part.rendered.spans:
                spans += forms.enclosing_headers(span)
    return spans


def _common_form(parts: Sequence[Part]) -> FormName:
    """Return the form of all parts if it is the same, else "partial"."""
    forms = {part.rendered.form for part in parts}
    return parts[0].rendered.form if len(forms) == 1 else "partial"


def allot_tokens(rendered: RenderedItem, parts: Sequence[Part]) -> list[RenderedItem]:
    """Return each part with its share of the tokens of the fence; the shares add up to `rendered.tokens`."""
    if len(parts) == 1:
        return [rendered]
    weights = [max(1, part.rendered.tokens) for part in parts]
    total, done, shares = sum(weights), 0, []
    for n in range(1, len(parts) + 1):
        until = rendered.tokens * sum(weights[:n]) // total
        shares.append(until - done)
        done = until
    return [replace(part.rendered, tokens=share) for part, share in zip(parts, shares, strict=True)]

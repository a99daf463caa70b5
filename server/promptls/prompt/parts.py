"""Parts of a packed item: what one fence shows of each candidate in it.

The parts of one file share a fence.  Their lines are in file order and shown once; the lines between them are elided.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import FormName, Item, RenderedItem, Span
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.spans import count_lines, merge_across_blank_lines, subtract_spans


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


def render_parts(parts: Sequence[Part]) -> Fence | None:
    """Render parts of one file into one fence; None if a form leaves out lines of the parts."""
    if len(parts) == 1:
        return Fence(parts[0].rendered, parts[0].forms)
    spans = [span for part in parts for span in part.rendered.spans]
    hull = Span(min(s.start for s in spans), max(s.end for s in spans))
    covering = next((part.forms for part in reversed(parts) if part.forms.full_spans() == (hull,)), None)
    forms = covering or min(parts, key=lambda part: part.rank).forms.for_span(hull)
    merged = merge_across_blank_lines(spans, forms.raw_lines)
    reduced = [part for part in parts if part.rendered.form != "full"]
    if merged == [hull] and not reduced:
        rendered = forms.full()
        if rendered is None or rendered.spans != (hull,):
            return None
        return Fence(rendered, forms)
    end = max([hull.end, *(part.forms.region.end for part in reduced)])
    return Fence(forms.render_lines(merged, Span(hull.start, end), _common_form(parts)), forms)


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

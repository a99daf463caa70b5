"""Parts of a packed item: what one fence shows of each candidate in it.

The parts of one file share a fence.  Their lines are in file order and shown once; the lines between them are elided.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import EXPLICIT_ORIGINS, FormName, Item, Origin, RenderedItem, Span
from promptls.prompt.rendering.forms import ItemForms, item_forms
from promptls.prompt.rendering.gaps import close_gaps
from promptls.prompt.rendering.spans import (
    count_lines,
    merge_across_blank_lines,
    merge_spans,
    subtract_spans,
)


class Part(Struct, frozen=True, eq=False):
    """The lines of one candidate in an item of the prompt, or of several candidates with the same lines."""

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
    spans = [span for part in parts for span in part.rendered.spans]
    if count_lines(merge_spans(spans)) == count_lines(spans):
        return tuple(parts)
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


def render_parts(parts: Sequence[Part], elsewhere: Sequence[Span] = (), complete: bool = False) -> Fence:
    """Render parts of one file into one fence.

    Args:
        parts: the parts, which show lines unless there is only one.
        elsewhere: lines that other fences show, sorted; none of them is added.
        complete: whether lines are added: those that open enclosing definitions, and short gaps.
    """
    own = [span for part in parts for span in part.rendered.spans]
    if not own or (len(parts) == 1 and not complete):
        return Fence(parts[0].rendered, parts[0].forms)
    hull = Span(min(s.start for s in own), max(s.end for s in own))
    forms = parts[0].forms if len(parts) == 1 else _common_forms(parts, hull)
    added = subtract_spans(_enclosing_headers(parts), elsewhere) if complete else []
    shown = merge_across_blank_lines([*own, *added], forms.raw_lines)
    region = _region(parts, Span(shown[0].start, hull.end))
    if complete:
        shown, region = close_gaps(forms, shown, region, elsewhere)
    if elsewhere:
        shown = subtract_spans(shown, elsewhere)  # blank lines can be shown elsewhere
    if len(parts) == 1 and tuple(shown) == parts[0].rendered.spans and region.end >= parts[0].forms.region.end:
        return Fence(parts[0].rendered, forms)
    is_full = all(part.rendered.form == "full" for part in parts)
    if is_full and forms.full_spans() == tuple(shown) and (full := forms.full()) is not None:
        return Fence(full, forms)
    return Fence(forms.render_lines(shown, region, _common_form(parts, shown)), forms)


def _common_forms(parts: Sequence[Part], hull: Span) -> ItemForms:
    """Return the forms of the part that has all lines, else forms of the lines from the first to the last.

    They keep the lines that the items of a task are about.
    """
    covering = next((part.forms for part in reversed(parts) if part.forms.full_spans() == (hull,)), None)
    forms = covering or min(parts, key=lambda part: part.rank).forms.for_span(hull)
    items = [part.forms.item for part in parts if part.forms.item.origin is Origin.TASK]
    lines = tuple(sorted({line for item in items for line in item.call_sites}))
    if forms.file is None or not lines or (forms.item.origin, forms.item.call_sites) == (Origin.TASK, lines):
        return forms
    return item_forms(replace(forms.item, origin=Origin.TASK, call_sites=lines), forms.file, forms.renderer)


def _region(parts: Sequence[Part], shown: Span) -> Span:
    """Return the lines that are shown or elided: `shown`, the notes of full parts, and the rest of reduced ones."""
    full = [part.forms for part in parts if part.rendered.form == "full"]
    reduced = [part.forms for part in parts if part.rendered.form != "full"]
    whole = full + [forms for forms in reduced if len(parts) == 1 and forms.item.kind == "file"]
    start = min([shown.start, *(forms.region.start for forms in whole)])
    return Span(start, max([shown.end, *(forms.region.end for forms in (*full, *reduced))]))


def _enclosing_headers(parts: Sequence[Part]) -> list[Span]:
    """Return the lines that open the definitions around each part; an explicit range of lines has none."""
    spans: list[Span] = []
    for part in parts:
        forms = part.forms
        if forms.symbol is not None or forms.item.origin not in EXPLICIT_ORIGINS:
            for span in part.rendered.spans:
                spans += forms.enclosing_headers(span)
    return spans


def _common_form(parts: Sequence[Part], shown: Sequence[Span]) -> FormName:
    """Return "full" if all parts are complete, the form of all parts if it is the same, else "partial"."""
    reduced = [part.forms for part in parts if part.rendered.form != "full"]
    if not any(subtract_spans(forms.full_spans(), shown) for forms in reduced):
        return "full"
    names = {part.rendered.form for part in parts}
    return parts[0].rendered.form if len(names) == 1 else "partial"


def mark_complete(part: Part, shown: Sequence[Span], full_quality: int) -> Part:
    """Return the part in full form if the fence shows all of its lines."""
    is_reduced = part.rendered.form in ("partial", "signature")
    if is_reduced and not subtract_spans(part.forms.full_spans(), shown) and (full := part.forms.full()) is not None:
        return replace(part, quality=full_quality, rendered=full)
    return part


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

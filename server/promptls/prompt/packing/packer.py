"""State of packing: packed entries, remaining budget, and merging of entries of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import EXPLICIT_ORIGINS, FormName, Item, Origin, RenderedItem, Span
from promptls.prompt.rendering.forms import ItemForms, item_forms
from promptls.prompt.rendering.spans import (
    count_lines,
    elision_lines,
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


MIN_REMAINDER, MAX_REMAINDER, REMAINDER_SHARE = 24, 48, 1 / 80
"""Tokens that are not worth filling: a share of the budget, between the cost of a fence and of two lines of code."""

MAX_GAP_TOKENS = 20
"""Tokens of the ranges in a header and of an elision mark that an item adds to the fence of its file."""

FULL, DEFINITIONS, PARTIAL, OUTLINE, SIGNATURE, REFERENCE = 5, 4, 3, 2, 1, 0
"""Quality of a form; a higher one shows more of the item."""


class PackerEntry(Struct, frozen=True, eq=False):
    """A fence that is packed, or may be packed, with its parts."""

    parts: tuple[Part, ...]
    fence: Fence
    explicit: bool

    @property
    def rendered(self) -> RenderedItem:
        """The fence as it is rendered."""
        return self.fence.rendered

    @property
    def forms(self) -> ItemForms:
        """Forms of the whole fence."""
        return self.fence.forms

    @property
    def spans(self) -> tuple[Span, ...]:
        """Lines of the file that the fence shows."""
        return self.fence.rendered.spans


def entry_of(quality: int, rendered: RenderedItem, forms: ItemForms, rank: int, explicit: bool) -> PackerEntry:
    """Return an entry with one form of one candidate."""
    part = Part(quality, rendered, forms, ((rank, forms.item),))
    return PackerEntry((part,), Fence(rendered, forms), explicit)


class Packer:
    """The packed entries and the remaining budget of one call of `pack`."""

    __slots__ = ("entries", "merge_files", "negligible", "reasons", "remaining")

    def __init__(self, budget: int, merge_files: Callable[[PackerEntry, PackerEntry], bool] | None = None) -> None:
        self.negligible = min(MAX_REMAINDER, max(MIN_REMAINDER, int(budget * REMAINDER_SHARE)))
        self.merge_files = merge_files  # whether two entries share a fence; by default, those without code between them
        self.entries: list[PackerEntry] = []
        self.remaining = budget  # tokens
        self.reasons: dict[int, str] = {}  # why a candidate is omitted, by rank; the default is the budget

    @property
    def has_room(self) -> bool:
        """True if the remaining budget is worth filling."""
        return self.remaining >= self.negligible

    def shown(self, path: str) -> list[Span]:
        """Return the lines of a file that are packed."""
        return sorted(span for e in self.entries if e.rendered.item.path == path for span in e.spans)

    def not_shown(self, forms: ItemForms) -> list[Span]:
        """Return the lines of an item that are not packed."""
        return subtract_spans(forms.full_spans(), self.shown(forms.item.path))

    def partial_limits(self, forms: ItemForms, max_tokens: int) -> list[int]:
        """Return the limits for a partial form of an implicit item: first with the header that a shared fence saves."""
        entries = (e for e in self.entries if e.rendered.item.path == forms.item.path and not e.explicit)
        if self.merge_files is can_share_fence and any(entry.spans for entry in entries):
            return [max_tokens + forms.render_lines(()).tokens - MAX_GAP_TOKENS, max_tokens]
        return [max_tokens]

    def packed_ranks(self) -> set[int]:
        """Return the ranks of the candidates that are packed."""
        return {rank for entry in self.entries for part in entry.parts for rank, _ in part.sources}

    def reducible_parts(self, explicit: bool) -> list[Part]:
        """Return the parts with one candidate that is not shown in full, best rank first."""
        entries = [entry for entry in self.entries if entry.explicit == explicit]
        parts = [part for entry in entries for part in entry.parts if part.quality < FULL and len(part.sources) == 1]
        return sorted(parts, key=lambda part: part.rank)

    def cost(self, entry: PackerEntry) -> int:
        """Return the tokens of an entry in a fence of its own, with the lines that open enclosing definitions."""
        if self.merge_files is None or not entry.spans:
            return entry.rendered.tokens
        return render_parts(entry.parts, complete=True).rendered.tokens

    def add(self, entry: PackerEntry, max_tokens: int) -> bool:
        """Pack an entry if it costs at most `max_tokens`, in one fence with others of its file if possible.

        Lines that are packed already are removed from it.  Returns False if it does not fit or no line is left.
        """
        max_tokens = min(max_tokens, self.remaining)
        spans, path = entry.spans, entry.rendered.item.path
        left = subtract_spans(spans, self.shown(path))
        saved = entry.forms.header_allowance if self.merge_files is None else entry.forms.saved_tokens
        if left == list(spans) and entry.rendered.tokens - saved() > max_tokens:
            return False  # does not fit without a header of its own either
        if self.merge_files is None:
            neighbors = [e for e in self.entries if _are_adjacent(e, entry)]
            if neighbors and self._merge(neighbors, entry, max_tokens):
                return True
        if spans and not left:
            return False
        if self.merge_files is not None and spans:
            return self._add_to_file(entry, left, max_tokens, self.merge_files)
        entry = _with_spans(entry, left)
        if entry.rendered.tokens > max_tokens:
            return False
        self._append(entry)
        return True

    def _add_to_file(
        self,
        entry: PackerEntry,
        left: Sequence[Span],
        max_tokens: int,
        can_merge: Callable[[PackerEntry, PackerEntry], bool],
    ) -> bool:
        """Pack an entry in the fence of its file, or in a new one; `left` are its lines that are not packed."""
        path = entry.rendered.item.path
        same_file = [e for e in self.entries if can_merge(e, entry)]
        elsewhere = sorted(
            span for e in self.entries if e not in same_file and e.rendered.item.path == path for span in e.spans
        )
        new = _with_spans(entry, subtract_spans(entry.spans, elsewhere) if same_file else left)
        merged = self._entry_of_parts((*(p for e in same_file for p in e.parts), *new.parts), entry.explicit, same_file)
        if merged is None or merged.rendered.tokens - sum(e.rendered.tokens for e in same_file) > max_tokens:
            return False
        for other in same_file:
            self._remove(other)
        self._append(merged)
        return True

    def _merge(self, neighbors: list[PackerEntry], new: PackerEntry, max_tokens: int) -> bool:
        """Replace adjacent entries by one with all their lines, unless it costs more than two."""
        spans = [span for e in (*neighbors, new) for span in e.spans]
        parts = (*(part for e in neighbors for part in e.parts), *new.parts)
        merged = self._entry_of_parts(parts, new.explicit, neighbors)
        if merged is None or subtract_spans(spans, merged.spans):
            return False
        before = sum(e.rendered.tokens for e in neighbors)
        have_overlap = count_lines(spans) > count_lines(merged.spans)
        if merged.rendered.tokens - before > max_tokens:
            return False
        if not have_overlap and merged.rendered.tokens > before + new.rendered.tokens:
            return False
        for entry in neighbors:
            self._remove(entry)
        self._append(merged)
        return True

    def _entry_of_parts(
        self, parts: tuple[Part, ...], explicit: bool, replaced: Sequence[PackerEntry]
    ) -> PackerEntry | None:
        """Return one entry with all parts; None if adjacent entries cannot be merged.

        Entries that are not `replaced` keep their lines.
        """
        path = parts[0].rendered.item.path
        others = [s for e in self.entries if e not in replaced and e.rendered.item.path == path for s in e.spans]
        if self.merge_files is not None:
            parts = join_contained(parts)
            fence = render_parts(parts, sorted(others), complete=True)
            parts = tuple(mark_complete(part, fence.rendered.spans, FULL) for part in parts)
            return PackerEntry(parts, fence, explicit)
        fence = render_parts(parts)
        if any(a.overlaps(b) for a in fence.rendered.spans for b in others):
            return None
        sources = tuple(source for part in parts for source in part.sources)  # the whole fence is one part
        return PackerEntry((Part(FULL, fence.rendered, fence.forms, sources),), fence, explicit)

    def merge_into_existing(self, rank: int, forms: ItemForms) -> bool:
        """Add a candidate to the part that shows most of its lines.  Returns False unless all lines are packed."""
        item, spans = forms.item, forms.full_spans()
        parts = [(e, part) for e in self.entries if e.rendered.item.path == item.path for part in e.parts]
        if spans:
            if self.not_shown(forms):
                return False
            entry, closest = min(
                parts, key=lambda found: count_lines(subtract_spans(spans, sorted(found[1].rendered.spans)))
            )
        else:
            twins = [(e, p) for e, p in parts if (p.forms.item.span, p.forms.item.kind) == (item.span, item.kind)]
            if not twins:
                return False
            entry, closest = twins[0]
        joined = replace(closest, sources=(*closest.sources, (rank, item)))
        extended = replace(entry, parts=tuple(joined if part is closest else part for part in entry.parts))
        self.entries[self.entries.index(entry)] = extended
        return True

    def upgrade(self, part: Part, alternatives: Callable[[int], Iterable[PackerEntry | None]]) -> None:
        """Replace a part by the first of `alternatives(remaining)` that is better and fits."""
        entry = next((e for e in self.entries if part in e.parts), None)
        if entry is None:
            return
        self._remove(entry)
        others = tuple(other for other in entry.parts if other is not part)
        rest = self._entry_of_parts(others, entry.explicit, ()) if others else None
        if others and rest is None:
            self._append(entry)
            return
        if rest is not None:
            self._append(rest)
        for alternative in alternatives(self.remaining):
            if (
                alternative is not None
                and alternative.parts[0].priority > part.priority
                and self.add(alternative, self.remaining)
            ):
                return
        if rest is not None:
            self._remove(rest)
        self._append(entry)

    def _append(self, entry: PackerEntry) -> None:
        self.entries.append(entry)
        self.remaining -= entry.rendered.tokens

    def _remove(self, entry: PackerEntry) -> None:
        self.entries.remove(entry)
        self.remaining += entry.rendered.tokens


def _with_spans(entry: PackerEntry, spans: Sequence[Span]) -> PackerEntry:
    """Return an entry of one part with only these lines of it."""
    if list(spans) == list(entry.spans):
        return entry
    rendered = entry.forms.render_lines(spans)
    return PackerEntry((replace(entry.parts[0], rendered=rendered),), Fence(rendered, entry.forms), entry.explicit)


def _are_adjacent(packed: PackerEntry, new: PackerEntry) -> bool:
    """Return whether full forms of one file overlap, have only blank lines between them, or one contains the other."""
    old, other = packed.rendered, new.rendered
    if packed.explicit != new.explicit or old.item.path != other.item.path:
        return False
    if old.form != "full" or other.form != "full" or not old.spans or not other.spans:
        return False
    if len(old.spans) > 1 or len(other.spans) > 1:
        return not subtract_spans(old.spans, other.spans)
    a, b = sorted((old.spans[0], other.spans[0]))
    return a.end >= b.start or not any(map(str.strip, packed.forms.raw_lines[a.end : b.start]))


def can_share_fence(packed: PackerEntry, new: PackerEntry) -> bool:
    """Return whether both show lines of one file for the same kind of context, explicit or implicit."""
    return (
        packed.explicit == new.explicit
        and packed.rendered.item.path == new.rendered.item.path
        and bool(packed.spans and new.spans)
    )


def are_full_and_implicit(packed: PackerEntry, new: PackerEntry) -> bool:
    """Return whether both are implicit full forms of one file; reduced forms keep a citation label of their own."""
    is_full = packed.rendered.form == new.rendered.form == "full"
    return is_full and not packed.explicit and can_share_fence(packed, new)


# ---------------------------------------------------------------- gaps


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

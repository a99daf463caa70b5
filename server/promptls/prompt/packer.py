"""State of packing: packed entries, remaining budget, and merging of entries of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from promptls.model import Origin, RenderedItem, Span
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.spans import count_lines, merge_across_blank_lines, subtract_spans

MIN_REMAINDER, MAX_REMAINDER, REMAINDER_SHARE = 24, 48, 1 / 80
"""Tokens that are not worth filling: a share of the budget, between the cost of a fence and of two lines of code."""

FULL, DEFINITIONS, PARTIAL, OUTLINE, SIGNATURE, REFERENCE = 5, 4, 3, 2, 1, 0
"""Quality of a form; a higher one shows more of the item."""


class PackerEntry:
    """A rendered form that is packed, or may be packed, for the candidates with the ranks `ranks`."""

    __slots__ = ("explicit", "forms", "quality", "ranks", "rendered")

    def __init__(self, quality: int, rendered: RenderedItem, forms: ItemForms, ranks: set[int], explicit: bool) -> None:
        self.quality = quality
        self.rendered = rendered
        self.forms = forms
        self.ranks = ranks
        self.explicit = explicit

    @property
    def priority(self) -> tuple[int, int, int]:
        """Sort key; of two forms of the same candidates, the higher one is better."""
        return (self.quality, count_lines(self.rendered.spans), self.rendered.tokens)


class Packer:
    """The packed entries and the remaining budget of one call of `pack`."""

    __slots__ = ("entries", "merge_files", "negligible", "reasons", "remaining", "trace")

    def __init__(self, budget: int, merge_files: bool = False) -> None:
        self.negligible = min(MAX_REMAINDER, max(MIN_REMAINDER, int(budget * REMAINDER_SHARE)))
        self.merge_files = merge_files  # whether implicit items of one file are merged
        self.entries: list[PackerEntry] = []
        self.remaining = budget  # tokens
        self.reasons: dict[int, str] = {}  # why a candidate is omitted, by rank; the default is the budget
        self.trace: list[str] = []

    @property
    def has_room(self) -> bool:
        """True if the remaining budget is worth filling."""
        return self.remaining >= self.negligible

    def shown(self, path: str) -> list[Span]:
        """Return the lines of a file that are packed."""
        return sorted(span for e in self.entries if e.rendered.item.path == path for span in e.rendered.spans)

    def not_shown(self, forms: ItemForms) -> list[Span]:
        """Return the lines of an item that are not packed."""
        return subtract_spans(forms.full_spans(), self.shown(forms.item.path))

    def contains(self, rank: int) -> bool:
        """Return whether a candidate is packed."""
        return any(rank in e.ranks for e in self.entries)

    def add(self, entry: PackerEntry, max_tokens: int) -> bool:
        """Pack an entry if it costs at most `max_tokens`, merged with its neighbors if possible.

        Lines that are packed already are removed from it.  Returns False if it does not fit or no line is left.
        """
        max_tokens = min(max_tokens, self.remaining)
        spans = entry.rendered.spans
        left = subtract_spans(spans, self.shown(entry.rendered.item.path))
        if left == list(spans) and entry.rendered.tokens - entry.forms.header_allowance() > max_tokens:
            return False  # does not fit without a header of its own either
        neighbors = [e for e in self.entries if _are_adjacent(e, entry)]
        if neighbors and self._merge(neighbors, entry, max_tokens):
            return True
        same_file = [e for e in self.entries if _can_share_fence(e, entry)] if self.merge_files else []
        if same_file and self._merge(same_file, entry, max_tokens):
            return True
        if spans and not left:
            return False
        if left != list(spans):
            entry.rendered = entry.forms.render_lines(left)
        if entry.rendered.tokens > max_tokens:
            return False
        self._append(entry)
        return True

    def _merge(self, neighbors: list[PackerEntry], new: PackerEntry, max_tokens: int) -> bool:
        """Replace the entries by one with all their lines, unless it costs more than two."""
        path = new.rendered.item.path
        spans = [span for e in (*neighbors, new) for span in e.rendered.spans]
        hull = Span(min(s.start for s in spans), max(s.end for s in spans))
        best = min(*neighbors, new, key=lambda e: min(e.ranks))
        covering = next((e.forms for e in (new, *neighbors) if e.forms.full_spans() == (hull,)), None)
        forms = _with_frames(covering or best.forms.for_span(hull), [*neighbors, new])
        merged = merge_across_blank_lines(spans, new.forms.raw_lines)
        rendered = forms.full() if merged == [hull] else forms.render_lines(merged, form="full")
        others = [
            span
            for e in self.entries
            if e not in neighbors and e.rendered.item.path == path
            for span in e.rendered.spans
        ]
        if (
            rendered is None
            or subtract_spans(spans, rendered.spans)
            or any(a.overlaps(b) for a in rendered.spans for b in others)
        ):
            return False
        before = sum(e.rendered.tokens for e in neighbors)
        have_overlap = count_lines(spans) > count_lines(rendered.spans)
        if rendered.tokens - before > max_tokens:
            return False
        if not have_overlap and rendered.tokens > before + new.rendered.tokens:
            return False
        for entry in neighbors:
            self._remove(entry)
        ranks = new.ranks.union(*(e.ranks for e in neighbors))
        self._append(PackerEntry(FULL, rendered, forms, ranks, new.explicit))
        return True

    def merge_into_existing(self, rank: int, forms: ItemForms) -> bool:
        """Add a candidate to the entry that shows most of its lines.  Returns False unless all lines are packed."""
        item, spans = forms.item, forms.full_spans()
        same_file = [e for e in self.entries if e.rendered.item.path == item.path]
        if spans:
            if self.not_shown(forms):
                return False
            closest = min(same_file, key=lambda e: count_lines(subtract_spans(spans, sorted(e.rendered.spans))))
            closest.ranks.add(rank)
            return True
        twin = next((e for e in same_file if (e.forms.item.span, e.forms.item.kind) == (item.span, item.kind)), None)
        if twin:
            twin.ranks.add(rank)
        return twin is not None

    def upgrade(self, entry: PackerEntry, alternatives: Callable[[int], Iterable[PackerEntry | None]]) -> None:
        """Replace an entry by the first of `alternatives(remaining)` that is better and fits."""
        self._remove(entry)
        for alternative in alternatives(self.remaining):
            if (
                alternative is not None
                and alternative.priority > entry.priority
                and self.add(alternative, self.remaining)
            ):
                return
        self._restore(entry)

    def _append(self, entry: PackerEntry) -> None:
        self._restore(entry)
        rendered = entry.rendered
        lines = ", ".join(span.label for span in rendered.spans) or rendered.item.span.label
        label = entry.forms.renderer.label(rendered.item.path)
        self.trace.append(f"{rendered.form} {label}:{lines} ({rendered.tokens})")

    def _restore(self, entry: PackerEntry) -> None:
        self.entries.append(entry)
        self.remaining -= entry.rendered.tokens

    def _remove(self, entry: PackerEntry) -> None:
        self.entries.remove(entry)
        self.remaining += entry.rendered.tokens


def _with_frames(forms: ItemForms, entries: Iterable[PackerEntry]) -> ItemForms:
    """Return the forms with the lines of a stack trace that the merged entries have."""
    items = [e.rendered.item for e in entries if e.rendered.item.origin is Origin.TASK]
    lines = tuple(sorted({line for item in items for line in item.call_sites}))
    if not lines or (forms.item.origin, forms.item.call_sites) == (Origin.TASK, lines):
        return forms
    return ItemForms(replace(forms.item, origin=Origin.TASK, call_sites=lines), forms.file, (), forms.renderer)


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


def _can_share_fence(packed: PackerEntry, new: PackerEntry) -> bool:
    """Return whether both are implicit full forms of one file; one fence for both costs less than two."""
    return (
        not (packed.explicit or new.explicit)
        and packed.rendered.item.path == new.rendered.item.path
        and packed.rendered.form == new.rendered.form == "full"
        and bool(packed.rendered.spans and new.rendered.spans)
    )

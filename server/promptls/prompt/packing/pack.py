"""Packing: selects forms of the candidates so that their tokens fit the budget.

The budget is never exceeded.  Explicit candidates come first: in full, else their relevant definitions, else an outline
or a signature, else a reference line.  If they do not all fit, they share the budget, smallest first.  Implicit
candidates follow by rank.  What remains is for the other definitions of explicit candidates.  No line of a file is shown
twice.  Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Item, RenderedItem
from promptls.prompt.packing.packer import (
    DEFINITIONS,
    FULL,
    OUTLINE,
    PARTIAL,
    REFERENCE,
    SIGNATURE,
    Packer,
    PackerEntry,
    Part,
    are_full_and_implicit,
    can_share_fence,
    entry_of,
    sources_of,
)
from promptls.prompt.rendering.forms import ItemForms, render_full_forms
from promptls.prompt.rendering.spans import count_lines, elision_lines
from promptls.prompt.tokens import fair_limit

Mode = Literal["best", "skip", "signature", "stop", "cut"]
Order = Literal["file", "score", "reverse"]

MIN_PARTIAL_SHARE = 0.4
"""Minimum share of an item's lines in its partial form."""

MIN_FILL_SHARE, MIN_FILL_LINES = 0.1, 4
"""Minimum share and number of lines in the partial form of a candidate that did not fit at first."""

MAX_FAILURES = 8
"""Number of implicit candidates that do not fit in a row, after which what remains of the budget is left free."""

SIGNATURE_SCORE_SHARE = 0.5
"""Minimum score of an implicit item that is shown by its signature, as a share of the best score."""

MAX_ITEM_SHARE = 0.6
"""Maximum share of one implicit item in the implicit budget, in mode "best"."""

MIN_CAPPED_TOKENS = 400
"""Tokens up to which an implicit item is never limited in favor of other items."""

MAX_COUNTED_OMITTED = 64
"""Maximum number of omitted candidates whose cost is counted; later ones are not shown to the user."""

ALREADY_INCLUDED = "already included"
_DOES_NOT_FIT = "asked for, does not fit"
_OVER_BUDGET = "over the budget"


class PackingCandidate(Struct, frozen=True):
    """An item that may be packed."""

    forms: ItemForms
    definitions: tuple[ItemForms, ...] = ()  # of an explicit file or class: relevant definitions in it, best first
    rest: tuple[ItemForms, ...] = ()  # its other definitions, for what remains of the budget


class PackedItem(Struct, frozen=True):
    """A rendered item of the prompt, and the candidates that it shows."""

    rendered: RenderedItem
    forms: ItemForms  # of the rendered item; for trimming
    parts: tuple[Part, ...]  # several if candidates of one file share a fence
    explicit: bool
    complete: bool = False  # whether enclosing headers and short gaps are added; definitions are not cut

    @property
    def sources(self) -> tuple[Item, ...]:
        """Candidates that the item shows, by rank."""
        return sources_of(self.parts)

    @property
    def rank(self) -> int:
        """Rank of the best source: explicit ones in mention order, then implicit ones by rank."""
        return min(part.rank for part in self.parts)

    @property
    def worst_part(self) -> Part:
        """The part with the lowest priority."""
        return max(self.parts, key=lambda part: part.rank)


class OmittedItem(Struct, frozen=True):
    """A candidate that is not in the prompt."""

    item: Item
    reason: str
    tokens: int  # of the full form; 0 without a full form, and after MAX_COUNTED_OMITTED candidates


class PackResult(Struct, frozen=True):
    """Packed and omitted items."""

    items: tuple[PackedItem, ...] = ()  # in prompt order
    omitted: tuple[OmittedItem, ...] = ()  # explicit ones first, then by rank

    @property
    def tokens(self) -> int:
        """Sum of the tokens of all packed items."""
        return sum(packed.rendered.tokens for packed in self.items)


def pack(
    explicit: Sequence[PackingCandidate],
    implicit: Sequence[PackingCandidate],
    budget: int,
    *,
    mode: Mode = "best",
    trim_first: bool = False,
    order: Order = "file",
    implicit_share: float = 1.0,
    explicit_reserve: int = 0,
    kept_free: int = 0,
) -> PackResult:
    """Select forms of the candidates whose tokens add up to at most `budget`.

    Args:
        explicit: candidates in the order of the message.
        implicit: candidates by rank, best first.
        budget: in tokens.
        mode: how implicit candidates are packed.  "best": in full, else in part or by signature; tokens that remain
            go to reduced and omitted candidates, and definitions are not cut.  The other modes show a candidate that
            does not fit in full as follows.  "skip": not at all.  "signature": by its signature.  "stop": not at all,
            nor any after it.  "cut": trimmed, and none after it.
        trim_first: in mode "skip" and "stop", trim the first implicit candidate if it does not fit.
        order: order of implicit items in the prompt; with "file" and mode "best", items of one file share a fence.
        implicit_share: maximum share of implicit items in what explicit items leave.
        kept_free: tokens that implicit items leave free; a quarter of them is used if explicit items leave no more.
        explicit_reserve: a larger budget is split into this part for explicit items and the rest for implicit items.
    """
    split = 0 < explicit_reserve < budget
    if implicit:
        render_full_forms((candidate.forms for candidate in implicit), implicit[0].forms.renderer)
    renderers = [candidate.forms.renderer for candidate in (*explicit, *implicit)]
    share = are_full_and_implicit if any(renderer.citations for renderer in renderers[:1]) else can_share_fence
    packer = Packer(
        explicit_reserve if split else max(0, budget), share if order == "file" and mode == "best" else None
    )
    _pack_explicit(packer, explicit)
    packer.remaining = int((budget - explicit_reserve if split else packer.remaining) * implicit_share)
    packer.remaining = max(packer.remaining - kept_free, min(packer.remaining, kept_free // 4))
    if mode == "best":
        _pack_best(packer, implicit, len(explicit))
        packer.remaining = budget - sum(entry.rendered.tokens for entry in packer.entries)
        _pack_rest(packer, explicit)
    else:
        _pack_whole(packer, implicit, len(explicit), mode, trim_first)
    all_forms = [candidate.forms for candidate in (*explicit, *implicit)]
    omitted: list[OmittedItem] = []
    packed_ranks = packer.packed_ranks()
    for rank, forms in enumerate(all_forms):
        if rank not in packed_ranks:
            reason = packer.reasons.get(rank, _OVER_BUDGET)
            full = forms.full() if reason != ALREADY_INCLUDED and len(omitted) < MAX_COUNTED_OMITTED else None
            omitted.append(OmittedItem(forms.item, reason, full.tokens if full else 0))
    items = [
        PackedItem(e.rendered, e.forms, e.parts, e.explicit, packer.merge_files is not None) for e in packer.entries
    ]
    return PackResult(tuple(_in_order(items, order)), tuple(omitted))


def _in_order(items: Iterable[PackedItem], order: Order) -> list[PackedItem]:
    """Sort items for the prompt: explicit ones first, by rank, then implicit ones in `order`."""
    by_rank = sorted(items, key=lambda packed: packed.rank)
    if order == "score":
        return by_rank
    explicit = [packed for packed in by_rank if packed.explicit]
    implicit = [packed for packed in by_rank if not packed.explicit]
    if order == "reverse":
        return explicit + implicit[::-1]
    file_order = {path: i for i, path in reversed([*enumerate(p.rendered.item.path for p in implicit)])}
    implicit.sort(key=lambda p: (file_order[p.rendered.item.path], _first_line(p.rendered), p.rank))
    return explicit + implicit


def _first_line(rendered: RenderedItem) -> int:
    return rendered.spans[0].start if rendered.spans else rendered.item.span.start


# ---------------------------------------------------------------- explicit candidates


def _pack_explicit(packer: Packer, explicit: Sequence[PackingCandidate]) -> None:
    references = [
        entry_of(REFERENCE, candidate.forms.reference(_DOES_NOT_FIT), candidate.forms, rank, True)
        for rank, candidate in enumerate(explicit)
    ]
    if sum(entry.rendered.tokens for entry in references) > packer.remaining:
        for entry in references:
            packer.add(entry, packer.remaining)
        return
    forms = [candidate.forms.full() or candidate.forms.outline() for candidate in explicit]
    sizes = [
        packer.cost(entry_of(FULL, form, candidate.forms, rank, True)) if form else 0
        for rank, (form, candidate) in enumerate(zip(forms, explicit, strict=True))
    ]
    level = fair_limit(sizes, packer.remaining)
    queue = sorted(range(len(explicit)), key=lambda rank: (sizes[rank], rank))
    while queue:
        rank = queue.pop(0)
        if packer.merge_into_existing(rank, explicit[rank].forms):
            continue
        reserved = sum(references[other].rendered.tokens for other in queue)
        max_tokens = max(references[rank].rendered.tokens, min(packer.remaining - reserved, level))
        alternatives = chain(_explicit_forms(explicit[rank], rank, max_tokens), [references[rank]])
        any(entry is not None and packer.add(entry, max_tokens) for entry in alternatives)
    for part in packer.reducible_parts(explicit=True):  # the rest of the budget upgrades reduced items
        packer.upgrade(part, _ExplicitForms(explicit[part.rank], part.rank))


def _pack_rest(packer: Packer, explicit: Sequence[PackingCandidate]) -> None:
    """Add other definitions of the explicit candidates that are reduced."""
    for part in packer.reducible_parts(explicit=True):
        candidate = explicit[part.rank]
        if candidate.rest and packer.has_room:
            whole = replace(candidate, definitions=(*candidate.definitions, *candidate.rest), rest=())
            packer.upgrade(part, _ExplicitForms(whole, part.rank))


class _ExplicitForms(Struct, frozen=True):
    """`_explicit_forms` of one candidate, as a function of the maximum number of tokens."""

    candidate: PackingCandidate
    rank: int

    def __call__(self, max_tokens: int) -> Iterator[PackerEntry | None]:
        return _explicit_forms(self.candidate, self.rank, max_tokens)


def _explicit_forms(candidate: PackingCandidate, rank: int, max_tokens: int) -> Iterator[PackerEntry | None]:
    """Yield the forms of an explicit candidate that may fit, best first, without the reference line."""
    forms = candidate.forms

    def entry(quality: int, rendered: RenderedItem | None) -> PackerEntry | None:
        return entry_of(quality, rendered, forms, rank, True) if rendered else None

    yield entry(FULL, forms.full())
    if candidate.definitions and not forms.item.call_sites:
        yield entry(DEFINITIONS, render_definitions(forms, candidate.definitions, max_tokens))
    partial = forms.partial(max_tokens)
    if partial is not None:
        min_lines = MIN_PARTIAL_SHARE * count_lines(forms.full_spans())
        if forms.item.call_sites or count_lines(partial.spans) >= min_lines:
            yield entry(PARTIAL, partial)
    yield entry(OUTLINE, forms.outline(max_tokens))
    yield entry(SIGNATURE, forms.signature())
    yield entry(SIGNATURE, partial)


# ---------------------------------------------------------------- implicit candidates


def _pack_best(packer: Packer, implicit: Sequence[PackingCandidate], first: int) -> None:
    """Pack implicit candidates in mode "best"; `first` is the rank of the first one."""
    min_signature_score = SIGNATURE_SCORE_SHARE * max((c.forms.item.score for c in implicit), default=0)
    item_limit = max(MIN_CAPPED_TOKENS, int(MAX_ITEM_SHARE * packer.remaining))
    last = first + len(implicit) - 1
    failures = 0
    for rank, candidate in enumerate(implicit, first):
        forms = candidate.forms
        if forms.full_spans() and not packer.not_shown(forms):
            packer.reasons[rank] = ALREADY_INCLUDED
        elif packer.has_room and failures <= MAX_FAILURES:
            max_tokens = packer.remaining if rank == last else min(item_limit, packer.remaining)
            allow_signature = forms.item.score >= min_signature_score
            fits = _pack_implicit(
                packer, forms, rank, max_tokens, MIN_PARTIAL_SHARE, 1, allow_signature=allow_signature
            )
            failures = 0 if fits else failures + 1
    for part in packer.reducible_parts(explicit=False):
        if packer.has_room:
            packer.upgrade(part, _ImplicitForms(packer, part))
    if failures > MAX_FAILURES:
        return
    settled = packer.packed_ranks().union(packer.reasons)
    for rank, candidate in enumerate(implicit, first):
        if packer.has_room and rank not in settled:
            _pack_implicit(
                packer,
                candidate.forms,
                rank,
                packer.remaining,
                MIN_FILL_SHARE,
                MIN_FILL_LINES,
                allow_signature=True,
            )


def _pack_implicit(
    packer: Packer,
    forms: ItemForms,
    rank: int,
    max_tokens: int,
    min_share: float,
    min_lines: int,
    *,
    allow_signature: bool,
) -> bool:
    """Pack the best form of a candidate that fits.  Returns False if none fits."""

    def add(quality: int, rendered: RenderedItem | None) -> bool:
        return rendered is not None and packer.add(entry_of(quality, rendered, forms, rank, False), max_tokens)

    if add(FULL, forms.full()):
        return True
    not_shown = packer.not_shown(forms)
    for limit in packer.partial_limits(forms, max_tokens):
        partial = forms.partial(limit, not_shown, whole_definitions=True)
        least = (
            1 if forms.is_definition or forms.item.call_sites else max(min_lines, min_share * count_lines(not_shown))
        )
        if partial is None or count_lines(partial.spans) < least:
            break
        if add(PARTIAL, partial):
            return True
    else:
        return False
    return allow_signature and (add(SIGNATURE, forms.signature()) or add(OUTLINE, forms.outline(max_tokens)))


class _ImplicitForms(Struct, frozen=True):
    """Better forms of a packed implicit part, as a function of the maximum number of tokens."""

    packer: Packer
    part: Part

    def __call__(self, max_tokens: int) -> Iterator[PackerEntry | None]:
        forms, rank = self.part.forms, self.part.rank
        full, not_shown = forms.full(), self.packer.not_shown(forms)
        yield entry_of(FULL, full, forms, rank, False) if full else None
        for limit in self.packer.partial_limits(forms, max_tokens):
            partial = forms.partial(limit, not_shown, whole_definitions=True)
            yield entry_of(PARTIAL, partial, forms, rank, False) if partial else None


def _pack_whole(packer: Packer, implicit: Sequence[PackingCandidate], first: int, mode: Mode, trim_first: bool) -> None:
    """Pack implicit candidates in full, in all modes but "best"; `first` is the rank of the first one."""
    stopped = False
    for rank, candidate in enumerate(implicit, first):
        forms, full = candidate.forms, candidate.forms.full()
        if forms.full_spans() and not packer.not_shown(forms):
            packer.reasons[rank] = ALREADY_INCLUDED
        elif stopped:
            packer.reasons[rank] = "after the first one that did not fit"
        elif full is None or not packer.add(entry_of(FULL, full, forms, rank, False), packer.remaining):
            stopped = mode in ("stop", "cut")
            quality, reduced = SIGNATURE, None
            if mode == "cut" or (trim_first and rank == first):
                quality, reduced = PARTIAL, forms.partial(packer.remaining, packer.not_shown(forms))
            elif mode == "signature":
                reduced = forms.signature()
            if reduced is not None:
                packer.add(entry_of(quality, reduced, forms, rank, False), packer.remaining)


# ---------------------------------------------------------------- file definitions


def render_definitions(file: ItemForms, definitions: Sequence[ItemForms], max_tokens: int) -> RenderedItem | None:
    """Render the definitions of a file that fit, best first, in the order of the file.

    A definition that does not fit in full is shown by its signature.  None if not even one signature fits.
    """
    if file.file is None:
        return None
    count, lines = file.renderer.counter.count, file.sanitized_lines
    left = max_tokens - file.render_lines((), file.region).tokens
    chosen: list[tuple[ItemForms, bool]] = []  # (definition, whether in full)
    for definition in definitions:
        for in_full, spans in ((True, definition.full_spans()), (False, definition.signature_spans())):
            cost = sum(count("\n".join([*lines[s.start : s.end], *elision_lines(s), ""])) for s in spans)
            if spans and cost <= left:
                chosen.append((definition, in_full))
                left -= cost
                break
    while chosen:
        shown = [s for d, in_full in chosen for s in (d.full_spans() if in_full else d.signature_spans())]
        rendered = file.render_lines(shown, file.region, "partial")
        if rendered.tokens <= max_tokens:
            return rendered
        last, in_full = chosen.pop()  # costs were added up one by one; their sum can be slightly too small
        if in_full and last.signature_spans() and last.signature_spans() != last.full_spans():
            chosen.append((last, False))
    return None

"""Blocks and a budget → what is kept, what is left out and why.

The budget is a law: the tokens of what is kept never add up to more.  What the user asked for comes
before what was found: whole, else its relevant bodies, else an outline or a signature, else one line;
several explicit items that do not all fit share the budget by filling the smallest first.  What was
found is taken by rank.  No line of a file is shown twice.  Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from promptls.model import Block, Item, Span
from promptls.prompt.render import Forms, bodies, make_full

Mode = Literal["best", "skip", "signature", "stop", "cut"]
Order = Literal["file", "score", "reverse"]

PARTIAL_SHARE = 0.4
"""An implicit item is shown in part only if at least this share of its lines fits."""

FILL_SHARE, FILL_LINES = 0.1, 4
"""The same for what fills the rest of the budget at the end."""

HIGH = 0.5
"""An implicit item of at least this share of the best one's score is worth a signature."""

LARGE = 400
"""Tokens up to which an implicit item is not held back for the sake of others."""

LEAST_REST, MOST_REST, REST_SHARE = 24, 48, 1 / 80
"""Tokens that are not worth filling: this share of the budget, between less than a fence and two lines of code."""

COUNTED = 64
"""Left-out candidates whose cost is counted; nobody reads further."""

ALREADY_INCLUDED = "already included"
_NO_ROOM = "asked for, does not fit"
_OVER = "over the budget"


class Choice(Struct, frozen=True):
    """A candidate."""

    forms: Forms
    inside: tuple[Forms, ...] = ()  # for an explicit file or class: relevant definitions in it, best first


class Kept(Struct, frozen=True):
    """A block of the prompt and the candidates that it stands for."""

    block: Block
    forms: Forms  # of exactly this block, so that it can be trimmed
    sources: tuple[Item, ...]  # more than one where neighbours became one block
    explicit: bool
    rank: int  # of its best source: explicit ones in mention order, then implicit ones by rank


class Omitted(Struct, frozen=True):
    """A candidate that is not in the prompt."""

    item: Item
    reason: str
    tokens: int  # what it would cost in full; 0 if nothing, if it cannot be shown, or after `COUNTED` of them


class Packed(Struct, frozen=True):
    kept: tuple[Kept, ...] = ()  # in prompt order
    omitted: tuple[Omitted, ...] = ()  # explicit ones first, then by rank
    trace: tuple[str, ...] = ()  # one line per decision, in the order in which they were taken

    @property
    def tokens(self) -> int:
        return sum(kept.block.tokens for kept in self.kept)


def pack(
    explicit: Sequence[Choice],
    implicit: Sequence[Choice],
    budget: int,
    *,
    mode: Mode = "best",
    keep_top: bool = False,
    order: Order = "file",
    share: float = 0.6,
    found_share: float = 1.0,
    reserved: int = 0,
) -> Packed:
    """Choose forms so that their tokens add up to at most `budget`.

    `explicit` is in the order of the message, `implicit` by rank, best first.  Modes: "best" takes each
    implicit item in full if it fits, else in part or by its signature, and fills what is left; no large
    item takes more than `share` of the implicit budget while others wait; in the order by file, those of one file
    share a block.  "skip" leaves out what does not fit
    in full and goes on, "signature" shows it by its signature, "stop" stops there; with `keep_top` the first
    implicit item is then trimmed to fit.  "cut" trims the first that does not fit, whichever it is, and stops.

    All implicit items together take at most `found_share` of what the explicit ones leave.  A budget above
    `reserved` tokens is split: that many are for explicit items alone, and the rest for implicit ones alone.
    """
    split = 0 < reserved < budget
    if implicit:
        make_full((choice.forms for choice in implicit), implicit[0].forms.renderer)
    shelf = _Shelf(reserved if split else max(0, budget), order == "file" and mode == "best")
    _place_explicit(shelf, explicit)
    shelf.room = int((budget - reserved if split else shelf.room) * found_share)
    if mode == "best":
        _place_best(shelf, implicit, len(explicit), share)
    else:
        _place_whole(shelf, implicit, len(explicit), mode, keep_top)
    candidates = [choice.forms for choice in (*explicit, *implicit)]
    omitted: list[Omitted] = []
    for rank, forms in enumerate(candidates):
        if not shelf.holds(rank):
            reason = shelf.reasons.get(rank, _OVER)
            full = forms.full() if reason != ALREADY_INCLUDED and len(omitted) < COUNTED else None
            omitted.append(Omitted(forms.item, reason, full.tokens if full else 0))
    kept = [
        Kept(e.block, e.forms, tuple(candidates[r].item for r in sorted(e.ranks)), e.explicit, min(e.ranks))
        for e in shelf.entries
    ]
    return Packed(tuple(_ordered(kept, order)), tuple(omitted), tuple(shelf.trace))


def _ordered(kept: Iterable[Kept], order: Order) -> list[Kept]:
    ranked = sorted(kept, key=lambda k: k.rank)
    if order == "score":
        return ranked
    if order == "reverse":
        return [k for k in ranked if k.explicit] + [k for k in reversed(ranked) if not k.explicit]
    found = [k for k in ranked if not k.explicit]
    place = {path: i for i, path in reversed([*enumerate(k.block.item.path for k in found)])}
    found.sort(key=lambda k: (place[k.block.item.path], _first_line(k.block), k.rank))
    return [k for k in ranked if k.explicit] + found


def _first_line(block: Block) -> int:
    return block.spans[0].start if block.spans else block.item.span.start


# ---------------------------------------------------------------- the shelf


class _Entry:
    """A block that is or may be kept, for the candidates `ranks`; a higher `tier` is a better form of them."""

    __slots__ = ("block", "explicit", "forms", "ranks", "tier")

    def __init__(self, tier: int, block: Block, forms: Forms, ranks: set[int], explicit: bool) -> None:
        self.tier = tier
        self.block = block
        self.forms = forms
        self.ranks = ranks
        self.explicit = explicit

    @property
    def worth(self) -> tuple[int, int, int]:
        return (self.tier, _lines(self.block), self.block.tokens)


class _Shelf:
    """What has been kept so far.  Lives as long as one call of `pack`."""

    __slots__ = ("by_file", "entries", "reasons", "rest", "room", "trace")

    def __init__(self, room: int, by_file: bool = False) -> None:
        self.rest = min(MOST_REST, max(LEAST_REST, int(room * REST_SHARE)))
        self.by_file = by_file  # whether what was found in one file stands in one block
        self.entries: list[_Entry] = []
        self.room = room
        self.reasons: dict[int, str] = {}  # why a candidate is not on the shelf, other than for want of room
        self.trace: list[str] = []

    def shown(self, path: str) -> list[Span]:
        return sorted(span for e in self.entries if e.block.item.path == path for span in e.block.spans)

    def unseen(self, forms: Forms) -> list[Span]:
        """The lines of an item that are not shown yet."""
        return _minus(forms.whole(), self.shown(forms.item.path))

    def holds(self, rank: int) -> bool:
        return any(rank in e.ranks for e in self.entries)

    def put(self, entry: _Entry, room: int) -> bool:
        """Keep an entry if it fits into `room`, joined with its neighbours if it can be.

        Lines that are shown already are not shown again.  False if it does not fit or nothing of it is left.
        """
        room = min(room, self.room)
        spans = entry.block.spans
        left = _minus(spans, self.shown(entry.block.item.path))
        if left == list(spans) and entry.block.tokens - entry.forms.heading_allowance() > room:
            return False  # nor would it fit beside its neighbours, under their header
        near = [e for e in self.entries if _touch(e, entry)]
        if near and self._join(near, entry, room):
            return True
        beside = [e for e in self.entries if _beside(e, entry)] if self.by_file else []
        if beside and self._join(beside, entry, room):
            return True
        if spans and not left:
            return False
        if left != list(spans):
            entry.block = entry.forms.lines(left)
        if entry.block.tokens > room:
            return False
        self._keep(entry)
        return True

    def _join(self, near: list[_Entry], new: _Entry, room: int) -> bool:
        """Replace `near` and `new` by one block of all their lines, unless that costs more than two."""
        path, spans = new.block.item.path, [span for e in (*near, new) for span in e.block.spans]
        hull = Span(min(s.start for s in spans), max(s.end for s in spans))
        best = min(*near, new, key=lambda e: min(e.ranks))
        owner = next((e.forms for e in (new, *near) if e.forms.whole() == (hull,)), None) or best.forms.at(hull)
        shown = _without_blank_gaps(spans, new.forms.raw)
        block = owner.full() if shown == [hull] else owner.lines(shown, form="full")
        others = [s for e in self.entries if e not in near and e.block.item.path == path for s in e.block.spans]
        if block is None or _minus(spans, block.spans) or any(a.overlaps(b) for a in block.spans for b in others):
            return False
        before = sum(e.block.tokens for e in near)
        overlap = sum(map(len, spans)) > sum(map(len, block.spans))
        if block.tokens - before > room or (not overlap and block.tokens > before + new.block.tokens):
            return False
        for entry in near:
            self.drop(entry)
        self._keep(_Entry(_FULL, block, owner, new.ranks.union(*(e.ranks for e in near)), new.explicit))
        return True

    def absorb(self, rank: int, forms: Forms) -> bool:
        """Let the entry that shows most of an item's lines stand for it.  False unless all of them are shown."""
        item, spans = forms.item, forms.whole()
        same = [e for e in self.entries if e.block.item.path == item.path]
        if spans:
            if self.unseen(forms):
                return False
            min(same, key=lambda e: sum(map(len, _minus(spans, sorted(e.block.spans))))).ranks.add(rank)
            return True
        twin = next((e for e in same if (e.forms.item.span, e.forms.item.kind) == (item.span, item.kind)), None)
        if twin:
            twin.ranks.add(rank)
        return twin is not None

    def raise_(self, entry: _Entry, offers: Callable[[int], Iterable[_Entry | None]]) -> None:
        """Replace an entry by the first of `offers(room)` that is worth more and fits."""
        self.drop(entry)
        for offer in offers(self.room):
            if offer is not None and offer.worth > entry.worth and self.put(offer, self.room):
                return
        self.restore(entry)

    def _keep(self, entry: _Entry) -> None:
        self.restore(entry)
        block = entry.block
        lines = ", ".join(span.label for span in block.spans) or block.item.span.label
        self.trace.append(f"{block.form} {entry.forms.renderer.label(block.item.path)}:{lines} ({block.tokens})")

    def restore(self, entry: _Entry) -> None:
        self.entries.append(entry)
        self.room -= entry.block.tokens

    def drop(self, entry: _Entry) -> None:
        self.entries.remove(entry)
        self.room += entry.block.tokens


def _touch(kept: _Entry, new: _Entry) -> bool:
    """Full blocks of one file that overlap or have only blank lines between them, or one that holds the other."""
    if kept.explicit != new.explicit or kept.block.item.path != new.block.item.path:
        return False
    if kept.block.form != "full" or new.block.form != "full" or not kept.block.spans or not new.block.spans:
        return False
    if len(kept.block.spans) > 1 or len(new.block.spans) > 1:
        return not _minus(kept.block.spans, new.block.spans)
    a, b = sorted((kept.block.spans[0], new.block.spans[0]))
    return a.end >= b.start or not any(map(str.strip, kept.forms.raw[a.end : b.start]))


def _beside(kept: _Entry, new: _Entry) -> bool:
    """Full blocks of one file that nobody asked for: one fence for both costs less than two."""
    return (
        not (kept.explicit or new.explicit)
        and kept.block.item.path == new.block.item.path
        and kept.block.form == new.block.form == "full"
        and bool(kept.block.spans and new.block.spans)
    )


def _without_blank_gaps(spans: Iterable[Span], lines: Sequence[str]) -> list[Span]:
    """The spans in order, joined where they overlap or only blank lines lie between them."""
    out: list[Span] = []
    for span in sorted(spans):
        if out and not any(map(str.strip, lines[out[-1].end : span.start])):
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return out


def _lines(block: Block) -> int:
    return sum(map(len, block.spans))


def _minus(spans: Sequence[Span], taken: Sequence[Span]) -> list[Span]:
    """The parts of `spans` outside `taken` (sorted)."""
    left: list[Span] = []
    for span in spans:
        at = span.start
        for other in taken:
            if other.end <= at or other.start >= span.end:
                continue
            if other.start > at:
                left.append(Span(at, other.start))
            at = max(at, other.end)
        if at < span.end:
            left.append(Span(at, span.end))
    return left


# ---------------------------------------------------------------- what the user asked for

_FULL, _BODIES, _PARTIAL, _OUTLINE, _LITTLE, _REFERENCE = 5, 4, 3, 2, 1, 0


def _place_explicit(shelf: _Shelf, explicit: Sequence[Choice]) -> None:
    lines = [
        _Entry(_REFERENCE, choice.forms.reference(_NO_ROOM), choice.forms, {rank}, True)
        for rank, choice in enumerate(explicit)
    ]
    if sum(entry.block.tokens for entry in lines) > shelf.room:
        for entry in lines:
            shelf.put(entry, shelf.room)
        return
    sizes = [size.tokens if (size := c.forms.full() or c.forms.outline()) else 0 for c in explicit]
    level = _level(sizes, shelf.room)
    waiting = sorted(range(len(explicit)), key=lambda rank: (sizes[rank], rank))
    while waiting:
        rank = waiting.pop(0)
        if shelf.absorb(rank, explicit[rank].forms):
            continue
        reserved = sum(lines[other].block.tokens for other in waiting)
        fair = max(lines[rank].block.tokens, min(shelf.room - reserved, level))
        offers = chain(_offers(explicit[rank], rank, fair), [lines[rank]])
        any(offer is not None and shelf.put(offer, fair) for offer in offers)
    for rank, choice in enumerate(explicit):  # what is left goes to those not shown in full, in mention order
        held = next((e for e in shelf.entries if rank in e.ranks), None)
        if held and held.tier < _FULL and len(held.ranks) == 1:
            shelf.raise_(held, lambda room, choice=choice, rank=rank: _offers(choice, rank, room))  # type: ignore[misc]


def _level(sizes: Sequence[int], room: int) -> int:
    """The most that one may take so that all together take `room`: what water poured over the sizes reaches."""
    for n, size in enumerate(sorted(sizes)):
        if size * (len(sizes) - n) > room:
            return room // (len(sizes) - n)
        room -= size
    return max(sizes, default=0)


def _offers(choice: Choice, rank: int, room: int) -> Iterator[_Entry | None]:
    """The forms of an explicit item that may fit into `room`, best first; the reference line is not among them."""
    forms = choice.forms

    def entry(tier: int, block: Block | None) -> _Entry | None:
        return _Entry(tier, block, forms, {rank}, True) if block else None

    yield entry(_FULL, forms.full())
    if choice.inside and not forms.item.sites:
        yield entry(_BODIES, bodies(forms, choice.inside, room))
    part = forms.partial(room)
    if part is not None and (forms.item.sites or _lines(part) >= PARTIAL_SHARE * sum(map(len, forms.whole()))):
        yield entry(_PARTIAL, part)
    yield entry(_OUTLINE, forms.outline(room))
    yield entry(_LITTLE, forms.signature())
    yield entry(_LITTLE, part)


# ---------------------------------------------------------------- what was found


def _place_best(shelf: _Shelf, implicit: Sequence[Choice], first: int, share: float) -> None:
    high = HIGH * max((choice.forms.item.score for choice in implicit), default=0)
    cap = max(LARGE, int(share * shelf.room))
    last = first + len(implicit) - 1
    for rank, choice in enumerate(implicit, first):
        forms = choice.forms
        if forms.whole() and not shelf.unseen(forms):
            shelf.reasons[rank] = ALREADY_INCLUDED
        elif shelf.room >= shelf.rest:
            room = shelf.room if rank == last else min(cap, shelf.room)
            _put_found(shelf, forms, rank, room, PARTIAL_SHARE, 1, signature=forms.item.score >= high)
    for entry in sorted((e for e in shelf.entries if not e.explicit), key=lambda e: min(e.ranks)):
        if shelf.room >= shelf.rest and entry.tier < _FULL and len(entry.ranks) == 1 and entry in shelf.entries:
            shelf.raise_(entry, lambda room, entry=entry: _more(shelf, entry, room))  # type: ignore[misc]
    for rank, choice in enumerate(implicit, first):
        if shelf.room >= shelf.rest and rank not in shelf.reasons and not shelf.holds(rank):
            _put_found(shelf, choice.forms, rank, shelf.room, FILL_SHARE, FILL_LINES, signature=True)


def _put_found(
    shelf: _Shelf, forms: Forms, rank: int, room: int, least_share: float, least_lines: int, *, signature: bool
) -> bool:
    def put(tier: int, block: Block | None) -> bool:
        return block is not None and shelf.put(_Entry(tier, block, forms, {rank}, False), room)

    if put(_FULL, forms.full()):
        return True
    unseen = shelf.unseen(forms)
    part = forms.partial(room, unseen)
    if part is not None and _lines(part) >= max(least_lines, least_share * sum(map(len, unseen))):
        return put(_PARTIAL, part)
    return signature and (put(_LITTLE, forms.signature()) or put(_OUTLINE, forms.outline(room)))


def _more(shelf: _Shelf, entry: _Entry, room: int) -> Iterator[_Entry | None]:
    forms = entry.forms
    for tier, block in ((_FULL, forms.full()), (_PARTIAL, forms.partial(room, shelf.unseen(forms)))):
        yield _Entry(tier, block, forms, entry.ranks, False) if block else None


def _place_whole(shelf: _Shelf, implicit: Sequence[Choice], first: int, mode: Mode, keep_top: bool) -> None:
    stopped = False
    for rank, choice in enumerate(implicit, first):
        forms, full = choice.forms, choice.forms.full()
        if forms.whole() and not shelf.unseen(forms):
            shelf.reasons[rank] = ALREADY_INCLUDED
        elif stopped:
            shelf.reasons[rank] = "after the first one that did not fit"
        elif full is None or not shelf.put(_Entry(_FULL, full, forms, {rank}, False), shelf.room):
            stopped = mode in ("stop", "cut")
            if mode == "cut" or (keep_top and rank == first):
                _put(shelf, forms.partial(shelf.room, shelf.unseen(forms)), _PARTIAL, forms, rank)
            elif mode == "signature":
                _put(shelf, forms.signature(), _LITTLE, forms, rank)


def _put(shelf: _Shelf, block: Block | None, tier: int, forms: Forms, rank: int) -> None:
    if block is not None:
        shelf.put(_Entry(tier, block, forms, {rank}, False), shelf.room)

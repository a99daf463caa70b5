"""Stages between what was found and what is packed; each is a function of a ranked list.

A stage drops or reorders, and leaves a reason in what it drops.  Scores are made in `context.retrieval` and
`scoring`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Item
from promptls.prompt.scoring.region import Region, by_score


class Dropped(Struct, frozen=True):
    """An item that a stage took out, and why."""

    item: Item
    reason: str


Stage = tuple[list[Region], list[Dropped]]


def above_threshold(items: Sequence[Item], threshold: float, relative: float = 0.0) -> tuple[list[Item], list[Dropped]]:
    """Items with at least this score, and at least this share of the best one's."""
    least = max(threshold, relative * max((item.score for item in items), default=0.0))
    kept = [item for item in items if item.score >= least]
    return kept, [Dropped(i, f"score {_shown(i.score)} is below {_shown(least)}") for i in items if i.score < least]


# ---------------------------------------------------------------- each thing once


def _shown(score: float) -> str:
    return f"{score:.2g}" if score >= 0.0001 else "0.0000"


def first_of_each_text(regions: Sequence[Region]) -> Stage:
    """The best region of each text: copies of code in other places add nothing."""
    seen: dict[str, Item] = {}
    kept: list[Region] = []
    dropped: list[Dropped] = []
    for region in regions:
        first = seen.setdefault(region.text.strip(), region.item)
        if first is region.item:
            kept.append(region)
        else:
            dropped.append(Dropped(region.item, f"the same text as {_place(first)}"))
    return kept, dropped


def first_of_each_line(regions: Sequence[Region]) -> Stage:
    """CodeBuddy: of regions that begin at one line of one file, the one with the higher score."""
    return _against_kept(regions, lambda a, b: a.span.start == b.span.start, "begins where {} begins")


def without_overlaps(regions: Sequence[Region]) -> Stage:
    """prompto: of regions of one file with a line in common, the one with the higher score; of equals the earlier."""
    ordered = sorted(regions, key=lambda r: (-r.item.score, r.item.span.start))
    kept, dropped = _against_kept(ordered, lambda a, b: a.span.overlaps(b.span), "overlaps {}")
    names = {id(r) for r in kept}
    return [r for r in regions if id(r) in names], dropped


def largest_of_each(regions: Sequence[Region]) -> Stage:
    """Cody: a region that lies within another one is dropped, whichever has the higher score."""
    kept: list[Region] = []
    dropped: list[Dropped] = []
    for i, region in enumerate(regions):
        item = region.item
        around = next(
            (
                other.item
                for j, other in enumerate(regions)
                if other.item.path == item.path
                and other.item.span.contains(item.span)
                and (other.item.span != item.span or j < i)
            ),
            None,
        )
        if around is None:
            kept.append(region)
        else:
            dropped.append(Dropped(item, f"is part of {_place(around)}"))
    return kept, dropped


def _against_kept(regions: Sequence[Region], same: Callable[[Item, Item], bool], reason: str) -> Stage:
    kept: list[Region] = []
    dropped: list[Dropped] = []
    for region in regions:
        item = region.item
        first = next((k.item for k in kept if k.item.path == item.path and same(k.item, item)), None)
        if first is None:
            kept.append(region)
        else:
            dropped.append(Dropped(item, reason.format(_place(first))))
    return kept, dropped


def _place(item: Item) -> str:
    return f"{item.path.rsplit('/', 1)[-1]}:{item.span.label}"


DISTINCT: dict[str, Callable[[Sequence[Region]], Stage]] = {
    "text": first_of_each_text,
    "lines": first_of_each_line,
    "overlap": without_overlaps,
    "containment": largest_of_each,
}


# ---------------------------------------------------------------- other orders


def jaccard(a: Collection[str], b: Collection[str]) -> float:
    """|a ∩ b| / |a ∪ b| of two sets of words, 0 for two empty ones."""
    one, two = set(a), set(b)
    return len(one & two) / len(one | two) if one or two else 0.0


def _words(region: Region) -> frozenset[str]:
    return frozenset(region.text.lower().split())


def _places(region: Region) -> frozenset[str]:
    """A region's file and the definitions around it."""
    parts = region.item.symbol.split(".")[:-1]
    return frozenset([region.item.path, *(".".join(parts[: n + 1]) for n in range(len(parts)))])


ALIKE: dict[str, Callable[[Region], frozenset[str]]] = {"words": _words, "place": _places}
"""What two regions are compared by: the words of their texts, or their file and enclosing definitions."""


def diverse(regions: Sequence[Region], balance: float = 0.7, alike: str = "words") -> list[Region]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998): λ·score − (1 − λ)·likeness to what is chosen.

    CodeBuddy: λ 0.7, likeness by Jaccard on words.  Nothing is dropped, only the order changes.
    """
    left = [(r, ALIKE[alike](r)) for r in regions]
    chosen: list[Region] = []
    nearest = [0.0] * len(left)
    while left:
        best = max(range(len(left)), key=lambda i: (balance * left[i][0].item.score - (1 - balance) * nearest[i], -i))
        region, found = left.pop(best)
        nearest.pop(best)
        chosen.append(region)
        nearest = [max(n, jaccard(found, other)) for n, (_, other) in zip(nearest, left, strict=True)]
    return chosen


def by_worth(regions: Sequence[Region], thrift: float) -> list[Region]:
    """What is worth most for its room first: ln(p / (1 - p)) - thrift · ln(lines + 4), with the score as p.

    A budget is filled best by value per token (the greedy rule of the knapsack problem, Dantzig 1957), but long
    regions hold more of an answer, too: the exponent was found on development questions.  Scores stay.
    """

    def worth(region: Region) -> float:
        p = min(max(region.item.score, 1e-6), 1 - 1e-6)
        return math.log(p / (1 - p)) - thrift * math.log(len(region.item.span) + 4)

    return sorted(regions, key=worth, reverse=True)


def decayed(regions: Sequence[Region], half_life_days: float) -> list[Region]:
    """CodeBuddy's temporal decay: a score halves every `half_life_days` of age; unknown ages keep theirs."""
    out = []
    for region in regions:
        age, item = region.age_days, region.item
        if age is not None and age > 0:
            factor = math.exp(-math.log(2) * age / half_life_days)
            reasons = {**item.reasons, "age": round(item.score * (factor - 1), 4)}
            region = replace(region, item=replace(item, score=item.score * factor, reasons=reasons))
        out.append(region)
    return sorted(out, key=by_score)

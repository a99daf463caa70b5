"""Stages between what was found and what is packed; each is a function of a ranked list.

A stage drops or reorders, and leaves a reason in what it drops; scores are made in `context.retrieval`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from promptls.model import Item


class Dropped(Struct, frozen=True):
    """An item that a stage took out, and why."""

    item: Item
    reason: str


def above_threshold(items: Sequence[Item], threshold: float) -> tuple[list[Item], list[Dropped]]:
    """Items with at least this score."""
    kept = [item for item in items if item.score >= threshold]
    dropped = [Dropped(i, f"score {i.score:.2f} is below {threshold:.2f}") for i in items if i.score < threshold]
    return kept, dropped


def first_of_each_text(items: Sequence[Item], texts: Sequence[str]) -> tuple[list[Item], list[Dropped]]:
    """The best item of each text: copies of code in other places add nothing.  `texts` goes with `items`."""
    seen: dict[str, Item] = {}
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for item, text in zip(items, texts, strict=True):
        first = seen.setdefault(text.strip(), item)
        if first is item:
            kept.append(item)
        else:
            dropped.append(Dropped(item, f"the same text as {first.path.rsplit('/', 1)[-1]}:{first.span.label}"))
    return kept, dropped

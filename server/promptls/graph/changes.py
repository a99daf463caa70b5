"""How much a change of a file changes the architecture.

Understand-Anything's rule: only what a file defines, imports and exports is structure; the rest is cosmetic.
Pure functions of outlines.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from promptls.model import AnyOutline, Symbol

Change = Literal["none", "cosmetic", "structural"]
Update = Literal["skip", "partial", "architecture", "full"]

GROWN, SHRUNK = 1.5, 0.5
"""A definition whose number of lines changes by more than these factors has changed in structure."""

MANY, MOST, HALF = 10, 30, 0.5
"""Structural changes above which the architecture, or everything, is looked at again."""


def change_class(old: AnyOutline | None, new: AnyOutline | None, same_text: bool = False) -> Change:
    """The class of a change of one file, None standing for a file that is not there or not outlined.

    Without a grammar, or where the outline is not complete, nothing is known, so any change is structural.
    """
    if same_text or (old is None and new is None):
        return "none"
    if old is None or new is None:
        return "structural"
    if old == new:
        return "none" if same_text else "cosmetic"
    if not _known(old) or not _known(new):
        return "structural"
    if {(i.module, i.names) for i in old.imports} != {(i.module, i.names) for i in new.imports}:
        return "structural"
    before, after = [s for s in old.symbols if s.name], [s for s in new.symbols if s.name]
    if sorted(map(_shape, before)) != sorted(map(_shape, after)):
        return "structural"
    for one, two in zip(sorted(before, key=_shape), sorted(after, key=_shape), strict=True):
        ratio = len(two.span) / max(1, len(one.span))
        if ratio > GROWN or ratio < SHRUNK:
            return "structural"
    return "cosmetic"


def _known(outline: AnyOutline) -> bool:
    return not outline.problem and bool(outline.symbols)


def _shape(symbol: Symbol) -> tuple[str, str, str, bool]:
    return symbol.qualified, symbol.kind, symbol.signature, symbol.exported


def update_for(changes: Iterable[tuple[str, Change]], total: int, folders: Iterable[str] = ()) -> Update:
    """What a set of changes, (label, class) each, asks for in a workspace of `total` files.

    No structural change: skip.  More than MOST, or than HALF of all files: full.  More than MANY, or a top folder
    that is new or gone (`folders`): architecture.  Else partial.
    """
    structural = sum(1 for _, change in changes if change == "structural")
    if structural == 0:
        return "skip"
    if structural > MOST or structural > HALF * total:
        return "full"
    if structural > MANY or any(True for _ in folders):
        return "architecture"
    return "partial"


def moved_folders(before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    """Top folders that are in only one of two sets of labels."""
    moved = {_top(label) for label in before} ^ {_top(label) for label in after}
    return tuple(sorted(moved - {""}))


def _top(label: str) -> str:
    return label.partition("/")[0] if "/" in label else ""

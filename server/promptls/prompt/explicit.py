"""What the user asked for by name: mentions, the selection, the document in front; and what became of it.

Explicit context goes before anything that was found.  A folder stands for itself (its outline); its files are
asked for only through it, so they compete with what was found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.index.snapshot import is_exhibit
from promptls.mentions.context import Request
from promptls.mentions.resolve import items as items_of
from promptls.mentions.resolve import resolve_all
from promptls.model import Item, MentionOutcome, MentionStatus, Origin, Problem, Span, TextView
from promptls.prompt.assemble import Assembled, Placed
from promptls.prompt.pack import Choice
from promptls.prompt.render import Renderer, forms

INSIDE = 12
"""Definitions of a mentioned file that may stand for it when it does not fit."""
FOLDER_FILES = 40
"""Files of a mentioned folder whose outlines are listed."""

_HERE = re.compile(r"\b(?:this|current|active) (?:file|document|module|buffer|class|function)\b|\bhere\b", re.I)


def in_front(message: str, request: Request) -> tuple[list[Item], list[str]]:
    """The selection, or the active document if the message points at it; and a sentence on lines that have gone."""
    client, files = request.client, request.snapshot.files
    gone: list[str] = []
    if client.selection is not None and client.selection[0] in files:
        path, span = client.selection
        view = request.sources.read(path, explicit=True)
        if isinstance(view, Problem) or span.start < len(view.lines):
            return [_named(Item(path, span, "text", Origin.SELECTION, 1.0), request)], []
        place = f"{request.snapshot.label(path)}:{span.label}"
        gone = [f"The selected lines {place} are no longer in the file; select them again."]
    if client.active in files and _HERE.search(message):
        return [Item(client.active, Span(0, 1 << 30), "file", Origin.ACTIVE, 1.0)], gone
    return [], gone


def brought(mentions: Sequence[str], request: Request, first: int) -> tuple[list[Item], list[str]]:
    """What the mentions of a recipe bring, and a sentence for each that brings nothing.

    They are counted on from `first`, the number of mentions in the message.
    """
    items: list[Item] = []
    warnings: list[str] = []
    for text in mentions:
        outcomes = resolve_all(text, request)
        found = [replace(item, mention=first + item.mention) for item in items_of(outcomes)]
        first += len(outcomes)
        items += found
        if not found:
            why = next((o.reason for o in outcomes if o.reason), "there is no such kind of mention.")
            warnings.append(f"The recipe asks for {text}: {why}")
    return items, warnings


def _named(item: Item, request: Request) -> Item:
    """The item with the name of the innermost definition around it."""
    entry = request.snapshot.files.get(item.path)
    around = [s for s in (entry.outline.symbols if entry and entry.outline else ()) if s.span.contains(item.span)]
    if not around:
        return item
    innermost = min(around, key=lambda s: len(s.span))
    return replace(item, symbol=innermost.qualified, kind=innermost.kind if innermost.span == item.span else item.kind)


def alone(asked: Sequence[Item]) -> list[Item]:
    """What is asked for by itself, folders and groups included, and not only as a part of one."""
    folders = {(i.path, i.mention) for i in asked if i.kind == "folder"}
    groups = {mention for path, mention in folders if is_exhibit(path)}

    def inside(item: Item) -> bool:
        return item.mention in groups or any(m == item.mention and item.path.startswith(f + "/") for f, m in folders)

    return [i for i in asked if i.kind == "folder" or not inside(i)]


def choices(
    asked: Sequence[Item], found: Sequence[Item], request: Request, renderer: Renderer
) -> tuple[list[Choice], dict[tuple[str, Span], str]]:
    """Choices for what was asked for, in order, and why some of it cannot be shown.

    `found` are regions by rank; those inside of something asked for may stand for it.
    """
    out: list[Choice] = []
    problems: dict[tuple[str, Span], str] = {}
    for item in alone(asked):
        request.token.check()
        if item.kind == "folder":
            files = _files_of(item, asked, found)
            views = [v for p in files if isinstance(v := request.sources.read(p), TextView)]
            out.append(Choice(forms(item, views, renderer)))
            continue
        view = request.sources.read(item.path, explicit=True)
        if isinstance(view, Problem):
            problems[item.path, item.span] = view.message
            continue
        inside = [i for i in found if i.path == item.path and item.span.contains(i.span)][:INSIDE]
        kept = [in_view(i, view, request) for i in inside]
        out.append(Choice(forms(item, view, renderer), tuple(forms(i, view, renderer) for i in kept if i)))
    return out, problems


def _files_of(folder: Item, asked: Sequence[Item], found: Sequence[Item]) -> list[str]:
    """Files of a folder or group: those with the best regions first, then in the order of the mention."""
    if is_exhibit(folder.path):
        held = {i.path for i in asked if i.mention == folder.mention}
        inside = [i.path for i in (*found, *asked) if i.path in held and i.kind != "folder"]
    else:
        inside = [i.path for i in (*found, *asked) if i.kind != "folder" and i.path.startswith(folder.path + "/")]
    return list(dict.fromkeys(inside))[:FOLDER_FILES]


def in_view(item: Item, view: TextView, request: Request) -> Item | None:
    """The item in the text as it is now: the definition of the same name if the file has changed."""
    entry = request.snapshot.files.get(item.path)
    if entry is not None and entry.digest == view.entry.digest:
        return item
    outline = view.entry.outline
    same = [s for s in outline.symbols if s.qualified == item.symbol] if outline and item.symbol else []
    return replace(item, span=same[0].span) if same else None


# ---------------------------------------------------------------- what became of it


def outcome_of(outcome: MentionOutcome, assembled: Assembled, problems: dict[tuple[str, Span], str]) -> MentionOutcome:
    """A mention's outcome with what became of its targets in the prompt."""
    if outcome.status not in ("included", "partial") or not outcome.targets:
        return outcome
    folder = next((t for t in outcome.targets if t.kind == "folder"), None)
    targets = [folder] if folder is not None else list(outcome.targets)
    placed = [p for p in assembled.items if any(_same(t, s) for t in targets for s in p.sources)]
    shown = [t for t in targets if any(_same(t, s) for p in placed for s in p.sources)]
    missing = [problems[t.path, t.span] for t in targets if (t.path, t.span) in problems]
    reason = outcome.reason
    status: MentionStatus = "included"
    if not shown:
        status = "omitted"
        reason = missing[0] if missing else "The budget leaves no room for it."
    elif len(shown) < len(targets) or any(_reduced(p) for p in placed):
        status = "partial"
        what = sorted({p.block.form for p in placed if _reduced(p)})
        why = (
            f"The budget allows {' and '.join(_FORM_WORDS[f] for f in what)}."
            if what
            else "Not all of it could be shown."
        )
        reason = f"{reason} {why}".strip()
    return replace(outcome, status=status, reason=reason, tokens=sum(p.block.tokens for p in placed))


_FORM_WORDS = {
    "partial": "a part of it",
    "signature": "its signature",
    "outline": "an outline of it",
    "reference": "a reference to it",
    "full": "all of it",
}


def _same(a: Item, b: Item) -> bool:
    return (a.path, a.span, a.kind) == (b.path, b.span, b.kind)


def _reduced(placed: Placed) -> bool:
    folder = placed.sources[0].kind == "folder"
    return placed.block.form != "full" and not (folder and placed.block.form == "outline")

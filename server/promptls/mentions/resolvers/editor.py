"""The resolvers of what only the editor knows: "@active", "@selection", "@open", "@diagnostics", "@terminal" and so on.

The client says which documents and lines these are; their text is read like any other.  Items carry the
origin MENTION (SELECTION for lines that are selected), because they were asked for in so many words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.index.snapshot import split_lines
from promptls.mentions.context import Finding, Request
from promptls.mentions.grammar import argument
from promptls.mentions.outcomes import file_outcome, included, region, unresolved
from promptls.mentions.path_lookup import barred, within
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Span

MAX_OPEN = 50
MAX_FINDINGS = 50
SHORT, AROUND = 30, 3
"""Lines up to which a whole definition is shown around a place, and lines around it where there is none."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\r(?=\n)")
"""Colours and titles, as terminals are told them (ECMA-48)."""


def resolve_active(mention: Mention, request: Request) -> MentionOutcome:
    """The document in front of the user."""
    if not request.client.active:
        return unresolved(mention, "The editor has not said which document is active.")
    return file_outcome(mention, request, request.client.active)


def resolve_selection(mention: Mention, request: Request) -> MentionOutcome:
    """The selected lines."""
    if request.client.selection is None or not len(request.client.selection[1]):
        return unresolved(mention, "Nothing is selected in the editor.")
    path, span = request.client.selection
    whole = file_outcome(mention, request, path)
    if whole.status != "included":
        return whole
    view = request.sources.read(path, explicit=True)
    outline = None if isinstance(view, Problem) else view.entry.outline
    count = whole.targets[0].span.end
    if span.start >= count:
        return unresolved(mention, "The selected lines are no longer in the file.")
    return included(mention, [region(path, Span(span.start, min(span.end, count)), outline, Origin.SELECTION)])


def resolve_open(mention: Mention, request: Request) -> MentionOutcome:
    """All documents that are open in the editor."""
    snapshot = request.snapshot
    paths = request.client.open or tuple(path for path in snapshot.documents if path in snapshot.files)
    if not paths:
        return unresolved(mention, "No document of the workspace is open in the editor.")
    return _documents(mention, request, paths, "open")


def resolve_visible(mention: Mention, request: Request) -> MentionOutcome:
    """The documents that can be seen."""
    if not request.client.visible:
        return unresolved(mention, "The editor has not said which documents can be seen.")
    return _documents(mention, request, request.client.visible, "visible")


def _documents(mention: Mention, request: Request, paths: Sequence[str], what: str) -> MentionOutcome:
    items: list[Item] = []
    notes: list[str] = []
    for path in dict.fromkeys(paths[:MAX_OPEN]):
        request.token.check()
        why = barred(request, path)
        view = request.sources.read(path, explicit=True)
        if why or isinstance(view, Problem):
            notes.append(why or f"{request.snapshot.label(path)} has no text to show.")
            continue
        items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if len(paths) > MAX_OPEN:
        notes.append(f"{len(paths) - MAX_OPEN} more {what} documents are left out.")
    if not items:
        return MentionOutcome(mention, "omitted", reason=" ".join(notes))
    return included(mention, items, " ".join(notes))


def resolve_diagnostics(mention: Mention, request: Request) -> MentionOutcome:
    """What the editor shows as wrong: a list, and the code that it is about."""
    found = request.client.diagnostics
    if not found:
        return unresolved(mention, "The editor shows no problems, or has not told of them.")
    worst = {"errors": 1, "error": 1, "warnings": 2, "warning": 2}.get(mention.target, 4)
    if mention.target and worst == 4:
        paths = within(request, argument(mention))
        found = tuple(one for one in found if one.path in paths)
        if not found:
            return unresolved(mention, f'The editor shows no problems in "{argument(mention)}".')
    shown = sorted((f for f in found if (f.severity or 4) <= worst), key=lambda f: (f.severity or 4, f.path, f.span))
    if not shown:
        return unresolved(mention, f"The editor shows no {mention.target}.")
    shown = [one for one in shown if not barred(request, one.path)][:MAX_FINDINGS]
    label = request.snapshot.label
    lines = [f"{label(f.path)}:{f.span.label}: {_severity(f)}{_told(f)}" for f in shown]
    items = [_exhibit(request, "diagnostics", "\n".join(lines), "diagnostics")]
    for one in shown:
        items += _around(request, one.path, one.span)
    count = "1 problem" if len(shown) == 1 else f"{len(shown)} problems"
    return included(mention, _distinct(items), f"{count}.")


def _severity(finding: Finding) -> str:
    return {1: "error: ", 2: "warning: ", 3: "information: ", 4: "hint: "}.get(finding.severity, "")


def _told(finding: Finding) -> str:
    by = " ".join(filter(None, (finding.source, finding.code)))
    return " ".join(finding.message.split()) + (f" [{by}]" if by else "")


def _around(request: Request, path: str, span: Span) -> list[Item]:
    """The short definition around a place, else a few lines."""
    view = request.sources.read(path, explicit=True)
    if isinstance(view, Problem):
        return []
    count, outline = len(view.lines), view.entry.outline
    span = Span(min(span.start, max(0, count - 1)), min(span.end, count))
    around = [s for s in (outline.symbols if outline is not None else ()) if s.name and s.span.contains(span)]
    short = [s for s in around if len(s.span) <= SHORT]
    if short:
        symbol = max(short, key=lambda s: len(s.span))
        return [Item(path, symbol.span, symbol.kind, Origin.MENTION, 1.0, symbol.qualified)]
    lines = Span(max(0, span.start - AROUND), min(count, span.end + AROUND))
    return [Item(path, lines, "text", Origin.MENTION, 1.0)]


def resolve_quickfix(mention: Mention, request: Request) -> MentionOutcome:
    """The places of the editor's list, with the code around them."""
    places = [(p, s) for p, s in request.client.quickfix if not barred(request, p)]
    if not places:
        return unresolved(mention, "The editor's list of places is empty, or it has not told of it.")
    items = [item for path, span in places[:MAX_FINDINGS] for item in _around(request, path, span)]
    return included(mention, _distinct(items), f"{len(places)} places.")


def _distinct(items: Sequence[Item]) -> list[Item]:
    return list({(item.path, item.span): item for item in items}.values())


def resolve_terminal(mention: Mention, request: Request) -> MentionOutcome:
    """The last output of the terminal."""
    text = _ESCAPES.sub("", request.client.terminal).strip("\n")
    if not text.strip():
        return unresolved(mention, "The editor has told nothing of a terminal.")
    lines = text.split("\n")
    kept = lines[-int(mention.target) :] if mention.target.isdecimal() and int(mention.target) else lines
    return included(mention, [_exhibit(request, "terminal", "\n".join(kept), "terminal")])


def resolve_clipboard(mention: Mention, request: Request) -> MentionOutcome:
    """The clipboard."""
    if not request.client.clipboard.strip():
        return unresolved(mention, "The clipboard is empty, or the editor has not told of it.")
    return included(mention, [_exhibit(request, "clipboard", request.client.clipboard, "clipboard")])


def resolve_history(mention: Mention, request: Request) -> MentionOutcome:
    """Earlier turns of the conversation."""
    turns = request.client.history
    if not turns:
        return unresolved(mention, "There are no earlier turns, or the editor has not told of them.")
    kept = turns[-int(mention.target) :] if mention.target.isdecimal() and int(mention.target) else turns
    text = "\n\n".join(f"{role}: {content}" for role, content in kept)
    return included(mention, [_exhibit(request, "history", text, "history")], f"{len(kept)} turns.")


def _exhibit(request: Request, name: str, text: str, kind: str) -> Item:
    path = request.sources.exhibit(name, text)
    return Item(path, Span(0, len(split_lines(text))), kind, Origin.MENTION, 1.0)

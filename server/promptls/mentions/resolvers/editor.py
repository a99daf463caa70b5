"""Resolvers of editor state: "@active", "@selection", "@open", "@diagnostics", "@terminal" and others.

The client reports which documents and lines these are; text is read like that of any other file.  Items have the
origin MENTION (SELECTION for selected lines).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.mentions.context import EditorDiagnostic, ResolveContext
from promptls.mentions.outcomes import (
    empty,
    file_outcome,
    included,
    item_around,
    item_for_lines,
    unresolved,
    virtual_item,
)
from promptls.mentions.path_lookup import access_denied_reason, files_in_scope
from promptls.mentions.syntax.grammar import full_argument
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Span
from promptls.util.text.display import plural

MAX_OPEN_DOCUMENTS = 50
"""Maximum number of documents of "@open" and "@visible"."""

MAX_LOCATIONS = 50
"""Maximum number of diagnostics or quickfix locations."""

CONTEXT_LINES = 3
"""Lines shown before and after a location outside of short definitions."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\r(?=\n)")
"""Terminal escape sequences for colors and titles (ECMA-48)."""

_SEVERITY_LABELS = {1: "error: ", 2: "warning: ", 3: "information: ", 4: "hint: "}
_SEVERITY_BY_NAME = {"errors": 1, "error": 1, "warnings": 2, "warning": 2}
_LEAST_SEVERE = 4


def resolve_active(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@active" to the active document."""
    if not context.client.active_document:
        return empty(mention, "The editor did not report an active document.")
    return file_outcome(mention, context, context.client.active_document)


def resolve_selection(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@selection" to the selected lines."""
    if context.client.selection is None or not len(context.client.selection[1]):
        return empty(mention, "Nothing is selected in the editor.")
    path, span = context.client.selection
    whole_file = file_outcome(mention, context, path)
    if whole_file.status != "included":
        return whole_file
    view = context.sources.read(path, explicit=True)
    outline = None if isinstance(view, Problem) else view.entry.outline
    count = whole_file.targets[0].span.end
    if span.start >= count:
        return empty(mention, "The selected lines were deleted from the file.")
    lines = Span(span.start, min(span.end, count))
    return included(mention, [item_for_lines(path, lines, outline, Origin.SELECTION)])


def resolve_open(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@open" to all documents open in the editor."""
    if not context.client.open_documents:
        return empty(mention, "No document is open in the editor.")
    return _documents_outcome(mention, context, context.client.open_documents, "open")


def resolve_visible(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@visible" to the documents visible in the editor."""
    if not context.client.visible_documents:
        return empty(mention, "The editor did not report its visible documents.")
    return _documents_outcome(mention, context, context.client.visible_documents, "visible")


def resolve_diagnostics(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@diagnostics" to a list of diagnostics and the code they refer to."""
    diagnostics = context.client.diagnostics
    if not diagnostics:
        return empty(mention, "The editor reports no problems.")
    max_severity = _SEVERITY_BY_NAME.get(mention.target, _LEAST_SEVERE)
    if mention.target and max_severity == _LEAST_SEVERE:
        paths = files_in_scope(context, full_argument(mention))
        if not paths:
            return unresolved(mention, f'"{full_argument(mention)}" is not a file or folder of the workspace.')
        diagnostics = tuple(diagnostic for diagnostic in diagnostics if diagnostic.path in paths)
        if not diagnostics:
            return empty(mention, f'The editor reports no problems in "{full_argument(mention)}".')
    shown = sorted(
        (d for d in diagnostics if (d.severity or _LEAST_SEVERE) <= max_severity),
        key=lambda d: (d.severity or _LEAST_SEVERE, d.path, d.span),
    )
    if not shown:
        return empty(mention, f"The editor reports no {mention.target}.")
    shown = [d for d in shown if not access_denied_reason(context, d.path)][:MAX_LOCATIONS]
    label = context.snapshot.label
    lines = [
        f"{label(d.path)}:{d.span.label}: {_SEVERITY_LABELS.get(d.severity, '')}{_format_message(d)}" for d in shown
    ]
    items = [virtual_item(context, "diagnostics", "\n".join(lines), "diagnostics")]
    for diagnostic in shown:
        items += _items_around(context, diagnostic.path, diagnostic.span)
    return included(mention, _distinct(items), f"{plural(len(shown), 'diagnostic')}.")


def resolve_quickfix(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@quickfix" to the locations of the quickfix list, with the surrounding code."""
    locations = [(p, s) for p, s in context.client.quickfix if not access_denied_reason(context, p)]
    if not locations:
        return empty(mention, "The quickfix list is empty, or the editor did not report it.")
    items = [item for path, span in locations[:MAX_LOCATIONS] for item in _items_around(context, path, span)]
    return included(mention, _distinct(items), f"{plural(len(locations), 'location')}.")


def resolve_terminal(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@terminal" to the latest terminal output, or to its last lines."""
    text = _ESCAPES.sub("", context.client.terminal).strip("\n")
    if not text.strip():
        return empty(mention, "The editor did not provide any terminal output.")
    lines = text.split("\n")[-_count_argument(mention) :]
    return included(mention, [virtual_item(context, "terminal", "\n".join(lines), "terminal")])


def resolve_clipboard(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@clipboard" to the content of the clipboard."""
    if not context.client.clipboard.strip():
        return empty(mention, "The clipboard is empty, or the editor did not report it.")
    return included(mention, [virtual_item(context, "clipboard", context.client.clipboard, "clipboard")])


def resolve_history(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@history" to earlier turns of the conversation, or to the last few."""
    if not context.client.history:
        return empty(mention, "The conversation has no earlier turns, or the editor did not report them.")
    turns = context.client.history[-_count_argument(mention) :]
    text = "\n\n".join(f"{role}: {content}" for role, content in turns)
    item = virtual_item(context, "history", text, "history")
    item = replace(item, call_sites=(text.count("\n"),))  # of too many turns, the end is shown
    return included(mention, [item], f"{plural(len(turns), 'turn')}.")


def _documents_outcome(
    mention: Mention, context: ResolveContext, paths: Sequence[str], adjective: str
) -> MentionOutcome:
    items: list[Item] = []
    notes: list[str] = []
    for path in dict.fromkeys(paths[:MAX_OPEN_DOCUMENTS]):
        context.token.check()
        denied = access_denied_reason(context, path)
        view = context.sources.read(path, explicit=True)
        if denied or isinstance(view, Problem):
            notes.append(denied or f"Cannot read {context.snapshot.label(path)}.")
            continue
        items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if len(paths) > MAX_OPEN_DOCUMENTS:
        notes.append(f"Omitted {plural(len(paths) - MAX_OPEN_DOCUMENTS, f'more {adjective} document')}.")
    if not items:
        return MentionOutcome(mention, "omitted", reason=" ".join(notes))
    return included(mention, items, " ".join(notes))


def _format_message(diagnostic: EditorDiagnostic) -> str:
    origin = " ".join(filter(None, (diagnostic.source, diagnostic.code)))
    return " ".join(diagnostic.message.split()) + (f" [{origin}]" if origin else "")


def _items_around(context: ResolveContext, path: str, span: Span) -> list[Item]:
    view = context.sources.read(path, explicit=True)
    return [] if isinstance(view, Problem) else [item_around(view, span, CONTEXT_LINES)]


def _distinct(items: Sequence[Item]) -> list[Item]:
    return list({(item.path, item.span): item for item in items}.values())


def _count_argument(mention: Mention) -> int:
    """Return the number in the argument, or 0 for everything."""
    return int(mention.target) if mention.target.isdecimal() else 0

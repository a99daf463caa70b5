"""The resolvers of what stands in front of the user: "@active", "@selection", "@open".

The client says which documents and lines these are; their text is read like any other.  Items carry the
origin MENTION (SELECTION for lines that are selected), because they were asked for in so many words.
"""

from __future__ import annotations

from promptls.context.mentions.lookup import barred
from promptls.context.mentions.outcomes import file_outcome, included, region, unresolved
from promptls.context.mentions.request import Request
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Span

MAX_OPEN = 50


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
    items: list[Item] = []
    notes: list[str] = []
    for path in dict.fromkeys(paths[:MAX_OPEN]):
        request.token.check()
        why = barred(request, path)
        view = request.sources.read(path, explicit=True)
        if why or isinstance(view, Problem):
            notes.append(why or f"{snapshot.label(path)} has no text to show.")
            continue
        items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if len(paths) > MAX_OPEN:
        notes.append(f"{len(paths) - MAX_OPEN} more open documents are left out.")
    if not items:
        return MentionOutcome(mention, "omitted", reason=" ".join(notes))
    return included(mention, items, " ".join(notes))

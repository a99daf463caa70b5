"""Constructors of mention outcomes: included, empty, unresolved, refused, ambiguous, and the outcome for one file.

Reasons are messages to users: paths are labels, lines are 1-based and inclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from promptls.index import split_lines
from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import access_denied_reason, mention_for, sort_by_proximity
from promptls.mentions.syntax.grammar import LAST_LINE
from promptls.model import AnyOutline, FileText, Item, Mention, MentionOutcome, Origin, Problem, Span
from promptls.util.text.display import plural

MAX_CANDIDATES = 20
"""Maximum number of candidates in an ambiguous outcome; keeps the list readable in a menu."""

MAX_SUGGESTED_LINES = 20
"""Maximum length of the span suggested for lines after the end of a file."""

MAX_DEFINITION_LINES = 30
"""Length up to which the whole definition around a location is shown."""


def included(mention: Mention, targets: Iterable[Item], reason: str = "") -> MentionOutcome:
    """Return the outcome for a mention that resolves to items."""
    return MentionOutcome(mention, "included", tuple(targets), reason=reason)


def unresolved(mention: Mention, reason: str, suggestion: str = "") -> MentionOutcome:
    """Return the outcome for a mention without a target."""
    return MentionOutcome(mention, "unresolved", reason=reason, suggestion=suggestion)


def empty(mention: Mention, reason: str) -> MentionOutcome:
    """Return the outcome for a mention that is correct but has no content at the moment."""
    return MentionOutcome(mention, "omitted", reason=reason)


def refused(mention: Mention, reason: str) -> MentionOutcome:
    """Return the outcome for a mention whose target is not allowed."""
    return MentionOutcome(mention, "refused", reason=reason)


def ambiguous(mention: Mention, reason: str, candidates: Iterable[str | None]) -> MentionOutcome:
    """Return the outcome for a mention with several possible targets."""
    names = tuple(dict.fromkeys(name for name in candidates if name))
    return MentionOutcome(mention, "ambiguous", candidates=names[:MAX_CANDIDATES], reason=reason)


def ambiguous_paths(
    mention: Mention, context: ResolveContext, paths: Sequence[str], *, folder: bool = False
) -> MentionOutcome:
    """Return the outcome for several matching paths; candidates near the active document come first."""
    snapshot = context.snapshot
    names = [
        mention_for(snapshot, path, folder=folder, lines=None if folder else mention.lines)
        for path in sort_by_proximity(context, paths)
    ]
    noun = "folders" if folder else "files"
    return ambiguous(mention, f"{len(names)} {noun} match {mention.text}; choose one.", names)


def file_outcome(
    mention: Mention, context: ResolveContext, path: str, reason: str = "", origin: Origin = Origin.MENTION
) -> MentionOutcome:
    """Return the outcome for one file or for the mentioned lines of it.

    The outcome is refused if access is denied, and omitted if the file has no text or not that many lines.
    """
    label = context.snapshot.label(path)
    denied = access_denied_reason(context, path)
    if denied:
        return refused(mention, denied)
    view = context.sources.read(path, explicit=True)
    if isinstance(view, Problem):
        return MentionOutcome(mention, "omitted", reason=f"Cannot read {label}: {view.message}.")
    count, entry = len(view.lines), context.snapshot.files.get(path)
    if entry is not None and entry.skip_reason:
        reason = f"{reason} {label} is not indexed: {entry.skip_reason}.".strip()
    if mention.lines is None:
        return included(mention, [Item(path, Span(0, count), "file", origin, 1.0)], reason)
    items: list[Item] = []
    for lines in (mention.lines, *mention.more_lines):
        span = Span(lines.start, min(lines.end, count))
        if span.start >= count:
            missing = f"{label} has only {plural(count, 'line')}; line {lines.start + 1} does not exist."
            reason = f"{reason} {missing}".strip()
            continue
        if lines.end not in (span.end, LAST_LINE):
            reason = f"{reason} {label} has only {plural(count, 'line')}; the range was shortened.".strip()
        items.append(item_for_lines(path, span, view.entry.outline, origin))
    if items:
        return included(mention, items, reason)
    last_lines = Span(max(0, count - min(len(mention.lines), MAX_SUGGESTED_LINES)), count)
    suggestion = mention_for(context.snapshot, path, lines=last_lines) or ""
    return MentionOutcome(mention, "omitted", reason=reason, suggestion=suggestion)


def item_for_lines(path: str, span: Span, outline: AnyOutline | None, origin: Origin) -> Item:
    """Return the item for lines of a file, with the symbol that spans exactly these lines, if any."""
    for symbol in outline.symbols if outline is not None else ():
        if symbol.span == span and symbol.name:
            return Item(path, span, symbol.kind, origin, 1.0, symbol.qualified)
    return Item(path, span, "text", origin, 1.0)


def item_around(view: FileText, span: Span, context_lines: int) -> Item:
    """Return the item for the largest short definition around lines, else for the lines with some before and after."""
    path, outline, count = view.entry.path, view.entry.outline, len(view.lines)
    span = Span(min(span.start, max(0, count - 1)), min(span.end, count))
    enclosing = [
        s
        for s in (outline.symbols if outline is not None else ())
        if s.name and s.span.contains(span) and len(s.span) <= MAX_DEFINITION_LINES
    ]
    if enclosing:
        symbol = max(enclosing, key=lambda s: len(s.span))
        return Item(path, symbol.span, symbol.kind, Origin.MENTION, 1.0, symbol.qualified)
    lines = Span(max(0, span.start - context_lines), min(count, span.end + context_lines))
    return Item(path, lines, "text", Origin.MENTION, 1.0)


def virtual_item(context: ResolveContext, name: str, text: str, kind: str) -> Item:
    """Add a virtual document to the request and return the item for all of its lines."""
    path = context.sources.add_virtual_document(name, text)
    return Item(path, Span(0, len(split_lines(text))), kind, Origin.MENTION, 1.0)


def with_note(outcome: MentionOutcome, mention: Mention, note: str) -> MentionOutcome:
    """Return the outcome for the mention as written, with a note on its interpretation before the reason."""
    return replace(outcome, mention=mention, reason=f"{note} {outcome.reason}".strip())

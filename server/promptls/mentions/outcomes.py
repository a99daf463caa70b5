"""How resolvers say what they found: items and outcomes for files, lines and many candidates.

Sentences here are for people; paths in them are labels, lines 1-based and inclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from promptls.mentions.context import Request
from promptls.mentions.grammar import LAST_LINE
from promptls.mentions.path_lookup import barred, name_for, nearest_first
from promptls.model import AnyOutline, Item, Mention, MentionOutcome, Origin, Problem, Span

MAX_CANDIDATES = 20


def included(mention: Mention, targets: Iterable[Item], reason: str = "") -> MentionOutcome:
    return MentionOutcome(mention, "included", tuple(targets), reason=reason)


def unresolved(mention: Mention, reason: str, suggestion: str = "") -> MentionOutcome:
    return MentionOutcome(mention, "unresolved", reason=reason, suggestion=suggestion)


def refused(mention: Mention, reason: str) -> MentionOutcome:
    return MentionOutcome(mention, "refused", reason=reason)


def ambiguous(mention: Mention, reason: str, candidates: Iterable[str | None]) -> MentionOutcome:
    names = tuple(dict.fromkeys(name for name in candidates if name))
    return MentionOutcome(mention, "ambiguous", candidates=names[:MAX_CANDIDATES], reason=reason)


def file_outcome(
    mention: Mention, request: Request, path: str, reason: str = "", origin: Origin = Origin.MENTION
) -> MentionOutcome:
    """One file or its asked-for lines: included, refused by a rule, or omitted for want of a text."""
    label = request.snapshot.label(path)
    why = barred(request, path)
    if why:
        return refused(mention, why)
    view = request.sources.read(path, explicit=True)
    if isinstance(view, Problem):
        return MentionOutcome(mention, "omitted", reason=f"{label} has no text to show: {view.message}.")
    count, entry = len(view.lines), request.snapshot.files.get(path)
    if entry is not None and entry.skipped:
        reason = f"{reason} {label} is not in the index: {entry.skipped}.".strip()
    if mention.lines is None:
        return included(mention, [Item(path, Span(0, count), "file", origin, 1.0)], reason)
    span = Span(mention.lines.start, min(mention.lines.end, count))
    if span.start >= count:
        end = Span(max(0, count - min(len(mention.lines), 20)), count)
        return MentionOutcome(
            mention,
            "omitted",
            reason=f"{label} has {_lines(count)}; line {mention.lines.start + 1} is behind its end.",
            suggestion=name_for(request.snapshot, path, lines=end) or "",
        )
    if mention.lines.end not in (span.end, LAST_LINE):
        reason = f"{reason} {label} has {_lines(count)}; the lines end there.".strip()
    return included(mention, [region(path, span, view.entry.outline, origin)], reason)


def region(path: str, span: Span, outline: AnyOutline | None, origin: Origin) -> Item:
    """Lines of a file; named after the symbol that they are, if they are one."""
    for symbol in outline.symbols if outline is not None else ():
        if symbol.span == span and symbol.name:
            return Item(path, span, symbol.kind, origin, 1.0, symbol.qualified)
    return Item(path, span, "text", origin, 1.0)


def many(mention: Mention, request: Request, paths: Sequence[str], *, folder: bool = False) -> MentionOutcome:
    """Several places of one name: the candidates, nearest to the active document first."""
    snapshot = request.snapshot
    names = [
        name_for(snapshot, path, folder=folder, lines=None if folder else mention.lines)
        for path in nearest_first(request, paths)
    ]
    what = "folders" if folder else "files"
    return ambiguous(mention, f"{len(names)} {what} fit {mention.text}; say which one.", names)


def read_as(outcome: MentionOutcome, mention: Mention, note: str) -> MentionOutcome:
    """The outcome for the mention as it was written, with a note on how it was read."""
    return replace(outcome, mention=mention, reason=f"{note} {outcome.reason}".strip())


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"

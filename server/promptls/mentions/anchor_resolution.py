"""Corrects outcomes of file and symbol mentions by their anchors.

The first outcome of a mention creates the anchor.  Later outcomes use the tracked position, or report lines and
symbols that were changed, moved or deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from promptls.mentions.anchors import Anchor, DocumentAnchors, create_anchor, track
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import file_outcome, included
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.syntax.grammar import LAST_LINE
from promptls.model import FileText, Item, MentionOutcome, Origin, Span


def apply_anchor(outcome: MentionOutcome, anchors: DocumentAnchors, context: ResolveContext) -> MentionOutcome:
    """Return the outcome at the position of the mention's anchor; create the anchor if there is none."""
    mention = outcome.mention
    anchor = anchors.get(mention.text)
    if mention.kind == "symbol":
        return _apply_to_symbol(outcome, anchor, anchors, context)
    if mention.more_lines:
        return outcome  # an anchor has one span
    if mention.lines is not None:
        return _apply_to_lines(outcome, anchor, anchors, context)
    return _apply_to_file(outcome, anchor, anchors, context)


def _apply_to_lines(
    outcome: MentionOutcome, anchor: Anchor | None, anchors: DocumentAnchors, context: ResolveContext
) -> MentionOutcome:
    mention = outcome.mention
    if anchor is None:
        open_ended = mention.lines is None or mention.lines.end == LAST_LINE
        if outcome.status == "included" and len(outcome.targets) == 1 and not open_ended:
            _put_anchor(outcome, outcome.targets[0].span, None, anchors, context)
        return outcome
    view = _read_anchored(anchor, context)
    label = context.snapshot.label(anchor.path)
    if view is None:
        reason = f"{label} was deleted, and with it the lines of {mention.text}."
        return replace(outcome, status="unresolved", targets=(), reason=reason, anchor="deleted")
    state, tracked = track(anchor, view, context.token)
    if state == "deleted":
        reason = f"The lines of {mention.text} were deleted from {label}."
        return replace(
            outcome, status="unresolved", targets=(), candidates=(), suggestion="", reason=reason, anchor="deleted"
        )
    anchors.put(mention.text, tracked)
    resolved = file_outcome(replace(mention, lines=tracked.span), context, tracked.path)
    resolved = replace(resolved, mention=mention)
    written = mention.lines is not None and Span(mention.lines.start, min(mention.lines.end, len(view.lines)))
    same_path = tracked.path == (outcome.targets[0].path if outcome.targets else "")
    if state != "changed" and written == tracked.span and same_path:
        return resolved
    current = mention_for(context.snapshot, tracked.path, lines=tracked.span) or ""
    position = f"{context.snapshot.label(tracked.path)}:{tracked.span.label}"
    if state == "changed":
        reason = f"The lines of {mention.text} were edited; they are now {position}."
        suggestion = current if current != mention.text else ""
        return replace(resolved, reason=reason, anchor="changed", suggestion=suggestion)
    return replace(resolved, reason=f"The lines have moved to {position}.", anchor="moved", suggestion=current)


def _apply_to_symbol(
    outcome: MentionOutcome, anchor: Anchor | None, anchors: DocumentAnchors, context: ResolveContext
) -> MentionOutcome:
    mention = outcome.mention
    if outcome.status == "included":
        _put_anchor(outcome, outcome.targets[0].span, anchor, anchors, context)
        return outcome
    view = _read_anchored(anchor, context) if anchor is not None else None
    if anchor is None or outcome.status not in ("unresolved", "ambiguous"):
        return outcome
    label = context.snapshot.label(anchor.path)
    if view is None:
        return replace(outcome, anchor="deleted") if outcome.status == "unresolved" else outcome
    path = view.entry.path
    symbols = view.entry.outline.symbols if view.entry.outline is not None else ()
    if outcome.status == "ambiguous":
        same = [s for s in symbols if s.qualified == anchor.symbol]
        if len(same) != 1:
            return outcome
        item = Item(path, same[0].span, same[0].kind, Origin.MENTION, 1.0, same[0].qualified)
        return included(mention, [item], f"Ambiguous; resolved to the one in {label}, as before.")
    state, tracked = track(anchor, view, context.token)
    starting = [s for s in symbols if s.name and s.span.start == tracked.span.start] if state != "deleted" else []
    if not starting:
        return replace(outcome, reason=f"{anchor.symbol} was deleted from {label}.", anchor="deleted")
    symbol = starting[0]
    item = Item(path, symbol.span, symbol.kind, Origin.MENTION, 1.0, symbol.qualified)
    return replace(
        included(mention, [item], f"{anchor.symbol} was renamed to {symbol.qualified}."),
        anchor="moved",
        suggestion=mention_for(context.snapshot, path, symbol=symbol.qualified) or "",
    )


def _apply_to_file(
    outcome: MentionOutcome, anchor: Anchor | None, anchors: DocumentAnchors, context: ResolveContext
) -> MentionOutcome:
    mention = outcome.mention
    if outcome.status == "included":
        if len(outcome.targets) == 1 and outcome.targets[0].kind == "file":
            _put_anchor(outcome, Span(0, 0), anchor, anchors, context)
        return outcome
    if anchor is None or outcome.status != "unresolved":
        return outcome
    view = _read_anchored(anchor, context)
    if view is None or view.entry.path == anchor.path:
        return replace(outcome, anchor="deleted")
    label = context.snapshot.label(view.entry.path)
    return replace(
        file_outcome(mention, context, view.entry.path, f"The file was renamed to {label}."),
        anchor="moved",
        suggestion=mention_for(context.snapshot, view.entry.path) or "",
    )


def _put_anchor(
    outcome: MentionOutcome, span: Span, anchor: Anchor | None, anchors: DocumentAnchors, context: ResolveContext
) -> None:
    """Anchor a mention to its first target, unless its anchor has this version of the text already."""
    target = outcome.targets[0]
    view = context.sources.read(target.path, explicit=True)
    if isinstance(view, FileText) and (
        anchor is None or (anchor.path, anchor.digest) != (target.path, view.entry.content_hash)
    ):
        anchors.put(outcome.mention.text, create_anchor(view, span, target.symbol))


def _read_anchored(anchor: Anchor, context: ResolveContext) -> FileText | None:
    """Read the file of an anchor, or a file with the same content if it was renamed."""
    for path in (anchor.path, *_files_with_content(anchor, context)):
        view = context.sources.read(path, explicit=True)
        if isinstance(view, FileText):
            return view
    return None


def _files_with_content(anchor: Anchor, context: ResolveContext) -> Iterator[str]:
    """Files whose content is that of the anchor's file, equal file names first."""
    name = anchor.path.rsplit("/", 1)[-1]
    paths = [path for path, entry in context.snapshot.files.items() if entry.content_hash == anchor.digest]
    yield from sorted(paths, key=lambda path: (path.rsplit("/", 1)[-1] != name, path))

"""Anchors: content-based positions of mentioned lines, which follow edits of the file.

An anchor stores all lines of a file and the span that a mention referred to.  `track` maps the span to a later version
of the text with a line diff, and reports lines that it cannot map.

Anchors are kept in memory, for the lifetime of the server.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import CancelToken, FileText, Span
from promptls.util.text.line_diff import patience_diff

AnchorState = Literal["same", "moved", "changed", "deleted"]


class Anchor(Struct, frozen=True):
    """Position and content of the text that a mention refers to; trailing white space is ignored."""

    path: str
    span: Span  # position in `lines`
    lines: tuple[str, ...]  # of one version of the file
    digest: bytes  # content hash of that version
    content: tuple[str, ...]  # the anchored lines when the anchor was created


def create_anchor(view: FileText, span: Span) -> Anchor:
    """Return an anchor for these lines of a text."""
    lines = tuple(line.rstrip() for line in view.lines)
    span = Span(min(span.start, len(lines)), min(span.end, len(lines)))
    return Anchor(view.entry.path, span, lines, view.entry.content_hash, lines[span.start : span.end])


def track(anchor: Anchor, view: FileText, token: CancelToken | None = None) -> tuple[AnchorState, Anchor]:
    """Map an anchor to another version of its text.

    Returns:
        The state of the anchored lines and the updated anchor; the anchor is unchanged if the lines are deleted.

    Raises:
        Cancelled: The token was cancelled.
    """
    mapped = anchor
    if anchor.digest != view.entry.content_hash:
        lines = tuple(line.rstrip() for line in view.lines)
        span = _map_span(anchor, lines, token)
        if span is None:
            return "deleted", anchor
        mapped = replace(anchor, span=span, lines=lines, digest=view.entry.content_hash)
    if mapped.lines[mapped.span.start : mapped.span.end] != anchor.content:
        return "changed", mapped
    return "same" if anchor.span == mapped.span else "moved", mapped


def _map_span(anchor: Anchor, lines: tuple[str, ...], token: CancelToken | None) -> Span | None:
    """Return the span in the new text, None if no line of it is left."""
    span = anchor.span
    start = end = -1
    survives = False
    for block in patience_diff(anchor.lines, lines, token):
        if not block.old.overlaps(span):
            continue
        first, last = max(block.old.start, span.start), min(block.old.end, span.end)
        shift = block.new.start - block.old.start
        if block.equal or len(block.old) == len(block.new):
            # A replacement of as many lines is an edit in place; its lines correspond one to one.
            survives = True
            mapped = (first + shift, last + shift)
        elif block.new:
            mapped = (block.new.start, block.new.end)
        else:
            continue
        start = mapped[0] if start < 0 else start
        end = mapped[1]
    return Span(start, end) if survives and 0 <= start < end else None


class DocumentAnchors:
    """Anchors of one prompt document, by the text of the mention.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._anchors: dict[str, Anchor] = {}

    def get(self, text: str) -> Anchor | None:
        """Return the anchor of a mention, if it has one."""
        with self._lock:
            return self._anchors.get(text)

    def put(self, text: str, anchor: Anchor) -> None:
        """Set the anchor of a mention."""
        with self._lock:
            self._anchors[text] = anchor

    def retain(self, texts: Collection[str]) -> None:
        """Drop the anchors of all other mentions."""
        with self._lock:
            self._anchors = {text: anchor for text, anchor in self._anchors.items() if text in texts}

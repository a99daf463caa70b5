"""Anchors: content-based positions of mentioned lines, which follow edits of the file.

An anchor stores the hashes of all lines of a file and the span that a mention referred to.
`track` maps the span to a later version of the text with a line diff, and reports lines that it cannot map.

Anchors are kept in memory, for the lifetime of the server.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import CancelToken, FileText, Span
from promptls.util.text.line_diff import patience_diff

HASH_BYTES = 6
"""Bytes of a line hash: a collision among a million lines is improbable."""

MIN_DISTINCTIVE_LINES = 2
"""Minimum number of lines with a letter or digit for moved lines to be recognized elsewhere in the file."""

AnchorState = Literal["same", "moved", "changed", "deleted"]


class Anchor(Struct, frozen=True):
    """Position and content of the text that a mention refers to."""

    path: str
    span: Span  # position in the version of the text described by `line_hashes`
    line_hashes: bytes  # hashes of all lines of that version, HASH_BYTES each
    digest: bytes  # content hash of that version
    content: bytes  # hash of the anchored lines when the anchor was created


def create_anchor(view: FileText, span: Span) -> Anchor:
    """Return an anchor for these lines of a text."""
    span = Span(min(span.start, len(view.lines)), min(span.end, len(view.lines)))
    line_hashes = hash_lines(view.lines)
    return Anchor(view.entry.path, span, line_hashes, view.entry.content_hash, _hash_span(line_hashes, span))


def hash_lines(lines: Sequence[str]) -> bytes:
    """Return the concatenated hashes of lines; trailing white space is ignored."""
    return b"".join(
        blake2b(line.rstrip().encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest() for line in lines
    )


def track(anchor: Anchor, view: FileText, token: CancelToken | None = None) -> tuple[AnchorState, Anchor]:
    """Map an anchor to another version of its text.

    Returns:
        The state of the anchored lines and the updated anchor; the anchor is unchanged if the lines are deleted.

    Raises:
        Cancelled: The token was cancelled.
    """
    if anchor.digest == view.entry.content_hash:
        return _state(anchor, anchor), replace(anchor, path=view.entry.path)
    new_hashes = hash_lines(view.lines)
    span, intact = _map_span(anchor, _split_hashes(anchor.line_hashes), _split_hashes(new_hashes), token)
    if not intact:
        span = _find_moved(anchor, new_hashes, view.lines) or span
    if span is None:
        return "deleted", anchor
    mapped = replace(anchor, path=view.entry.path, span=span, line_hashes=new_hashes, digest=view.entry.content_hash)
    return _state(anchor, mapped), mapped


def _hash_span(line_hashes: bytes, span: Span) -> bytes:
    return blake2b(line_hashes[span.start * HASH_BYTES : span.end * HASH_BYTES], digest_size=8).digest()


def _state(before: Anchor, after: Anchor) -> AnchorState:
    if _hash_span(after.line_hashes, after.span) != after.content:
        return "changed"
    return "same" if before.span == after.span else "moved"


def _split_hashes(line_hashes: bytes) -> list[bytes]:
    return [line_hashes[i : i + HASH_BYTES] for i in range(0, len(line_hashes), HASH_BYTES)]


def _map_span(
    anchor: Anchor, old: list[bytes], new: list[bytes], token: CancelToken | None
) -> tuple[Span | None, bool]:
    """Return the span in the new text, and whether all lines are unchanged and contiguous."""
    span = anchor.span
    start = end = -1
    unchanged = 0
    survives = False
    for block in patience_diff(old, new, token):
        if not block.old.overlaps(span):
            continue
        first, last = max(block.old.start, span.start), min(block.old.end, span.end)
        shift = block.new.start - block.old.start
        if block.equal or len(block.old) == len(block.new):
            # A replacement of as many lines is an edit in place; its lines correspond one to one.
            unchanged += last - first if block.equal else 0
            survives = True
            mapped = (first + shift, last + shift)
        elif block.new:
            mapped = (block.new.start, block.new.end)
        else:
            continue
        start = mapped[0] if start < 0 else start
        end = mapped[1]
    if not survives or start < 0 or end <= start:
        return None, False
    return Span(start, end), unchanged == len(span) == end - start


def _find_moved(anchor: Anchor, new_hashes: bytes, lines: Sequence[str]) -> Span | None:
    """Return the only other occurrence of the anchored lines, or None if it is ambiguous or not distinctive."""
    count = len(anchor.span)
    anchored = anchor.line_hashes[anchor.span.start * HASH_BYTES : anchor.span.end * HASH_BYTES]
    if _hash_span(anchor.line_hashes, anchor.span) != anchor.content or not count:
        return None
    starts: list[int] = []
    offset = new_hashes.find(anchored)
    while offset >= 0 and len(starts) < 2:
        if offset % HASH_BYTES == 0:
            starts.append(offset // HASH_BYTES)
        offset = new_hashes.find(anchored, offset + 1)
    if len(starts) != 1:
        return None
    span = Span(starts[0], starts[0] + count)
    distinctive = sum(any(char.isalnum() for char in line) for line in lines[span.start : span.end])
    return span if distinctive >= min(MIN_DISTINCTIVE_LINES, count) else None


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

"""Memory of the text that a session has received, so that unchanged text is not sent twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from promptls.model import Span
from promptls.util.hashing import content_hash

MAX_SESSIONS = 32
"""Maximum number of sessions that are remembered; of more, the least recently used is forgotten."""
MAX_REGIONS = 4_000
"""Maximum number of regions remembered of one session; a session that reads more starts again."""


class ReceivedRegion(Struct, frozen=True):
    """Lines that a session has received."""

    path: str
    span: Span
    text_hash: bytes


class Received:
    """Regions that each session has received.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, dict[str, dict[Span, bytes]]] = OrderedDict()

    def has(self, session: str, path: str, span: Span, lines: Sequence[str]) -> bool:
        """Return whether a session has received exactly these lines, alone or in a larger region.

        Args:
            session: Name of the session, "" for none.
            path: Path of the file.
            span: Lines of the region.
            lines: All lines of the current text of the file.
        """
        with self._lock:
            regions = self._sessions.get(session, {}).get(path, {}) if session else {}
            known = [(other, text_hash) for other, text_hash in regions.items() if other.contains(span)]
        return any(text_hash == hash_lines(lines, other) for other, text_hash in known)

    def add(self, session: str, regions: Sequence[ReceivedRegion]) -> None:
        """Remember regions that a session receives."""
        if not session:
            return
        with self._lock:
            paths = self._sessions.setdefault(session, {})
            self._sessions.move_to_end(session)
            if sum(map(len, paths.values())) + len(regions) > MAX_REGIONS:
                paths.clear()
            for region in regions:
                paths.setdefault(region.path, {})[region.span] = region.text_hash
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)


def hash_lines(lines: Sequence[str], span: Span) -> bytes:
    """Return the hash of the lines of a span."""
    return content_hash("\n".join(lines[span.start : span.end]))

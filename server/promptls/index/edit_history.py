"""What documents looked like a while ago: the journal behind "@recent".

Before an edit replaces a text, that text is noted with the moment until which it stood; of edits that follow each
other within `TOGETHER_S` only the first is noted, except that the text as of the last prompt always is.  In
memory only, bounded in number, age and size.  Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from msgspec import Struct

TOGETHER_S = 20.0
KEPT = 60
"""Texts of one document."""
LONGEST_S = 24 * 3600.0
MOST_CHARACTERS = 50_000_000


class Former(Struct, frozen=True, gc=False):
    """A text that a document had."""

    until: float  # time.time() at which it was replaced
    text: str


class Edits:
    """The former texts of all documents that were edited while the server ran."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._former: dict[str, deque[Former]] = {}
        self._size = 0
        self.marked = 0.0

    def note(self, path: str, text: str, now: float | None = None) -> None:
        """The document of this path had this text until now."""
        now = time.time() if now is None else now
        with self._lock:
            kept = self._former.setdefault(path, deque())
            last = kept[-1].until if kept else 0.0
            if kept and now - last < TOGETHER_S and not last < self.marked:
                return
            kept.append(Former(now, text))
            self._size += len(text)
            while len(kept) > KEPT or (kept and now - kept[0].until > LONGEST_S):
                self._size -= len(kept.popleft().text)
            while self._size > MOST_CHARACTERS:
                oldest = min((p for p in self._former if self._former[p]), key=lambda p: self._former[p][0].until)
                self._size -= len(self._former[oldest].popleft().text)

    def mark(self, now: float | None = None) -> None:
        """A prompt was built."""
        self.marked = time.time() if now is None else now

    def since(self, moment: float) -> dict[str, str]:
        """The texts that documents had at a moment, of those that were edited after it, the last edited first."""
        with self._lock:
            found = {}
            for path, kept in sorted(self._former.items(), key=lambda pair: -pair[1][-1].until if pair[1] else 0.0):
                first = next((former for former in kept if former.until > moment), None)
                if first is not None:
                    found[path] = first.text
            return found

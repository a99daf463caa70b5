"""Edit history: former texts of edited documents, the source of "@recent".

Before an edit replaces a text, that text is recorded with the time of the edit.  Of edits within `MERGE_WINDOW_S`
only the first is recorded, except that the text at the time of the last prompt is always kept.  The history is in
memory only, and bounded in number, age and size.  Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from msgspec import Struct

MERGE_WINDOW_S = 20.0
"""Seconds within which successive edits of a document count as one."""
MAX_TEXTS_PER_DOCUMENT = 60
"""Maximum number of texts kept for one document."""
MAX_AGE_S = 24 * 3600.0
"""Seconds after which a text is dropped: one working day."""
MAX_TOTAL_CHARS = 50_000_000
"""Maximum number of characters kept for all documents; the oldest texts are dropped first."""


class FormerText(Struct, frozen=True, gc=False):
    """Former text of a document."""

    replaced_at: float  # time.time() at which it was replaced
    text: str


class EditHistory:
    """Former texts of all documents that were edited since the server started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, deque[FormerText]] = {}
        self._size = 0
        self.prompt_marked_at = 0.0

    def record(self, path: str, text: str, now: float | None = None) -> None:
        """Record the text that a document had until now."""
        now = time.time() if now is None else now
        with self._lock:
            texts = self._texts.setdefault(path, deque())
            previous_at = texts[-1].replaced_at if texts else 0.0
            if texts and now - previous_at < MERGE_WINDOW_S and not previous_at < self.prompt_marked_at:
                return
            texts.append(FormerText(now, text))
            self._size += len(text)
            while len(texts) > MAX_TEXTS_PER_DOCUMENT or (texts and now - texts[0].replaced_at > MAX_AGE_S):
                self._size -= len(texts.popleft().text)
            while self._size > MAX_TOTAL_CHARS:
                oldest = min((p for p in self._texts if self._texts[p]), key=lambda p: self._texts[p][0].replaced_at)
                self._size -= len(self._texts[oldest].popleft().text)

    def mark_prompt(self, now: float | None = None) -> None:
        """Record that a prompt was built."""
        self.prompt_marked_at = time.time() if now is None else now

    def texts_at(self, moment: float) -> dict[str, str]:
        """Return the text that each document edited after `moment` had then, the most recently edited first."""
        with self._lock:
            texts = {}
            for path, former_texts in sorted(
                self._texts.items(), key=lambda pair: -pair[1][-1].replaced_at if pair[1] else 0.0
            ):
                first = next((former for former in former_texts if former.replaced_at > moment), None)
                if first is not None:
                    texts[path] = first.text
            return texts

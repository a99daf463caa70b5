"""Cache for outcomes of expensive mentions, used while a prompt document is edited.

Git, full-text search and graph traversal take tens of milliseconds or more, and the document is analyzed after
every keystroke.  A cached outcome may be a few seconds old.  Building a prompt bypasses the cache.
"""

from __future__ import annotations

import threading
import time

from msgspec import Struct

from promptls.model import FileText, MentionOutcome

MIN_TTL_S = 2.0
"""Minimum time to live of an outcome, in seconds."""

TTL_FACTOR = 20
"""Time to live as a multiple of the resolution time: limits re-resolution to 5 % of one core."""

MAX_ENTRIES = 200
"""Outcomes per document; the cache is cleared when there are more."""


class CachedOutcome(Struct, frozen=True):
    """An outcome and the virtual documents that its targets refer to."""

    expires_at: float  # time.monotonic()
    question: str
    outcome: MentionOutcome
    virtual_documents: dict[str, FileText]


class ResolutionCache:
    """Outcomes for one prompt document, by the text of the mention.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, CachedOutcome] = {}

    def get(self, text: str, question: str) -> CachedOutcome | None:
        """Return the outcome of a mention unless it has expired or belongs to another question."""
        with self._lock:
            entry = self._entries.get(text)
        valid = entry is not None and time.monotonic() < entry.expires_at and entry.question == question
        return entry if valid else None

    def put(
        self,
        text: str,
        question: str,
        outcome: MentionOutcome,
        virtual_documents: dict[str, FileText],
        duration_s: float,
    ) -> None:
        """Store an outcome; `duration_s` is the time that resolution took."""
        with self._lock:
            if len(self._entries) > MAX_ENTRIES:
                self._entries.clear()
            expires_at = time.monotonic() + max(MIN_TTL_S, TTL_FACTOR * duration_s)
            self._entries[text] = CachedOutcome(expires_at, question, outcome, virtual_documents)

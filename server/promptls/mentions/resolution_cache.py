"""What costly mentions have brought a moment ago, for documents that are looked at with every keystroke.

Git, searches through all files and walks over the graph take tens of milliseconds or more; while a question is being
written their answers may be a few seconds old.  When the prompt is built nothing is recalled.
"""

from __future__ import annotations

import threading
import time

from msgspec import Struct

from promptls.model import MentionOutcome, TextView

GOOD_S = 2.0
"""How long an answer is good for at least."""

REST = 20
"""How many times as long as it took an answer is good for: so looking costs at most a twentieth of a core."""


class Kept(Struct, frozen=True):
    """An outcome and the texts that it speaks of."""

    until: float  # time.monotonic()
    question: str
    outcome: MentionOutcome
    exhibits: dict[str, TextView]


class Recall:
    """The answers for one document, by the text of the mention.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}

    def get(self, text: str, question: str) -> Kept | None:
        """What a mention brought, if that is still good; another question makes another answer."""
        with self._lock:
            found = self._kept.get(text)
        fresh = found is not None and time.monotonic() < found.until and found.question == question
        return found if fresh else None

    def put(
        self, text: str, question: str, outcome: MentionOutcome, exhibits: dict[str, TextView], took: float
    ) -> None:
        """Keep an answer that took so many seconds."""
        with self._lock:
            if len(self._kept) > 200:
                self._kept.clear()
            until = time.monotonic() + max(GOOD_S, REST * took)
            self._kept[text] = Kept(until, question, outcome, exhibits)

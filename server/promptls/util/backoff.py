"""When something that has failed (a disk is full, no worker is to be had) is tried again.

Each time later than the last, and never much later, as nobody knows when it will be possible.
"""

from __future__ import annotations

import time

FIRST_S, LONGEST_S = 1.0, 15.0
"""After a failure the next try waits: at first so long, twice as long each time, never longer."""


class Backoff:
    """When something that has failed is tried again."""

    def __init__(self) -> None:
        self._failures = 0  # in a row
        self._until = 0.0  # time.monotonic()

    @property
    def remaining_s(self) -> float:
        """Seconds until it is time, 0 if it is."""
        return max(0.0, self._until - time.monotonic())

    def record(self, failed: bool) -> None:
        """Note how the last try went."""
        self._failures = self._failures + 1 if failed else 0
        pause = min(LONGEST_S, FIRST_S * 2.0 ** min(16, self._failures - 1)) if failed else 0.0
        self._until = time.monotonic() + pause

    def end(self) -> None:
        """Have it tried at once: the user asks for it."""
        self._until = 0.0

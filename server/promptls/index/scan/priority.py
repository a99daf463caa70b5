"""Requests go before the loop: while one computes, what a scan brings waits for a moment.

Threads of Python take turns, so that a request among many events would take twice as long.  What somebody waits for
(an edit, a file that is to be read) is never kept waiting, and no request holds the loop longer than `MOST_S`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOST_S = 0.1
"""Seconds that the loop waits for one request; a prompt takes half of it."""
_LOOK_S = 0.005
"""Between two looks whether the loop is needed meanwhile."""


class Precedence:
    """Who computes at the moment.  Any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._ends: list[float] = []  # time.monotonic() from which each request is waited for no longer

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A request computes."""
        end = time.monotonic() + MOST_S
        with self._condition:
            self._ends.append(end)
        try:
            yield
        finally:
            with self._condition:
                self._ends.remove(end)
                self._condition.notify_all()

    def give(self, needed: Callable[[], bool]) -> None:
        """Let those go first that compute now, unless the loop is `needed`."""
        with self._condition:
            waited_for = list(self._ends)  # who comes later does not make it longer
            while any(end in self._ends and end > time.monotonic() for end in waited_for) and not needed():
                self._condition.wait(_LOOK_S)

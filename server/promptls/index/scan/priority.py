"""Priority of requests over indexing: the indexer defers scan results while a request is computing.

Because of the GIL, a request that competes with many indexer events would take twice as long.  Urgent events (an
edit, a file that a request needs) are never deferred, and a request delays the indexer by at most `MAX_DELAY_S`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MAX_DELAY_S = 0.1
"""Maximum seconds that the indexer waits for one request; a prompt takes about half."""
_POLL_S = 0.005
"""Seconds between two checks whether the indexer has become urgent."""


class RequestPriority:
    """Tracks running requests.  Any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._deadlines: list[float] = []  # by running request: time.monotonic() until which the indexer waits

    @contextmanager
    def request_running(self) -> Iterator[None]:
        """Mark a request as running within the `with` block."""
        end = time.monotonic() + MAX_DELAY_S
        with self._condition:
            self._deadlines.append(end)
        try:
            yield
        finally:
            with self._condition:
                self._deadlines.remove(end)
                self._condition.notify_all()

    def yield_to_requests(self, is_urgent: Callable[[], bool]) -> None:
        """Wait for the requests that are running now, unless `is_urgent` returns True."""
        with self._condition:
            running = list(self._deadlines)  # later requests do not prolong the wait
            while any(end in self._deadlines and end > time.monotonic() for end in running) and not is_urgent():
                self._condition.wait(_POLL_S)

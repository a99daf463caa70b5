"""Exponential back-off for operations that fail for a while, such as writes to a full disk."""

from __future__ import annotations

import time
from collections.abc import Callable

INITIAL_DELAY_S, MAX_DELAY_S = 1.0, 15.0
"""Default delays after the first failure and at most; the delay doubles with each consecutive failure."""
_MAX_DOUBLINGS = 16


class Backoff:
    """Delay before the next attempt of an operation. Not thread-safe."""

    def __init__(
        self,
        initial_s: float = INITIAL_DELAY_S,
        max_s: float = MAX_DELAY_S,
        threshold: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a back-off without a delay; `threshold` is the number of consecutive failures before the first delay."""
        self._initial_s = initial_s
        self._max_s = max_s
        self._threshold = threshold
        self._clock = clock
        self._failures = 0  # consecutive
        self._until = 0.0

    @property
    def remaining_s(self) -> float:
        """Seconds until the next attempt, 0 if it is due."""
        return max(0.0, self._until - self._clock())

    def record(self, failed: bool, permanent: bool = False, min_delay_s: float = 0.0) -> None:
        """Record the result of an attempt.

        After a `permanent` failure, the delay starts at once. `min_delay_s` is, for example, a `Retry-After` header.
        """
        if not failed:
            self._failures, self._until = 0, 0.0
            return
        self._failures += 1
        if permanent:
            self._failures = max(self._threshold, self._failures)
        delay_s = 0.0
        if self._failures >= self._threshold:
            doublings = min(_MAX_DOUBLINGS, self._failures - self._threshold)
            delay_s = min(self._max_s, self._initial_s * 2.0**doublings)
        self._until = self._clock() + max(delay_s, min_delay_s)

    def reset(self) -> None:
        """Make the next attempt due, for example because the user requests it."""
        self._until = 0.0

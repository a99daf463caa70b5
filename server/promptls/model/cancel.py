"""Cooperative cancellation of requests."""

from __future__ import annotations

import threading


class Cancelled(Exception):
    """The client cancelled the request, or the server is shutting down."""


class CancelToken:
    """A flag that the canceller sets once and that workers check between steps. Thread-safe."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Set the token; it cannot be unset."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether the token is set."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the token is set."""
        if self._event.is_set():
            raise Cancelled

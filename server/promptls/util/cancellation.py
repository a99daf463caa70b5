"""Cooperative cancellation of requests, by a token or of the request that runs on a thread.

Pure functions deep in the pipeline have no token.  Their long loops call `check_cancelled` instead, which finds the
token of the request by the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

CHECK_INTERVAL = 512
"""Number of elements between two checks in `check_each`: less than a millisecond of work."""


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


class _Running(threading.local):
    """Signal of the request that runs on this thread."""

    signal: CancelToken | None = None


_running = _Running()


@contextmanager
def cancellable(signal: CancelToken) -> Iterator[None]:
    """Return a context manager in which `check_cancelled` on this thread checks a signal."""
    before, _running.signal = _running.signal, signal
    try:
        yield
    finally:
        _running.signal = before


def run_cancellable(signal: CancelToken, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function on this thread so that its loops can be cancelled; raise at once if it is cancelled already."""
    with cancellable(signal):
        signal.check()  # the call may have waited for a thread
        return function(*arguments)


def check_cancelled() -> None:
    """Raise the exception of the signal if the request on this thread is cancelled; do nothing outside of requests."""
    if _running.signal is not None:
        _running.signal.check()


def check_each(elements: Iterable[T]) -> Iterator[T]:
    """Yield the elements, and check every `CHECK_INTERVAL` elements whether the request is cancelled."""
    iterator = iter(elements)
    while block := list(islice(iterator, CHECK_INTERVAL)):
        check_cancelled()
        yield from block

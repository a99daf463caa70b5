"""Exit on SIGINT, SIGTERM and SIGHUP at any moment: child processes are stopped, and nothing else is printed.

Raising an exception is not sufficient: a thread that blocks on stdin would keep the servers alive, and output that is
buffered would be printed in part.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

CLEANUP_TIMEOUT_S = 3.0
"""Seconds for stopping child processes; supervisors and editors kill a process after 5 to 10 s."""
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_cleanups: list[Callable[[], None]] = []  # called on a signal, the last one first


def exit_on_signals() -> None:
    """Exit with status 128 + the number of the signal, as shells report it; signals that are ignored stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # such as SIGHUP under nohup
            signal.signal(number, _exit_on_signal)


def add_cleanup(cleanup: Callable[[], None]) -> None:
    """Call a function if the process exits on a signal from now on."""
    _cleanups.append(cleanup)


@contextmanager
def cleanup_on_signal(cleanup: Callable[[], None]) -> Iterator[None]:
    """Call a function if the process exits on a signal within a block.  Any thread."""
    _cleanups.append(cleanup)
    try:
        yield
    finally:
        _cleanups.remove(cleanup)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_DFL)  # a second signal exits at once
    if number != signal.SIGINT:  # after Ctrl-C, the user knows the reason
        with suppress(OSError):
            os.write(2, f"promptls: terminated by {signal.Signals(number).name}.\n".encode())
    # This thread may hold a lock that a cleanup needs, so another one runs them.
    thread = threading.Thread(target=_run_cleanups, daemon=True, name="cleanup")
    thread.start()
    thread.join(CLEANUP_TIMEOUT_S)
    os._exit(128 + number)


def _run_cleanups() -> None:
    for cleanup in reversed(_cleanups):
        with suppress(Exception):
            cleanup()

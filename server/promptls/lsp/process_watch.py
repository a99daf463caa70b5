"""Watch of the client's process, so that the server ends with it.

The end of stdin is not sufficient: a process that the editor has started may hold the other end of the pipe.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable

log = logging.getLogger(__name__)

POLL_S = 3.0
"""Interval of the checks where the system cannot report the end of a process, in seconds."""


def watch_process(loop: asyncio.AbstractEventLoop, pid: int, on_exit: Callable[[], None]) -> None:
    """Call `on_exit` once on the event loop after a process has ended; on Windows, the end of stdin is sufficient.

    A process that does not exist now is not watched: the client may run in another PID namespace or on another machine.
    """
    if sys.platform == "win32" or not 0 < pid < 2**31 or pid == os.getpid():
        return

    def report() -> None:
        log.error("The client's process %d has ended.", pid)
        on_exit()

    def poll() -> None:
        if _is_running(pid):
            loop.call_later(POLL_S, poll)
        else:
            report()

    def readable() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        report()

    if not _is_running(pid):
        log.info("the client's process %d is not on this machine and is not watched", pid)
        return
    try:
        descriptor = _open_process(pid)
    except (OSError, AttributeError):  # not supported by the system
        poll()
        return
    loop.add_reader(descriptor, readable)


def _open_process(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends, as no other one reports that of a zombie."""
    return os.pidfd_open(pid)  # type: ignore[attr-defined, unused-ignore]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        pass
    return True

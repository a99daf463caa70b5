"""Watch of the client's process, so that the server ends with it.

The end of stdin is not sufficient: a process that the editor has started may hold the other end of the pipe.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from collections.abc import Callable

log = logging.getLogger(__name__)

POLL_S = 3.0
"""Interval of the checks where the system cannot report the end of a process, in seconds."""


def watch_process(loop: asyncio.AbstractEventLoop, pid: int, on_exit: Callable[[], None]) -> None:
    """Call `on_exit` once on the event loop after a process has ended.

    A process that does not exist now is not watched: the client may run in another PID namespace or on another machine.
    """
    if not 0 < pid < 2**31 or pid == os.getpid():
        return

    def report() -> None:
        log.error("The client's process %d has ended.", pid)
        on_exit()

    try:
        descriptor = _pidfd_open(pid)
    except ProcessLookupError:
        log.info("the client's process %d is not on this machine and is not watched", pid)
        return
    except OSError:  # not supported by the system
        if _is_running(pid):
            loop.call_later(POLL_S, _poll, loop, pid, report)
        return

    def readable() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        report()

    loop.add_reader(descriptor, readable)


def _poll(loop: asyncio.AbstractEventLoop, pid: int, report: Callable[[], None]) -> None:
    if _is_running(pid):
        loop.call_later(POLL_S, _poll, loop, pid, report)
    else:
        report()


def _pidfd_open(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends.  Raises OSError if the system has none."""
    if sys.platform == "linux":
        return os.pidfd_open(pid)
    raise OSError(errno.ENOSYS, "no descriptors of processes")


if sys.platform == "win32":
    import ctypes

    _SYNCHRONIZE = 0x0010_0000
    _WAIT_TIMEOUT = 0x102
    _ERROR_ACCESS_DENIED = 5

    def _is_running(pid: int) -> bool:
        """Return whether a process exists."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not handle:
            return ctypes.get_last_error() == _ERROR_ACCESS_DENIED
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
        finally:
            kernel.CloseHandle(handle)

else:

    def _is_running(pid: int) -> bool:
        """Return whether a process exists."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:  # a process of another user
            pass
        return True

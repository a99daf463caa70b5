"""Process inspection through /proc, and waiting for conditions.

The effect of a signal is not immediate: tests wait for it instead of checking once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

TIMEOUT_S = 120.0
"""Default timeout in seconds; a process that needs longer hangs."""


def until(
    condition: Callable[[], object], message: str, timeout_s: float = TIMEOUT_S, interval_s: float = 0.005
) -> None:
    """Wait for a condition.  Raises TimeoutError with the message."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(message)
        time.sleep(interval_s)


def deliver_interrupts() -> None:
    """Undo the SIG_IGN that a shell gives to background jobs, which a child would inherit; for `preexec_fn`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def alive(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    state = _stat(pid)
    return state is not None and state[0] != "Z"


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in pids if (state := _stat(one)) is not None and int(state[1]) == pid]


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    pids = [pid]
    for one in pids:
        pids += children(one)
    return pids


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def resident(pid: int) -> int:
    """Return the resident set size of a process in bytes, 0 if it has exited."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None if the process has exited."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None

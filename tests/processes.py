"""Processes that the tests look at from outside, as Linux tells of them, and waiting for what becomes of them.

A signal that has been sent has not yet been taken in: what is to follow from it is waited for, never looked for once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

BOUND_S = 120.0
"""What nothing here may take; a process that needs longer hangs."""


def until(true: Callable[[], object], what: str, bound_s: float = BOUND_S, pause_s: float = 0.005) -> None:
    """Wait for a condition, at most so long."""
    deadline = time.monotonic() + bound_s
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(pause_s)


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody has asked how it ended has ended too."""
    state = _stat(pid)
    return state is not None and state[0] != "Z"


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    here = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in here if (state := _stat(one)) is not None and int(state[1]) == pid]


def family(pid: int) -> list[int]:
    """A process, what it has started, and what these have."""
    found = [pid]
    for one in found:
        found += children(one)
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def resident(pid: int) -> int:
    """Bytes that a process holds in memory, 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _stat(pid: int) -> list[str] | None:
    """State, parent and so on of a process (proc(5)); None when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None

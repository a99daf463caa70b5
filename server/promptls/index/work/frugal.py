"""How a process gives memory back to the system.

glibc keeps what was freed unless it was large, and learns to call ever larger pieces small: after a scan, hundreds of
megabytes that nobody uses.  With a fixed bound, arrays go back at once.  Elsewhere nothing is done.
"""

from __future__ import annotations

import ctypes
import logging
import sys

log = logging.getLogger(__name__)

BOUND = 256 * 1024
"""Bytes: larger pieces are mapped by themselves; so many free bytes may stay at the end of the heap."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h
_ARENAS = 2


def be_frugal() -> None:
    """Set the bounds of this process; early, before much is allocated."""
    if sys.platform != "linux":
        return
    try:
        libc = ctypes.CDLL(None)
        for option, value in ((_TRIM_THRESHOLD, BOUND), (_MMAP_THRESHOLD, BOUND), (_ARENA_MAX, _ARENAS)):
            libc.mallopt(option, value)
    except (OSError, AttributeError) as error:  # another libc
        log.debug("memory is left to the system's allocator: %s", error)


def trim() -> None:
    """Give back what is free in between."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError) as error:
        log.debug("memory is left to the system's allocator: %s", error)

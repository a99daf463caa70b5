"""How a process gives memory back to the system, and how seldom it looks for garbage.

glibc keeps what was freed unless it was large, and learns to call ever larger pieces small: after a scan, hundreds of
megabytes that nobody uses.  With a fixed bound, arrays go back at once.  Elsewhere nothing is done.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import sys

log = logging.getLogger(__name__)

BOUND = 256 * 1024
"""Bytes: larger pieces are mapped by themselves; so many free bytes may stay at the end of the heap."""
LARGE_BOUND = 16 * 1024 * 1024
"""The same once the index is complete: an array of 64 bits for each of two million rows.  And in a bulk
worker, which makes such arrays with every batch and ends when there is no more to do: a twentieth of its time went into
mapping them."""
OBJECTS = 50_000
"""New objects between two looks for garbage in cycles: one answer makes some ten thousand, and hardly a cycle."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h
_ARENAS = 2


def be_frugal(bound: int = BOUND) -> None:
    """Set the bounds of this process; early, before much is allocated."""
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
    _set((_TRIM_THRESHOLD, bound), (_MMAP_THRESHOLD, bound), (_ARENA_MAX, _ARENAS))


def settle() -> None:
    """The index is made, and most of what is there now will stay: from here on answers shall be quick.

    The collector of cycles passes over what is there, and arrays as long as the index, which every answer makes and
    drops, are not mapped anew each time: zeroing their pages took four times as long as the search itself.
    """
    gc.collect()
    gc.freeze()
    _set((_TRIM_THRESHOLD, LARGE_BOUND), (_MMAP_THRESHOLD, LARGE_BOUND))


def trim() -> None:
    """Give back what is free in between."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError) as error:
        log.debug("memory is left to the system's allocator: %s", error)


def _set(*options: tuple[int, int]) -> None:
    if sys.platform != "linux":
        return
    try:
        libc = ctypes.CDLL(None)
        for option, value in options:
            libc.mallopt(option, value)
    except (OSError, AttributeError) as error:  # another libc
        log.debug("memory is left to the system's allocator: %s", error)

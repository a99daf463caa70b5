"""Process memory tuning: glibc `mallopt` thresholds and garbage collector settings.

glibc returns freed memory to the system only above a threshold, and raises the threshold as larger blocks are freed.
After a scan, hundreds of megabytes would remain allocated.  With a fixed threshold, arrays are returned at once.
On systems other than Linux, only the garbage collector is tuned.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import sys

log = logging.getLogger(__name__)

MALLOC_THRESHOLD = 256 * 1024
"""Size in bytes above which a block is mapped separately, and maximum free memory kept at the end of the heap."""
LARGE_MALLOC_THRESHOLD = 16 * 1024 * 1024
"""Threshold once the index is complete: an array of 64 bits for each of two million rows.  Bulk workers use it too,
since they create such arrays for every batch, and mapping them took a twentieth of the time."""
GC_THRESHOLD = 50_000
"""New objects between two garbage collections; one request creates about ten thousand objects and hardly any cycles."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h
_ARENAS = 2


def limit_memory(threshold: int = MALLOC_THRESHOLD) -> None:
    """Set the memory thresholds of this process; call it early, before much is allocated."""
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    _set_malloc_options((_TRIM_THRESHOLD, threshold), (_MMAP_THRESHOLD, threshold), (_ARENA_MAX, _ARENAS))


def tune_for_latency() -> None:
    """Tune for the latency of requests, once the index is complete and most objects will stay alive.

    The garbage collector ignores the existing objects (`gc.freeze`).  Arrays as long as the index, which every request
    creates and drops, are no longer mapped each time: zeroing their pages took four times as long as the search.
    """
    gc.collect()
    gc.freeze()
    release_free_memory()  # that of the start: an eighth with 150,000 files
    _set_malloc_options((_TRIM_THRESHOLD, LARGE_MALLOC_THRESHOLD), (_MMAP_THRESHOLD, LARGE_MALLOC_THRESHOLD))


def release_closed_index() -> None:
    """Return the memory of an index that was closed to the system; the process goes on without one."""
    gc.unfreeze()
    gc.collect()
    _set_malloc_options((_TRIM_THRESHOLD, MALLOC_THRESHOLD), (_MMAP_THRESHOLD, MALLOC_THRESHOLD))
    release_free_memory()


def release_free_memory() -> None:
    """Return free heap memory to the system."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError) as error:
        log.debug("cannot tune the memory allocator: %s", error)


def _set_malloc_options(*options: tuple[int, int]) -> None:
    if sys.platform != "linux":
        return
    try:
        libc = ctypes.CDLL(None)
        for option, value in options:
            libc.mallopt(option, value)
    except (OSError, AttributeError) as error:  # another libc
        log.debug("cannot tune the memory allocator: %s", error)

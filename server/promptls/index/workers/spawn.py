"""Start of helper processes; one worker can be started early, to import its libraries while the server starts.

The first caller that needs a worker gets the early one.  This module imports little, because the server runs it first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from promptls.util.termination import add_cleanup

WORKER_MODULE = "promptls.index.workers.worker"
STORE_MODULE = "promptls.index.store.lance_process"

HELPER_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "2",  # glibc reserves memory per thread, and Lance has many: 432 → 311 MB for 1.4 M chunks
}
"""Environment variables of helpers, in addition to the path on which this process finds packages."""
_IMPORT_ROOT = Path(__file__).parents[3]
"""Working directory of helpers: `-m` imports from it first, so it must not be a workspace."""
_lock = threading.Lock()
_prestarted: list[subprocess.Popen[bytes]] = []


def spawn_process(module: str, background: bool) -> subprocess.Popen[bytes]:
    """Start a module of this package in a process with pipes; with `background`, at a low priority."""
    process = _take_prestarted() if module == WORKER_MODULE else None
    process = process or _start_process(module)
    if background and hasattr(os, "setpriority"):
        try:
            os.setpriority(os.PRIO_PROCESS, process.pid, 10)
        except OSError:
            pass  # it has already exited; the caller notices that
    return process


def prestart_worker() -> None:
    """Start a worker early if there is more than one core."""
    if (os.cpu_count() or 1) > 1:
        add_cleanup(kill_prestarted)
        with _lock:
            _prestarted.append(_start_process(WORKER_MODULE))


def kill_prestarted() -> None:
    """Kill the early worker if it is still unused."""
    process = _take_prestarted()
    if process is not None:
        kill_process(process)


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and close its pipes."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass


def _take_prestarted() -> subprocess.Popen[bytes] | None:
    with _lock:
        process = _prestarted.pop() if _prestarted else None
    if process is not None and process.poll() is not None:
        kill_process(process)
        return None
    return process


def _start_process(module: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **HELPER_VARIABLES, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=_IMPORT_ROOT,
        start_new_session=True,  # Ctrl-C reaches only this process; a helper exits at the end of its stdin
    )

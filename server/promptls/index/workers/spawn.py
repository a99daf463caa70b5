"""Starts helper processes; one worker may be started ahead of time, and loads its libraries while the server does.

Whoever needs a worker first gets it: a first scan, or else what answers questions.  Imports little, for it is the first
thing that a server does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

WORKER = "promptls.index.workers.worker"
KEEPER = "promptls.index.store.lance_process"

_HOME = Path(__file__).parents[3]  # `-m` imports from the working directory first: never from a workspace
_lock = threading.Lock()
_ahead: list[subprocess.Popen[bytes]] = []


def spawn(module: str, background: bool) -> subprocess.Popen[bytes]:
    """A process of one of our modules, with pipes; in the `background` it yields to all others."""
    process = _taken() if module == WORKER else None
    process = process or _started(module)
    if background and hasattr(os, "setpriority"):
        try:
            os.setpriority(os.PRIO_PROCESS, process.pid, 10)
        except OSError:
            pass  # it has ended already, which will be noticed
    return process


def start_ahead() -> None:
    """Start a worker that nobody has asked for yet, where there is a core for it."""
    if (os.cpu_count() or 1) > 1:
        with _lock:
            _ahead.append(_started(WORKER))


def drop() -> None:
    """End the worker that nobody has asked for."""
    process = _taken()
    if process is not None:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process at once."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass


def _taken() -> subprocess.Popen[bytes] | None:
    with _lock:
        process = _ahead.pop() if _ahead else None
    if process is not None and process.poll() is not None:
        end(process)
        return None
    return process


def _started(module: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=_HOME
    )

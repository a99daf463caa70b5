"""Peers on the same folder: ripgrep searches every file, and semble builds its index.

semble gets a static model in the layout of model2vec, because its default model must be downloaded from a hub.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

_SEMBLE = """
import sys, time
from semble import SembleIndex
start = time.perf_counter()
index = SembleIndex.from_path(sys.argv[1], model_path=sys.argv[2])
print(time.perf_counter() - start)
"""


def ripgrep(root: Path) -> float | None:
    """Return the seconds of the second search for a rare word in all files; None without ripgrep."""
    program = shutil.which("rg")
    if program is None:
        return None
    command = [program, "--count", "--no-messages", "qzxjvkw", root.as_posix()]
    seconds = 0.0
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True)
        seconds = time.perf_counter() - start
    return seconds


def semble(root: Path, python: str | None, model: str | None, cache: Path) -> float | None:
    """Return the seconds to build an index, without the start of Python; None if semble cannot run."""
    if python is None or model is None:
        return None
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    ran = subprocess.run(
        [python, "-c", _SEMBLE, root.as_posix(), model],
        capture_output=True,
        text=True,
        env={
            "HOME": cache.as_posix(),
            "XDG_CACHE_HOME": cache.as_posix(),
            "PATH": "/usr/bin:/bin",
            "HF_HUB_OFFLINE": "1",
        },
    )
    return float(ran.stdout.split()[-1]) if ran.returncode == 0 else None

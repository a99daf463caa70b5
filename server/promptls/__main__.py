"""Runs the command line: `python -m promptls`, and the console script `promptls`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from promptls.util.termination import exit_on_signals

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as in shells."""


def main() -> int:
    """Run one command and return the exit status; a signal at any moment exits without a traceback."""
    try:
        exit_on_signals()
        _prefer_own_packages()
        from promptls.cli import main as run

        return run()
    except KeyboardInterrupt:  # before the handlers were installed
        os._exit(INTERRUPTED)


def _prefer_own_packages() -> None:
    """Import packages of this installation before those of `PYTHONPATH`, and none from the current folder.

    `PYTHONPATH` may lead to packages of another Python, as in a shell of ROS, and the current folder is a workspace in
    most cases: `python -m promptls` would run its files.
    """
    with suppress(OSError):  # the current folder was deleted
        if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False) and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
            del sys.path[0]
        later = {os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder}  # noqa: PTH100
        sys.path.sort(key=lambda folder: os.path.abspath(folder) in later)  # noqa: PTH100


if __name__ == "__main__":
    sys.exit(main())

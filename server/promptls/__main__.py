"""Runs the command line: `python -m promptls`, and the console script `promptls`."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as in shells."""


def main() -> int:
    """Run one command and return the exit status; Ctrl-C at any moment exits without a traceback."""
    try:
        from promptls.cli import main as run

        status = run()
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter would print a traceback while it shuts down
        _exit_now(status)
    return status


def _exit_now(status: int) -> None:
    """Exit without waiting for threads: after Ctrl-C, the user waits for the prompt of the shell."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # closed
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

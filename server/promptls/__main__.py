"""Runs the command line: `python -m promptls`, and the console script `promptls`."""

from __future__ import annotations

import os
import sys

from promptls.util.termination import exit_on_signals

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as in shells."""


def main() -> int:
    """Run one command and return the exit status; a signal at any moment exits without a traceback."""
    try:
        exit_on_signals()
        from promptls.cli import main as run

        return run()
    except KeyboardInterrupt:  # before the handlers were installed
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the command line: `python -m promptls`, and the console script `promptls`."""

import sys

from promptls.cli import main

if __name__ == "__main__":
    sys.exit(main())

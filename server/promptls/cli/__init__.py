"""The command line of promptls: one module per group of commands.

A command has a function `add_…_parser`, which declares the arguments, and one that runs it and returns the exit status.
Heavy imports are made inside these functions, so that `promptls --help` and `promptls serve` start fast.
"""

from promptls.cli.main import main

__all__ = ["main"]

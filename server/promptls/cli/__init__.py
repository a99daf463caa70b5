"""The command line of promptls: one module per command or group of commands.

A command module has `add_parser`, which declares the arguments, and a function that runs the command and returns the
exit status. Heavy imports are made inside these functions, so that `promptls --help` and `promptls serve` start fast.
"""

from promptls.cli.main import main

__all__ = ["main"]

"""Standard streams and exit statuses."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from typing import Any, Literal

SUCCESS, FAILURE, USAGE_ERROR = 0, 1, 2
"""Exit statuses; see `promptls.util.termination` for those after a signal."""


class UsageError(Exception):
    """Raised for invalid arguments; the text is one sentence for the user."""


class CommandError(Exception):
    """Raised if a command cannot be completed; the text is one sentence for the user."""


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def print_error(message: str) -> None:
    """Print a message for the user to stderr, if stderr can be written."""
    with suppress(OSError):
        print(f"promptls: {message}", file=sys.stderr)


_closed_streams: set[str] = set()


def open_missing_streams() -> None:
    """Open the null device for standard streams that are closed; `require_stream` remembers them.

    Otherwise the next file that is opened, such as a store, would get the descriptor of a standard stream.
    """
    for name in ("stdin", "stdout", "stderr"):  # in the order of their descriptors
        if getattr(sys, name) is None:
            _closed_streams.add(name)
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def require_stream(name: Literal["stdin", "stdout"]) -> None:
    """Check that a standard stream was open when the process started, and in the right direction.

    Raises:
        CommandError: It was not.
    """
    purpose = "read the input" if name == "stdin" else "write the output"
    if name in _closed_streams:
        raise CommandError(f"cannot {purpose}: {name} is closed.")
    try:
        os.read(0, 0) if name == "stdin" else os.write(1, b"")
    except BrokenPipeError:
        pass  # not an error of the command, see `promptls.cli.main`
    except OSError as error:
        raise CommandError(f"cannot {purpose}: {name}: {error.strerror}.") from None


def read_stdin() -> str:
    """Return all of stdin.

    Raises:
        CommandError: It is closed.
    """
    require_stream("stdin")
    return sys.stdin.read()


def configure_streams() -> None:
    """Use UTF-8 for streams that are not terminals, and escape characters that a terminal cannot show."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        if isinstance(stream, io.TextIOWrapper):
            keep_encoding = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=None if keep_encoding else "utf-8", errors="backslashreplace")


def discard_output() -> None:
    """Flush stdout, or redirect it to the null device if that fails.

    Otherwise the interpreter would try to write the buffer again at exit and end with status 120.
    """
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

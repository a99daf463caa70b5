"""Standard streams and exit statuses."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from contextlib import suppress
from typing import Any, TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

SUCCESS, FAILURE, USAGE_ERROR = 0, 1, 2
"""Exit statuses; see `promptls.util.termination` for those after a signal."""


class UsageError(Exception):
    """Raised for invalid arguments; the text is one sentence for the user."""


class CommandError(Exception):
    """Raised if a command cannot be completed; the text is one sentence for the user."""


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def print_text(text: str, file: TextIO | None = None) -> None:
    """Print a text for people: control characters, which names of files can contain, cannot reach the terminal."""
    print(_CONTROL.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text), file=file, flush=True)


def print_error(message: str) -> None:
    """Print a message for the user to stderr, if stderr can be written."""
    with suppress(OSError):
        print_text(f"promptls: {message}", file=sys.stderr)


def configure_streams() -> None:
    """Use UTF-8 for streams that are not terminals, and escape characters that a terminal cannot show.

    The null device replaces closed streams. Otherwise the next file that is opened, such as a store, would get the
    descriptor of a standard stream.
    """
    for name in ("stdin", "stdout", "stderr"):  # in the order of their descriptors
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115
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

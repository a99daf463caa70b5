"""Values of a secret file such as .env: everything but names is redacted."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INDENT = "-+ \t{[(,"
"""Characters before a name or a value: the sign of a diff line, blanks, list markers."""
_BEFORE_VALUE = re.compile(
    r"""(?!\s*["']?[A-Za-z0-9+/]{16,}={0,2}\s*$)"""  # the last line of a base64 block
    r"""[-+#;{\[(,\s]*(?:export\s+)?(?://(?:[\w./:-]*/:)?\s*)?["']?[\w.@][\w.@-]*["']?[ \t]*(?:=>?|:=?)[ \t]*"""
)
_NO_VALUE = re.compile(r"[-+ ]?\[+[\w .:/@-]*\]+\s*$|[-+\s]*(?:$|[#;]|//|@@|-----(?:BEGIN|END) [A-Z ]+-----\s*$)")
"""A line without a value: a section header, a comment, a hunk header of a diff, a PEM marker, a blank line."""
_BLOCK_SIGNS = " \t\r,;|>\"'`()[]{}+-"
"""Brackets, quotes and signs that start a block; a value has other characters too."""
_PLACEHOLDER = re.compile(
    r"\$\{\w*\}|%\w+%|<[^<>]*>|\{\{[^{}]*\}\}|⟦[^⟦⟧]*⟧|change[-_ ]?me|placeholder|todo|example"
    r"|your(?:[-_ ][a-z]+)+|(.)\1*|true|false|yes|no|on|off|none|null",
    re.IGNORECASE,
)


def find_file_values(text: str, is_file: bool) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each value in lines of a secret file.

    A value goes to the end of its line.  In the text of the file itself (`is_file`), a line without a name is a value.
    """
    at = 0
    for line in text.split("\n"):
        name = _BEFORE_VALUE.match(line)
        if name or (is_file and not _NO_VALUE.match(line)):
            start, end = _value(line, name.end() if name else len(line) - len(line.lstrip(_INDENT)))
            value = line[start:end]
            if value.strip(_BLOCK_SIGNS) and not _PLACEHOLDER.fullmatch(value):
                yield at + start, at + end, "value"
        at += len(line) + 1


def _value(line: str, start: int) -> tuple[int, int]:
    """Return the start and end of a value, without its quotes if only brackets follow them."""
    end = len(line.rstrip())
    if line[start : start + 1] in ('"', "'"):
        closing = line.rfind(line[start], start + 1)
        if closing > start and not line[closing + 1 : end].strip(" \t,;)]}"):
            return start + 1, closing
    return start, end

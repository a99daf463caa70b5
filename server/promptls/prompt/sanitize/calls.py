"""Passwords among the arguments of calls that connect or log in: `connect("db", "app", "…")`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ARGUMENT = re.compile(
    r"""\s{0,80}(?:
        (?:[\w:.\[\]]{1,24}\([ ]?)?[bruBRUfFNL@]{0,2}  # a conversion, a prefix
        (?:"([^"\\\n]{0,200})"|'([^'\\\n]{0,200})'|`([^`\\\n]{0,200})`)
        (?:\.\w{1,20}\(\))?\)?\s{0,40}(?=([,)\n;]|$|\ or\b|\ do\b))
      | [^"'`,()\n]{0,100}(?:\([^()\n]{0,100}\)|"[^"\n]{0,200}"|'[^'\n]{0,200}')?[^"'`,()\n]{0,60}(?=([,)]))
    )""",
    re.VERBOSE,
)
"""One argument: a string in group 1, 2 or 3, or another expression; and the character that follows."""


def string_argument(text: str, start: int, index: int) -> tuple[int, int] | None:
    """Return the span of the value of an argument, by its index, if it is a string; `start` is after the parenthesis."""
    at = start
    for number in range(index + 1):
        argument = _ARGUMENT.match(text, at)
        if argument is None:
            return None
        if number == index:
            return next((argument.span(group) for group in (1, 2, 3) if argument[group] is not None), None)
        if (argument[4] or argument[5]) != ",":
            return None
        at = argument.end() + 1
    return None


def call_arguments(text: str, calls: Iterator[tuple[int, int]], index: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the arguments with an index of calls, which are given by their spans."""
    for _, end in calls:
        start = end - 1 if text[end - 1] in "\"'" else end
        if span := string_argument(text, start, index):
            yield span

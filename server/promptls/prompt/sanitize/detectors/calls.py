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


MAX_ARGUMENTS_CHARACTERS = 300
_MAX_PARTS = 40
_PART = re.compile(
    r"""\s{0,80}(?:(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<end>;|\n\s*\n)
    |[bruBRUfFNL@$]{0,2}(?:"(?P<double>[^"\\\n]{0,200})(?:\\[rn0])*"|'(?P<single>[^'\\\n]{0,200})(?:\\[rn0])*'|`(?P<back>[^`\\\n]{0,200})`)
    |[^\s"'`,;()\[\]{}]+|["'`])""",
    re.VERBOSE,
)


def string_arguments(text: str, start: int, *, closed: bool) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the index and the span of the value of each string among the arguments of a call or the items of a list.

    A string in one pair of inner parentheses counts as an argument, as in `Some("…")`.  Without parentheses (`closed`),
    the arguments end with the line.  Arguments with blanks between them, as in Haskell and Lisp, count too.
    Values after a name are left out, as in `id: "…"`.
    """
    at, depth, commas, strings, before = start, 0, 0, 0, ""
    limit = min(len(text), start + MAX_ARGUMENTS_CHARACTERS)
    if not closed:
        line_end = text.find("\n", start, limit)
        limit = line_end if line_end >= 0 else limit
    for _ in range(_MAX_PARTS):
        part = _PART.match(text, at, limit)
        if part is None or part["end"]:
            return
        at = part.end()
        if part["open"]:
            depth += 1
        elif part["close"]:
            depth -= 1
            if depth < 0:
                return
        elif part["comma"]:
            commas += depth == 0
        elif depth < 2 and (group := part.lastgroup) in ("double", "single", "back"):
            if not before.endswith((":", "=", "=>")):
                yield max(commas, strings), part.span(group)
            strings += 1
        before = part[0]

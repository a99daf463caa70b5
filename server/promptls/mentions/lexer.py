"""Lexer for mentions: finds the "@…" tokens of a message, below the grammar.

Skips fenced code blocks and inline code, finds each "@" that may start a mention, and reads its characters with
quotes and escapes resolved.  Takes time linear in the length of the text: each "@" reads at most `MAX_LENGTH`
characters.  Independent of kinds, paths and files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from promptls.mentions.token import (
    MAX_LENGTH,
    TOOL_PREFIX,
    MentionToken,
    default_length,
    read_token,
    starts_mention,
)
from promptls.model import Mention
from promptls.util.cancellation import check_cancelled, check_each

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t\r>]*\n")
_EVENT = re.compile(rf"`+|@|(?<![\w#@/]){TOOL_PREFIX}")

Parser = Callable[[MentionToken], Mention | None]
"""Returns the mention at a token, None if it is text."""


def scan_mentions(text: str, parse: Parser) -> Iterator[Mention]:
    """Yield the mentions of a text from left to right.

    `parse` decides how much of a token is a mention.  The characters behind it are scanned again.
    """
    for start, stop in _prose_ranges(text):
        yield from _scan_range(text, start, stop, parse)


def token_at_end(text: str) -> MentionToken | None:
    """Return the mention being typed at the end of the text, or None.

    Nothing is trimmed, because "@src/a." is an incomplete name.  A quote may be open.
    """
    start, stop = _last_prose_range(text)
    # Inline code needs no check: the backtick that closes it would have to follow the "@".
    line = max(start, text.rfind("\n", start, stop) + 1, text.rfind("\r", start, stop) + 1, stop - MAX_LENGTH)
    at = text.find("@", line, stop)
    while at >= 0:
        if starts_mention(text, at):
            token = read_token(text, at, stop, typing=True)
            if token.quote or default_length(token, typing=True) == len(token.value):
                if token.end == stop:
                    return token
                at = max(at, token.end - 1)
        at = text.find("@", at + 1, stop)
    return None


def _prose_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges outside of fenced code blocks; an unclosed fence extends to the end."""
    start, fence = 0, ""
    for match in check_each(_FENCE.finditer(text)):
        marks, rest = match.group(1), match.group(2)
        if fence:
            if marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
                fence, start = "", match.end()
        elif marks[0] == "~" or "`" not in rest:
            yield start, match.start()
            fence = marks
    if not fence:
        yield start, len(text)


def _last_prose_range(text: str) -> tuple[int, int]:
    start, stop = 0, 0
    for start, stop in _prose_ranges(text):  # noqa: B007 - only the last range is used
        pass
    if stop < len(text):
        return len(text), len(text)
    return start, stop


def _scan_range(text: str, start: int, stop: int, parse: Parser) -> Iterator[Mention]:
    """Yield the mentions of a range.  Inline code ends at a backtick run of equal length in the same paragraph."""
    backticks: dict[int, list[int]] = {}
    for run in check_each(re.finditer(r"`+", text[start:stop])):
        backticks.setdefault(len(run.group()), []).append(start + run.start())
    blank_lines = [blank.start() for blank in check_each(_BLANK.finditer(text, start, stop))]
    at = end = start
    while (event := _EVENT.search(text, at, stop)) is not None:
        check_cancelled()
        at = event.end()
        if event.group()[0] == "`":
            at = _skip_inline_code(text, event.start(), event.end(), backticks, blank_lines, stop)
        elif starts_mention(text, event.start(), end):
            mention = parse(read_token(text, event.start(), stop))
            if mention is not None:
                yield mention
                at = end = mention.end


def _skip_inline_code(
    text: str, start: int, end: int, backticks: dict[int, list[int]], blank_lines: list[int], stop: int
) -> int:
    """Return the offset after the inline code that these backticks open, or after the backticks if it is not closed."""
    if start and text[start - 1] == "\\":
        return end
    same_length = backticks.get(end - start, [])
    i = bisect_left(same_length, end)
    if i == len(same_length):
        return end
    blank = bisect_left(blank_lines, start)
    limit = blank_lines[blank] if blank < len(blank_lines) else stop
    return same_length[i] + (end - start) if same_length[i] < limit else end

"""Lexer for mentions: finds the "@…" tokens of a message, below the grammar.

Takes time linear in the length of the text: each "@" outside of code reads at most `MAX_LENGTH` characters.
Independent of kinds, paths and files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from promptls.mentions.syntax.code_ranges import CodeRanges, code_ranges
from promptls.mentions.syntax.token import (
    MAX_LENGTH,
    SIGNS,
    TOOL_PREFIXES,
    MentionToken,
    default_length,
    read_token,
    starts_mention,
)
from promptls.model import Mention
from promptls.util.cancellation import check_cancelled

_SIGN = re.compile(f"[{SIGNS}]")
_START = re.compile(rf"{_SIGN.pattern}|(?<![\w#{SIGNS}/])(?:{'|'.join(TOOL_PREFIXES)})")

Parser = Callable[[MentionToken], Mention | None]
"""Returns the mention at a token, None if it is text."""


def scan_mentions(text: str, parse: Parser) -> Iterator[Mention]:
    """Yield the mentions of a text from left to right.

    `parse` decides how much of a token is a mention.  The characters behind it are scanned again.
    """
    start = _START.search(text)
    code = code_ranges(text) if start is not None else CodeRanges()
    end = 0  # of the last mention
    while start is not None:
        check_cancelled()
        at = start.end()
        if starts_mention(text, start.start(), end) and not code.contains(start.start()):
            mention = parse(read_token(text, start.start(), len(text)))
            if mention is not None:
                yield mention
                at = end = mention.end
        start = _START.search(text, at)


def token_at_end(text: str) -> MentionToken | None:
    """Return the mention being typed at the end of the text, or None.

    Nothing is trimmed, because "@src/a." is an incomplete name.  A quote may be open.
    """
    stop = len(text)
    line = max(text.rfind("\n") + 1, text.rfind("\r") + 1, stop - MAX_LENGTH)
    sign = _SIGN.search(text, line)
    code = code_ranges(text) if sign is not None else CodeRanges()
    while sign is not None:
        at = sign.start()
        if starts_mention(text, at) and not code.contains(at):
            token = read_token(text, at, stop, typing=True)
            if token.quote or default_length(token, typing=True) == len(token.value):
                if token.end == stop:
                    return token
                at = max(at, token.end - 1)
        sign = _SIGN.search(text, at + 1)
    return None

"""Tokens of SQL that matter for the extent of definitions, in the dialects of the common servers.

Comments, strings and dollar-quoted bodies are single tokens, so that words in them are not found. Everything here is
linear in the size of the text: an unclosed comment or string extends to the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

TokenKind = Literal["word", "line_word", "open", "close", "end", "batch", "quote"]
"""Kind of a token.

"line_word" is a word that begins its line. "end" ends a statement, "batch" is a line that ends everything before it.
"quote" is a string or a body between dollar signs.
"""

_WORDS = (
    "CREATE ALTER DROP BEGIN END CASE IS AS DECLARE PROCEDURE FUNCTION RETURN "
    "INSERT UPDATE DELETE MERGE GRANT REVOKE EXEC EXECUTE CALL IF SET USE PRINT COMMENT COMMIT GO TRUNCATE DO"
).split()

_QUOTE_CLOSERS = {b"[": b"]", b"(": b")", b"{": b"}", b"<": b">"}
_DOLLAR = rb"\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$"
_BATCH_LINE = re.compile(rb"^[ \t]*GO(?:[ \t]+\d+)?[ \t]*;?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_BRACKET_NAME = re.compile(rb"\b(?:CREATE|ALTER|USE)\s+(?:OR\s+ALTER\s+)?(?:\w+\s+)?\[", re.IGNORECASE)
_MYSQL = re.compile(
    rb"^[ \t]*DELIMITER[ \t]|/\*!\d|\bENGINE[ \t]*=|\b(?:TABLE|FROM|INTO|EXISTS)[ \t]+`", re.IGNORECASE | re.MULTILINE
)


class Token(NamedTuple):
    """A token of SQL; positions are bytes."""

    kind: TokenKind
    text: str
    start: int
    end: int


class Dialect(NamedTuple):
    """Properties of a text that decide how it is read."""

    batches: bool
    """The text has GO lines, which end procedures of Transact-SQL."""
    brackets: bool
    """Names may be in brackets, as in Transact-SQL."""
    backslashes: bool
    """A backslash escapes a quote, and "#" begins a comment, as in MySQL."""


def dialect_of(data: bytes) -> Dialect:
    """Return the properties of a text, from statements that only one server has."""
    batches = _BATCH_LINE.search(data) is not None
    mysql = not batches and _MYSQL.search(data) is not None
    return Dialect(batches, batches or _BRACKET_NAME.search(data) is not None, mysql)


def tokenize(data: bytes, dialect: Dialect) -> Iterator[Token]:
    """Yield the tokens of a text that matter for the extent of definitions."""
    delimiter = b";"
    dollars = _DollarQuotes(data)
    position = 0
    transparent = False  # inside of "DO $$ … $$", whose body is read like any other text
    nested_comments = True
    while True:
        match = _pattern(delimiter, dialect).search(data, position)
        if match is None:
            return
        kind, start, position = match.lastgroup, match.start(), match.end()
        if kind == "comment":
            end = _comment_end(data, start, nested_comments and not dialect.backslashes)
            if end < 0:
                nested_comments = False
                end = _comment_end(data, start, False)
            position = end if end >= 0 else len(data)
        elif kind == "setting":
            delimiter = match.group("delimiter")
            yield Token("batch", "delimiter", start, position)
        elif kind == "copy":
            end = data.find(b"\n\\.", position)
            position = len(data) if end < 0 else end + 3
        elif kind == "q_quote":
            opener = data[position - 1 : position]
            end = data.find(_QUOTE_CLOSERS.get(opener, opener) + b"'", position)
            position = len(data) if end < 0 else end + 2
            yield Token("quote", "", start, position)
        elif kind == "dollar":
            end = dollars.end(match.group(), position)
            if transparent or end < 0:
                transparent = False
            else:
                position = end
                yield Token("quote", "$", start, end)
        elif kind == "string":
            yield Token("quote", "", start, position)
        elif kind in ("word", "line_word"):
            text = match.group(kind)
            start = match.start(kind)
            word = text.decode().upper()
            if word == "DO":
                following = _DO_BODY.match(data, position)
                if following is not None:
                    transparent, position = True, following.end()
            else:
                yield Token("word" if kind == "word" else "line_word", word, start, position)
        elif kind in ("open", "close", "end", "batch"):
            yield Token(kind, match.group().decode("utf-8", "replace").strip(), start, position)  # type: ignore[arg-type]


_DO_BODY = re.compile(rb"(?:\s+LANGUAGE\s+\w+)?\s+" + _DOLLAR, re.IGNORECASE)


@lru_cache(maxsize=64)
def _pattern(delimiter: bytes, dialect: Dialect) -> re.Pattern[bytes]:
    """Return the pattern of the tokens for a statement delimiter."""
    string = (
        rb"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
        if dialect.backslashes
        else rb"(?<![\w'])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'[^']*(?:'|\Z)"
    )
    names = [rb'"[^"\n]*"', rb"`[^`\n]*`"]
    if dialect.brackets:
        names.append(rb"\[[^\]\n]{0,200}\]")
    words = "|".join(_WORDS).encode()
    end = rb"(?P<end>" + re.escape(delimiter) + rb")"
    alternatives = [
        rb"(?P<line_comment>--[^\n]*" + (rb"|^[ \t]*#[^\n]*" if dialect.backslashes else b"") + rb")",
        rb"(?P<comment>/\*(?!!))",
        *([end] if delimiter.startswith((b"$", b"/")) else []),
        rb"(?P<setting>^[ \t]*DELIMITER[ \t]+(?P<delimiter>\S+)[^\n]*)",
        rb"(?P<batch>^[ \t]*(?:GO(?:[ \t]+\d+)?[ \t]*;?|/)[ \t]*$)"
        if dialect.batches
        else rb"(?P<batch>^[ \t]*/[ \t]*$)",
        rb"(?P<copy>^COPY[ \t][^\n;]*[ \t]FROM[ \t]+stdin\b[^\n]*)",
        rb"(?P<q_quote>(?<![\w$#])[nN]?[qQ]'\S)",
        rb"(?P<string>" + string + rb")",
        rb"(?P<name>" + rb"|".join(names) + rb")",
        rb"(?P<dollar>(?<![\w\x80-\xff])" + _DOLLAR + rb")",
        rb"(?P<ignored>\bEXEC(?:UTE)?\s+AS\b|@\w+\s+AS\b|\bREFERENCING\b[^\n;]*)",
        rb"^[ \t]*(?P<line_word>(?:" + words + rb"))(?![\w@#\x80-\xff]|\$\w)",
        rb"(?<![\w@#$.:\x80-\xff])(?P<word>(?:" + words + rb"))(?![\w@#\x80-\xff]|\$\w)",
        rb"(?P<open>\()",
        rb"(?P<close>\))",
        *([] if delimiter.startswith((b"$", b"/")) else [end]),
    ]
    return re.compile(rb"|".join(alternatives), re.IGNORECASE | re.MULTILINE | re.DOTALL)


_COMMENT_MARK = re.compile(rb"/\*|\*/")


def _comment_end(data: bytes, start: int, nested: bool) -> int:
    """Return the end of a block comment, -1 if it is not closed."""
    if not nested:
        end = data.find(b"*/", start + 2)
        return end + 2 if end >= 0 else -1
    depth = 0
    for mark in _COMMENT_MARK.finditer(data, start):
        depth += 1 if mark.group() == b"/*" else -1
        if depth == 0:
            return mark.end()
    return -1


class _DollarQuotes:
    """Finds the end of bodies between dollar signs; the tags of a text are searched for once."""

    __slots__ = ("_data", "_ends")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ends: dict[bytes, list[int]] | None = None

    def end(self, tag: bytes, position: int) -> int:
        """Return the end of the body that a tag opens, -1 if it is not closed."""
        if self._ends is None:
            self._ends = {}
            for match in re.finditer(_DOLLAR, self._data):
                self._ends.setdefault(match.group(), []).append(match.end())
        ends = self._ends.get(tag, [])
        index = bisect_right(ends, position)
        return ends[index] if index < len(ends) else -1

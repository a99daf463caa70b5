"""Lexer for mentions: finds the "@…" tokens of a message, below the grammar.

Finds each "@" outside of code that may start a mention, and reads its characters with quotes and escapes resolved.  Takes time linear in the length of the text: each "@" reads at most `MAX_LENGTH`
characters.  Independent of kinds, paths and files.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from promptls.mentions.code_ranges import CodeRanges, code_ranges
from promptls.util.cancellation import check_cancelled

MAX_LENGTH = 250
"""Maximum number of characters of a mention; a longer run is data, such as a URL or base64."""

QUOTED_CHAR = "\0"
"""Replaces quoted and escaped characters in `MentionToken.masked`, which have no syntactic meaning."""

_OPENERS = frozenset(
    "([{,;\"'`<>|*" + "\u2018\u201c\u201e\u00ab\u2013\u2014\u2026\ufeff\u200b\u2060" + "（［｛「『《〈【、，。；：！？"
)
"""Characters allowed directly before the "@", besides white space and the start of the text."""

_ENDERS = frozenset(
    "\"'`<>|,;"
    + "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
    + "（）［］｛｝「」『』《》〈〉【】、，。；：！？"
    + QUOTED_CHAR
)
"""Characters that end a mention unless quoted or escaped, besides white space."""

_TRAILING = ".:!?#\u2026"
"""Punctuation that closes a sentence; closing brackets and quotes are never in a token without the opening one."""

_ESCAPABLE = frozenset(" \t\u00a0\"'\\#:,;")
r"""Characters that a backslash makes literal; before any other character it separates folders: src\a.py."""

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_BEFORE_BRACKET = {"(": "/)", "[": "/.-_[", "{": "/.-_{*?},"}
"""Characters before a bracket that is part of a name: app/(group)/page.tsx, [...slug].ts, {{name}}/x.py, *.{ts,tsx}."""


class MentionToken(Struct, frozen=True):
    """Characters of one possible mention, without the "@"."""

    start: int  # offset of the "@"
    end: int  # offset after the last character
    value: str  # without quotes and escapes
    masked: str  # same length as `value`; QUOTED_CHAR for literal characters
    quote: str = ""  # quote that is still open at the end of the text, in a mention being typed


def scan_mentions(text: str) -> Iterator[MentionToken]:
    """Yield the possible mentions of a text from left to right, without trailing punctuation."""
    at = text.find("@")
    code = code_ranges(text) if at >= 0 else CodeRanges()
    while at >= 0:
        check_cancelled()
        end = at + 1
        if starts_mention(text, at) and not code.contains(at):
            token = _read_token(text, at, len(text))
            if token is not None:
                end = max(end, token.end)
                token = _trim_punctuation(text, token)
                if token.value:
                    yield token
        at = text.find("@", end)


def token_at_end(text: str) -> MentionToken | None:
    """Return the mention being typed at the end of the text, or None.

    Nothing is trimmed, because "@src/a." is an incomplete name.  A quote may be open.
    """
    stop = len(text)
    line = max(text.rfind("\n") + 1, text.rfind("\r") + 1, stop - MAX_LENGTH)
    at = text.find("@", line)
    code = code_ranges(text) if at >= 0 else CodeRanges()
    while at >= 0:
        if starts_mention(text, at) and not code.contains(at):
            token = _read_token(text, at, stop, typing=True)
            if token is not None and token.end == stop:
                return token
            if token is not None and token.end > at + 1:
                at = token.end - 1
        at = text.find("@", at + 1)
    return None


def token_end(text: str, at: int) -> int:
    """Return the end of the mention that starts at this "@", without trailing punctuation; 0 if there is none."""
    token = _read_token(text, at, len(text))
    return _trim_punctuation(text, token).end if token is not None and token.value else 0


def starts_mention(text: str, at: int) -> bool:
    """Return whether the "@" at this offset may start a mention: not within an e-mail address or a path."""
    if at == 0:
        return True
    before = text[at - 1]
    return before.isspace() or before in _OPENERS


def _read_token(text: str, at: int, stop: int, typing: bool = False) -> MentionToken | None:
    """Return the token that starts at the "@" at `at`, or None if it is longer than `MAX_LENGTH`."""
    value: list[str] = []
    masked: list[str] = []
    ends: list[int] = []
    open_brackets: list[tuple[int, str]] = []
    i, start = at + 1, at + 1
    stop = min(stop, len(text))
    while i < stop:
        if i - at > MAX_LENGTH:
            return None
        char = text[i]
        if char in "\"'" and (not masked or masked[-1] in ":#" or masked == ["@"]):
            close, inner = _read_quoted(text, i, stop)
            if close == stop and typing:
                value += inner
                masked += QUOTED_CHAR * len(inner)
                return MentionToken(at, stop, "".join(value), "".join(masked), char)
            if close < stop:
                value += inner
                masked += QUOTED_CHAR * len(inner)
                ends += [close + 1] * len(inner)
                i = close + 1
                if not inner or i >= stop or text[i] not in ":#/":
                    break
                continue
            if i > start:
                break
            start = i = i + 1  # skips an unclosed quote before the whole mention
            continue
        if char.isspace() or (char in _ENDERS and not (char == "," and open_brackets and open_brackets[-1][1] == "}")):
            break
        if char == "\\" and i + 1 < stop and text[i + 1] in _ESCAPABLE and not _is_unc_prefix(text, i, start, stop):
            value.append(text[i + 1])
            masked.append(QUOTED_CHAR)
            i += 2
            ends.append(i)
            continue
        if char in _BRACKETS:
            before = masked[-1] if masked else "/" if char != "(" else ""
            if not before or before not in _BEFORE_BRACKET[char]:
                break
            open_brackets.append((len(masked), _BRACKETS[char]))
        elif char in ")]}":
            if not open_brackets or open_brackets[-1][1] != char:
                break
            open_brackets.pop()
        value.append(char)
        masked.append(char)
        i += 1
        ends.append(i)
    if i - at > MAX_LENGTH:
        return None
    if open_brackets and not typing:
        keep = open_brackets[0][0]
        value, masked, ends = value[:keep], masked[:keep], ends[:keep]
    end = i if typing else ends[-1] if ends else start
    return MentionToken(at, end, "".join(value), "".join(masked))


def _is_unc_prefix(text: str, i: int, start: int, stop: int) -> bool:
    r"""Return whether the two backslashes here start a UNC path: \\server\share."""
    return i == start and text[i + 1] == "\\" and i + 2 < stop and (text[i + 2].isalnum() or text[i + 2] in "_?")


def _read_quoted(text: str, at: int, stop: int) -> tuple[int, str]:
    """Return the offset of the closing quote and the quoted text.

    Without a closing quote the offset is `stop` at the end of the text, and greater at the end of the line.
    """
    inner: list[str] = []
    quote, i = text[at], at + 1
    while i < stop and i - at <= MAX_LENGTH:
        char = text[i]
        if char in "\n\r":
            break
        if char == quote:
            return i, "".join(inner)
        if char == "\\" and i + 1 < stop and text[i + 1] in (quote, "\\"):
            i += 1
            char = text[i]
        inner.append(char)
        i += 1
    return (stop if i == stop else stop + 1), "".join(inner)


def _trim_punctuation(text: str, token: MentionToken) -> MentionToken:
    """Return the token without the punctuation of the surrounding sentence."""
    masked = token.masked
    trailing = _TRAILING + ("*" if token.start and text[token.start - 1] == "*" else "")
    kept = masked.rstrip(trailing)
    # "@server:" names a root; a colon after anything else ends a clause.
    if masked[len(kept) :].startswith(":") and kept and not set(kept) & set("/\\.:#@" + QUOTED_CHAR):
        kept += ":"
    cut = len(masked) - len(kept)
    if not cut:
        return token
    return MentionToken(token.start, token.end - cut, token.value[: len(kept)], kept)

"""Where mentions stand in a message: the scanner below the grammar.

Skips what is code (fenced blocks, inline spans), finds each "@" that may begin a mention and reads the
characters that belong to it, with quotes and escapes taken away but remembered.  Linear in the length of
the text: every "@" looks at most `MAX_LENGTH` characters ahead.  Knows nothing of kinds, paths or files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

MAX_LENGTH = 250
"""A longer run of characters is data (a URL, base64), not a mention."""

QUOTED = "\0"
"""Stands in `Token.shape` for a character that was quoted or escaped, so that it has no meaning of its own."""

_OPENERS = frozenset(
    "([{,;\"'`<>|*" + "\u2018\u201c\u201e\u00ab\u2013\u2014\u2026\ufeff\u200b\u2060" + "（［｛「『《〈【、，。；：！？"
)
"""What may stand directly before the "@", besides white space and the start of the text."""

_ENDERS = frozenset(
    "\"'`<>|,;"
    + "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
    + "（）［］｛｝「」『』《》〈〉【】、，。；：！？"
    + QUOTED
)
"""What ends a mention unless quoted or escaped, besides white space."""

_TRAILING = ".:!?#\u2026"
"""Closes a sentence rather than a name; closing brackets and quotes never get into a token unopened."""

_ESCAPABLE = frozenset(" \t\u00a0\"'\\#:,;")
r"""A backslash before one of these makes it literal; before anything else it separates folders: src\a.py."""

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_BEFORE_BRACKET = {"(": "/)", "[": "/.-_[", "{": "/.-_{*?},"}
"""Characters after which a bracket belongs to a name: app/(group)/page.tsx, [...slug].ts, {{name}}/setup.py, *.{ts,tsx}."""

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t\r>]*\n")
_EVENT = re.compile(r"`+|@")


class Token(Struct, frozen=True):
    """The characters of one possible mention, "@" not included."""

    start: int  # offset of the "@"
    end: int  # offset after the last character
    plain: str  # what is meant: quotes and escapes removed
    shape: str  # the same length; QUOTED where the character is literal
    quote: str = ""  # the quote that is still open at the end of the text, for a mention being typed


def tokens(text: str) -> Iterator[Token]:
    """The possible mentions of a text, left to right, trailing punctuation taken off."""
    for start, stop in _live(text):
        yield from _paragraph(text, start, stop)


def last_token(text: str) -> Token | None:
    """The mention that is being typed at the end of the text, as it stands; None if there is none.

    Nothing is trimmed: "@src/a." is still on its way to a name, and a quote may be open.
    """
    start, stop = _last_live(text)
    # No code span needs a look: one that holds the "@" would have to be closed by a backtick after it.
    line = max(start, text.rfind("\n", start, stop) + 1, text.rfind("\r", start, stop) + 1, stop - MAX_LENGTH)
    at = text.find("@", line, stop)
    while at >= 0:
        if starts_mention(text, at):
            token = _read(text, at, stop, typing=True)
            if token is not None and token.end == stop:
                return token
            if token is not None and token.end > at + 1:
                at = token.end - 1
        at = text.find("@", at + 1, stop)
    return None


def token_end(text: str, at: int) -> int:
    """Where the mention that begins at this "@" ends, trailing punctuation excluded; 0 if it is none."""
    token = _read(text, at, len(text))
    return _trim(text, token).end if token is not None and token.plain else 0


def starts_mention(text: str, at: int) -> bool:
    """Whether the "@" at this offset may begin a mention: not inside an e-mail address or a path."""
    if at == 0:
        return True
    before = text[at - 1]
    return before.isspace() or before in _OPENERS


def _live(text: str) -> Iterator[tuple[int, int]]:
    """The parts of the text outside fenced code blocks; an unclosed fence goes on to the end."""
    start, fence = 0, ""
    for found in _FENCE.finditer(text):
        marks, rest = found.group(1), found.group(2)
        if fence:
            if marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
                fence, start = "", found.end()
        elif marks[0] == "~" or "`" not in rest:
            yield start, found.start()
            fence = marks
    if not fence:
        yield start, len(text)


def _last_live(text: str) -> tuple[int, int]:
    start, stop = 0, 0
    for start, stop in _live(text):  # noqa: B007 - the last one is wanted
        pass
    if stop < len(text):
        return len(text), len(text)
    return start, stop


def _paragraph(text: str, start: int, stop: int) -> Iterator[Token]:
    """Tokens of a live part.  A code span reaches to the next run of as many backticks in the same paragraph."""
    runs: dict[int, list[int]] = {}
    for found in re.finditer(r"`+", text[start:stop]):
        runs.setdefault(len(found.group()), []).append(start + found.start())
    blanks = [found.start() for found in _BLANK.finditer(text, start, stop)]
    at = start
    while (event := _EVENT.search(text, at, stop)) is not None:
        at = event.end()
        if event.group() != "@":
            at = _after_span(text, event.start(), event.end(), runs, blanks, stop)
        elif starts_mention(text, event.start()):
            token = _read(text, event.start(), stop)
            if token is not None:
                at = max(at, token.end)
                token = _trim(text, token)
                if token.plain:
                    yield token


def _after_span(text: str, start: int, end: int, runs: dict[int, list[int]], blanks: list[int], stop: int) -> int:
    """Offset after the code span that these backticks open, or after the backticks if nothing closes them."""
    if start and text[start - 1] == "\\":
        return end
    same = runs.get(end - start, [])
    i = bisect_left(same, end)
    if i == len(same):
        return end
    blank = bisect_left(blanks, start)
    limit = blanks[blank] if blank < len(blanks) else stop
    return same[i] + (end - start) if same[i] < limit else end


def _read(text: str, at: int, stop: int, typing: bool = False) -> Token | None:
    """The characters after the "@" at `at`, or None if they run on beyond `MAX_LENGTH`."""
    plain: list[str] = []
    shape: list[str] = []
    ends: list[int] = []
    open_brackets: list[tuple[int, str]] = []
    i, start = at + 1, at + 1
    stop = min(stop, len(text))
    while i < stop:
        if i - at > MAX_LENGTH:
            return None
        char = text[i]
        if char in "\"'" and (not shape or shape[-1] in ":#" or shape == ["@"]):
            close, inner = _quoted(text, i, stop)
            if close == stop and typing:
                plain += inner
                shape += QUOTED * len(inner)
                return Token(at, stop, "".join(plain), "".join(shape), char)
            if close < stop:
                plain += inner
                shape += QUOTED * len(inner)
                ends += [close + 1] * len(inner)
                i = close + 1
                if not inner or i >= stop or text[i] not in ":#/":
                    break
                continue
            if i > start:
                break
            start = i = i + 1  # an unclosed quote before the whole mention is passed over
            continue
        if char.isspace() or (char in _ENDERS and not (char == "," and open_brackets and open_brackets[-1][1] == "}")):
            break
        if char == "\\" and i + 1 < stop and text[i + 1] in _ESCAPABLE and not _begins_share(text, i, start, stop):
            plain.append(text[i + 1])
            shape.append(QUOTED)
            i += 2
            ends.append(i)
            continue
        if char in _BRACKETS:
            before = shape[-1] if shape else "/" if char != "(" else ""
            if not before or before not in _BEFORE_BRACKET[char]:
                break
            open_brackets.append((len(shape), _BRACKETS[char]))
        elif char in ")]}":
            if not open_brackets or open_brackets[-1][1] != char:
                break
            open_brackets.pop()
        plain.append(char)
        shape.append(char)
        i += 1
        ends.append(i)
    if i - at > MAX_LENGTH:
        return None
    if open_brackets and not typing:
        keep = open_brackets[0][0]
        plain, shape, ends = plain[:keep], shape[:keep], ends[:keep]
    end = i if typing else ends[-1] if ends else start
    return Token(at, end, "".join(plain), "".join(shape))


def _begins_share(text: str, i: int, start: int, stop: int) -> bool:
    r"""Whether the two backslashes here begin a network path: \\server\share."""
    return i == start and text[i + 1] == "\\" and i + 2 < stop and (text[i + 2].isalnum() or text[i + 2] in "_?")


def _quoted(text: str, at: int, stop: int) -> tuple[int, str]:
    """(offset of the closing quote, what stands inside).

    Without a closing quote the offset is `stop` where the text ends first, beyond it where the line does.
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


def _trim(text: str, token: Token) -> Token:
    """The token without the punctuation of the sentence around it."""
    shape = token.shape
    trailing = _TRAILING + ("*" if token.start and text[token.start - 1] == "*" else "")
    kept = shape.rstrip(trailing)
    # "@server:" names a root; a colon after anything else ends a clause.
    if shape[len(kept) :].startswith(":") and kept and not set(kept) & set("/\\.:#@" + QUOTED):
        kept += ":"
    cut = len(shape) - len(kept)
    if not cut:
        return token
    return Token(token.start, token.end - cut, token.plain[: len(kept)], kept)

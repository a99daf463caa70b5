"""Text for display: counted nouns, truncation at word boundaries, and long lines, which are minified code or data.

A picture, a certificate or a prompt in one line of a hand-written file must not hide the rest of the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONG_LINE = 1_000
"""Characters above which a line is not written to be read; hand-written code stays below a fifth."""

MAX_AVERAGE_LINE = 400
"""Mean length of the other lines above which a text is minified."""

MIN_CHARACTERS = 10_000
"""Length of a text below which its mean length of a line says nothing."""

SHORT_LINE, MAX_TEXT_LINE = 160, 10_000
"""Characters that are kept of a long line of data, and of text."""

_LONG_WORD = re.compile(r"\S{300}")
_DIGIT_SHARE = 0.3

_CODE_LINES_PER_LONG_LINE, _MIN_CODE_LINES = 2, 2
"""Lines of code that a hand-written file has at least: for each long line, and in all."""

_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|<!--|$)")


def may_have_line_over(text: str, limit: int) -> bool:
    """Return False if no line has more than `limit` characters: some position in every half of the limit is a line end.

    This is far cheaper than measuring the lines.
    """
    half = limit // 2 + 1
    return any(text.find("\n", at, at + half) < 0 for at in range(0, len(text), half))


def is_minified(text: str) -> bool:
    """Return whether a text has hardly any lines of code besides long ones, or only long ones on average."""
    if len(text) <= MIN_CHARACTERS:
        return False
    if len(text) <= MAX_AVERAGE_LINE * text.count("\n") and not may_have_line_over(text, LONG_LINE):
        return False
    lines = text.splitlines()
    if len(text) <= MAX_AVERAGE_LINE * len(lines) and max(map(len, lines)) <= LONG_LINE:
        return False
    others = [line for line in lines if len(line) <= LONG_LINE]
    long_count = len(lines) - len(others)
    code = sum(_COMMENT.match(line) is None for line in others)
    is_dense = sum(map(len, others)) > MAX_AVERAGE_LINE * max(1, len(others))
    return is_dense or (long_count > 0 and code < max(_MIN_CODE_LINES, _CODE_LINES_PER_LONG_LINE * long_count))


def shorten_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines with the long ones shortened; the same sequence if there are none."""
    return lines if max(map(len, lines), default=0) <= LONG_LINE else [shorten_line(line) for line in lines]


def shorten_line(line: str) -> str:
    """Return a long line of data as its beginning, its length and its end; text keeps `MAX_TEXT_LINE` characters."""
    if len(line) <= LONG_LINE:
        return line
    limit = SHORT_LINE if _is_data(line) else MAX_TEXT_LINE
    if len(line) <= limit:
        return line
    end = limit // 8
    return f"{line[: limit - end]} … ({len(line):,} characters) … {line[-end:]}"


def _is_data(line: str) -> bool:
    """Return whether a long line is data: it has a very long word, or many digits."""
    sample = line[:MAX_TEXT_LINE]
    digits = sum(map(str.isdigit, sample))
    return _LONG_WORD.search(sample) is not None or _DIGIT_SHARE * len(sample) < digits


_WORD_CHARACTERS = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in "\"'`()[]{}<>,;|\\")
"""Characters of tokens, passwords and URLs. Scripts without spaces between words are cut anywhere."""


def truncate_words(text: str, max_length: int) -> str:
    """Return the text, or its first words and "…", of at most `max_length` characters."""
    if len(text) <= max_length:
        return text
    return text[:max_length].rstrip(_WORD_CHARACTERS)[: max_length - 1].rstrip() + "…"


def percentage(share: float) -> str:
    """Return a share in percent: "86 %", "0.5 %", "below 0.1 %"."""
    percent = 100 * share
    if percent < 0.1:
        return "below 0.1 %"
    return f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return the count with the noun in singular or plural; the plural defaults to the noun with an "s"."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def code_span(text: str) -> str:
    """Return a line as a Markdown code span, with as many backticks as the text requires."""
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{text}{ticks}" if ticks == "`" else f"{ticks} {text} {ticks}"

"""Classes of characters that decide where a mention may start and end.

In scripts with letter case (Latin, Greek, Cyrillic, …) words are separated by spaces, and e-mail addresses and handles
are written in them.  A mention neither starts nor ends inside of such a word.  Other scripts have no spaces between
words (Chinese, Japanese, Thai), or attach particles to a word (Korean, Arabic, Hebrew).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_JOINERS = "\u200c\u200d"
"""Invisible characters inside of words and emoji, which are therefore a part of file names."""

_CASED = frozenset(("Lu", "Ll", "Lt", "Nl"))


@lru_cache(maxsize=1 << 12)
def is_cased(char: str) -> bool:
    """Return whether a character belongs to a word of a script with letter case: a letter, a digit or "_"."""
    return char == "_" or char.isdecimal() or unicodedata.category(char) in _CASED


@lru_cache(maxsize=1 << 12)
def is_uncased_letter(char: str) -> bool:
    """Return whether a character is a letter of a script without letter case, or a mark that belongs to a letter."""
    return unicodedata.category(char) in ("Lo", "Lm", "Mn", "Mc")


@lru_cache(maxsize=1 << 12)
def is_invisible(char: str) -> bool:
    """Return whether a character is an invisible format character, such as U+200F or U+2060."""
    return unicodedata.category(char) == "Cf" and char not in _JOINERS


def is_symbol(char: str) -> bool:
    """Return whether a character is neither a letter nor ASCII: punctuation, a symbol or invisible."""
    return not char.isascii() and not is_cased(char) and not is_uncased_letter(char)


@lru_cache(maxsize=1 << 12)
def differs_in_script(first: str, second: str) -> bool:
    """Return whether two characters are letters of different scripts, such as Latin and Cyrillic."""
    if not (first.isalpha() and second.isalpha()):
        return False
    return unicodedata.name(first, "").split()[:1] != unicodedata.name(second, "").split()[:1]


def ends_in_cased_word(text: str, end: int) -> bool:
    """Return whether the character before an offset belongs to a word of a script with letter case."""
    while end and unicodedata.category(text[end - 1]).startswith("M"):
        end -= 1  # an accent belongs to the letter before it
    return end > 0 and is_cased(text[end - 1])

"""Typing errors in questions: letters of some words are swapped, left out, repeated or replaced."""

from __future__ import annotations

import random
import re

from promptls.index import STOP_WORDS

_WORD = re.compile(r"(?<![\w./`@#-])[a-z]{6,14}(?![\w(./`-])")
"""Lower-case words of prose; shorter ones are often not recognizable with an error."""
_FREQUENT_LETTERS = "aeiorstn"


def with_typing_errors(text: str, count: int) -> str:
    """Return a text with an error in each of `count` random words; the same for the same text."""
    chance = random.Random(text)
    words = [match for match in _WORD.finditer(text) if match.group() not in STOP_WORDS]
    for match in sorted(chance.sample(words, min(count, len(words))), key=lambda match: -match.start()):
        text = text[: match.start()] + _misspelled(match.group(), chance) + text[match.end() :]
    return text


def _misspelled(word: str, chance: random.Random) -> str:
    i = chance.randrange(1, len(word) - 2)
    before, letter, after = word[:i], word[i], word[i + 1 :]
    swapped = before + after[0] + letter + after[1:]
    replaced = before + chance.choice(_FREQUENT_LETTERS) + after
    return chance.choice((swapped, before + after, before + letter + letter + after, replaced))

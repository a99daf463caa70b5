"""Instructions about mentioned code that need no other code: "translate this comment", "review", "hello"."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from promptls.index import STOP_WORDS, find_words
from promptls.util.toml import parse_toml


@cache
def instruction_words() -> frozenset[str]:
    """Return the words that say what to do with mentioned code, and not what it is about."""
    text = files(__package__).joinpath("instruction_words.toml").read_text("utf-8")
    return STOP_WORDS.union(*(words.split() for words in parse_toml(text).values()))


def is_instruction_only(question: str) -> bool:
    """Return whether a message without its mentions says only what to do with the mentioned code."""
    known = instruction_words()
    return len(question) < 1000 and all(
        word.lower() in known or word.isdigit() or len(word) == 1 for word in find_words(question)
    )

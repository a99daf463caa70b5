"""Truncation never splits a word, so that a secret is contained in full or not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.util.text.display import truncate_words

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
WORDS = st.sampled_from([TOKEN, "key", '="', "'", ", ", " ", "(", ")", "中文", "…", "postgres://u:S3cr3t!x9@h/d"])


@given(st.lists(WORDS, max_size=60).map("".join), st.integers(1, 400))
def test_truncation_does_not_split_words(text: str, max_length: int) -> None:
    truncated = truncate_words(text, max_length)
    assert len(truncated) <= max_length
    if len(text) <= max_length:
        assert truncated == text
    else:
        kept = truncated.removesuffix("…")
        assert truncated.endswith("…")
        assert text.startswith(kept)
        assert not (_is_word_character(kept[-1:]) and _is_word_character(text[len(kept) : len(kept) + 1]))


def _is_word_character(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in tuple("_:/!@"))

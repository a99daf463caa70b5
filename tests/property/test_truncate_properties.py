"""A text that is cut keeps its words whole, so that a secret in it is either there or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.util.truncate import clipped

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
WORDS = st.sampled_from([TOKEN, "key", '="', "'", ", ", " ", "(", ")", "中文", "…", "postgres://u:S3cr3t!x9@h/d"])


@given(st.lists(WORDS, max_size=60).map("".join), st.integers(1, 400))
def test_no_word_is_cut_in_two(text: str, most: int) -> None:
    cut = clipped(text, most)
    assert len(cut) <= most
    if len(text) <= most:
        assert cut == text
    else:
        kept = cut.removesuffix("…")
        assert cut.endswith("…")
        assert text.startswith(kept)
        assert not (_of_word(kept[-1:]) and _of_word(text[len(kept) : len(kept) + 1]))


def _of_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in tuple("_:/!@"))

"""Invariants of token counters, for any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptls.prompt.tokens import characters, choose_counter, count_all, counter

PIECES = ["def ", "self.", "HTTPServer", "_x", "=", "==", "\n", "\n    ", "\t", " ", "//", "12", "é", "中", "(", "👩‍💻"]
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=12).map("".join)
ANY = st.one_of(TEXT, st.text(st.characters(exclude_categories=()), max_size=80))


@pytest.mark.parametrize(
    ("name", "vocabulary", "most"),
    [("chars4", "", 0), ("estimate", "", 8), ("estimate", "o200k_base", 8), ("estimate", "cl100k_base", 8)],
)
@given(a=ANY, b=ANY)
@example(a="Ġ\U00040000\U00010000\U0003e30b", b="00<ædef ")
def test_joining_two_texts_adds_a_few_tokens_at_most(name: str, vocabulary: str, most: int, a: str, b: str) -> None:
    count = choose_counter(name, vocabulary)[0].count
    assert count(a + b) <= count(a) + count(b) + most


@pytest.mark.parametrize("vocabulary", ["", "o200k_base", "cl100k_base"])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_estimate_for_an_unknown_model_is_not_below_the_ones_for_scripts(vocabulary: str, text: str) -> None:
    tokens = [choose_counter("estimate", v)[0].count(c) for c in text if c > "\x7f" for v in (vocabulary, "")]
    assert all(known <= unknown for known, unknown in zip(tokens[::2], tokens[1::2], strict=True))


@pytest.mark.parametrize("vocabulary", ["", "o200k_base", "cl100k_base"])
@given(
    st.lists(st.one_of(st.sampled_from([*PIECES, "…", "─", "ü", "语", "\u0301", "한"]), ANY), max_size=8).map("".join)
)
def test_few_characters_are_counted_as_many(vocabulary: str, text: str) -> None:
    count = choose_counter("estimate", vocabulary)[0].count
    few = count(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characters, "MAX_ISOLATED", -1)
        assert count(text) == few


@pytest.mark.parametrize("name", ["chars4", "estimate"])
@given(texts=st.lists(ANY, max_size=8), long=st.integers(0, 40_000))
def test_count_all_equals_count(name: str, texts: list[str], long: int) -> None:
    one = counter(name)
    texts = [*texts, "word = 1\n" * (long // 9), *texts[:2]]
    assert count_all(one, texts) == [one.count(text) for text in texts]

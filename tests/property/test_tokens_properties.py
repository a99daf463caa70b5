"""Invariants of token counters, for any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptls.prompt.tokens import choose_counter, count_all, counter
from promptls.prompt.tokens.exact import _split_long_space

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


@given(a=TEXT, b=TEXT)
def test_joining_lines_adds_a_few_tokens_at_most(a: str, b: str) -> None:
    count = counter("estimate").count
    assert count(f"{a}\n{b}") <= count(f"{a}\n") + count(b) + 8


@pytest.mark.parametrize("name", ["chars4", "estimate"])
@given(ANY)
def test_only_the_empty_text_has_zero_tokens(name: str, text: str) -> None:
    count = counter(name).count(text)
    assert (count == 0) == (text == "")
    assert count <= len(text.encode("utf-8", "surrogatepass"))


RARE = st.one_of(
    st.characters(min_codepoint=first, max_codepoint=last)
    for first, last in [(0x700, 0x8FF), (0x1000, 0x109F), (0x1200, 0x1DFF), (0x2800, 0x2E7F), (0xA000, 0xABFF),
                        (0xD800, 0xDFFF), (0xE000, 0xFAFF), (0x10000, 0x1FFFF), (0x20000, 0x2FFFF), (0xE0000, 0x10FFFF)]
)  # fmt: skip
"""Characters that a vocabulary has no tokens with, at most tokens of their own."""


@pytest.mark.parametrize("vocabulary", ["", "o200k_base", "cl100k_base"])
@given(text=st.text(RARE, min_size=1, max_size=60), around=TEXT)
def test_rare_characters_count_in_full_in_any_text(vocabulary: str, text: str, around: str) -> None:
    count = choose_counter("estimate", vocabulary)[0].count
    alone = sum(count(character) for character in text)
    assert count(text) > alone - len(text)  # each is rounded up alone
    assert count(around + text) > count(around) + alone - len(text) - 4


@pytest.mark.parametrize("vocabulary", ["", "o200k_base", "cl100k_base"])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_estimate_for_an_unknown_model_is_not_below_the_ones_for_scripts(vocabulary: str, text: str) -> None:
    tokens = [choose_counter("estimate", v)[0].count(c) for c in text if c > "\x7f" for v in (vocabulary, "")]
    assert all(known <= unknown for known, unknown in zip(tokens[::2], tokens[1::2], strict=True))


@given(st.lists(st.sampled_from([" " * 5000, "x", "\n" * 3999, " " * 4001, "\t" * 9000]), max_size=6).map("".join))
def test_split_parts_join_to_the_text(text: str) -> None:
    parts = _split_long_space(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 3999 + 4000 + 2 + 6 * 4000


@pytest.mark.parametrize("name", ["chars4", "estimate"])
@given(texts=st.lists(ANY, max_size=8), long=st.integers(0, 40_000))
def test_count_all_equals_count(name: str, texts: list[str], long: int) -> None:
    one = counter(name)
    texts = [*texts, "word = 1\n" * (long // 9), *texts[:2]]
    assert count_all(one, texts) == [one.count(text) for text in texts]

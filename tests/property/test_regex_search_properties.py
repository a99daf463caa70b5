"""Text search: the lines that are found in whole texts are those that match alone."""

from __future__ import annotations

import time
from unittest import mock

from hypothesis import assume, given
from hypothesis import strategies as st

from promptls.mentions.resolvers import text_search
from promptls.util.text.regex import Regex, RegexError

PARTS = [
    *("a", "b", " ", ".", "^", "$", "x?", "a*", "b+?", r"\w+", r"\s*", r"\s+", "[^a]", "[^a]*", r"\b", r"\B", r"\n"),
    *("(?:a|b)+", "a{2}", "b{1,}", "(?i)", "(?P<n>b)", "|", "(", ")", "*", "+", "?", r"\A", r"\z"),
    *("[^b]*", "(?s)", "(?m)", "(?-m)", "(?-i)", r"\pL", "\xe4"),
]
EXPRESSIONS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)
TEXTS = st.lists(st.text(alphabet="abA x\t\xe4", max_size=8), max_size=6).map("\n".join)


@given(EXPRESSIONS, TEXTS, st.sampled_from([4, text_search.BLOCK_CHARS]))
def test_matching_lines_are_those_that_match_alone(expression: str, text: str, block: int) -> None:
    try:
        regex = Regex(expression)
        match_lines = text_search.line_matcher(expression)
    except RegexError:
        assume(False)
    expected = [number for number, line in enumerate(text.split("\n")) if regex.search(line)]
    with mock.patch.object(text_search, "BLOCK_CHARS", block):
        assert match_lines(text, time.monotonic() + 60) == (expected, True)


@given(st.text(alphabet="abA \n\xe4", min_size=1, max_size=3), TEXTS)
def test_lines_with_a_string(needle: str, text: str) -> None:
    assert text_search.lines_with(needle, text) == [n for n, line in enumerate(text.split("\n")) if needle in line]

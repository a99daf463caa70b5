"""A look at a whole text never says that no line matches where one does."""

from __future__ import annotations

import time
from unittest import mock

import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.mentions.resolvers import search

PARTS = [
    *("a", "b", " ", ".", "^", "$", "x?", "a*", "b+?", r"\w+", r"\s*", r"\s+", "[^a]", "[^a]*", r"\b", r"\B", r"\n", "(?:a|b)+"),
    *(r"(a|b)\1", "a{2}", "b{1,}", "(?i)", "(?P<n>b)", "|", "(", ")", "*", "+", "?"),
    *(r"\A", r"\Z", r"\z", "(?<!b)a", "(?<=b)", "(?=a)", "(?!a)", "(?>a+)", r"\s*+", "a++", "[^b]*+", "(?s)", "(?m)", "(?:ab){e<=1}"),
]  # fmt: skip
EXPRESSIONS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)
TEXTS = st.lists(st.text(alphabet="abA x\t", max_size=8), max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
)


@given(EXPRESSIONS, TEXTS)
def test_no_line_is_missed(expression: str, text: str) -> None:
    try:
        compiled = regex.compile(expression)
    except regex.error:
        assume(False)
    if any(compiled.search(line) for line in split_lines(text)):
        assert search._Anywhere(expression).in_text(text, time.monotonic() + 60)


@given(TEXTS, st.integers(0, 9))
def test_long_lines_are_noticed(text: str, most: int) -> None:
    with mock.patch.object(search, "LONGEST_LINE", most):
        assert search._has_long_line(text) == any(len(line) > most for line in text.split("\n"))

"""Regular expression search: the prefilter on whole texts never misses a matching line."""

from __future__ import annotations

import time
from unittest import mock

from hypothesis import assume, given
from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.mentions.resolvers import text_search
from promptls.util.text.regex import Regex, RegexError

PARTS = [
    *("a", "b", " ", ".", "^", "$", "x?", "a*", "b+?", r"\w+", r"\s*", r"\s+", "[^a]", "[^a]*", r"\b", r"\B", r"\n"),
    *("(?:a|b)+", "a{2}", "b{1,}", "(?i)", "(?P<n>b)", "|", "(", ")", "*", "+", "?", r"\A", r"\z"),
    *("[^b]*", "(?s)", "(?m)", "(?-m)", "(?-i)", r"\pL", "\xe4"),
]
EXPRESSIONS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)
TEXTS = st.lists(st.text(alphabet="abA x\t\xe4", max_size=8), max_size=6).map("\n".join)


@given(EXPRESSIONS, TEXTS)
def test_prefilter_never_misses_a_matching_line(expression: str, text: str) -> None:
    assume(text_search._LINE_BY_LINE.search(expression) is None)
    try:
        line_regex, text_regex = Regex(expression), Regex(expression, multiline=True)
    except RegexError:
        assume(False)
    if any(line_regex.search(line) for line in split_lines(text)):
        assert text_search._matches_any_block(text_regex, text, time.monotonic() + 60)
        with mock.patch.object(text_search, "BLOCK_CHARS", 4):
            assert text_search._matches_any_block(text_regex, text, time.monotonic() + 60)

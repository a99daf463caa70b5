"""Code in a message: ranges of any text are in order and within it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.mentions.syntax.code_ranges import code_ranges

PIECES = [
    "Q", "x", "py", "`", "``", "```", "~~~", "````", "\n", "\n\n", "\r\n", "\r", " ", "    ", ">", "> ", "- ", "1. ",
    "# ", "---", "\\", "<code>", "</code>", "<pre>", '@"a`b"',
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=1000)
def test_ranges_are_ascending_and_within_the_text(text: str) -> None:
    end = 0
    for start, stop in code_ranges(text).ranges:
        assert end <= start <= stop <= len(text)
        end = stop

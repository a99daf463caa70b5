"""Long lines: shortened data, unchanged text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.util.text.display import (
    LONG_LINE,
    MAX_TEXT_LINE,
    SHORT_LINE,
    is_minified,
    shorten_line,
)


@pytest.mark.parametrize(
    "line",
    [
        f"const LOGO = 'data:image/png;base64,{'QmFzZTY0' * 500}';",
        f'<path d="{" ".join(f"M{i}.25" for i in range(1000))}"/>',
        "x" * 5_000,
    ],
    ids=["base64", "numbers", "one word"],
)
def test_line_of_data_is_shortened_with_its_length(line: str) -> None:
    short = shorten_line(line)
    assert len(short) <= SHORT_LINE + 40
    assert f"({len(line):,} characters)" in short
    assert short.startswith(line[:100])
    assert short.endswith(line[-10:])


def test_line_of_text_is_kept() -> None:
    text = "a sentence of some words, and another one. " * 100
    assert shorten_line(text) == text
    assert len(shorten_line(text * 10)) < MAX_TEXT_LINE + 40


@given(st.text(alphabet="ab 1{}\n", max_size=3 * LONG_LINE))
def test_short_texts_and_lines_are_unchanged(text: str) -> None:
    assert not is_minified(text)
    line = text.replace("\n", "")[:LONG_LINE]
    assert shorten_line(line) == line

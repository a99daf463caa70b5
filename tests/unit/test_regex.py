"""Regular expressions from untrusted sources: syntax errors, limits, matching time."""

from __future__ import annotations

import pytest

from promptls.util.text.regex import Regex, RegexError


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("gr.ße", "größe", True),
        ("^b$", "a\nb", False),
        ("(?m)^b$", "a\nb", True),
        ("(?i)Ä", "ä", True),
        ("a", "\ud800", False),
    ],
)
def test_search(expression: str, text: str, matches: bool) -> None:
    assert Regex(expression).search(text) is matches


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(", "missing ): ("),
        ("(?<!a)b", "invalid perl operator: (?<!"),
        ("((a{500}){500}){500}", "invalid repetition size: {500}"),
        (r"\pN{1000}", "pattern too large - compile failed"),
        ("a" * 5001, "longer than 5,000 characters"),
    ],
)
def test_invalid_expression(expression: str, reason: str) -> None:
    with pytest.raises(RegexError) as raised:
        Regex(expression)
    assert str(raised.value) == reason


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|a)*b", "(.*.*.*)*c"])
def test_expression_with_exponential_backtracking_ends(expression: str) -> None:
    assert Regex(expression).search("a" * 100_000 + "!") is False

"""Fenced code in hovers."""

from __future__ import annotations

from promptls.lsp.features.hover import code_block, name_span


def test_code_with_backticks_has_a_fence_of_tildes() -> None:
    assert code_block("a\n```b\n~~~\nc", "python") == "~~~~python\na\n```b\n~~~\nc\n~~~~"
    assert code_block("a", "python") == "```python\na\n```"


def test_mode_that_evaluates_text_is_not_named() -> None:
    assert code_block("#+MACRO: x (eval (f))", "org").startswith("```\n")


def test_name_with_line_breaks_stays_in_its_code_span() -> None:
    assert "\n" not in name_span("a\n```b\nc.py")

"""Structural search: code patterns with metavariables, and tree-sitter queries, in several languages."""

from __future__ import annotations

import pytest

from promptls.index.syntax.structural_search import find_matches, parse_pattern

PYTHON = """\
def pay(cart, card):
    reserve(cart.article, 1)
    reserve(cart)
    if card == None:
        return post(url,  # to the bank
                    card)
    if a == a:
        pass
    other.reserve(1, 2, 3)
"""
SCRIPT = """\
export function pay(cart) {
  if (cart.total === 0) { return; }
  try { post("/pay", cart); } catch (e) { }
  items.map((item) => item.price);
}
"""
C = """\
int main(void) {
  char *p = malloc(10);
  free(p);
  for (int i = 0; i < n; i++) { sum += i; }
  return 0;
}
"""
RUST = "fn f() { let x = g(1)?; match x { Some(y) => y.unwrap(), None => 0 }; }\n"
GO = "package a\n\nfunc f() error {\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n"


@pytest.mark.parametrize(
    ("language", "text", "pattern", "lines"),
    [
        ("python", PYTHON, "reserve($A)", ["3"]),
        ("python", PYTHON, "reserve($A, $B)", ["2"]),
        ("python", PYTHON, "reserve($$$)", ["2", "3"]),
        ("python", PYTHON, "reserve($A, $$$)", ["2", "3"]),
        ("python", PYTHON, "$X == None", ["4"]),
        ("python", PYTHON, "$X == $X", ["7"]),
        ("python", PYTHON, "$X == $Y", ["4", "7"]),
        ("python", PYTHON, "$X.reserve($$$ARGS)", ["9"]),
        ("python", PYTHON, "post(url, card)", ["5-6"]),
        ("python", PYTHON, "def pay($$$): $$$", ["1-9"]),
        ("python", PYTHON, "absent($A)", []),
        ("python", PYTHON, "(call function: (identifier) @name)", ["2", "3", "5"]),
        ("python", PYTHON, "(if_statement)", ["4-6", "7-8"]),
        ("typescript", SCRIPT, "post($$$)", ["3"]),
        ("typescript", SCRIPT, "$X.map($F)", ["4"]),
        ("typescript", SCRIPT, "try { $$$ } catch ($E) { }", ["3"]),
        ("c", C, "malloc($N)", ["2"]),
        ("c", C, "free($P);", ["3"]),
        ("rust", RUST, "$X.unwrap()", ["1"]),
        ("go", GO, "if err != nil { $$$ }", ["4-6"]),
    ],
)
def test_pattern_matches_lines(language: str, text: str, pattern: str, lines: list[str]) -> None:
    matches = find_matches(parse_pattern(pattern), text, language)
    assert matches is not None
    assert [span.label for span in matches] == lines


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("reserve($CART, $$$) == None", ("reserve", "None")),
        ("größe.read(élan, if_x)", ("read", "if_x")),
        ("(call function: (identifier) @name)", ()),
    ],
)
def test_whole_words_of_a_pattern_select_the_files(pattern: str, words: tuple[str, ...]) -> None:
    """The index has whole words; a fragment of one would select the wrong files."""
    assert parse_pattern(pattern).words == words


def test_outermost_of_nested_matches_is_returned() -> None:
    matches = find_matches(parse_pattern("f($$$)"), "f(\n    f(1),\n)\ng(f(2), f(\n    3\n))\n", "python")
    assert [span.label for span in matches or ()] == ["1-3", "4", "4-6"]


@pytest.mark.parametrize("pattern", ["$A", "$$$", "if if if", "(no_such_node) @x", "x = 1\ny = 2", "", "((((", "@"])
def test_invalid_pattern_has_no_matches(pattern: str) -> None:
    assert not find_matches(parse_pattern(pattern), PYTHON, "python")


def test_exponential_backtracking_is_stopped() -> None:
    text = "f(" + ", ".join("x" for _ in range(400)) + ")\n"
    assert find_matches(parse_pattern("f($$$A, y, $$$B, y, $$$C, y, $$$D, z)"), text, "python") == []
    assert find_matches(parse_pattern("f($$$, x, $$$)"), text, "python") is not None

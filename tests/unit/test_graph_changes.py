"""The class of a change, and what a set of changes asks for."""

from __future__ import annotations

import pytest

from promptls.graph.changes import Update, change_class, moved_folders, update_for
from promptls.index.syntax.parse import parse_source
from promptls.model import Outline

BASE = "import os\n\ndef f(a: int) -> int:\n    return a\n\ndef g():\n    a = 1\n    b = 2\n    return a + b\n"


def outline(text: str, language: str = "python") -> Outline:
    return parse_source(text, language).outline


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("return a\n", "return a + 1\n", "cosmetic"),
        ("import os\n", "# note\nimport os\n", "cosmetic"),
        ("def f(a: int)", "def f(a: str)", "structural"),
        ("-> int", "-> str", "structural"),
        ("def f", "def h", "structural"),
        ("import os", "import sys", "structural"),
        ("import os\n", "", "structural"),
        ("    b = 2\n", "", "cosmetic"),
        ("    b = 2\n", "    b = 2\n    c = 3\n    d = 4\n", "cosmetic"),  # 6 lines of 4: at the limit
        ("    b = 2\n", "    b = 2\n    c = 3\n    d = 4\n    e = 5\n", "structural"),  # 7 of 4
        ("    a = 1\n    b = 2\n    return a + b\n", "    pass\n", "cosmetic"),  # 2 of 4
        ("def f(a: int) -> int:\n    return a\n\ndef g", "def g", "structural"),
    ],
)
def test_classes(before: str, after: str, expected: str) -> None:
    assert before in BASE
    assert change_class(outline(BASE), outline(BASE.replace(before, after))) == expected


def test_what_is_not_known_is_structural() -> None:
    known = outline(BASE)
    assert change_class(known, known, same_text=True) == "none"
    assert change_class(None, None) == "none"
    assert change_class(None, known) == change_class(known, None) == "structural"
    assert change_class(outline("a\n", "text"), outline("b\nc\n", "text")) == "structural"
    assert change_class(known, outline(BASE.replace("def f", "def _f"))) == "structural"


@pytest.mark.parametrize(
    ("structural", "cosmetic", "total", "folders", "expected"),
    [
        (0, 0, 100, [], "skip"),
        (0, 50, 100, [], "skip"),
        (1, 0, 100, [], "partial"),
        (10, 0, 100, [], "partial"),
        (11, 0, 100, [], "architecture"),
        (1, 0, 100, ["new"], "architecture"),
        (30, 0, 100, [], "architecture"),
        (31, 0, 1000, [], "full"),
        (5, 0, 10, [], "partial"),
        (6, 0, 10, [], "full"),
        (0, 1, 1, ["new"], "skip"),
    ],
)
def test_updates(structural: int, cosmetic: int, total: int, folders: list[str], expected: Update) -> None:
    changes = [(f"s{i}.py", "structural") for i in range(structural)] + [
        (f"c{i}.py", "cosmetic") for i in range(cosmetic)
    ]
    assert update_for(changes, total, folders) == expected  # type: ignore[arg-type]


def test_top_folders_that_came_or_went() -> None:
    assert moved_folders(["a/b.py", "c.py"], ["a/d.py", "e/f.py", "g.py"]) == ("e",)
    assert moved_folders(["a/b.py"], ["b.py"]) == ("a",)

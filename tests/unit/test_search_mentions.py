"""Mentions that look through lines: which they bring, and when they stop."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from promptls.mentions.resolve import resolve_all
from promptls.mentions.resolvers import search
from workspaces import request_of, snapshot_of


@pytest.mark.parametrize(
    ("at", "of", "expected"),
    [
        ([0], 4, ["1-3"]),
        ([1], 5, ["1-4"]),
        ([2], 5, ["1-5"]),
        ([0, 1], 9, ["1-4"]),
        ([0, 5], 9, ["1-8"]),
        ([0, 6], 9, ["1-3", "5-9"]),
        ([3], 4, ["2-4"]),
        ([0], 1, ["1"]),
    ],
)
def test_lines_are_brought_with_those_around(tmp_path: Path, at: list[int], of: int, expected: list[str]) -> None:
    text = "\n".join("needle" if i in at else f"line {i}" for i in range(of))
    request = request_of(snapshot_of(f"-- a.txt --\n{text}", tmp_path))
    for mention in ("@text:needle", "@regex:needle"):
        (outcome,) = resolve_all(mention, request)
        assert [item.span.label for item in outcome.targets] == expected


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("abc", 3),
        (r"a\d[b{500}\]]c", 4),
        (r"[]{9}]{7}", 7),
        ("a{500}", 500),
        ("a{3,}b{2,9}?c{0,99}d", 7),
        ("(ab){10}", 20),
        ("((a{500}){500}){500}", 125_000_000),
        ("((a{2}b){3}|c){4}d", 45),
        ("a)b{2}", 4),
        ("(a", 1),
    ],
)
def test_what_repeats_come_to(expression: str, size: int) -> None:
    assert search._written_out(expression) == size


def test_an_expression_that_repeats_too_often_is_refused_before_it_is_compiled(tmp_path: Path) -> None:
    (outcome,) = resolve_all('@regex:"((a{500}){500}){500}"', request_of(snapshot_of("-- a.txt --\naaa", tmp_path)))
    assert outcome.status == "refused"
    assert outcome.reason == '"((a{500}){500}){500}" repeats too often; write it without nested repeats.'


def test_a_search_ends_in_the_middle_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: next(looks) / 100))
    text = "\n".join("needle" for _ in range(1000))
    request = request_of(snapshot_of(f"-- a.txt --\n{text}\n-- b.txt --\n{text}", tmp_path))
    (outcome,) = resolve_all("@regex:needle", request)
    assert outcome.status == "included"
    assert outcome.reason == "197 lines in 1 files match. Only 0 of 2 files were looked at in the time there is."


@pytest.mark.parametrize(
    ("expression", "at_once"),
    [
        (r"def \w+_set", True),
        (r"^class (?:A|B)\b.*:$", True),
        (r"(?i)todo", True),
        (r"(?P<x>a+?)(?P=x)", True),
        ("a{2,3}", True),
        (r"\Aimport", False),
        (r"end\Z", False),
        (r"(?<!un)known", False),
        (r"a(?=b)", False),
        (r"\s++$", False),
        (r"(?>a+)b", False),
        ("(?:colour){e<=1}", False),
    ],
)
def test_which_expressions_are_tried_on_whole_texts(expression: str, at_once: bool) -> None:
    assert (search._LINE_BY_LINE.search(expression) is None) == at_once

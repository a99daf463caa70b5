"""Search mentions (@text, @regex): regions, time limit and messages."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.resolvers import text_search
from promptls.model import Mention
from workspaces import context_of, snapshot_of


@pytest.mark.parametrize(
    ("at", "of", "expected"),
    [
        ([0], 4, ["1-3"]),
        ([2], 5, ["1-5"]),
        ([0, 5], 9, ["1-8"]),
        ([0, 6], 9, ["1-3", "5-9"]),
        ([0], 1, ["1"]),
    ],
)
def test_matching_lines_with_context(tmp_path: Path, at: list[int], of: int, expected: list[str]) -> None:
    text = "\n".join("needle" if i in at else f"line {i}" for i in range(of))
    context = context_of(snapshot_of(f"-- a.txt --\n{text}", tmp_path))
    for mention in ("@text:needle", "@regex:needle"):
        (outcome,) = resolve_mentions(mention, context)
        assert [item.span.label for item in outcome.targets] == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("needle", "1 line in 1 file matches."),
        ("needle\nneedle", "2 lines in 1 file match."),
        ("needle\n-- b.txt --\nneedle", "2 lines in 2 files match."),
    ],
)
def test_counts_in_singular_and_plural(tmp_path: Path, text: str, reason: str) -> None:
    (outcome,) = resolve_mentions("@text:needle", context_of(snapshot_of(f"-- a.txt --\n{text}", tmp_path)))
    assert outcome.reason == reason


@pytest.mark.parametrize("expression", ["(", "((a{500}){500}){500}", r"(a)\1", "(?<!un)known", "a" * 6000])
def test_invalid_or_unsupported_expression_is_refused(tmp_path: Path, expression: str) -> None:
    context = context_of(snapshot_of("-- a.txt --\naaa", tmp_path))
    mention = Mention("@regex", 0, 6, "regex", expression)
    outcome = text_search.resolve_regex(mention, context)
    assert outcome.status == "refused"
    assert outcome.reason.startswith("Invalid regular expression ")


def test_search_stops_at_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count()
    monkeypatch.setattr(text_search, "time", SimpleNamespace(monotonic=lambda: next(calls) / 100))
    text = "\n".join("needle" for _ in range(1000))
    context = context_of(snapshot_of(f"-- a.txt --\n{text}\n-- b.txt --\n{text}", tmp_path))
    (outcome,) = resolve_mentions("@regex:needle", context)
    assert outcome.status == "included"
    assert outcome.reason == "199 lines in 1 file match. Stopped at the time limit after 0 of 2 files."


def test_regex_matches_single_lines(tmp_path: Path) -> None:
    context = context_of(snapshot_of("-- a.txt --\nimport a\nimport b\n", tmp_path))
    for expression, spans in ((r"^import b$", ["1-2"]), (r"\Aimport b\z", ["1-2"]), (r"a\nimport", [])):
        outcome = text_search.resolve_regex(Mention("@regex", 0, 6, "regex", expression), context)
        assert [item.span.label for item in outcome.targets] == spans, expression

"""Names of a question whose places are shown."""

from __future__ import annotations

import pytest

from promptls.retrieval.places import names_of_places
from promptls.retrieval.query import parse_query


def names(question: str, *mentioned: str) -> list[tuple[str, str]]:
    return [(name.spellings[0], name.kind) for name in names_of_places(question, parse_query(question), mentioned)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("add a read-later service like the LinkTaco integration, which spots?", "LinkTaco"),
        ("a CLI flag --keep-going, analogous to --failfast", "failfast"),
        ("ein Kanal wie der Discord-Provider, nur für uns", "Discord"),
        ('a privilege that works like e.g. "manage tag synonyms" does', "manage tag synonyms"),
        ("a reason next to the existing ones like Unkind. Where?", "Unkind"),
        ("should be kept the same way as the confirm-before-closing one", "confirm-before-closing"),
    ],
)
def test_existing_feature_that_is_compared_with(question: str, expected: str) -> None:
    assert (expected, "sibling") in names(question)


@pytest.mark.parametrize(
    "question",
    ["I would like to add a setting", "I'd like the same for replies", "it looks like it is never closed"],
)
def test_like_that_compares_nothing(question: str) -> None:
    assert not [name for name, kind in names(question) if kind == "sibling"]


def test_names_in_code_style_flags_and_mentions_are_found_once() -> None:
    question = "who reads max_retries (--max-retries), and what about `Session.close`?"
    assert names(question, "app.Session.close") == [("close", "mention"), ("max_retries", "name")]

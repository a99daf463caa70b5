"""A vocabulary numbers terms as a dictionary would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import term_dictionary as module
from promptls.index.search.term_dictionary import Vocabulary

TERMS = st.text(st.characters(blacklist_characters="\n", codec=None), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECENT", 3)


@given(st.lists(st.lists(TERMS, max_size=8, unique=True), max_size=8), TERMS)
def test_numbers_are_those_of_a_dictionary(batches: list[list[str]], other: str) -> None:
    made, expected = Vocabulary(), dict[str, int]()
    for batch in batches:
        numbers = made.learn(batch)
        assert numbers.tolist() == [expected.setdefault(term, len(expected)) for term in batch]
        assert {term: made.number(term) for term in expected} == expected
        assert made.texts() == list(expected)
        assert len(made) == len(expected)
    assert made.number(other) == expected.get(other, -1)

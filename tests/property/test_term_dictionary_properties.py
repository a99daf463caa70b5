"""A term dictionary assigns the same ids as a dict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import term_dictionary
from promptls.index.search.term_dictionary import TermDictionary

TERMS = st.text(st.characters(blacklist_characters="\n", codec=None), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_dictionary, "MAX_RECENT_TERMS", 3)


@given(st.lists(st.lists(TERMS, max_size=8, unique=True), max_size=8), TERMS)
def test_ids_equal_those_of_a_dict(batches: list[list[str]], other: str) -> None:
    dictionary, expected = TermDictionary(), dict[str, int]()
    for batch in batches:
        ids = dictionary.intern(batch)
        assert ids.tolist() == [expected.setdefault(term, len(expected)) for term in batch]
        assert {term: dictionary.term_id(term) for term in expected} == expected
        assert dictionary.terms() == list(expected)
        assert len(dictionary) == len(expected)
    assert dictionary.term_id(other) == expected.get(other, -1)

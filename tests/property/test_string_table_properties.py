"""Many texts in one array say what a look at each of them says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.mentions.completion import string_table as module
from promptls.mentions.completion.string_table import decoded, encoded, texts

LETTERS = st.sampled_from("aab._/é中😀\ud800")
EVERY = st.lists(st.text(LETTERS, max_size=9), max_size=25)
QUERY = st.text(LETTERS, min_size=1, max_size=4)


@given(EVERY, QUERY)
@settings(max_examples=500, deadline=None)
def test_texts_are_found_by_their_letters(every: list[str], query: str) -> None:
    found = texts("\n".join(["", *every, ""]))
    assert [found.text(i) for i in range(len(found))] == every
    assert found.beginning(query).tolist() == [i for i, text in enumerate(every) if text.startswith(query)]
    places = found.hits(query)
    assert [(i, p - int(found.at[i])) for i, p in zip(found.of(places).tolist(), places.tolist(), strict=True)] == [
        (i, at) for i, text in enumerate(every) for at in range(len(text)) if text.startswith(query, at)
    ]
    assert found.scattered(query).tolist() == [i for i, text in enumerate(every) if in_order(query, text)]


def in_order(query: str, text: str) -> bool:
    rest = iter(text)
    return all(char in rest for char in query)


@given(st.text(LETTERS))
def test_characters_are_as_wide_as_the_widest_needs(text: str) -> None:
    codes = encoded(text)
    assert decoded(codes) == text
    widest = max(map(ord, text), default=0)
    assert codes.itemsize == (1 if widest < 1 << 8 else 2 if widest < 1 << 16 else 4)


def test_texts_beyond_a_block_are_found_like_those_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [f"{'x' * (i % 40)}needle{i}" for i in range(400)]
    found = texts("\n".join(["", *every, ""]))
    whole = found.hits("needle3").tolist(), found.scattered("xne9").tolist()
    monkeypatch.setattr(module, "_BLOCK", 50)
    monkeypatch.setattr(module, "_CELLS", 100)
    assert (found.hits("needle3").tolist(), found.scattered("xne9").tolist()) == whole
    assert found.of(found.hits("needle", most=10)).tolist()[:10] == list(range(10))
    assert not len(found.hits("e0\nx")) and not len(found.beginning("\n")) and not len(found.hits(""))

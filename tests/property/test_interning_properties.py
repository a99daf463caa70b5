"""Rows of whole batches hold the terms of each text, whatever was read before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import interning as module
from promptls.index.search.analyzer import _WORD, run_terms, runs, terms, word_terms
from promptls.index.search.interning import Runs, TermReader
from promptls.index.search.row_batch import rows_of

TEXT = st.one_of(
    st.text(),
    st.text(st.sampled_from("ab_AB 12.(é變\n")),
    st.lists(st.sampled_from(["parseHTTPRequest2", "__init__", "the", "naïve_x", "\u00a0", " ", "."])).map("".join),
)


@given(TEXT)
def test_no_word_reaches_over_two_runs(text: str) -> None:
    assert [term for run in runs(text) for term in run_terms(run)] == terms(text)
    assert terms(text) == [term for word in _WORD.findall(text) for term in word_terms(word)]


@given(st.lists(st.lists(TEXT, max_size=6), max_size=4))
def test_rows_hold_the_terms_of_their_texts(batches: list[list[str]]) -> None:
    known, reader = Runs(), TermReader()
    for texts in batches:
        keys = [bytes([at]) for at in range(len(texts))]
        rows = reader.rows(keys, known.read(texts))
        expected = rows_of((key, terms(text)) for key, text in zip(keys, texts, strict=True))
        assert rows.keys == expected.keys
        assert rows.texts() == expected.texts()
        assert sorted(rows.words) == sorted(expected.words)


@pytest.mark.parametrize(("bound", "value"), [("MOST_RUNS", 2), ("MOST_CHARACTERS", 5)])
def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    monkeypatch.setattr(module, bound, value)
    known, reader = Runs(), TermReader()
    before = known.read(["open the file"])
    for n in range(5):
        batch = known.read([f"file number{n}", "other file"])
        assert reader.rows([b"1", b"2"], batch).texts() == [f"file number number{n}", "other file"]
        assert len(batch.known) <= 6
    assert reader.rows([b"0"], before).texts() == ["open file"], "a batch outlives what was forgotten"
    assert np.array_equal(before.ends, [3])

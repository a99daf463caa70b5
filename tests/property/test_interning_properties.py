"""Extracted rows contain the terms of each text, regardless of earlier batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import interning
from promptls.index.search.analyzer import tokenize
from promptls.index.search.interning import RunInterner, TermExtractor
from workspaces import build_rows

TEXT = st.one_of(
    st.text(),
    st.text(st.sampled_from("ab_AB 12.(é變\n")),
    st.lists(st.sampled_from(["parseHTTPRequest2", "__init__", "the", "naïve_x", "\u00a0", " ", "."])).map("".join),
)


@given(st.lists(st.lists(TEXT, max_size=6), max_size=4))
def test_rows_contain_the_terms_of_their_texts(batches: list[list[str]]) -> None:
    interner, extractor = RunInterner(), TermExtractor()
    for texts in batches:
        keys = [bytes([at]) for at in range(len(texts))]
        rows = extractor.extract(keys, interner.intern(texts))
        expected = build_rows((key, tokenize(text)) for key, text in zip(keys, texts, strict=True))
        assert rows.keys == expected.keys
        assert rows.joined_terms() == expected.joined_terms()
        assert sorted(rows.terms) == sorted(expected.terms)


@pytest.mark.parametrize(("limit", "value"), [("MAX_RUNS", 2), ("MAX_CHARACTERS", 5)])
def test_interner_is_bounded(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(interning, limit, value)
    interner, extractor = RunInterner(), TermExtractor()
    before = interner.intern(["open the file"])
    for n in range(5):
        batch = interner.intern([f"file number{n}", "other file"])
        assert extractor.extract([b"1", b"2"], batch).joined_terms() == [f"file number number{n}", "other file"]
        assert len(batch.runs) <= 6
    assert extractor.extract([b"0"], before).joined_terms() == ["open file"], (
        "a batch stays valid after the interner has started again"
    )
    assert np.array_equal(before.text_ends, [3])

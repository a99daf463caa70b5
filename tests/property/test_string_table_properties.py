"""String table: vectorized search agrees with a scan of each text."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.mentions.completion import fuzzy
from promptls.mentions.completion.fuzzy import JUMP, WORD_JUMP, StringTable

LETTERS = st.sampled_from("aab._/éъ中😀\ud800")
EVERY = st.lists(st.text(LETTERS, max_size=9), max_size=25)
QUERY = st.text(LETTERS, min_size=1, max_size=4)


@given(EVERY, QUERY)
@settings(max_examples=500, deadline=None)
def test_subsequence_penalty_is_that_of_the_best_alignment(texts: list[str], query: str) -> None:
    table = StringTable(texts)
    table.word_starts[:] = np.isin(table.codes, [ord(char) for char in "b中"])
    rows, penalties = table.subsequence_matches(query)
    expected = {i: lowest for i, text in enumerate(texts) if (lowest := lowest_penalty(query, text)) is not None}
    assert dict(zip(rows.tolist(), penalties.tolist(), strict=True)) == expected
    assert rows.tolist() == sorted(rows.tolist())


def lowest_penalty(query: str, text: str) -> int | None:
    """Return the lowest penalty of all alignments of the query in a text, where words start at "b" and "中"."""
    penalties = []
    for places in combinations(range(len(text)), len(query)):
        if all(text[at] == char for at, char in zip(places, query, strict=True)):
            jumps = [at for i, at in enumerate(places) if i == 0 or at != places[i - 1] + 1]
            penalties.append(sum(WORD_JUMP if text[at] in "b中" else JUMP for at in jumps))
    return min(penalties, default=None)


def test_matrices_do_not_affect_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    table = StringTable([f"{'x' * (i % 40)}needle{i}" for i in range(400)])
    whole = [found.tolist() for found in table.subsequence_matches("xne9")]
    monkeypatch.setattr(fuzzy, "_CELLS", 100)
    assert [found.tolist() for found in table.subsequence_matches("xne9")] == whole

"""String table: vectorized search agrees with a scan of each text."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.mentions.completion import fuzzy
from promptls.mentions.completion.fuzzy import JUMP, WORD_JUMP, StringTable, build_string_table

LETTERS = st.sampled_from("aab._/é中😀\ud800")
EVERY = st.lists(st.text(LETTERS, max_size=9), max_size=25)
QUERY = st.text(LETTERS, min_size=1, max_size=4)


@given(EVERY, QUERY)
@settings(max_examples=500, deadline=None)
def test_subsequence_penalty_is_that_of_the_best_alignment(texts: list[str], query: str) -> None:
    table = build_string_table("\n".join(["", *texts, ""]))
    word_starts = np.isin(table.codes, [ord(char) for char in "b中"])
    rows, penalties = table.subsequence_matches(query, word_starts)
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


def subsequences(table: StringTable, query: str) -> list[list[int]]:
    word_starts = np.zeros(len(table.codes), np.bool_)
    return [found.tolist() for found in table.subsequence_matches(query, word_starts)]


def test_search_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{'x' * (i % 40)}needle{i}" for i in range(400)]
    table = build_string_table("\n".join(["", *texts, ""]))
    whole = table.substring_offsets("needle3").tolist(), subsequences(table, "xne9")
    monkeypatch.setattr(fuzzy, "_BLOCK", 50)
    monkeypatch.setattr(fuzzy, "_CELLS", 100)
    assert (table.substring_offsets("needle3").tolist(), subsequences(table, "xne9")) == whole
    assert table.rows_at(table.substring_offsets("needle", limit=10)).tolist()[:10] == list(range(10))
    assert (
        not len(table.substring_offsets("e0\nx"))
        and not len(table.prefix_matches("\n"))
        and not len(table.substring_offsets(""))
    )

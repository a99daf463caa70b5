"""What is said of how far the index is."""

from __future__ import annotations

import pytest

from promptls.index.status import Standing, State

SAID: list[tuple[State, tuple[int, int, int], float, str]] = [  # state, (files, unread, pending), share, sentence
    ("scanning", (0, 0, 0), 0, "Listing files."),
    ("indexing", (4, 4, 4), 0, "Indexing: 0 of 4 files read."),
    ("indexing", (5, 100, 100), 0, "Indexing: 0 of 5 files read."),  # files that have just come are not known yet
    ("indexing", (200, 50, 200), 0.6, "Indexing: 150 of 200 files read."),
    ("indexing", (200, 0, 200), 0.8, "Indexing: vectors of 0 of 200 files made."),
    ("indexing", (2000, 0, 500), 0.95, "Indexing: vectors of 1,500 of 2,000 files made."),
    ("ready", (2000, 0, 0), 1, "2,000 files indexed."),
    ("ready", (0, 0, 0), 1, "0 files indexed."),
]


@pytest.mark.parametrize(("state", "counts", "share", "sentence"), SAID)
def test_shares_and_sentences(state: State, counts: tuple[int, int, int], share: float, sentence: str) -> None:
    standing = Standing(state, 1, *counts, trouble="")
    assert standing.complete == pytest.approx(share)
    assert standing.message == sentence
    assert (standing.complete == 1) == (standing.pending == 0 and state == "ready")

"""Progress and message of the index state."""

from __future__ import annotations

import pytest

from promptls.index.index_status import IndexState, Phase, kind_of_reason

CASES: list[tuple[Phase, tuple[int, int, int], float, str]] = [  # state, (files, unread, pending), share, sentence
    ("scanning", (0, 0, 0), 0, "Listing files."),
    ("indexing", (4, 4, 4), 0, "Indexing: 0 of 4 files read."),
    ("indexing", (5, 100, 100), 0, "Indexing: 0 of 5 files read."),  # new files are not in the snapshot yet
    ("indexing", (200, 50, 200), 0.6, "Indexing: 150 of 200 files read."),
    ("indexing", (200, 0, 200), 0.8, "Indexing: 0 of 200 files embedded."),
    ("indexing", (2000, 0, 500), 0.95, "Indexing: 1,500 of 2,000 files embedded."),
    ("ready", (2000, 0, 0), 1, "2,000 files indexed."),
    ("ready", (0, 0, 0), 1, "0 files indexed."),
]


@pytest.mark.parametrize(("state", "counts", "share", "sentence"), CASES)
def test_progress_and_message(state: Phase, counts: tuple[int, int, int], share: float, sentence: str) -> None:
    index_state = IndexState(state, 1, *counts, problem="")
    assert index_state.progress == pytest.approx(share)
    assert index_state.message == sentence
    assert (index_state.progress == 1) == (index_state.pending == 0 and state == "ready")


@pytest.mark.parametrize(
    ("counts", "seconds", "sentence"),
    [
        ((2804, 2159, 2159), 5.2, "23 % of 2,804 files are indexed, ready in about 6 s."),
        ((100, 50, 100), None, "40 % of 100 files are indexed."),
        ((0, 0, 0), None, "The files of the workspace are being listed."),
    ],
)
def test_share_of_indexed_files(counts: tuple[int, int, int], seconds: float | None, sentence: str) -> None:
    state = IndexState("scanning", 1, *counts, problem="", seconds_left=seconds)
    assert state.incomplete == sentence
    assert IndexState("ready", 1, 5, 0, 0, problem="").incomplete == ""


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("it is a binary file", "binary file"),
        ("it is minified or data: its lines have up to 12,001 characters, 587 on average", "minified or data"),
        ("it is generated: a lock file of a package manager", "generated"),
        ("2.1 MB is over the limit of 1 MB", "over the size limit (index.maxFileSize)"),
        ("1,000,001 bytes are over the limit of 1,000,000", "over the size limit (index.maxFileSize)"),
        ("a file called .env usually holds secrets (environment file)", "secrets (environment file)"),
        ("it is a pointer of Git LFS to 12.3 MB; run `git lfs pull` to get the file", "pointer of Git LFS"),
        ("permission to read it is denied", "permission to read it is denied"),
    ],
)
def test_reasons_without_text_are_grouped(reason: str, kind: str) -> None:
    assert kind_of_reason(reason) == kind

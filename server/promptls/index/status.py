"""How far the index is, as values; `protocol.py` gives them their wire names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from promptls.model import Root

State = Literal["scanning", "indexing", "ready", "degraded"]


READ = 0.8
"""What of the work on a file is done when it is read; the rest makes its vectors.  Measured, as a share of the seconds that
a first scan of Python's standard library takes."""


class RootStatus(Struct, frozen=True):
    """One workspace folder."""

    root: Root
    files: int
    symbols: int
    chunks: int
    vectors: int  # chunk texts that have a row
    pending: int  # files that are queued or being worked on
    skipped: int  # files known by name only, each with a reason
    last_error: str
    disk: Mapping[str, int]  # bytes, rows, versions, fragments; {} without a store


class Standing(Struct, frozen=True):
    """How far the index is, at no cost.  `ready`: every file known has its symbols, keywords and vectors in place."""

    state: State
    generation: int
    files: int
    unread: int  # of them, those that nobody has outlined yet
    pending: int  # of them, queued or being worked on
    trouble: str  # what is wrong, as a sentence; "" if nothing is
    usable: bool = True  # files and symbols can be mentioned, words are found; what that needs is read first

    @property
    def complete(self) -> float:
        """Share of the work on the known files that is done; 0 while the first files are being listed."""
        if self.files == 0:
            return 0.0 if self.state == "scanning" else 1.0
        return max(0.0, 1 - (READ * self.unread + (1 - READ) * self.pending) / self.files)

    @property
    def message(self) -> str:
        """The standing as a sentence for people."""
        if self.trouble:
            return self.trouble
        if self.state == "scanning":
            return "Listing files."
        if self.state == "ready":
            return f"{self.files:,} files indexed."
        if self.unread:
            return f"Indexing: {max(0, self.files - self.unread):,} of {self.files:,} files read."
        return f"Indexing: vectors of {max(0, self.files - self.pending):,} of {self.files:,} files made."


class Status(Struct, frozen=True):
    """The whole index, counted."""

    standing: Standing
    roots: tuple[RootStatus, ...]
    model: str
    dimension: int  # 0: no vectors
    problem: str  # why there are none
    embedded: int  # chunk texts embedded since the start; what was seen before is not embedded again


def why(error: BaseException) -> str:
    """What went wrong, in a few words for people."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)

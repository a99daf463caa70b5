"""Index state and status as values; `promptls.api.messages.results` defines their wire names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from promptls.model import Root

Phase = Literal["scanning", "indexing", "ready", "degraded"]


READ_SHARE = 0.8
"""Share of the work on a file that is done once it is outlined; embedding is the rest.  Measured on a first scan of
Python's standard library."""


class RootStatus(Struct, frozen=True):
    """Counts and last error of one workspace folder."""

    root: Root
    files: int
    symbols: int
    chunks: int
    vectors: int  # chunks with a vector
    pending: int  # files that are queued or in work
    skip_reasons: Mapping[str, int]  # number of files that are listed but not read, by kind of reason
    linked_folders: tuple[str, ...]  # names of links to folders outside of the root, which are not followed
    undecodable_names: int  # number of files and folders left out because their name is not valid UTF-8
    ignore_files: tuple[str, ...]  # names of the ignore files besides git's
    last_error: str
    disk: Mapping[str, int]  # bytes, rows, versions, fragments; {} without a store

    @property
    def skipped(self) -> int:
        """Number of files that are listed but not read."""
        return sum(self.skip_reasons.values())


def kind_of_reason(reason: str) -> str:
    """Return the reason why a file has no text without what belongs to this file alone, such as its size."""
    if " is over the limit of " in reason or " are over the limit of " in reason:
        return "over the size limit (index.maxFileSize)"
    if secrets := re.search(r"usually holds secrets \((.*)\)$", reason):
        return f"secrets ({secrets[1]})"
    kind = re.split(r"[:;]|, by | to [\d.]+ (?:bytes|kB|MB|GB)", reason, maxsplit=1)[0]
    return re.sub(r"^it is (?:an? )?", "", kind)


class IndexState(Struct, frozen=True):
    """Current phase and progress of the index, cheap to compute.

    In the phase `ready`, every known file has its symbols, terms and vectors.
    """

    phase: Phase
    generation: int
    files: int
    unread: int  # files that are not outlined yet
    pending: int  # files that are queued or in work
    problem: str  # a sentence for users, "" without a problem
    usable: bool = True  # whether questions can be answered; files they need are read first
    seconds_left: float | None = None  # until it is complete, None if unknown

    @property
    def progress(self) -> float:
        """Share of the work on the known files that is done; 0 while the first files are listed."""
        if self.files == 0:
            return 0.0 if self.phase == "scanning" else 1.0
        return max(0.0, 1 - (READ_SHARE * self.unread + (1 - READ_SHARE) * self.pending) / self.files)

    @property
    def incomplete(self) -> str:
        """Sentence for readers of an answer: the share of the files that are indexed; "" if all are."""
        if self.progress >= 1:
            return ""
        if not self.files:
            return "The files of the workspace are being listed."
        ready = f", ready in about {math.ceil(self.seconds_left)} s" if self.seconds_left is not None else ""
        return f"{int(100 * self.progress)} % of {self.files:,} files are indexed{ready}."

    @property
    def message(self) -> str:
        """Sentence for users that describes the state."""
        if self.problem:
            return self.problem
        if self.phase == "scanning":
            return "Listing files."
        if self.phase == "ready":
            return f"{self.files:,} files indexed."
        if self.unread:
            return f"Indexing: {max(0, self.files - self.unread):,} of {self.files:,} files read."
        return f"Indexing: {max(0, self.files - self.pending):,} of {self.files:,} files embedded."


class IndexStatus(Struct, frozen=True):
    """State of the index with the counts of every root."""

    state: IndexState
    roots: tuple[RootStatus, ...]
    model: str
    dimension: int  # 0: no vectors
    problem: str  # reason why there are no vectors, "" otherwise
    embedded_chunks: int  # chunks embedded since the start; known chunks are not embedded again


def error_reason(error: BaseException) -> str:
    """Return the reason of an error in a few words for users."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)

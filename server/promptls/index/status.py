"""How far the index is, as values; `protocol.py` gives them their wire names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from promptls.model import Root

State = Literal["scanning", "indexing", "ready", "degraded"]


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


class Status(Struct, frozen=True):
    """The whole index.  `ready`: every file known has its symbols, keywords and vectors in place."""

    state: State
    generation: int
    roots: tuple[RootStatus, ...]
    model: str
    dimension: int  # 0: no vectors
    problem: str  # why there are none
    embedded: int  # chunk texts embedded since the start; what was seen before is not embedded again

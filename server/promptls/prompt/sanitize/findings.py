"""Findings of the sanitizer in a text."""

from __future__ import annotations

from msgspec import Struct


class Finding(Struct, frozen=True, order=True):
    """A redacted secret, an escaped character or a reported injection."""

    line: int  # 0-based
    name: str  # "github token", "bidi control", "role tag", …
    secret: bool  # whether it was redacted

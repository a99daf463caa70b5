"""What a look at a text can find."""

from __future__ import annotations

from msgspec import Struct


class Finding(Struct, frozen=True, order=True):
    """Something that was made visible, taken out, or is told only."""

    line: int  # 0-based
    name: str  # "github token", "bidi control", "role tag", …
    secret: bool

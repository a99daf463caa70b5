"""TOML that a workspace holds: hostile input, read within bounds."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_LINE = 10_000
"""Characters of a line; reading a longer dotted key takes time with its square."""


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.  Raises ValueError or RecursionError."""
    if max(map(len, text.split("\n"))) > MOST_LINE:
        raise ValueError(f"a line has more than {MOST_LINE:,} characters")
    found: dict[str, Any] = tomllib.loads(text)
    return found

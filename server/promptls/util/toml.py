"""TOML: the parser `tomllib`, on every Python, and `parse_toml` for untrusted files of a workspace, bounded in time."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MAX_LINE_CHARS", "parse_toml", "tomllib"]

MAX_LINE_CHARS = 10_000
"""Maximum length of a line: the time for a dotted key grows with the square of its length."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError or RecursionError."""
    if max(map(len, text.split("\n"))) > MAX_LINE_CHARS:
        raise ValueError(f"a line has more than {MAX_LINE_CHARS:,} characters")
    tables: dict[str, Any] = tomllib.loads(text)
    return tables

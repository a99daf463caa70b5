"""What a view of the graph has worked out is kept, within bounds: a view lives until a file changes."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_REMEMBERED = 20_000


def bounded(table: dict[K, V]) -> None:
    """Forget what was remembered when it has become much."""
    if len(table) >= MAX_REMEMBERED:
        table.clear()

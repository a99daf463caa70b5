"""An immutable mapping of names to places that takes many changes at once as cheaply as few.

Below lies a dictionary that nobody changes, above it a persistent map of what has changed since.  A batch that
changes much gives a new dictionary; the edit of a file a few entries of the map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from immutables import Map

V = TypeVar("V")
FEW = 1_000
"""Entries that may lie above the dictionary, and an eighth of those in it."""


class Layered(Mapping[str, "tuple[V, ...]"]):
    """Names without places are not in it."""

    __slots__ = ("_above", "_below", "_size")

    def __init__(
        self, below: dict[str, tuple[V, ...]] | None = None, above: Map[str, tuple[V, ...]] | None = None
    ) -> None:
        self._below: dict[str, tuple[V, ...]] = below if below is not None else {}
        self._above: Map[str, tuple[V, ...]] = above if above is not None else Map()  # () for what is gone
        self._size = -1

    def get(self, name: str, default: tuple[V, ...] = ()) -> tuple[V, ...]:  # type: ignore[override]
        """The places of a name."""
        found = self._above.get(name)
        if found is None:
            return self._below.get(name, default)
        return found or default

    def __getitem__(self, name: str) -> tuple[V, ...]:
        found = self.get(name)
        if not found:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get(name))

    def __iter__(self) -> Iterator[str]:
        above = self._above
        if not above:
            yield from self._below
            return
        yield from (name for name in self._below if above.get(name) is None)
        yield from (name for name, found in above.items() if found)

    def __len__(self) -> int:
        if self._size < 0:
            self._size = sum(1 for _ in self)
        return self._size

    def with_changes(self, changes: Mapping[str, tuple[V, ...]]) -> Layered[V]:
        """The mapping with these places; () takes a name away."""
        if not changes:
            return self
        if len(changes) + len(self._above) <= max(FEW, len(self._below) // 8):
            return Layered(self._below, self._above.update(changes))
        below = dict(self._below)
        for part in (self._above.items(), changes.items()):
            for name, found in part:
                if found:
                    below[name] = found
                else:
                    below.pop(name, None)
        return Layered(below)

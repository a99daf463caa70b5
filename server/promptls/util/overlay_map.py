"""Immutable mapping from names to tuples of values, such as the places of a symbol name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from promptls.util.persistent_map import PersistentMap

V = TypeVar("V")


class OverlayMap(PersistentMap[str, tuple[V, ...]]):
    """A `PersistentMap` of non-empty tuples. An empty tuple stands for a missing name."""

    __slots__ = ()

    def get(self, name: str, default: tuple[V, ...] = (), /) -> tuple[V, ...]:  # type: ignore[override]
        """Return the values of a name; () for a missing name."""
        return super().get(name, default)

    def __getitem__(self, name: str) -> tuple[V, ...]:
        values = self.get(name)
        if not values:
            raise KeyError(name)
        return values

    def with_changes(self, changes: Mapping[str, tuple[V, ...]]) -> OverlayMap[V]:
        """Return the mapping with the values of some names replaced; () deletes a name."""
        return self._replaced(changes)

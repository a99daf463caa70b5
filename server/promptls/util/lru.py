"""Bounded caches for values that are derived from immutable keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MAX_ENTRIES = 20_000
"""Entries of a dictionary that `clear_if_full` accepts: a few megabytes of small tuples."""


class GenerationalCache(Generic[Key, Value]):
    """An approximate LRU cache of two generations.

    A full young generation replaces the old one, so that an entry that is read survives. Both generations together
    hold at most about twice `max_size`. Thread-safe without a lock: a race loses at most one entry.
    """

    __slots__ = ("_max_size", "_old", "_size", "_size_of", "_young")

    def __init__(self, max_size: int, size_of: Callable[[Key], int]) -> None:
        self._max_size = max_size
        self._size_of = size_of
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}
        self._size = 0

    def get(self, key: Key) -> Value | None:
        """Return the cached value of a key and mark it as used, or None."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Add a value to the young generation."""
        if self._size > self._max_size:
            self._old, self._young, self._size = self._young, {}, 0
        self._young[key] = value
        self._size += self._size_of(key)

    def drop(self, key: Key) -> None:
        """Remove a key from both generations."""
        if self._young.pop(key, None) is not None:
            self._size -= self._size_of(key)
        self._old.pop(key, None)


def clear_if_full(cache: dict[Key, Value]) -> None:
    """Clear a dictionary that serves as a cache once it has `MAX_ENTRIES` entries."""
    if len(cache) >= MAX_ENTRIES:
        cache.clear()

"""Cache of intermediate results for the incremental analysis of edited documents.

An edit leaves most parts of a file unchanged. Results are keyed by everything they depend on and never by their
position, so nothing has to be invalidated: the outline of an edited text equals the outline of a new text. A property
test checks this. Not thread-safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class VersionedCache(Generic[Key, Value]):
    """Results that the current version of a text has used, or the version before."""

    __slots__ = ("_current", "_previous")

    def __init__(self) -> None:
        self._current: dict[Key, Value] = {}
        self._previous: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the result for a key, None if it is not cached."""
        value = self._current.get(key)
        if value is None and (value := self._previous.get(key)) is not None:
            self._current[key] = value
        return value

    def put(self, key: Key, value: Value) -> Value:
        """Store a result, and return it."""
        self._current[key] = value
        return value

    def end_version(self) -> None:
        """Drop the results that the current version has not used, unless it has used none at all."""
        if self._current:
            self._previous, self._current = self._current, {}

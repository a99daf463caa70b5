"""What was made of the parts of a text, kept for its next version under the text that each was made of.

An edit leaves most parts of a file as they were.  Because a result is found by everything it depends on, and never by
where it was, nothing has to be invalidated: the outline of an edited text is the outline of that text
(property test).  One thread at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from promptls.index.syntax.captures import Findings
    from promptls.model import Symbol

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """Results by what they were made of: those that this version of the text has used, or the one before."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[Key, Value] = {}
        self._before: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """The result for this, if there is one."""
        found = self._now.get(key)
        if found is None and (found := self._before.get(key)) is not None:
            self._now[key] = found
        return found

    def put(self, key: Key, value: Value) -> Value:
        """Note a result."""
        self._now[key] = value
        return value

    def turn(self) -> None:
        """A version is done: what it had no use for goes, unless it could not be asked for anything at all."""
        if self._now:
            self._before, self._now = self._now, {}


class Kept:
    """All that is kept for one document."""

    __slots__ = ("pieces", "references", "symbols", "types")

    def __init__(self) -> None:
        self.pieces: Memo[tuple[int, int, bytes, bytes], Findings] = Memo()
        self.symbols: Memo[Hashable, Symbol] = Memo()
        self.references: Memo[bytes, tuple[str, str]] = Memo()
        self.types: Memo[bytes, list[tuple[str, str]]] = Memo()

    def turn(self) -> None:
        """A version of the document is scanned."""
        self.pieces.turn()
        self.symbols.turn()
        self.references.turn()
        self.types.turn()

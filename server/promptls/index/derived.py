"""Incremental values derived from the files of a snapshot, such as a reference index or a completion catalog.

A `Derived` remembers the files that its value belongs to and updates the value by difference.
The update function decides what a difference means, for example to rebuild when too much has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from promptls.index.snapshot import ChangeMarker, Snapshot, diff_files, remembers_change
from promptls.model import FileEntry
from promptls.util.mappings import PersistentMap

T = TypeVar("T")


class Change:
    """Difference between the files of a value and those of a snapshot, computed on first use."""

    __slots__ = ("_lists", "_marker", "before", "snapshot")

    def __init__(self, before: PersistentMap[str, FileEntry], marker: ChangeMarker | None, snapshot: Snapshot) -> None:
        self.before = before
        self.snapshot = snapshot
        self._marker = marker
        self._lists: tuple[list[FileEntry], list[FileEntry]] | None = None

    @property
    def is_incremental(self) -> bool:
        """True if the snapshot records the difference, false if all files have to be compared."""
        return remembers_change(self._marker, self.snapshot)

    @property
    def changed(self) -> list[FileEntry]:
        """Entries of the snapshot that are new or differ from those before."""
        return self._difference()[0]

    @property
    def gone(self) -> list[FileEntry]:
        """Entries before whose path is not in the snapshot."""
        return self._difference()[1]

    def _difference(self) -> tuple[list[FileEntry], list[FileEntry]]:
        if self._lists is None:
            self._lists = diff_files(self.before, self._marker, self.snapshot)
        return self._lists

    def _part(self, changed: list[FileEntry], gone: list[FileEntry]) -> Change:
        part = Change(self.before, self._marker, self.snapshot)
        part._lists = (changed, gone)
        return part


class Derived(Generic[T]):
    """A value that follows snapshots.  Safe to call from any thread.

    Args:
        value: The value for a snapshot without files.
        update: Return the value after a change.  It may modify the value and return it; then readers need a lock of their
            own, and no earlier snapshot has a value any more.
        source: The part of a snapshot that the value depends on, compared by identity.
        batch_size: Maximum number of changed files for one call of `update`; removed files come first.
        history: Number of recent values that `at` can return without an update.
    """

    __slots__ = ("_batch_size", "_files", "_history", "_marker", "_recent", "_source", "_update", "lock", "value")

    def __init__(
        self,
        value: T,
        update: Callable[[T, Change], T],
        source: Callable[[Snapshot], object] = lambda snapshot: snapshot.files,
        batch_size: int | None = None,
        history: int = 1,
    ) -> None:
        self.lock = threading.Lock()  # held by `at`; callers of the other methods hold it themselves
        self.value = value
        self._update = update
        self._source = source
        self._batch_size = batch_size
        self._history = history
        self._files: PersistentMap[str, FileEntry] = PersistentMap()
        self._marker: ChangeMarker | None = None
        self._recent: list[tuple[object, T]] = []  # (source, value), the newest last

    @property
    def files(self) -> PersistentMap[str, FileEntry]:
        """Files that the value belongs to."""
        return self._files

    def at(self, snapshot: Snapshot) -> T:
        """Return the value for a snapshot, updated if necessary."""
        with self.lock:
            source = self._source(snapshot)
            for known, value in self._recent:
                if known is source:
                    return value
            self.advance(snapshot)
            return self.value

    def pending(self, snapshot: Snapshot) -> Change | None:
        """Return the change that leads to a snapshot, or None if the value is up to date."""
        if self._recent and self._recent[-1][0] is self._source(snapshot):
            return None
        return Change(self._files, self._marker, snapshot)

    def advance(self, snapshot: Snapshot, limit: int | None = None) -> None:
        """Update the value for a snapshot, with at most `limit` changed files; the others remain pending."""
        change = self.pending(snapshot)
        if change is None:
            return
        if self._batch_size is None and limit is None:
            self._apply(change)
            self._record(snapshot)
            return
        changed = change.changed[:limit]
        if change.gone:
            self._apply(change._part([], change.gone))
        size = self._batch_size or max(1, len(changed))
        for start in range(0, len(changed), size):
            self._apply(change._part(changed[start : start + size], []))
        if len(changed) == len(change.changed):
            self._record(snapshot)
            return
        files = self._files.mutate()
        for entry in change.gone:
            del files[entry.path]
        for entry in changed:
            files[entry.path] = entry
        self._files, self._marker = files.finish(), None
        self._recent.clear()

    def reset(self, value: T) -> None:
        """Start again with the value for a snapshot without files."""
        self.value = value
        self._files, self._marker = PersistentMap(), None
        self._recent.clear()

    def _apply(self, change: Change) -> None:
        before, self.value = self.value, self._update(self.value, change)
        if self.value is before:  # it may have been modified, so that it is the value of the new files only
            self._recent = [(source, value) for source, value in self._recent if value is not before]

    def _record(self, snapshot: Snapshot) -> None:
        self._files, self._marker = snapshot.files, snapshot.last_change
        self._recent.append((self._source(snapshot), self.value))
        del self._recent[: -self._history]

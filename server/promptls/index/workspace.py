"""Ground state: what the editor and the disk have said, nothing derived from it.

Every kind of change (open, edit, save, close, watched file, folder added, rescan) becomes an entry of the dirty
set here, under one lock, on the caller's thread.  The indexer takes all of it at once, so a burst of
changes to one file costs one look at its last text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from immutables import Map
from msgspec import Struct

from promptls.index.edit_history import Edits
from promptls.index.snapshot import OpenDocument
from promptls.model import Root


class Dirty(Struct, frozen=True):
    """What has changed since the last take, and the ground state as of now."""

    sequence: int
    roots: tuple[Root, ...]
    documents: Map[str, OpenDocument]
    changed: frozenset[str] = frozenset()  # open documents with new text
    paths: frozenset[str] = frozenset()  # files that may differ on disk
    rescan: frozenset[str] = frozenset()  # roots to walk again
    full: frozenset[str] = frozenset()  # roots to outline and embed from nothing


class Workspace:
    """Thread-safe; `take` belongs to the indexer."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.roots: tuple[Root, ...] = ()
        self.documents: Map[str, OpenDocument] = Map()
        self.unsaved: frozenset[str] = frozenset()
        self.edits = Edits()
        self.sequence = 0
        self._changed: set[str] = set()
        self._paths: set[str] = set()
        self._rescan: set[str] = set()
        self._full: set[str] = set()
        self._woken = False
        self._closed = False

    def set_roots(self, roots: Iterable[Root]) -> None:
        """The workspace folders are now these."""
        with self._condition:
            self.roots = tuple({r.path: r for r in roots}.values())
            self._wake()

    def put_document(self, path: str, text: str, version: int, edited: bool) -> None:
        """A buffer was opened or edited."""
        with self._condition:
            before = self.documents.get(path)
            if edited and before is not None and before.text != text:
                self.edits.note(path, before.text)
            self.documents = self.documents.set(path, OpenDocument(text, version))
            if edited:
                self.unsaved |= {path}
            self._changed.add(path)
            self._wake()

    def saved(self, path: str) -> None:
        """The buffer's text is on disk now."""
        with self._condition:
            self.unsaved -= {path}
            self._changed.add(path)
            self._paths.add(path)
            self._wake()

    def again(self, paths: Iterable[str]) -> None:
        """Have these open documents outlined again; those that are no longer open are left alone."""
        with self._condition:
            wanted = {path for path in paths if path in self.documents}
            if wanted:
                self._changed |= wanted
                self._wake()

    def close_document(self, path: str) -> None:
        """The buffer is gone; the disk counts again."""
        with self._condition:
            if path in self.documents:
                self.documents = self.documents.delete(path)
            self.unsaved -= {path}
            self._changed.discard(path)
            self._wake()

    def touch(self, paths: Iterable[str]) -> None:
        """These files may have been created, changed or deleted on disk."""
        with self._condition:
            self._paths.update(paths)
            self._wake()

    def rescan(self, roots: Iterable[str] = (), full: bool = False) -> None:
        """Walk these roots again (all without names); `full` also forgets what is known of their files."""
        with self._condition:
            wanted = set(roots) or {r.path for r in self.roots}
            self._rescan |= wanted
            if full:
                self._full |= wanted
            self._wake()

    def renewed(self) -> Workspace:
        """The same ground state for another indexer; everything is dirty to it."""
        other = Workspace()
        with self._condition:
            other.roots, other.documents, other.unsaved = self.roots, self.documents, self.unsaved
            other.edits = self.edits
        with other._condition:
            other._changed = set(other.documents)
            other._wake()
        return other

    def close(self) -> None:
        """`take` returns None from now on."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def nudge(self) -> None:
        """Wake the indexer though nothing has changed (a worker has reported)."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def take(self, timeout: float | None = None) -> Dirty | None:
        """All that has changed; waits for something, or `timeout` seconds.  None when closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._woken or self._closed, timeout)
            if self._closed:
                return None
            dirty = Dirty(
                self.sequence,
                self.roots,
                self.documents,
                frozenset(self._changed),
                frozenset(self._paths),
                frozenset(self._rescan),
                frozenset(self._full),
            )
            self._changed, self._paths, self._rescan, self._full = set(), set(), set(), set()
            self._woken = False
            return dirty

    def _wake(self) -> None:
        self.sequence += 1
        self._woken = True
        self._condition.notify_all()

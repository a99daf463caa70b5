"""Primary state of the workspace: roots, open documents, and the set of pending changes.

Every kind of change (open, edit, save, close, watched file, folder added, rescan) is recorded here, under one lock,
on the caller's thread.  The indexer takes all pending changes at once.  A burst of changes to one file therefore
causes one outline of its last text.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.files.notebooks import notebook_text
from promptls.index.snapshot import OpenDocument
from promptls.model import Root
from promptls.util.mappings import PersistentMap

MERGE_WINDOW_S = 20.0
"""Seconds within which successive edits of a document count as one."""
MAX_TEXTS_PER_DOCUMENT = 60
"""Maximum number of texts kept for one document."""
MAX_AGE_S = 24 * 3600.0
"""Seconds after which a text is dropped: one working day."""
MAX_TOTAL_CHARS = 50_000_000
"""Maximum number of characters kept for all documents; the oldest texts are dropped first."""


class FormerText(Struct, frozen=True, gc=False):
    """Former text of a document."""

    replaced_at: float  # time.time() at which it was replaced
    text: str


class EditHistory:
    """Former texts of all documents that were edited since the server started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, deque[FormerText]] = {}
        self._size = 0
        self.prompt_marked_at = 0.0

    def record(self, path: str, text: str, now: float | None = None) -> None:
        """Record the text that a document had until now."""
        now = time.time() if now is None else now
        with self._lock:
            texts = self._texts.setdefault(path, deque())
            previous_at = texts[-1].replaced_at if texts else 0.0
            if texts and now - previous_at < MERGE_WINDOW_S and not previous_at < self.prompt_marked_at:
                return
            texts.append(FormerText(now, text))
            self._size += len(text)
            while len(texts) > MAX_TEXTS_PER_DOCUMENT or (texts and now - texts[0].replaced_at > MAX_AGE_S):
                self._size -= len(texts.popleft().text)
            while self._size > MAX_TOTAL_CHARS:
                oldest = min((p for p in self._texts if self._texts[p]), key=lambda p: self._texts[p][0].replaced_at)
                self._size -= len(self._texts[oldest].popleft().text)

    def mark_prompt(self, now: float | None = None) -> None:
        """Record that a prompt was built."""
        self.prompt_marked_at = time.time() if now is None else now

    def texts_at(self, moment: float) -> dict[str, str]:
        """Return the text that each document edited after `moment` had then, the most recently edited first."""
        with self._lock:
            texts = {}
            for path, former_texts in sorted(
                self._texts.items(), key=lambda pair: -pair[1][-1].replaced_at if pair[1] else 0.0
            ):
                first = next((former for former in former_texts if former.replaced_at > moment), None)
                if first is not None:
                    texts[path] = first.text
            return texts


class UnsavedDocument(Struct, frozen=True):
    """Unsaved text in an editor."""

    edited_at: float  # time.time()
    document: OpenDocument


class ChangeSet(Struct, frozen=True):
    """Changes since the previous `Workspace.take_changes`, and the current workspace state."""

    sequence: int
    roots: tuple[Root, ...]
    documents: PersistentMap[str, OpenDocument]
    changed_documents: frozenset[str] = frozenset()  # open documents with new text
    changed_paths: frozenset[str] = frozenset()  # files that may have changed on disk
    rescan: frozenset[str] = frozenset()  # roots to walk again
    reindex: frozenset[str] = frozenset()  # roots whose files are all outlined and embedded again


def with_unique_names(roots: Iterable[Root]) -> tuple[Root, ...]:
    """Return the roots with distinct names: of several with the same name, the later ones are "name (2)" and so on.

    Names are compared as mentions do, without regard to case.
    """
    roots = tuple(roots)
    taken = {root.name.casefold() for root in roots}
    seen: set[str] = set()
    out = []
    for root in roots:
        name, number = root.name, 1
        if name.casefold() in seen:
            while name.casefold() in taken:
                number += 1
                name = f"{root.name} ({number})"
            taken.add(name.casefold())
        seen.add(name.casefold())
        out.append(replace(root, name=name))
    return tuple(out)


class Workspace:
    """Thread-safe state of the workspace; only the indexer calls `take_changes`."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.roots: tuple[Root, ...] = ()
        self.documents: PersistentMap[str, OpenDocument] = PersistentMap()  # of the editor
        self.all_documents = self.documents  # of all editors with this workspace; these are indexed
        self.unsaved: frozenset[str] = frozenset()  # paths
        self._others: Mapping[str, UnsavedDocument] = {}  # unsaved documents of other editors
        self._edited_at: dict[str, float] = {}  # unsaved path → time.time() of the last edit
        self.edit_history = EditHistory()
        self.sequence = 0
        self._changed_documents: set[str] = set()
        self._changed_paths: set[str] = set()
        self._rescan: set[str] = set()
        self._reindex: set[str] = set()
        self._wake_requested = False
        self._closed = False

    def set_roots(self, roots: Iterable[Root]) -> None:
        """Replace the workspace folders; folders with the same name are numbered."""
        with self._condition:
            self.roots = with_unique_names({r.path: r for r in roots}.values())
            self._notify_change()

    def put_document(self, path: str, text: str, version: int, edited: bool, language: str = "", uri: str = "") -> None:
        """Set the text of a document that was opened or edited; of a notebook, its JSON."""
        cells = notebook_text(path, text)
        shown, json = (text, "") if cells is None else (cells, text)
        document = OpenDocument(shown, version, language, json, uri=uri)
        self.put_open_document(path, document, edited)

    def put_open_document(self, path: str, document: OpenDocument, edited: bool) -> None:
        """Set a document that was opened or edited."""
        with self._condition:
            before = self.documents.get(path)
            if edited and before is not None and before.text != document.text:
                self.edit_history.record(path, before.text)
            self.documents = self.documents.set(path, document)
            if edited:
                self.unsaved |= {path}
                self._edited_at[path] = time.time()
            self._choose_document(path)
            self._notify_change()

    def mark_saved(self, path: str) -> None:
        """Record that the text of a document was saved to disk."""
        with self._condition:
            self.unsaved -= {path}
            self._choose_document(path)
            self._changed_documents.add(path)
            self._changed_paths.add(path)
            self._notify_change()

    def mark_dirty(self, paths: Iterable[str]) -> None:
        """Schedule open documents to be outlined again; paths that are not open are ignored."""
        with self._condition:
            open_paths = {path for path in paths if path in self.all_documents}
            if open_paths:
                self._changed_documents |= open_paths
                self._notify_change()

    def close_document(self, path: str) -> None:
        """Remove a closed document; its file on disk is used again."""
        with self._condition:
            if path in self.documents:
                self.documents = self.documents.delete(path)
            self.unsaved -= {path}
            self._edited_at.pop(path, None)
            self._changed_documents.discard(path)
            self._choose_document(path)
            self._notify_change()

    def set_other_documents(self, documents: Mapping[str, UnsavedDocument]) -> None:
        """Replace the unsaved documents of other editors, given by path."""
        with self._condition:
            paths = {*self._others, *documents}
            if paths:
                self._others = documents
                before = self.all_documents
                for path in paths:
                    self._choose_document(path)
                if self.all_documents is not before:
                    self._notify_change()

    def unsaved_documents(self) -> dict[str, UnsavedDocument]:
        """Return the unsaved documents of the editor by path."""
        with self._condition:
            return {
                path: UnsavedDocument(self._edited_at.get(path, 0.0), document)
                for path in self.unsaved
                if (document := self.documents.get(path)) is not None
            }

    @property
    def differing(self) -> frozenset[str]:
        """Paths whose indexed text is that of another editor."""
        all_documents, own = self.all_documents, self.documents
        return frozenset(path for path in self._others if all_documents.get(path) is not own.get(path))

    def _choose_document(self, path: str) -> None:
        """Set the document of a path that is indexed: the unsaved one that was edited last."""
        own, other = self.documents.get(path), self._others.get(path)
        edited_at = self._edited_at.get(path, 0.0) if path in self.unsaved else 0.0
        chosen = other.document if other is not None and other.edited_at > edited_at else own
        if chosen is None:
            if path in self.all_documents:
                self.all_documents = self.all_documents.delete(path)
        elif chosen is not self.all_documents.get(path):
            self.all_documents = self.all_documents.set(path, chosen)
            self._changed_documents.add(path)

    def touch(self, paths: Iterable[str]) -> None:
        """Record that files may have been created, changed or deleted on disk."""
        with self._condition:
            self._changed_paths.update(paths)
            self._notify_change()

    def rescan(self, roots: Iterable[str] = (), reindex: bool = False) -> None:
        """Schedule a walk of these roots (of all by default); with `reindex`, all their files are indexed again."""
        with self._condition:
            root_paths = set(roots) or {r.path for r in self.roots}
            self._rescan |= root_paths
            if reindex:
                self._reindex |= root_paths
            self._notify_change()

    def fork(self) -> Workspace:
        """Return a copy for another indexer, in which everything counts as changed."""
        other = Workspace()
        with self._condition:
            other.roots, other.documents, other.unsaved = self.roots, self.documents, self.unsaved
            other.all_documents, other._others, other._edited_at = self.all_documents, self._others, self._edited_at
            other.edit_history = self.edit_history
        with other._condition:
            other._changed_documents = set(other.all_documents)
            other._notify_change()
        return other

    def close(self) -> None:
        """Close the workspace: `take_changes` returns None from now on."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def wake(self) -> None:
        """Wake the indexer although nothing has changed, for example after a worker has reported."""
        with self._condition:
            self._wake_requested = True
            self._condition.notify_all()

    def take_changes(self, timeout: float | None = None) -> ChangeSet | None:
        """Return all pending changes, after waiting for one up to `timeout` seconds; None once closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._wake_requested or self._closed, timeout)
            if self._closed:
                return None
            changes = ChangeSet(
                self.sequence,
                self.roots,
                self.all_documents,
                frozenset(self._changed_documents),
                frozenset(self._changed_paths),
                frozenset(self._rescan),
                frozenset(self._reindex),
            )
            self._changed_documents, self._changed_paths, self._rescan, self._reindex = set(), set(), set(), set()
            self._wake_requested = False
            return changes

    def _notify_change(self) -> None:
        self.sequence += 1
        self._wake_requested = True
        self._condition.notify_all()

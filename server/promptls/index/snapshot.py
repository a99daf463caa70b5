"""Immutable snapshot of the index, and the reader of file texts for one request.

A snapshot is a value.  Taking one copies a reference.  An update returns a new snapshot that shares its unchanged
parts with the old one (persistent maps).  `SourceReader.read` is the only access to text for packages above the
index.  It returns the text of the open document, else of the file on disk, with the outline of exactly that text.
This module does not depend on the store, on workers or on LSP.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.files.notebooks import OpenCell
from promptls.index.files.read import FileContent, FileLimits, UnreadableFile, read_any_text, read_text
from promptls.index.files.uris import document_label, is_file_path
from promptls.model import (
    VIRTUAL_SCHEME,
    FileEntry,
    FileText,
    Outline,
    OutlineView,
    Problem,
    Root,
    Symbol,
    decode_symbol_names,
    encode_outline,
)
from promptls.util.hashing import content_hash
from promptls.util.mappings import OverlayMap, PersistentMap

MAX_MENTIONED_BYTES = 5_000_000
"""Size of a file up to which a mention can read it, in bytes: reading and outlining it take about a second."""

V = TypeVar("V")

OutlineRef = tuple[str, int]
"""Reference into an outline: (path, index of a chunk or symbol)."""

Outliner = Callable[[str, str, "int | None"], FileEntry]
"""Function of (path, text, version) that returns the entry of exactly that text.  It must return within seconds."""


MAX_CHANGES, MAX_FILES_PER_CHANGE = 64, 5_000
"""Number of changes that a snapshot remembers, and maximum number of files in one of them."""


def is_virtual(path: str) -> bool:
    """Return whether a path names a virtual document."""
    return path.startswith(VIRTUAL_SCHEME)


class OpenDocument(Struct, frozen=True):
    """Text of one file as synchronized by the editor."""

    text: str  # of a notebook, its cells
    version: int
    language: str = ""  # LSP language ID
    json: str = ""  # of a notebook that the editor shows as JSON
    cells: tuple[OpenCell, ...] = ()  # of a notebook that the editor shows as cells
    uri: str = ""  # as the editor spells it


class ChangeMarker:
    """Paths of one change of the files.  Markers are compared by identity."""

    __slots__ = ("paths",)

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths


class Snapshot(Struct, frozen=True):
    """Immutable view of the indexed workspace at one moment."""

    generation: int = 0
    roots: tuple[Root, ...] = ()
    listed: frozenset[str] = frozenset()  # paths of the roots whose files are listed
    files: PersistentMap[str, FileEntry] = PersistentMap()
    names: OverlayMap[OutlineRef] = OverlayMap()  # lower-case symbol name → definitions
    basenames: OverlayMap[str] = OverlayMap()  # lower-case file name → paths
    documents: PersistentMap[str, OpenDocument] = PersistentMap()
    changes: tuple[ChangeMarker, ...] = ()  # latest changes of `files`, oldest first

    @property
    def last_change(self) -> ChangeMarker | None:
        """Most recent change, None without one."""
        return self.changes[-1] if self.changes else None

    def root_of(self, path: str) -> Root | None:
        """Return the innermost root that contains `path`."""
        roots = [r for r in self.roots if path == r.path or path.startswith(r.path.rstrip("/") + "/")]
        return max(roots, key=lambda r: len(r.path), default=None)

    def label(self, path: str) -> str:
        """Return the display form of a path: relative to its root, "root:path" in a workspace with several roots."""
        if is_virtual(path):
            return path[len(VIRTUAL_SCHEME) :]
        if not is_file_path(path):
            return document_label(path)
        root = self.root_of(path)
        if root is None:
            return PurePosixPath(path).name or path
        name = path[len(root.path.rstrip("/")) + 1 :]
        return f"{root.name}:{name}" if len(self.roots) > 1 else name

    def outline(self, path: str) -> OutlineView | None:
        """Return the outline of a file, None if the file is unknown or has no outline."""
        entry = self.files.get(path)
        return entry.outline if entry is not None else None

    def has_symbol(self, ref: OutlineRef) -> bool:
        """Return whether a reference from `names` is still valid, without decoding the symbol."""
        outline = self.outline(ref[0])
        return outline is not None and ref[1] < len(outline.symbols)

    def symbol(self, ref: OutlineRef) -> Symbol | None:
        """Return the symbol of a reference from `names`, None if the file has changed since."""
        outline = self.outline(ref[0])
        return outline.symbols[ref[1]] if outline is not None and ref[1] < len(outline.symbols) else None


def with_files(snapshot: Snapshot, changes: Iterable[tuple[str, FileEntry | None]]) -> Snapshot:
    """Return the next generation of a snapshot, with files replaced, added or (entry None) removed.

    `names` and `basenames` remain the same objects if nothing in them changes, as in most edits.  Caches of data
    derived from them compare by identity.
    """
    entries = dict(changes)
    files = snapshot.files.mutate()
    names, basenames = _NameChanges[OutlineRef](), _NameChanges[str]()
    for path, entry in entries.items():
        old = files.get(path)
        before, after = _lower_symbol_names(old), _lower_symbol_names(entry)
        if before != after:
            changed = {name for pair in zip_longest(before, after, fillvalue="") if pair[0] != pair[1] for name in pair}
            changed.discard("")
            for name in changed.intersection(before):
                names.removed[name].add(path)
            for i, name in enumerate(after):
                if name in changed:
                    names.added[name].append((path, i))
        if (old is None) != (entry is None):
            base = path.rsplit("/", 1)[-1].lower()
            basenames.added[base].append(path) if entry is not None else basenames.removed[base].add(path)
        if entry is not None:
            files[path] = entry
        elif old is not None:
            del files[path]
    is_small = len(entries) <= MAX_FILES_PER_CHANGE
    return replace(
        snapshot,
        generation=snapshot.generation + 1,
        changes=(*snapshot.changes, ChangeMarker(tuple(entries)))[-MAX_CHANGES:] if is_small else (ChangeMarker(()),),
        files=files.finish(),
        names=_apply_name_changes(snapshot.names, names, lambda ref: ref[0]),
        basenames=_apply_name_changes(snapshot.basenames, basenames, lambda path: path),
    )


class _NameChanges(Generic[V]):
    """Added and removed values by name, collected so that a frequent name is updated only once."""

    __slots__ = ("added", "removed")

    def __init__(self) -> None:
        self.added: dict[str, list[V]] = defaultdict(list)
        self.removed: dict[str, set[str]] = defaultdict(set)  # paths


def _apply_name_changes(current: OverlayMap[V], changes: _NameChanges[V], path_of: Callable[[V], str]) -> OverlayMap[V]:
    updated = {
        name: (*current.get(name), *added) for name, added in changes.added.items() if name not in changes.removed
    }
    for name, removed in changes.removed.items():
        remaining = [ref for ref in current.get(name) if path_of(ref) not in removed]
        updated[name] = (*remaining, *changes.added.get(name, ()))
    return current.with_changes(updated)


def remembers_change(marker: ChangeMarker | None, snapshot: Snapshot) -> bool:
    """Return whether a snapshot still knows what has changed since a change marker."""
    return any(change is marker for change in snapshot.changes)


def diff_files(
    before: PersistentMap[str, FileEntry], marker: ChangeMarker | None, snapshot: Snapshot
) -> tuple[list[FileEntry], list[FileEntry]]:
    """Return (new or changed entries, removed entries) of a snapshot compared with `before`, by identity.

    `marker` is the last change of the snapshot that `before` belongs to.  While the snapshot remembers it, only the
    files changed since are compared.
    """
    files = snapshot.files
    later_changes = next(
        (snapshot.changes[i + 1 :] for i, change in enumerate(snapshot.changes) if change is marker), None
    )
    if later_changes is None:
        changed = [entry for path, entry in files.items() if before.get(path) is not entry]
        return changed, [entry for path, entry in before.items() if path not in files]
    paths = {path for change in later_changes for path in change.paths}
    new, old = {path: files.get(path) for path in paths}, {path: before.get(path) for path in paths}
    changed = [entry for path, entry in new.items() if entry is not None and old[path] is not entry]
    return changed, [entry for path, entry in old.items() if entry is not None and new[path] is None]


def _lower_symbol_names(entry: FileEntry | None) -> list[str]:
    return [sys.intern(n.lower()) for n in decode_symbol_names(entry.encoded_outline)] if entry is not None else []


class SourceReader:
    """Reader of file texts for one request, based on a snapshot.

    Each text is read once and stays the same during the request.  The `outliner` outlines a file that has changed on
    disk since it was indexed.  Without an outliner such a file is reported as changed.
    """

    __slots__ = ("_outliner", "_roots", "_views", "allow_secrets", "limits", "snapshot", "virtual_documents")

    def __init__(
        self, snapshot: Snapshot, limits: FileLimits, outliner: Outliner | None = None, allow_secrets: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.limits = limits
        self._outliner = outliner
        self._roots = tuple(root.path for root in snapshot.roots)
        self.allow_secrets = allow_secrets  # whether explicitly mentioned files that usually hold secrets may be read
        self._views: dict[str, FileText | Problem] = {}
        self.virtual_documents: dict[str, FileText] = {}

    def read(self, path: str, explicit: bool = False) -> FileText | Problem:
        """Read the text of a workspace file together with its outline; return a problem if that fails.

        With `explicit`, the user mentioned this file, and generated and minified files are read as well.
        """
        view = self._views.get(path)
        if view is None or (explicit and isinstance(view, Problem)):
            view = self._views[path] = self._read(path, explicit)
        return view

    def read_text(self, path: str) -> str | Problem:
        """Read the text of an explicitly mentioned file without its outline; return a problem if that fails."""
        view = self._views.get(path)
        if isinstance(view, FileText):
            return view.text
        document = self.snapshot.documents.get(path)
        if document is not None:
            return document.text
        content = read_any_text(path, self.limits, self._roots, self.allow_secrets)
        return content.text if isinstance(content, FileContent) else Problem(content.reason)

    def differs_from_disk(self, path: str) -> bool:
        """Return whether the text of an open document is not that of its file."""
        document = self.snapshot.documents.get(path)
        return document is not None and self._text_on_disk(path) != document.text

    def text_of(self, path: str) -> str | None:
        """Return the text of an open document, else of the file; None if there is none that can be indexed."""
        document = self.snapshot.documents.get(path)
        return document.text if document is not None else self._text_on_disk(path)

    def _text_on_disk(self, path: str) -> str | None:
        content = read_any_text(path, self.limits, self._roots)
        return content.text if isinstance(content, FileContent) else None

    def add_virtual_document(self, name: str, text: str) -> str:
        """Add a text that is not a file, and return the path under which this request can read it.

        `name` is the display name.  A number is appended if another text already has this name.
        """
        number, path = 1, VIRTUAL_SCHEME + name
        while (existing := self.virtual_documents.get(path)) is not None and existing.text != text:
            number += 1
            path = VIRTUAL_SCHEME + _numbered_name(name, number)
        lines = tuple(split_lines(text))
        entry = FileEntry(
            path,
            "",
            name,
            len(text),
            content_hash=content_hash(text),
            encoded_outline=encode_outline(Outline("text", len(lines))),
        )
        self.share_virtual_documents({path: FileText(entry, text, lines)})
        return path

    def share_virtual_documents(self, documents: dict[str, FileText]) -> bool:
        """Add virtual documents of another request; return False if a name is already used for another text."""
        if any(
            path in self.virtual_documents and self.virtual_documents[path].text != view.text
            for path, view in documents.items()
        ):
            return False
        self.virtual_documents.update(documents)
        self._views.update(documents)
        return True

    def _read(self, path: str, explicit: bool) -> FileText | Problem:
        if is_virtual(path):
            return Problem("it belongs to another request")
        entry = self.snapshot.files.get(path)
        document = self.snapshot.documents.get(path)
        if document is not None:
            text, version, is_current = document.text, document.version, _is_outline_of(document.text, entry)
            note = ""
        else:
            content, is_current = self._read_from_disk(path, entry, explicit)
            if isinstance(content, UnreadableFile):
                return Problem(content.reason)
            text, version, note = content.text, None, content.encoding_note
        if entry is None or not is_current:
            if self._outliner is None:
                return Problem("the file has changed since it was indexed")
            entry = self._outliner(path, text, version)
        return FileText(entry, text, tuple(split_lines(text)), note)

    def _read_from_disk(
        self, path: str, entry: FileEntry | None, explicit: bool
    ) -> tuple[FileContent | UnreadableFile, bool]:
        """Return the text on disk, and whether the entry was made from it."""
        if explicit or (
            entry is not None and entry.encoded_outline
        ):  # an indexed text is not checked for generated content again
            limits = self._mention_limits() if explicit else self.limits
            content = read_any_text(path, limits, self._roots, explicit and self.allow_secrets)
            is_current = isinstance(content, FileContent) and _is_outline_of(content.text, entry)
            if explicit or is_current:
                return content, is_current
        content = read_text(path, self.limits, self._roots)
        return content, isinstance(content, FileContent) and _is_outline_of(content.text, entry)

    def _mention_limits(self) -> FileLimits:
        return replace(self.limits, max_file_size=max(self.limits.max_file_size, MAX_MENTIONED_BYTES))


def _numbered_name(name: str, number: int) -> str:
    """Return the name with a number, inside the parentheses at its end if it has any."""
    return f"{name[:-1]}, {number})" if name.endswith(")") else f"{name} ({number})"


def _is_outline_of(text: str, entry: FileEntry | None) -> bool:
    """Return whether the outline of an entry was made from exactly this text."""
    return entry is not None and bool(entry.encoded_outline) and entry.content_hash == content_hash(text)


def split_lines(text: str) -> list[str]:
    r"""Split a text into lines without line ends; only \n, \r\n and \r end a line, as in LSP."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if len(lines) > 1 and lines[-1] == "":
        lines.pop()
    return lines

"""Memory store: one memory file of the user, and one in each workspace folder that has entries.

Each request reads the files again, because several servers may share them.  Changes are made under a file lock, to the
current content of the file, so that concurrent writers lose nothing.  Lock files are in the user's data directory: a
workspace contains only memory.json, created with the first entry added to it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout
from msgspec import UNSET, Struct
from msgspec.structs import replace

from promptls.index import UnreadableFile, folder_exists, read_own_file
from promptls.knowledge.memory.entries import (
    MAX_ENTRIES,
    EntryDraft,
    InvalidEntry,
    MemoryEntry,
    parse_category,
    parse_content,
    parse_expiry,
    parse_labels,
    parse_title,
)
from promptls.knowledge.memory.storage import MAX_BYTES, MemoryContent, back_up, decode, encode, write
from promptls.model import Problem, Root
from promptls.util.own_folder import make_own_folder

FILE_NAME = "memory.json"
DIRECTORY_NAME = ".promptls"
LOCK_TIMEOUT_S = 5.0
"""Seconds that a change waits for a change by another server."""


def user_data_dir() -> Path:
    """Return the directory of user memory: $PROMPTLS_DATA, or the platform's user data directory."""
    chosen = os.environ.get("PROMPTLS_DATA") or platformdirs.user_data_dir("promptls", appauthor=False)
    return Path(chosen).expanduser().absolute()


def _now() -> datetime:
    return datetime.now(timezone.utc)


class _MemoryFile(Struct, frozen=True):
    """Location of one memory file."""

    base: str  # directory that the path must not leave
    name: str  # relative to `base`
    root: Root | None  # None for user memory
    label: str

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.base, self.name)


class MemoryChange(Struct, frozen=True):
    """The entries added, changed or removed, and problems that the user should know."""

    entries: tuple[MemoryEntry, ...]
    problems: tuple[Problem, ...] = ()


class MemoryStore:
    """Memory entries in files.  Safe to call from any thread; blocks on I/O.

    `roots` are the current workspace folders.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = lambda: secrets.token_hex(5),
    ) -> None:
        self.clock = clock
        self._data_dir = data_dir or user_data_dir()
        self._new_id = new_id
        self._cache: dict[Path, tuple[bytes, MemoryContent]] = {}

    def load(self, roots: Sequence[Root]) -> MemoryContent:
        """Load all entries from the files, entries of workspaces first."""
        contents = [self._load_file(file) for file in self._files(roots)]
        return MemoryContent(
            tuple(entry for content in contents for entry in content.entries),
            tuple(problem for content in contents for problem in content.problems),
        )

    def add(self, draft: EntryDraft, root: Root | None = None) -> MemoryChange:
        """Add an entry to user memory, or to a workspace folder.

        Raises:
            InvalidEntry: The entry is invalid or cannot be stored.
        """
        now = self.clock()
        missing = [name for name in ("category", "title", "content") if getattr(draft, name) is UNSET]
        if missing:
            raise InvalidEntry(missing[0], "missing; category, title and content are required.")
        empty = MemoryEntry(
            id="", category="knowledge", title="", content="", created=now, updated=now,
            scope="user" if root is None else "workspace", root="" if root is None else root.path,
        )  # fmt: skip
        new = _apply_draft(empty, draft, now)
        with self._edit(self._file(root)) as (entries, save):
            for entry in entries:
                if (entry.title, entry.content, entry.category) == (new.title, new.content, new.category):
                    raise InvalidEntry("content", f"duplicate of entry {entry.id}; update that entry instead.")
            if len(entries) >= MAX_ENTRIES:
                raise InvalidEntry("scope", f"full with {MAX_ENTRIES:,} entries; remove some first.")
            ids = {entry.id for entry in entries}
            new = replace(new, id=next(name for name in iter(self._new_id, "") if name not in ids))
            return MemoryChange((new,), save([*entries, new]))

    def update(self, entry_id: str, draft: EntryDraft, roots: Sequence[Root]) -> MemoryChange:
        """Set the fields of a draft in an existing entry.

        Raises:
            InvalidEntry: There is no such entry, or the change is invalid or cannot be stored.
        """
        with self._edit(self._file_with(entry_id, roots)) as (entries, save):
            old = _entry_by_id(entries, entry_id)
            new = replace(_apply_draft(old, draft, self.clock()), updated=self.clock())
            return MemoryChange((new,), save([new if entry is old else entry for entry in entries]))

    def remove(self, entry_id: str, roots: Sequence[Root]) -> MemoryChange:
        """Remove an entry.

        Raises:
            InvalidEntry: There is no such entry, or the change cannot be stored.
        """
        with self._edit(self._file_with(entry_id, roots)) as (entries, save):
            old = _entry_by_id(entries, entry_id)
            return MemoryChange((old,), save([entry for entry in entries if entry is not old]))

    # ---- files

    def _files(self, roots: Sequence[Root]) -> list[_MemoryFile]:
        return [*map(self._file, roots), self._file(None)]

    def _file(self, root: Root | None) -> _MemoryFile:
        if root is None:
            real = (self._data_dir / FILE_NAME).resolve()  # the user may link this file
            return _MemoryFile(real.parent.as_posix(), real.name, None, f"{FILE_NAME} (yours)")
        return _MemoryFile(
            root.path, f"{DIRECTORY_NAME}/{FILE_NAME}", root, f"{DIRECTORY_NAME}/{FILE_NAME} of {root.name}"
        )

    def _file_with(self, name: str, roots: Sequence[Root]) -> _MemoryFile:
        for file in reversed(self._files(roots)):  # user memory first: a workspace cannot shadow it
            if any(entry.id == name for entry in self._load_file(file).entries):
                return file
        raise InvalidEntry("id", f"{name!r} does not exist; use list to show all entries.")

    def _load_file(self, file: _MemoryFile) -> MemoryContent:
        data = read_own_file(file.base, file.name, MAX_BYTES)
        if data is None:
            self._cache.pop(file.path, None)
            return MemoryContent()
        if isinstance(data, UnreadableFile):
            return MemoryContent(
                (), (Problem(f"Cannot read the memory file {file.label}: {data.reason}."),), newer=True
            )
        digest = hashlib.blake2b(data, digest_size=16).digest()
        known = self._cache.get(file.path)
        if known is None or known[0] != digest:
            root = file.root.path if file.root is not None else ""
            known = (digest, decode(data, file.label, "user" if file.root is None else "workspace", root))
            self._cache[file.path] = known
        return known[1]

    @contextmanager
    def _edit(
        self, file: _MemoryFile
    ) -> Iterator[tuple[tuple[MemoryEntry, ...], Callable[[Sequence[MemoryEntry]], tuple[Problem, ...]]]]:
        """Lock a file; yield its entries and a function that replaces them."""
        try:
            with self._lock(file):
                content = self._load_file(file)
                if content.newer:
                    raise InvalidEntry("scope", content.problems[0].message)
                yield content.entries, lambda entries: self._save(file, content, entries)
        except Timeout:
            raise InvalidEntry("scope", f"another program is changing {file.label}; try again.") from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidEntry("scope", f"cannot change {file.label}: {why}.") from None

    @contextmanager
    def _lock(self, file: _MemoryFile) -> Iterator[None]:
        make_own_folder(self._data_dir)
        locks = self._data_dir / "locks"
        locks.mkdir(exist_ok=True)
        place = file.path.resolve().as_posix()
        name = hashlib.blake2b(place.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
        with FileLock(locks / f"{name}.lock", timeout=LOCK_TIMEOUT_S):
            yield

    def _save(self, file: _MemoryFile, content: MemoryContent, entries: Sequence[MemoryEntry]) -> tuple[Problem, ...]:
        """Write a file; an old file with invalid content is backed up first."""
        folder = file.path.parent
        folder.mkdir(parents=file.root is None, exist_ok=True)
        if file.root is not None and not folder_exists(folder.as_posix()):
            raise InvalidEntry(
                "scope", f"{DIRECTORY_NAME} in {file.root.name} is a link; memory is not written through links."
            )
        backup = back_up(file.path) if content.damaged else None
        write(file.path, encode(entries), 0o600 if file.root is None else 0o644)
        return (Problem(f"The old content of {file.label} was backed up as {backup.name}."),) if backup else ()


def _apply_draft(entry: MemoryEntry, draft: EntryDraft, now: datetime) -> MemoryEntry:
    """Return an entry with the fields of a draft.

    Raises:
        InvalidEntry: A field is invalid.
    """
    if draft.category is not UNSET:
        entry = replace(entry, category=parse_category(draft.category))
    if draft.title is not UNSET:
        entry = replace(entry, title=parse_title(draft.title))
    if draft.content is not UNSET:
        entry = replace(entry, content=parse_content(draft.content))
    if draft.tags is not UNSET:
        entry = replace(entry, tags=parse_labels("tags", draft.tags))
    if draft.paths is not UNSET:
        entry = replace(entry, paths=parse_labels("paths", draft.paths))
    if draft.expires is not UNSET:
        entry = replace(entry, expires=parse_expiry(draft.expires, now))
    return entry


def _entry_by_id(entries: Sequence[MemoryEntry], name: str) -> MemoryEntry:
    """Return the entry with this id.

    Raises:
        InvalidEntry: Another program has removed the entry.
    """
    for entry in entries:
        if entry.id == name:
            return entry
    raise InvalidEntry("id", f"{name!r} does not exist any more.")

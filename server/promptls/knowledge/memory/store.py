"""The owner of what is remembered: one file of the user's, one in each workspace folder that has one.

Reads the files anew for each request, so that several servers may share them; changes are made under a lock,
to what the file holds at that moment, so that two writers lose nothing.  The locks lie in the user's data
folder: nothing but memory.json comes into a workspace, and only by an entry that is added there.
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

from promptls.index import files
from promptls.index.files.convention_files import read_bytes
from promptls.knowledge.memory.entries import (
    MOST_ENTRIES,
    Draft,
    Entry,
    InvalidEntry,
    category_of,
    content_of,
    expiry_of,
    labels_of,
    title_of,
)
from promptls.knowledge.memory.storage import MOST_BYTES, Content, copy_aside, decode, encode, write
from promptls.model import Problem, Root

FILE = "memory.json"
FOLDER = ".promptls"
LOCK_S = 5.0
"""How long a change waits for another server's."""


def user_folder() -> Path:
    """Where the user's own memory lies: $PROMPTLS_DATA, else the user's data folder."""
    chosen = os.environ.get("PROMPTLS_DATA") or platformdirs.user_data_dir("promptls", appauthor=False)
    return Path(chosen).expanduser().absolute()


def _now() -> datetime:
    return datetime.now(timezone.utc)


class _Home(Struct, frozen=True):
    """Where one memory file lies."""

    top: str  # the folder that it must not lead out of
    name: str  # relative to `top`
    root: Root | None  # None for the user's own
    label: str

    @property
    def path(self) -> Path:
        return Path(self.top, self.name)


class Changed(Struct, frozen=True):
    """The entries that a change was about, and what there is to tell."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()


class Memory:
    """Any thread; blocking.  `roots` are the workspace folders of the moment."""

    def __init__(
        self,
        folder: Path | None = None,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = lambda: secrets.token_hex(5),
    ) -> None:
        self.clock = clock
        self._folder = folder or user_folder()
        self._new_id = new_id
        self._read: dict[Path, tuple[bytes, Content]] = {}

    def load(self, roots: Sequence[Root]) -> Content:
        """All entries, those of the workspace first, as the files are now."""
        contents = [self._content(home) for home in self._homes(roots)]
        return Content(
            tuple(entry for content in contents for entry in content.entries),
            tuple(problem for content in contents for problem in content.problems),
        )

    def add(self, draft: Draft, root: Root | None = None) -> Changed:
        """Remember something: the user's own, or in a workspace folder.  Raises `InvalidEntry`."""
        now = self.clock()
        missing = [name for name in ("category", "title", "content") if getattr(draft, name) is UNSET]
        if missing:
            raise InvalidEntry(missing[0], "it is missing; category, title and content are needed.")
        empty = Entry(
            id="", category="knowledge", title="", content="", created=now, updated=now,
            scope="user" if root is None else "workspace", root="" if root is None else root.path,
        )  # fmt: skip
        new = _drafted(empty, draft, now)
        with self._changing(self._home(root)) as (entries, keep):
            for entry in entries:
                if (entry.title, entry.content, entry.category) == (new.title, new.content, new.category):
                    raise InvalidEntry("content", f"this is remembered already, as {entry.id}; update that one.")
            if len(entries) >= MOST_ENTRIES:
                raise InvalidEntry("scope", f"it holds {MOST_ENTRIES:,} entries, which is the most; remove some first.")
            ids = {entry.id for entry in entries}
            new = replace(new, id=next(name for name in iter(self._new_id, "") if name not in ids))
            return Changed((new,), keep([*entries, new]))

    def update(self, name: str, draft: Draft, roots: Sequence[Root]) -> Changed:
        """Change the fields of an entry that the draft sets.  Raises `InvalidEntry`."""
        with self._changing(self._home_of(name, roots)) as (entries, keep):
            old = _only(entries, name)
            new = replace(_drafted(old, draft, self.clock()), updated=self.clock())
            return Changed((new,), keep([new if entry is old else entry for entry in entries]))

    def remove(self, name: str, roots: Sequence[Root]) -> Changed:
        """Forget an entry.  Raises `InvalidEntry`."""
        with self._changing(self._home_of(name, roots)) as (entries, keep):
            old = _only(entries, name)
            return Changed((old,), keep([entry for entry in entries if entry is not old]))

    # ---- files

    def _homes(self, roots: Sequence[Root]) -> list[_Home]:
        return [*map(self._home, roots), self._home(None)]

    def _home(self, root: Root | None) -> _Home:
        if root is None:
            real = (self._folder / FILE).resolve()  # a link here is the user's own doing
            return _Home(real.parent.as_posix(), real.name, None, f"{FILE} (yours)")
        return _Home(root.path, f"{FOLDER}/{FILE}", root, f"{FOLDER}/{FILE} of {root.name}")

    def _home_of(self, name: str, roots: Sequence[Root]) -> _Home:
        for home in reversed(self._homes(roots)):  # a workspace cannot hide what is the user's
            if any(entry.id == name for entry in self._content(home).entries):
                return home
        raise InvalidEntry("id", f"{name!r} is none of the entries; list shows them.")

    def _content(self, home: _Home) -> Content:
        data = read_bytes(home.top, home.name, MOST_BYTES)
        if data is None:
            self._read.pop(home.path, None)
            return Content()
        if isinstance(data, files.Skipped):
            return Content((), (Problem(f"The memory file {home.label} is not read: {data.reason}."),), newer=True)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        known = self._read.get(home.path)
        if known is None or known[0] != digest:
            root = home.root.path if home.root is not None else ""
            known = (digest, decode(data, home.label, "user" if home.root is None else "workspace", root))
            self._read[home.path] = known
        return known[1]

    @contextmanager
    def _changing(
        self, home: _Home
    ) -> Iterator[tuple[tuple[Entry, ...], Callable[[Sequence[Entry]], tuple[Problem, ...]]]]:
        """The entries of a file that nobody else changes meanwhile, and what writes others in their place."""
        try:
            with self._locked(home):
                content = self._content(home)
                if content.newer:
                    raise InvalidEntry("scope", content.problems[0].message)
                yield content.entries, lambda entries: self._keep(home, content, entries)
        except Timeout:
            raise InvalidEntry("scope", f"another program is changing {home.label}; try again.") from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidEntry("scope", f"{home.label} cannot be changed: {why}.") from None

    @contextmanager
    def _locked(self, home: _Home) -> Iterator[None]:
        locks = self._folder / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        place = home.path.resolve().as_posix()
        name = hashlib.blake2b(place.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
        with FileLock(locks / f"{name}.lock", timeout=LOCK_S):
            yield

    def _keep(self, home: _Home, content: Content, entries: Sequence[Entry]) -> tuple[Problem, ...]:
        """Write a file; what was not understood of the old one is kept beside it."""
        folder = home.path.parent
        folder.mkdir(parents=home.root is None, exist_ok=True)
        if home.root is not None and not files.is_folder(folder.as_posix()):
            raise InvalidEntry("scope", f"{FOLDER} in {home.root.name} is a link; memory is not written through links.")
        kept = copy_aside(home.path) if content.damaged else None
        write(home.path, encode(entries), 0o600 if home.root is None else 0o644)
        return (Problem(f"What could not be read in {home.label} is kept as {kept.name}."),) if kept else ()


def _drafted(entry: Entry, draft: Draft, now: datetime) -> Entry:
    """An entry with the fields that a draft sets.  Raises `InvalidEntry`."""
    if draft.category is not UNSET:
        entry = replace(entry, category=category_of(draft.category))
    if draft.title is not UNSET:
        entry = replace(entry, title=title_of(draft.title))
    if draft.content is not UNSET:
        entry = replace(entry, content=content_of(draft.content))
    if draft.tags is not UNSET:
        entry = replace(entry, tags=labels_of("tags", draft.tags))
    if draft.paths is not UNSET:
        entry = replace(entry, paths=labels_of("paths", draft.paths))
    if draft.expires is not UNSET:
        entry = replace(entry, expires=expiry_of(draft.expires, now))
    return entry


def _only(entries: Sequence[Entry], name: str) -> Entry:
    """The entry with this id.  Raises `InvalidEntry`: another program may have removed it meanwhile."""
    for entry in entries:
        if entry.id == name:
            return entry
    raise InvalidEntry("id", f"{name!r} is none of the entries any more.")

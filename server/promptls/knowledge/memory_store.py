"""Memory entries and their files: one memory file of the user, and one in each workspace folder that has entries.

An entry is knowledge (a fact), a rule (an instruction) or experience (a lesson learned).

A file is JSON, {"version": 1, "entries": […]}.  A file in a workspace is not trusted: invalid entries are skipped and
reported.  Writes replace the file atomically.  A file with invalid content is backed up as "memory.json.bad-1" before
it is replaced.

Each request reads the files again, because several servers may share them.  Changes are made under a file lock, to the
current content of the file, so that concurrent writers lose nothing.  Lock files are in the user's data directory: a
workspace contains only memory.json, created with the first entry added to it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta, timezone
from datetime import time as day_time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import platformdirs
from filelock import FileLock, Timeout
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from promptls.index import UnreadableFile, folder_exists, read_own_file
from promptls.model import Problem, Root
from promptls.settings import make_own_folder
from promptls.util.decode import decode_json
from promptls.util.private_files import shared_mode

MAX_TITLE_CHARACTERS = 120
"""Maximum length of a title in characters; a title is one line."""
MAX_CONTENT_CHARACTERS = 4_000
"""Maximum length of the content in characters; relevant entries must fit into a section of the prompt."""
MAX_LABEL_CHARACTERS = 200
"""Maximum length of a tag or glob in characters."""
MAX_LABELS = 20
"""Maximum number of tags, and of globs, of an entry."""
MAX_ENTRIES = 1_000
"""Maximum number of entries in a memory file."""
MAX_EXPIRY_DAYS = 36_500
"""Maximum time to expiry in days; keeps dates within the range of `datetime`."""

Category = Literal["knowledge", "rule", "experience"]
Scope = Literal["user", "workspace"]
CATEGORIES: tuple[Category, ...] = ("experience", "knowledge", "rule")
SCOPES: tuple[Scope, ...] = ("user", "workspace")

Expiry = str | int | None
"""Days from now, "2030-01-31" (end of that day in UTC), or an ISO date with time and zone; None or "" for never."""


class InvalidEntry(ValueError):
    """An invalid memory request; the message contains the field, the error and the valid values."""

    def __init__(self, field: str, message: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.valid = valid


AwareDatetime = Annotated[datetime, Meta(tz=True)]


class StoredEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry as stored in a file; the location of the file determines the scope."""

    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
    category: Category
    title: str
    content: str
    created: AwareDatetime
    updated: AwareDatetime
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # globs of the files it applies to, in .gitignore syntax; () for all
    expires: AwareDatetime | None = None


class MemoryEntry(StoredEntry, frozen=True, kw_only=True):
    """An entry of the memory."""

    scope: Scope = "user"
    root: str = ""  # path of the workspace folder, "" for user memory

    def is_expired(self, now: datetime) -> bool:
        """Return true if the entry has expired at this time."""
        return self.expires is not None and self.expires <= now


class EntryDraft(Struct, frozen=True, kw_only=True):
    """Fields to set in a new or existing entry; unset fields keep their value or default."""

    category: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    paths: tuple[str, ...] | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET


def parse_category(value: str) -> Category:
    """Parse a category, ignoring case.

    Raises:
        InvalidEntry: The category is unknown.
    """
    for category in CATEGORIES:
        if value.strip().lower() == category:
            return category
    raise InvalidEntry("category", f"unknown category {value!r}; must be one of {', '.join(CATEGORIES)}.", CATEGORIES)


def parse_content(value: str) -> str:
    """Validate the content: any text that is not blank.

    Raises:
        InvalidEntry: The content is invalid.
    """
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise InvalidEntry("content", "blank; must contain the text to remember.")
    if len(text) > MAX_CONTENT_CHARACTERS:
        raise InvalidEntry("content", f"{len(text):,} characters; must be at most {MAX_CONTENT_CHARACTERS:,}.")
    _check_encodable("content", text)
    return text


def parse_labels(field: str, values: Sequence[str]) -> tuple[str, ...]:
    """Validate tags or globs and remove duplicates.

    Raises:
        InvalidEntry: A label is invalid, or there are too many.
    """
    found = tuple(dict.fromkeys(parse_line(field, value, MAX_LABEL_CHARACTERS) for value in values))
    if len(found) > MAX_LABELS:
        raise InvalidEntry(field, f"{len(found)} values; must be at most {MAX_LABELS}.")
    return found


def parse_expiry(value: Expiry, now: datetime) -> datetime | None:
    """Return the time at which an entry expires.

    Raises:
        InvalidEntry: The value is not a valid time in the future.
    """
    valid = 'a number of days from 1 to 36500, a date such as "2030-01-31", or "" for never'
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise InvalidEntry("expires", f"must be {valid}.")
    if isinstance(value, int):
        if not 1 <= value <= MAX_EXPIRY_DAYS:
            raise InvalidEntry("expires", f"invalid value {value}; must be {valid}.")
        return now + timedelta(days=value)
    try:
        moment = _parse_date(value.strip())
    except (ValueError, OverflowError):
        raise InvalidEntry("expires", f"invalid value {value!r}; must be {valid}.") from None
    if moment <= now:
        raise InvalidEntry("expires", f"{value!r} is in the past; must be {valid}.")
    return moment


def _parse_date(text: str) -> datetime:
    if len(text) == len("2030-01-31"):
        end = datetime.combine(date.fromisoformat(text), day_time.max, timezone.utc)
        return end.replace(microsecond=0)
    moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def parse_line(field: str, value: str, max_characters: int) -> str:
    """Validate one line of visible text.

    Raises:
        InvalidEntry: The text is blank, too long or has invisible characters.
    """
    text = " ".join(value.split())
    if not text:
        raise InvalidEntry(field, "blank; must be a line of text.")
    if len(text) > max_characters:
        raise InvalidEntry(field, f"{len(text)} characters; must be at most {max_characters}.")
    if any(unicodedata.category(character) in ("Cc", "Cf") for character in text):
        raise InvalidEntry(field, "contains invisible characters; must be a line of visible text.")
    _check_encodable(field, text)
    return text


def _check_encodable(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidEntry(field, "contains a lone surrogate.") from None


# ---- memory files

FORMAT_VERSION = 1
MAX_BYTES = 24_000_000
"""Maximum size of a memory file; suffices for the maximum number of entries of maximum length."""
MOVE_ATTEMPTS = 20
"""Attempts to replace a file; on Windows an open handle of another program blocks it."""
MOVE_RETRY_DELAY_S = 0.02
"""Seconds between two attempts."""


class MemoryContent(Struct, frozen=True):
    """The content of one or more memory files."""

    entries: tuple[MemoryEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    damaged: bool = False  # has invalid entries: must be backed up before it is replaced
    newer: bool = False  # unreadable or written by a later version: must not be replaced


class _FileContent(Struct):
    version: int
    entries: list[msgspec.Raw]


def decode_entries(data: bytes, label: str, scope: Scope, root: str) -> MemoryContent:
    """Decode the bytes of a memory file; problems refer to it as `label`."""
    try:
        file = decode_json(data, _FileContent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "invalid JSON" if not isinstance(error, msgspec.ValidationError) else str(error)
        return MemoryContent(
            (), (Problem(f"Cannot read the memory file {label}: {reason}.", _DAMAGED_HINT),), damaged=True
        )
    if file.version > FORMAT_VERSION:
        reason = f"its version {file.version} is newer than the supported version {FORMAT_VERSION}"
        return MemoryContent(
            (), (Problem(f"Ignoring the memory file {label}: {reason}.", "Update promptls."),), newer=True
        )
    entries: dict[str, MemoryEntry] = {}
    errors: list[str] = []
    for number, raw in enumerate(file.entries, 1):
        if len(entries) >= MAX_ENTRIES:
            errors.append(f"only the first {MAX_ENTRIES:,} entries are used")
            break
        try:
            entry = _decode_entry(raw, scope, root)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidEntry) as error:
            errors.append(f"entry {number}: {error}")
            continue
        if entry.id in entries:
            errors.append(f"entry {number}: duplicate id")
        entries.setdefault(entry.id, entry)
    problems = tuple(
        Problem(f"In the memory file {label}, {reason}.".replace("..", "."), _DAMAGED_HINT) for reason in errors[:5]
    )
    return MemoryContent(tuple(entries.values()), problems, damaged=bool(errors))


_DAMAGED_HINT = 'Fix the file by hand; the next change backs it up with the suffix ".bad-1".'


def _decode_entry(raw: msgspec.Raw, scope: Scope, root: str) -> MemoryEntry:
    stored = decode_json(raw, StoredEntry)
    valid = {
        "title": parse_line("title", stored.title, MAX_TITLE_CHARACTERS),
        "content": parse_content(stored.content),
        "tags": parse_labels("tags", stored.tags),
        "paths": parse_labels("paths", stored.paths),
    }
    return MemoryEntry(**{**asdict(stored), **valid, "scope": scope, "root": root})


def encode_entries(entries: Sequence[MemoryEntry]) -> bytes:
    """Encode entries as the bytes of a memory file."""
    names = StoredEntry.__struct_fields__
    stored: list[Any] = [StoredEntry(**{name: getattr(entry, name) for name in names}) for entry in entries]
    return msgspec.json.format(msgspec.json.encode({"version": FORMAT_VERSION, "entries": stored}), indent=1) + b"\n"


def _write_file(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically; on failure (OSError) the old content remains.

    The caller prevents concurrent writes.  An existing file keeps its permissions; a new file gets `mode`.
    """
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)  # left over from a crash, or a malicious link
    try:
        _create_file(temporary, data, mode)
        for attempts_left in range(MOVE_ATTEMPTS, 0, -1):
            try:
                temporary.replace(path)
                break
            except PermissionError:
                if os.name != "nt" or attempts_left == 1:
                    raise
                time.sleep(MOVE_RETRY_DELAY_S)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _back_up(path: Path) -> Path:
    """Copy a file to the first free name "….bad-N" and return that path.

    Raises:
        OSError: The file cannot be copied.
    """
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}.bad-{number}")):
        number += 1
    backup = path.with_name(f"{path.name}.bad-{number}")
    _create_file(backup, path.read_bytes(), path.stat().st_mode & 0o777)
    return backup


def _create_file(path: Path, data: bytes, mode: int) -> None:
    """Create a file and sync it to disk; fails if the path exists, even as a link."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        if os.name == "posix":
            os.fchmod(fd, mode)
        os.fsync(file.fileno())


# ---- store

FILE_NAME = "memory.json"
DIRECTORY_NAME = ".promptls"
LOCK_TIMEOUT_S = 5.0
"""Seconds that a change waits for a change by another server."""


def user_data_dir() -> Path:
    """Return the directory of user memory: $PROMPTLS_DATA, or the platform's user data directory."""
    chosen = os.environ.get("PROMPTLS_DATA") or platformdirs.user_data_dir("promptls", appauthor=False)
    return Path(chosen).expanduser().absolute()


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


class MemoryResult(Struct, frozen=True):
    """The result of a memory request."""

    entries: tuple[MemoryEntry, ...]  # added, changed, removed or matching entries; a list is sorted newest first
    total: int  # number of entries without `limit` and `offset`
    scores: tuple[float, ...] = ()  # search: one score per entry
    problems: tuple[Problem, ...] = ()


class MemoryStore:
    """Memory entries in files.  Safe to call from any thread; blocks on I/O.

    `roots` are the current workspace folders.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self.clock = clock
        self._data_dir = data_dir or user_data_dir()

    def load(self, roots: Sequence[Root]) -> MemoryContent:
        """Load all entries from the files, entries of workspaces first."""
        contents = [self._load_file(file) for file in self._files(roots)]
        return MemoryContent(
            tuple(entry for content in contents for entry in content.entries),
            tuple(problem for content in contents for problem in content.problems),
        )

    def add(self, draft: EntryDraft, root: Root | None = None) -> MemoryResult:
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
            new = replace(new, id=secrets.token_hex(5))
            return MemoryResult((new,), 1, problems=save([*entries, new]))

    def update(self, entry_id: str, draft: EntryDraft, roots: Sequence[Root]) -> MemoryResult:
        """Set the fields of a draft in an existing entry.

        Raises:
            InvalidEntry: The entry does not exist, or the change is invalid or cannot be stored.
        """
        with self._edit(self._file_with(entry_id, roots)) as (entries, save):
            old = _entry_by_id(entries, entry_id)
            new = replace(_apply_draft(old, draft, self.clock()), updated=self.clock())
            return MemoryResult((new,), 1, problems=save([new if entry is old else entry for entry in entries]))

    def remove(self, entry_id: str, roots: Sequence[Root]) -> MemoryResult:
        """Remove an entry.

        Raises:
            InvalidEntry: The entry does not exist, or the change cannot be stored.
        """
        with self._edit(self._file_with(entry_id, roots)) as (entries, save):
            old = _entry_by_id(entries, entry_id)
            return MemoryResult((old,), 1, problems=save([entry for entry in entries if entry is not old]))

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
            return MemoryContent()
        if isinstance(data, UnreadableFile):
            return MemoryContent(
                (), (Problem(f"Cannot read the memory file {file.label}: {data.reason}."),), newer=True
            )
        if file.root is None:
            return decode_entries(data, file.label, "user", "")
        return decode_entries(data, file.label, "workspace", file.root.path)

    @contextmanager
    def _edit(
        self, file: _MemoryFile
    ) -> Iterator[tuple[tuple[MemoryEntry, ...], Callable[[Sequence[MemoryEntry]], tuple[Problem, ...]]]]:
        """Lock a file; yield its entries and a function that replaces them."""
        place = file.path.resolve().as_posix()
        lock_name = hashlib.blake2b(place.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
        try:
            make_own_folder(self._data_dir)
            locks = self._data_dir / "locks"
            locks.mkdir(exist_ok=True)
            with FileLock(locks / f"{lock_name}.lock", timeout=LOCK_TIMEOUT_S):
                content = self._load_file(file)
                if content.newer:
                    raise InvalidEntry("scope", content.problems[0].message)
                yield content.entries, lambda entries: self._save(file, content, entries)
        except Timeout:
            raise InvalidEntry("scope", f"another program is changing {file.label}; try again.") from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidEntry("scope", f"cannot change {file.label}: {why}.") from None

    def _save(self, file: _MemoryFile, content: MemoryContent, entries: Sequence[MemoryEntry]) -> tuple[Problem, ...]:
        """Write a file; an old file with invalid content is backed up first."""
        folder = file.path.parent
        is_new = not folder.exists()
        folder.mkdir(parents=file.root is None, exist_ok=True)
        if is_new and file.root is not None:
            folder.chmod(shared_mode(0o777))
        if file.root is not None and not folder_exists(folder.as_posix()):
            raise InvalidEntry(
                "scope", f"{DIRECTORY_NAME} in {file.root.name} is a link; memory is not written through links."
            )
        backup = _back_up(file.path) if content.damaged else None
        _write_file(file.path, encode_entries(entries), 0o600 if file.root is None else shared_mode(0o644))
        return (Problem(f"The old content of {file.label} was backed up as {backup.name}."),) if backup else ()


def _apply_draft(entry: MemoryEntry, draft: EntryDraft, now: datetime) -> MemoryEntry:
    """Return an entry with the fields of a draft.

    Raises:
        InvalidEntry: A field is invalid.
    """
    changes: dict[str, Any] = {}
    if draft.category is not UNSET:
        changes["category"] = parse_category(draft.category)
    if draft.title is not UNSET:
        changes["title"] = parse_line("title", draft.title, MAX_TITLE_CHARACTERS)
    if draft.content is not UNSET:
        changes["content"] = parse_content(draft.content)
    if draft.tags is not UNSET:
        changes["tags"] = parse_labels("tags", draft.tags)
    if draft.paths is not UNSET:
        changes["paths"] = parse_labels("paths", draft.paths)
    if draft.expires is not UNSET:
        changes["expires"] = parse_expiry(draft.expires, now)
    return replace(entry, **changes)


def _entry_by_id(entries: Sequence[MemoryEntry], name: str) -> MemoryEntry:
    """Return the entry with this id.

    Raises:
        InvalidEntry: Another program has removed the entry.
    """
    for entry in entries:
        if entry.id == name:
            return entry
    raise InvalidEntry("id", f"{name!r} does not exist any more.")

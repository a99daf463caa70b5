"""Memory files: tolerant decoding, atomic writes and backups.

A file is JSON, {"version": 1, "entries": […]}.  A file in a workspace is not trusted: invalid entries are skipped and
reported.  Writes replace the file atomically.  A file with invalid content is backed up as "memory.json.bad-1" before
it is replaced.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from promptls.knowledge.memory.entries import (
    MAX_ENTRIES,
    Category,
    InvalidEntry,
    MemoryEntry,
    Scope,
    parse_content,
    parse_labels,
    parse_title,
)
from promptls.model import Problem
from promptls.util.decode import decode_json

FORMAT_VERSION = 1
MAX_BYTES = 24_000_000
"""Maximum size of a memory file; suffices for the maximum number of entries of maximum length."""
MOVE_ATTEMPTS = 20
"""Attempts to replace a file; on Windows an open handle of another program blocks it."""
MOVE_RETRY_DELAY_S = 0.02
"""Seconds between two attempts."""

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
    paths: tuple[str, ...] = ()
    expires: AwareDatetime | None = None


class MemoryContent(Struct, frozen=True):
    """The content of one or more memory files."""

    entries: tuple[MemoryEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    damaged: bool = False  # has invalid entries: must be backed up before it is replaced
    newer: bool = False  # unreadable or written by a later version: must not be replaced


class _File(Struct):
    version: int
    entries: list[msgspec.Raw]


def decode(data: bytes, label: str, scope: Scope, root: str) -> MemoryContent:
    """Decode the bytes of a memory file; problems refer to it as `label`."""
    try:
        file = decode_json(data, _File)
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
    return MemoryEntry(
        id=stored.id,
        category=stored.category,
        title=parse_title(stored.title),
        content=parse_content(stored.content),
        created=stored.created,
        updated=stored.updated,
        tags=parse_labels("tags", stored.tags),
        paths=parse_labels("paths", stored.paths),
        expires=stored.expires,
        scope=scope,
        root=root,
    )


def encode(entries: Sequence[MemoryEntry]) -> bytes:
    """Encode entries as the bytes of a memory file."""
    names = StoredEntry.__struct_fields__
    stored: list[Any] = [StoredEntry(**{name: getattr(entry, name) for name in names}) for entry in entries]
    return msgspec.json.format(msgspec.json.encode({"version": FORMAT_VERSION, "entries": stored}), indent=1) + b"\n"


def write(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace a file atomically; on failure the old content remains.

    The caller prevents concurrent writes.

    Args:
        path: The file.
        data: The new content.
        mode: Permissions for a new file; an existing file keeps its permissions.

    Raises:
        OSError: The file cannot be written.
    """
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)  # left over from a crash, or a malicious link
    try:
        _create_file(temporary, data, mode)
        _move_file(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def back_up(path: Path) -> Path:
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
        os.fsync(file.fileno())


def _move_file(source: Path, target: Path) -> None:
    for attempts_left in range(MOVE_ATTEMPTS, 0, -1):
        try:
            source.replace(target)
            return
        except PermissionError:
            if os.name != "nt" or attempts_left == 1:
                raise
            time.sleep(MOVE_RETRY_DELAY_S)

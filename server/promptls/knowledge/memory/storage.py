"""Memory files: read with suspicion, written whole or not at all.

A file is JSON, {"version": 1, "entries": […]}.  One in a workspace may come from anybody: what does not fit is
left out and told.  Writing makes a new file beside the old one and moves it into place, so that a reader sees
either; what cannot be read in full is kept as "memory.json.bad-1" before anything takes its place.
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
    MOST_ENTRIES,
    Category,
    Entry,
    InvalidEntry,
    Scope,
    content_of,
    labels_of,
    title_of,
)
from promptls.model import Problem

VERSION = 1
MOST_BYTES = 24_000_000
"""Of a memory file: as many entries as are valid, all of them full, need less."""
TRIES = 20  # for a move that another program's open handle is in the way of, as on Windows
PAUSE_S = 0.02

Moment = Annotated[datetime, Meta(tz=True)]


class Stored(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry as the file has it: where it lies says whose it is."""

    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
    category: Category
    title: str
    content: str
    created: Moment
    updated: Moment
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    expires: Moment | None = None


class Content(Struct, frozen=True):
    """What a memory file holds."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    damaged: bool = False  # a part of it was not understood: keep it before it is replaced
    newer: bool = False  # written by a later version: it must not be replaced


class _File(Struct):
    version: int
    entries: list[msgspec.Raw]


def decode(data: bytes, label: str, scope: Scope, root: str) -> Content:
    """The entries of a file's bytes; `label` is what problems call it."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "it is no JSON of the right form" if not isinstance(error, msgspec.ValidationError) else str(error)
        return Content((), (Problem(f"The memory file {label} cannot be read: {why}.", _KEPT),), damaged=True)
    if file.version > VERSION:
        why = f"it has version {file.version}, this promptls knows {VERSION}"
        return Content((), (Problem(f"The memory file {label} is not used: {why}.", "Update promptls."),), newer=True)
    entries: dict[str, Entry] = {}
    wrong: list[str] = []
    for number, raw in enumerate(file.entries, 1):
        if len(entries) >= MOST_ENTRIES:
            wrong.append(f"only the first {MOST_ENTRIES:,} entries count")
            break
        try:
            entry = _entry(raw, scope, root)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidEntry) as error:
            wrong.append(f"entry {number}: {error}")
            continue
        if entry.id in entries:
            wrong.append(f"entry {number}: there is another one with its id")
        entries.setdefault(entry.id, entry)
    problems = tuple(Problem(f"In the memory file {label}, {why}.".replace("..", "."), _KEPT) for why in wrong[:5])
    return Content(tuple(entries.values()), problems, damaged=bool(wrong))


_KEPT = 'Correct it by hand; the next change keeps it as it is now under a name that ends in ".bad-1".'


def _entry(raw: msgspec.Raw, scope: Scope, root: str) -> Entry:
    stored = msgspec.json.decode(raw, type=Stored)
    return Entry(
        id=stored.id,
        category=stored.category,
        title=title_of(stored.title),
        content=content_of(stored.content),
        created=stored.created,
        updated=stored.updated,
        tags=labels_of("tags", stored.tags),
        paths=labels_of("paths", stored.paths),
        expires=stored.expires,
        scope=scope,
        root=root,
    )


def encode(entries: Sequence[Entry]) -> bytes:
    """The bytes of a file with these entries."""
    names = Stored.__struct_fields__
    stored: list[Any] = [Stored(**{name: getattr(entry, name) for name in names}) for entry in entries]
    return msgspec.json.format(msgspec.json.encode({"version": VERSION, "entries": stored}), indent=1) + b"\n"


def write(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace a file in one step; what was there stays if anything fails.  Raises OSError.

    One writer at a time, which is the caller's to see to.  `mode` is for a file that is new.
    """
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # left by a crash, or a link that somebody laid out
    try:
        _create(new, data, mode)
        _move(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def copy_aside(path: Path) -> Path:
    """Copy a file to the first free name "….bad-N".  Raises OSError."""
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}.bad-{number}")):
        number += 1
    kept = path.with_name(f"{path.name}.bad-{number}")
    _create(kept, path.read_bytes(), path.stat().st_mode & 0o777)
    return kept


def _create(path: Path, data: bytes, mode: int) -> None:
    """A new file with these bytes, on disk when this returns; never through a link.  Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _move(source: Path, target: Path) -> None:
    for tries in range(TRIES, 0, -1):
        try:
            source.replace(target)
            return
        except PermissionError:
            if os.name != "nt" or tries == 1:
                raise
            time.sleep(PAUSE_S)

"""Manifest: a SQLite file with the outline of each file, so that a restart only parses changed files.

The only importer of sqlite3. Derived state: a damaged file is deleted and recreated. Size and modification time are a
hint that a file is unchanged; the content hash decides.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from promptls.index.store.cache_dir import remove_directory_at
from promptls.model import FileEntry
from promptls.util.decode import decode_msgpack

log = logging.getLogger(__name__)

OUTLINE_VERSION = 19
"""Version of the content of outlines. Records of another version are dropped, and their files are parsed again."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS roots (root BLOB NOT NULL UNIQUE, path TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS files (name TEXT NOT NULL, root BLOB NOT NULL, hash BLOB NOT NULL, record BLOB NOT NULL, "
    "seal BLOB NOT NULL, UNIQUE (name, root))",
    "CREATE TABLE IF NOT EXISTS outlines (name TEXT NOT NULL, hash BLOB NOT NULL, record BLOB NOT NULL, "
    "seal BLOB NOT NULL, UNIQUE (name, hash))",
)
"""Outlines are those of the files of all roots; work trees of one repository share them.

The tables have row ids: without them (WITHOUT ROWID), the outlines of a scan take twice the space, since a record of more
than a quarter of a page gets its own pages in the tree of names."""
_PUT_FILE = """
INSERT INTO files VALUES (?, ?, ?, ?, ?)
ON CONFLICT (name, root) DO UPDATE SET hash = excluded.hash, record = excluded.record, seal = excluded.seal
"""
_PUT_OUTLINE = """
INSERT INTO outlines VALUES (?, ?, ?, ?)
ON CONFLICT (name, hash) DO UPDATE SET record = excluded.record, seal = excluded.seal
"""
_PRUNE = "DELETE FROM outlines WHERE name = ? AND hash NOT IN (SELECT hash FROM files WHERE files.name = outlines.name)"
_LOAD = """
SELECT files.record, files.seal, outlines.record, outlines.seal
FROM files LEFT JOIN outlines ON outlines.name = files.name AND outlines.hash = files.hash WHERE root = ?
"""
_LOAD_OTHERS = """
SELECT record, seal FROM outlines
WHERE NOT EXISTS (SELECT 1 FROM files WHERE files.name = outlines.name AND files.hash = outlines.hash AND root = ?)
"""
MAX_WAL_BYTES = 1 << 20
"""Size of the write-ahead log above which it is truncated; SQLite keeps it as large as the largest write."""

DAMAGE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Exceptions of sqlite3 for damaged files: its own errors, and messages that it cannot decode."""


class _File(Struct, frozen=True, array_like=True):
    name: str
    size: int
    mtime_ns: int
    content_hash: bytes
    skip_reason: str
    has_outline: bool
    fingerprint: bytes


class _Outline(Struct, frozen=True, array_like=True):
    name: str
    content_hash: bytes
    encoded_outline: bytes
    fingerprint: bytes


KnownOutlines = Mapping[str, Mapping[bytes, bytes]]
"""Path of a file → hash of a text → its encoded outline."""

_Record = TypeVar("_Record", _File, _Outline)
_encoder = msgspec.msgpack.Encoder()


class Manifest:
    """File records of one workspace folder, by name relative to it. Thread-safe.

    Several folders can share one file: the work trees of a repository.
    """

    def __init__(self, file: Path, root: str, fingerprint: bytes = b"") -> None:
        """Open or create a manifest.

        Args:
            file: SQLite file.
            root: Path of the folder.
            fingerprint: Hash of everything that outlines depend on besides the text; other records are ignored.
        """
        self._file = file
        self._root = root.rstrip("/")
        self._root_key = blake2b(root.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._fingerprint = fingerprint
        self._lock = threading.Lock()
        self._db = _open(file)
        self._inode = file.stat().st_ino

    def load(self) -> dict[str, FileEntry]:
        """Return all readable records as entries by path."""
        entries: dict[str, FileEntry] = {}
        for blob, checksum, outline_blob, outline_checksum in self._select(_LOAD):
            file = self._decode(blob, checksum, _File)
            if file is None:
                continue
            encoded = b""
            if file.has_outline:
                outline = self._decode(outline_blob, outline_checksum, _Outline) if outline_blob else None
                if outline is None or (outline.name, outline.content_hash) != (file.name, file.content_hash):
                    continue
                encoded = outline.encoded_outline
            path = f"{self._root}/{file.name}"
            entries[path] = FileEntry(
                path,
                self._root or "/",
                file.name,
                file.size,
                file.mtime_ns,
                file.content_hash,
                None,
                encoded,
                file.skip_reason,
            )
        return entries

    def load_others(self) -> KnownOutlines:
        """Return the outlines of other folders that share the file, for texts that this folder did not have."""
        self._forget_deleted_roots()
        known: dict[str, dict[bytes, bytes]] = {}
        for blob, checksum in self._select(_LOAD_OTHERS):
            outline = self._decode(blob, checksum, _Outline)
            if outline is not None:
                path = f"{self._root}/{outline.name}"
                known.setdefault(path, {})[outline.content_hash] = outline.encoded_outline
        return known

    def _select(self, query: str) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(query, (self._root_key,)).fetchall()
            except DAMAGE_ERRORS as error:
                if _is_temporary(error):
                    log.warning("Cannot read the manifest %s: %s", self._file, error)
                else:
                    self._recreate(error)
                return []

    def _decode(self, blob: bytes, checksum: bytes, kind: type[_Record]) -> _Record | None:
        """Return a record, None if it is damaged or has another fingerprint."""
        try:
            if _checksum(blob) != checksum:
                raise ValueError("wrong checksum")
            record = decode_msgpack(blob, kind)
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            log.warning("Ignoring a record of %s: %s", self._file, error)
            return None
        return record if record.fingerprint == self._fingerprint else None

    def _forget_deleted_roots(self) -> None:
        """Remove the records of folders that were deleted, such as work trees."""
        with self._lock:
            try:
                roots = self._db.execute("SELECT root, path FROM roots").fetchall()
                deleted = [(root,) for root, path in roots if not os.path.lexists(path)]
                if deleted:
                    with self._db:
                        self._db.executemany("DELETE FROM roots WHERE root = ?", deleted)
                        self._db.executemany("DELETE FROM files WHERE root = ?", deleted)
                        self._db.execute(
                            "DELETE FROM outlines WHERE (name, hash) NOT IN (SELECT name, hash FROM files)"
                        )
            except DAMAGE_ERRORS as error:
                log.warning("Cannot remove the records of deleted folders from %s: %s", self._file, error)

    def save(self, entries: Iterable[FileEntry], deleted: Iterable[str] = ()) -> bool:
        """Write records in one transaction.

        Args:
            entries: Entries whose records are replaced.
            deleted: Names whose records are deleted.

        Returns:
            False if the file was damaged or deleted, and is now new and empty.

        Raises:
            OSError: The file cannot be written.
            sqlite3.Error: The file cannot be written, for example because the disk is full.
        """
        files, outlines = [], []
        for e in entries:
            if _is_storable(e.name):
                has_outline = bool(e.encoded_outline)
                file = _File(e.name, e.size, e.mtime_ns, e.content_hash, e.skip_reason, has_outline, self._fingerprint)
                files.append((e.name, self._root_key, e.content_hash, *_sealed(file)))
                if has_outline:
                    outline = _Outline(e.name, e.content_hash, e.encoded_outline, self._fingerprint)
                    outlines.append((e.name, e.content_hash, *_sealed(outline)))
        names = [(name,) for name in deleted if _is_storable(name)]
        with self._lock:
            try:
                if not self._is_same_file():
                    raise sqlite3.DatabaseError("the file was deleted")
                with self._db:
                    self._db.execute("INSERT OR IGNORE INTO roots VALUES (?, ?)", (self._root_key, self._root))
                    self._db.executemany(
                        "DELETE FROM files WHERE name = ? AND root = ?", [(*name, self._root_key) for name in names]
                    )
                    self._db.executemany(_PUT_OUTLINE, outlines)
                    self._db.executemany(_PUT_FILE, files)
                    self._db.executemany(_PRUNE, [*names, *((file[0],) for file in files)])
                self._truncate_wal()
            except DAMAGE_ERRORS as error:
                if _is_temporary(error):
                    raise  # a new file would not help
                self._recreate(error)
                return False
        return True

    def _truncate_wal(self) -> None:
        try:
            if self._file.with_name(self._file.name + "-wal").stat().st_size > MAX_WAL_BYTES:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (OSError, sqlite3.OperationalError) as error:  # another process reads; the next write tries again
            log.debug("Cannot truncate the write-ahead log of %s: %s", self._file, error)

    def _is_same_file(self) -> bool:
        try:
            return self._file.stat().st_ino == self._inode
        except OSError:
            return False

    def _recreate(self, error: Exception) -> None:
        """Replace a damaged file. Raises OSError or sqlite3.Error."""
        log.warning("Recreating the damaged manifest %s: %s", self._file, error)
        self._db.close()
        _delete(self._file)
        self._db = _open(self._file)
        self._inode = self._file.stat().st_ino

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _is_temporary(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error)


def _sealed(record: _File | _Outline) -> tuple[bytes, bytes]:
    blob = _encoder.encode(record)
    return blob, _checksum(blob)


def _checksum(blob: bytes) -> bytes:
    return blake2b(blob, digest_size=8).digest()


def _is_storable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False  # text in SQLite is UTF-8; such a file is parsed at each start
    return True


def _open(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(file)
    except DAMAGE_ERRORS as error:
        log.warning("Recreating the damaged manifest %s: %s", file, error)
        _delete(file)
        return _connect(file)


def _connect(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=10.0, check_same_thread=False)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("PRAGMA secure_delete=ON")  # content excluded by a policy is overwritten
    if database.execute("PRAGMA user_version").fetchone()[0] != OUTLINE_VERSION:
        for table in ("roots", "files", "outlines"):
            database.execute(f"DROP TABLE IF EXISTS {table}")
        database.execute(f"PRAGMA user_version = {OUTLINE_VERSION}")
    for statement in _SCHEMA:
        database.execute(statement)
    return database


def _delete(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        remove_directory_at(file.with_name(file.name + suffix)).unlink(missing_ok=True)

"""Manifest: a SQLite file with the outline of each file, so that a restart only parses changed files.

The only importer of sqlite3. Derived state: a damaged file is deleted and recreated. Size and modification time are a
hint that a file is unchanged; the content hash decides.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from promptls.index.store.cache_dir import remove_directory_at
from promptls.model import FileEntry

log = logging.getLogger(__name__)

OUTLINE_VERSION = 15
"""Version of the content of outlines. Records of another version are dropped, and their files are parsed again."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (name TEXT NOT NULL UNIQUE, record BLOB NOT NULL, seal BLOB NOT NULL)
"""
_PUT = """
INSERT INTO files VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET record = excluded.record, seal = excluded.seal
"""
"""The table has row ids: without them (WITHOUT ROWID), the records of a scan take twice the space, since a record of
more than a quarter of a page gets its own pages in the tree of names."""
MAX_WAL_BYTES = 1 << 20
"""Size of the write-ahead log above which it is truncated; SQLite keeps it as large as the largest write."""

DAMAGE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Exceptions of sqlite3 for damaged files: its own errors, and messages that it cannot decode."""


class _Record(Struct, frozen=True, array_like=True):
    name: str
    size: int
    mtime_ns: int
    content_hash: bytes
    skip_reason: str
    encoded_outline: bytes
    fingerprint: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Record)


class Manifest:
    """File records of one workspace folder, by name relative to it. Thread-safe."""

    def __init__(self, file: Path, fingerprint: bytes = b"") -> None:
        """Open or create a manifest.

        Args:
            file: SQLite file.
            fingerprint: Hash of everything that outlines depend on besides the text; other records are ignored.
        """
        self._file = file
        self._fingerprint = fingerprint
        self._lock = threading.Lock()
        self._db = _open(file)
        self._inode = file.stat().st_ino

    def load(self, root: str) -> dict[str, FileEntry]:
        """Return all readable records as entries by path."""
        entries: dict[str, FileEntry] = {}
        with self._lock:
            try:
                rows = self._db.execute("SELECT record, seal FROM files").fetchall()
            except DAMAGE_ERRORS as error:
                if _is_temporary(error):
                    log.warning("Cannot read the manifest %s: %s", self._file, error)
                else:
                    self._recreate(error)
                return {}
        for blob, checksum in rows:
            try:
                if _checksum(blob) != checksum:
                    raise ValueError("wrong checksum")
                r = _decoder.decode(blob)
            except (msgspec.MsgspecError, TypeError, ValueError) as error:
                log.warning("Ignoring a record of %s: %s", self._file, error)
                continue
            if r.fingerprint != self._fingerprint:
                continue
            path = f"{root.rstrip('/')}/{r.name}"
            entries[path] = FileEntry(
                path, root, r.name, r.size, r.mtime_ns, r.content_hash, None, r.encoded_outline, r.skip_reason
            )
        return entries

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
        records = []
        for e in entries:
            if _is_storable(e.name):
                record = _Record(
                    e.name, e.size, e.mtime_ns, e.content_hash, e.skip_reason, e.encoded_outline, self._fingerprint
                )
                blob = _encoder.encode(record)
                records.append((e.name, blob, _checksum(blob)))
        names = [(name,) for name in deleted if _is_storable(name)]
        with self._lock:
            try:
                if not self._is_same_file():
                    raise sqlite3.DatabaseError("the file was deleted")
                with self._db:
                    self._db.executemany("DELETE FROM files WHERE name = ?", names)
                    self._db.executemany(_PUT, records)
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
        database.execute("DROP TABLE IF EXISTS files")
        database.execute(f"PRAGMA user_version = {OUTLINE_VERSION}")
    database.execute(_SCHEMA)
    return database


def _delete(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        remove_directory_at(file.with_name(file.name + suffix)).unlink(missing_ok=True)

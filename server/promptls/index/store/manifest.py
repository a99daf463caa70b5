"""What was known of each file when it was last outlined, so that a restart parses only what changed.

One SQLite file beside the store (the only importer of sqlite3).  Derived state: a damaged file is deleted
and made anew.  (size, mtime_ns) are a hint that a file is unchanged; its digest is the truth.
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

from promptls.index.store.directories import without_folder
from promptls.model import FileEntry

log = logging.getLogger(__name__)

FORMAT = 11
"""Version of what an outline holds.  Records of another one are forgotten: their files are outlined anew."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (name TEXT NOT NULL UNIQUE, record BLOB NOT NULL, seal BLOB NOT NULL)
"""
_PUT = """
INSERT INTO files VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET record = excluded.record, seal = excluded.seal
"""
"""Records lie in the order of writing, one behind the other.  In the tree of the names (WITHOUT ROWID) those of a scan
would take twice the room: what is larger than a quarter of a page gets pages of its own there."""
JOURNAL = 1 << 20
"""Bytes that the journal may have after a write.  By itself it stays as large as the largest write was."""

DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What sqlite3 raises on damaged files: its own errors, and error texts that it cannot decode."""


class _Record(Struct, frozen=True, array_like=True):
    name: str
    size: int
    mtime_ns: int
    digest: bytes
    skipped: str
    outlined: bytes
    made_with: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Record)


class Manifest:
    """File records of one workspace folder, by name relative to it.  Thread-safe."""

    def __init__(self, file: Path, made_with: bytes = b"") -> None:
        self._file = file
        self._made_with = made_with  # what outlines depend on beside the text; what was made otherwise is not known
        self._lock = threading.Lock()
        self._db = _open(file)
        self._inode = file.stat().st_ino

    def load(self, root: str) -> dict[str, FileEntry]:
        """All records as entries by path; a record that cannot be read is left out."""
        out: dict[str, FileEntry] = {}
        with self._lock:
            try:
                found = self._db.execute("SELECT record, seal FROM files").fetchall()
            except DAMAGE as error:
                if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                    log.warning("the manifest %s cannot be read: %s", self._file, error)
                else:
                    self._renew(error)
                return {}
        for blob, seal in found:
            try:
                if _seal(blob) != seal:
                    raise ValueError("its seal is broken")
                r = _decoder.decode(blob)
            except (msgspec.MsgspecError, TypeError, ValueError) as error:
                log.warning("a record of %s is left out: %s", self._file, error)
                continue
            if r.made_with != self._made_with:
                continue
            path = f"{root.rstrip('/')}/{r.name}"
            out[path] = FileEntry(path, root, r.name, r.size, r.mtime_ns, r.digest, None, r.outlined, r.skipped)
        return out

    def save(self, entries: Iterable[FileEntry], gone: Iterable[str] = ()) -> bool:
        """Replace the records of these entries and drop the names in `gone`, in one transaction.

        False when the file was damaged or deleted: there is a new one then, and nothing in it.  Raises OSError or
        sqlite3.Error when it cannot be written (disk full, read-only).
        """
        records = []
        for e in entries:
            if _storable(e.name):
                record = _Record(e.name, e.size, e.mtime_ns, e.digest, e.skipped, e.outlined, self._made_with)
                blob = _encoder.encode(record)
                records.append((e.name, blob, _seal(blob)))
        names = [(name,) for name in gone if _storable(name)]
        with self._lock:
            try:
                if not self._there():
                    raise sqlite3.DatabaseError("somebody has deleted it")
                with self._db:
                    self._db.executemany("DELETE FROM files WHERE name = ?", names)
                    self._db.executemany(_PUT, records)
                self._shorten()
            except DAMAGE as error:
                if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                    raise  # a new file would not mend that
                self._renew(error)
                return False
        return True

    def _shorten(self) -> None:
        try:
            if self._file.with_name(self._file.name + "-wal").stat().st_size > JOURNAL:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (OSError, sqlite3.OperationalError) as error:  # somebody reads it; the next write comes
            log.debug("the journal of %s stays as it is: %s", self._file, error)

    def _there(self) -> bool:
        try:
            return self._file.stat().st_ino == self._inode
        except OSError:
            return False

    def _renew(self, error: Exception) -> None:
        """Start anew after damage.  Raises OSError or sqlite3.Error when that cannot be."""
        log.warning("the manifest %s is damaged and made anew: %s", self._file, error)
        self._db.close()
        _delete(self._file)
        self._db = _open(self._file)
        self._inode = self._file.stat().st_ino

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _seal(blob: bytes) -> bytes:
    """Eight bytes that a flipped bit in the record does not survive."""
    return blake2b(blob, digest_size=8).digest()


def _storable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False  # SQLite text is UTF-8: such a file is outlined each start
    return True


def _open(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(file)
    except DAMAGE as error:
        log.warning("the manifest %s is damaged and made anew: %s", file, error)
        _delete(file)
        return _connect(file)


def _connect(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=10.0, check_same_thread=False)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("PRAGMA secure_delete=ON")  # what a policy takes away leaves nothing behind
    if database.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        database.execute("DROP TABLE IF EXISTS files")
        database.execute(f"PRAGMA user_version = {FORMAT}")
    database.execute(_SCHEMA)
    return database


def _delete(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        without_folder(file.with_name(file.name + suffix)).unlink(missing_ok=True)

"""Cache directory: one directory per workspace folder or repository, in it one per store identity.

Indexes that no server has opened for a month are removed, since workspaces are deleted, and models and versions of
promptls change. An index is derived state; removing it costs a scan.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec

from promptls.index.search.row_batch import StoreIdentity
from promptls.model import Root
from promptls.util.git_process import find_git_folder

log = logging.getLogger(__name__)

MAX_UNUSED_S = 30 * 24 * 3600.0
"""Seconds without use after which an index is removed."""
EVICTION_INTERVAL_S = 24 * 3600.0
"""Seconds between two runs of `evict_unused`, which also marks the indexes in use."""
_ROOT_NAME, _INDEX_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{12}"), re.compile(r"[0-9a-f]{8}")
_INDEX_FILES = re.compile(r"files\.sqlite(-wal|-shm|-journal)?|rows|rows\.image(\.\d+)?|rows\.waiting")


def root_directory(cache: Path, root: Root) -> Path:
    """Return the directory of a workspace folder: a readable name with a hash of the path.

    The work trees of a git repository share the directory, since they have most texts in common: the hash is that of the
    repository's git folder, and of the path in the work tree.
    """
    place, name = root.path, root.name
    found = find_git_folder(root.path)
    if found is not None and not found.problem:
        place = f"{found.common}\0{os.path.relpath(os.path.realpath(root.path), found.top)}"
        name = os.path.basename(found.common.removesuffix("/.git")) if place.endswith("\0.") else name  # noqa: PTH119
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:40].strip("-.") or "root"
    return cache / f"{readable}-{blake2b(place.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def index_directory(root_folder: Path, identity: StoreIdentity) -> Path:
    """Return the directory of an index; one per identity, so that two configurations do not share an index."""
    return root_folder / blake2b(msgspec.json.encode(identity), digest_size=4).hexdigest()


def evict_unused(cache: Path, used: Collection[Path], now: float | None = None) -> list[Path]:
    """Mark indexes as used, and remove those unused for `MAX_UNUSED_S`. Never raises OSError.

    A directory with unknown files is kept.

    Args:
        cache: Cache directory.
        used: Index directories in use.
        now: Current time, seconds since 1970.

    Returns:
        The removed directories.
    """
    now = time.time() if now is None else now
    for directory in used:
        try:
            os.utime(directory, (now, now))
        except OSError as error:  # a read-only or deleted cache
            log.info("Cannot mark %s as used: %s", directory, error)
    removed = []
    for directory in list(_index_directories(cache)):
        last_use = _last_use(directory)
        if directory not in used and last_use is not None and now - last_use > MAX_UNUSED_S:
            log.info("Removing %s: unused for %d days", directory, (now - last_use) / 86_400)
            shutil.rmtree(directory, ignore_errors=True)
            if not directory.exists():
                removed.append(directory)
                _remove_if_empty(directory.parent)
    return removed


def remove_directory_at(path: Path) -> Path:
    """Remove a directory at the path of a file of the cache, and return the path. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    return path


def _index_directories(cache: Path) -> Iterator[Path]:
    for root in _subdirectories(cache, _ROOT_NAME):
        yield from _subdirectories(root, _INDEX_NAME)


def _subdirectories(parent: Path, name: re.Pattern[str]) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return [Path(e.path) for e in entries if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _last_use(directory: Path) -> float | None:
    """Return when an index was last opened or written, seconds since 1970; None if it has unknown files."""
    try:
        times = [directory.stat().st_mtime]
        with os.scandir(directory) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if not _INDEX_FILES.fullmatch(entry.name) or stat.S_ISLNK(status.st_mode):
                    return None
                times.append(status.st_mtime)
    except OSError:
        return None
    return max(times)


def _remove_if_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        pass  # not empty

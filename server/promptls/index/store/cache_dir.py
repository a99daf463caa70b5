"""The folders of the cache: one for each workspace folder, in it one for each identity of what is kept there.

Workspaces are deleted, models and versions of promptls change, and nobody says so: an index that no server has opened
for a month is removed.  It is derived state; what it costs is a scan.  Knows nothing of what the files hold.
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

from promptls.index.store.lance_table import Identity
from promptls.model import Root

log = logging.getLogger(__name__)

UNUSED_S = 30 * 24 * 3600.0
"""Seconds without a server after which an index is removed."""
TEND_EVERY_S = 24 * 3600.0
"""How often a server says that it uses its own, and looks for those of others."""
_ROOT, _INDEX = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{12}"), re.compile(r"[0-9a-f]{8}")
_OURS = re.compile(r"files\.sqlite(-wal|-shm|-journal)?|rows|rows\.image(\.\d+)?|rows\.waiting")


def root_folder(cache: Path, root: Root) -> Path:
    """Folder of a root: readable, short, one for each root."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name)[:40].strip("-.") or "root"
    return cache / f"{readable}-{blake2b(root.path.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def index_folder(cache: Path, root: Root, identity: Identity) -> Path:
    """Folder inside it, one for each identity, so that two settings do not fight over one."""
    return root_folder(cache, root) / blake2b(msgspec.json.encode(identity), digest_size=4).hexdigest()


def tend(cache: Path, used: Collection[Path], now: float | None = None) -> list[Path]:
    """Note that these index folders are in use, remove those that nobody has used for long, and tell which.

    A folder in which anything lies that is not ours is left alone.  Never fails.
    """
    now = time.time() if now is None else now
    for folder in used:
        try:
            os.utime(folder, (now, now))
        except OSError as error:  # a read-only cache, or one that was deleted
            log.info("%s is not marked as used: %s", folder, error)
    gone = []
    for folder in list(_indexes(cache)):
        last = _last_use(folder)
        if folder not in used and last is not None and now - last > UNUSED_S:
            log.info("%s is removed: nobody has used it for %d days", folder, (now - last) / 86_400)
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                gone.append(folder)
                _remove_empty(folder.parent)
    return gone


def _indexes(cache: Path) -> Iterator[Path]:
    for root in _folders(cache, _ROOT):
        yield from _folders(root, _INDEX)


def _folders(place: Path, named: re.Pattern[str]) -> list[Path]:
    try:
        with os.scandir(place) as listing:
            return [Path(e.path) for e in listing if named.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _last_use(folder: Path) -> float | None:
    """When an index was opened or written last, in seconds since 1970; None if it is not for us to say."""
    try:
        times = [folder.stat().st_mtime]
        with os.scandir(folder) as listing:
            for entry in listing:
                found = entry.stat(follow_symlinks=False)
                if not _OURS.fullmatch(entry.name) or stat.S_ISLNK(found.st_mode):
                    return None
                times.append(found.st_mtime)
    except OSError:
        return None
    return max(times)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        pass  # there are others in it

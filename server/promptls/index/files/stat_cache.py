"""Whether a root still looks as it did when it was walked, told by a stat of what is known: a quarter of a walk.

A file that came, went or was renamed shows in its folder, one that was written in itself, rules in their files.  What
shows nowhere (rules outside of the root, a file that git tracks though it is ignored) waits for the next walk.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterable

from msgspec import Struct

from promptls.index.files.read import Limits, exhausted, stat
from promptls.index.files.walk import Found, ignored

SLACK_NS = 50_000_000
"""What was changed so shortly before a walk may be changed again without another time: clocks of disks are coarse."""
MOST_EMPTY = 1_000
"""Folders without files that are looked at; those beyond wait for the next walk."""
RULES = (".gitignore", ".promptlsignore", ".git/info/exclude")
"""Files that say what is ignored, in the folders they may stand in."""


class Seen(Struct, frozen=True, gc=False):
    """What a root looked like at a walk."""

    folders: dict[str, int]  # path → mtime in ns; -1: it has to be walked again to be sure
    rules: dict[str, tuple[int, int]]  # path → (size, mtime in ns)


def remember(root: str, found: Iterable[Found], limits: Limits, began_ns: int) -> Seen:
    """What a walk that began at `began_ns` (time.time_ns) has seen, for `moved`."""
    folders = {root}
    for file in found:
        parent = file.path.rpartition("/")[0]
        while parent not in folders and len(parent) > len(root):
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    rules: dict[str, tuple[int, int]] = {}
    times: dict[str, int] = {}
    waiting = sorted(folders)
    empty = 0
    while waiting:
        below: list[str] = []
        for folder in waiting:
            times[folder] = _time(folder, began_ns - SLACK_NS)
            below += [inner for inner in _inside(folder) if inner not in folders]
            for path in (f"{folder.rstrip('/')}/{name}" for name in RULES):
                if (held := stat(path)) is not None:
                    rules[path] = held if held[1] < began_ns - SLACK_NS else (-1, -1)
        below = below[: MOST_EMPTY - empty]
        empty += len(below)
        hidden = ignored(root, below, limits) if below else set()
        waiting = [folder for folder in below if folder not in hidden]
    return Seen(times, rules)


def moved(seen: Seen) -> bool:
    """Whether a folder or a rule has changed since: then only a walk can tell which files there are."""
    return any(then < 0 or _time(path) != then for path, then in seen.folders.items()) or any(
        stat(path) != then for path, then in seen.rules.items()
    )


def written(files: Iterable[tuple[str, int, int]]) -> list[str]:
    """Those of the files (path, size, mtime in ns) that differ on disk."""
    out: list[str] = []
    for path, size, mtime_ns in files:
        try:
            now = os.lstat(path)
        except OSError:
            out.append(path)
            continue
        if now.st_mtime_ns != mtime_ns or now.st_size != size:
            out.append(path)
    return out


def _time(folder: str, before_ns: int | None = None) -> int:
    """When a folder has changed; -1 if there is none, or if that was not before a time."""
    try:
        found = os.lstat(folder)
    except OSError:
        return -1
    if not modes.S_ISDIR(found.st_mode) or (before_ns is not None and found.st_mtime_ns >= before_ns):
        return -1
    return found.st_mtime_ns


def _inside(folder: str) -> list[str]:
    """The folders in a folder, links and git's own left out."""
    try:
        with os.scandir(folder) as listing:
            inner = [e.name for e in listing if e.name != ".git" and e.is_dir(follow_symlinks=False)]
            return [f"{folder.rstrip('/')}/{name}" for name in inner]
    except OSError as error:
        if exhausted(error):
            raise
        return []

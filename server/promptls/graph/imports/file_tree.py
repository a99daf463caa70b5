"""The files of a snapshot as import resolution asks for them: is it there, what is in this folder, who ends like this.

A value made once for each set of file names; edits of texts do not change it.  Knows names only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from promptls.graph.packages import closeness
from promptls.index.snapshot import Snapshot

MOST_ALIKE = 200
"""Files of one name that are compared."""


class Tree:
    """Look-ups by path.  Paths are absolute, with forward slashes."""

    __slots__ = ("_basenames", "_files", "_packages", "_roots", "_under", "folders")

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = snapshot.files
        self._basenames = snapshot.basenames
        self._roots = tuple(sorted((root.path for root in snapshot.roots), key=len, reverse=True))
        under: dict[str, list[str]] = {}
        for path in snapshot.files:
            under.setdefault(path.rpartition("/")[0], []).append(path)
        self._under = {folder: tuple(sorted(paths)) for folder, paths in under.items()}
        folders = set(self._under)
        for folder in self._under:
            while (folder := folder.rpartition("/")[0]) and folder not in folders:
                folders.add(folder)
        self.folders = frozenset(folders)
        self._packages: dict[str, tuple[str, ...]] | None = None

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def first(self, paths: Iterable[str]) -> str:
        """The first of the paths that is a file, "" if none is."""
        return next((path for path in paths if path in self._files), "")

    def inside(self, folder: str) -> tuple[str, ...]:
        """The files directly in a folder, sorted."""
        return self._under.get(folder, ())

    def root_of(self, path: str) -> str:
        """The workspace folder that a path lies in, "" if none."""
        return next((root for root in self._roots if path == root or path.startswith(root + "/")), "")

    def join(self, folder: str, relative: str) -> str:
        """The path that leads from a folder, "" if it leaves the folder's root."""
        path = posixpath.normpath(f"{folder}/{relative}")
        root = self.root_of(folder)
        return path if root and (path == root or path.startswith(root + "/")) else ""

    def above(self, path: str) -> Iterable[str]:
        """The folders around a file, innermost first, up to its root."""
        root, folder = self.root_of(path), path.rpartition("/")[0]
        while folder and len(folder) >= len(root):
            yield folder
            folder = folder.rpartition("/")[0]

    def called(self, basename: str) -> tuple[str, ...]:
        """The files of this name, in whatever case."""
        return self._basenames.get(basename.lower(), ())[:MOST_ALIKE]

    def ending(self, names: Iterable[str], near: str) -> str:
        """Of the files that end in one of these relative paths, the nearest to `near`; earlier names count first."""
        for name in names:
            tail = "/" + name
            found = [path for path in self.called(name.rpartition("/")[2]) if path.endswith(tail)]
            if found:
                return nearest(found, near)
        return ""

    def folder_ending(self, name: str, near: str) -> str:
        """Of the folders that end in this relative path, the nearest to `near`, "" if there is none."""
        last = name.rpartition("/")[2]
        found = [f for f in self._by_last(last) if f.endswith("/" + name)]
        return nearest(found, near) if found else ""

    def _by_last(self, name: str) -> tuple[str, ...]:
        if self._packages is None:
            packages: dict[str, list[str]] = {}
            for folder in sorted(self.folders):
                packages.setdefault(folder.rpartition("/")[2], []).append(folder)
            self._packages = {last: tuple(found) for last, found in packages.items()}
        return self._packages.get(name, ())[:MOST_ALIKE]


def nearest(paths: Sequence[str], near: str) -> str:
    """The path that shares most folders with `near`; of equals the shorter, then the first by name."""

    def rank(path: str) -> tuple[int, int, str]:
        return (-closeness(path, near), path.count("/"), path)

    return min(paths, key=rank)


def by_far_nearest(paths: Sequence[str], near: str) -> str:
    """The only path, or that which shares more folders with `near` than any other one; "" in doubt."""
    ranked = sorted(paths, key=lambda path: -closeness(path, near))
    if len(ranked) > 1 and closeness(ranked[0], near) == closeness(ranked[1], near):
        return ""
    return ranked[0] if ranked else ""

"""File tree of a snapshot for import resolution: lookup of files and folders by path, name or end of path.

The tree depends on file names only, so it is reused after edits.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from promptls.graph.packages import common_segments
from promptls.index import Snapshot

MAX_SAME_NAME = 200
"""Maximum number of files or folders of one name that are compared; bounds the time."""


class FileTree:
    """Files and folders by path.  Paths are absolute, with forward slashes."""

    __slots__ = ("_basenames", "_files", "_files_by_folder", "_folders_by_name", "_roots", "folders")

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = snapshot.files
        self._basenames = snapshot.basenames
        self._roots = tuple(sorted((root.path for root in snapshot.roots), key=len, reverse=True))
        files_by_folder: dict[str, list[str]] = {}
        for path in snapshot.files:
            files_by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        self._files_by_folder = {folder: tuple(sorted(paths)) for folder, paths in files_by_folder.items()}
        folders = set(self._files_by_folder)
        for folder in self._files_by_folder:
            while (folder := folder.rpartition("/")[0]) and folder not in folders:
                folders.add(folder)
        self.folders = frozenset(folders)
        self._folders_by_name: dict[str, tuple[str, ...]] | None = None

    def has_file(self, path: str) -> bool:
        """Return true if the file exists."""
        return path in self._files

    def first_file(self, paths: Iterable[str]) -> str:
        """Return the first of the paths that is a file, or ""."""
        return next((path for path in paths if path in self._files), "")

    def files_in(self, folder: str) -> tuple[str, ...]:
        """Return the files directly in a folder, sorted."""
        return self._files_by_folder.get(folder, ())

    def root_of(self, path: str) -> str:
        """Return the workspace folder that contains a path, or ""."""
        return next((root for root in self._roots if path == root or path.startswith(root + "/")), "")

    def join(self, folder: str, relative: str) -> str:
        """Resolve a relative path against a folder; return "" if it leaves the root of the folder."""
        path = posixpath.normpath(f"{folder}/{relative}")
        root = self.root_of(folder)
        return path if root and (path == root or path.startswith(root + "/")) else ""

    def parent_folders(self, path: str) -> Iterable[str]:
        """Yield the folders above a file, innermost first, up to its root."""
        root, folder = self.root_of(path), path.rpartition("/")[0]
        while folder and len(folder) >= len(root):
            yield folder
            folder = folder.rpartition("/")[0]

    def files_named(self, basename: str) -> tuple[str, ...]:
        """Return the files of this name, ignoring case."""
        return self._basenames.get(basename.lower(), ())[:MAX_SAME_NAME]

    def nearest_file(self, names: Iterable[str], near: str) -> str:
        """Return the file nearest to `near` whose path ends with one of these names, in order of precedence."""
        for name in names:
            tail = "/" + name
            matches = [path for path in self.files_named(name.rpartition("/")[2]) if path.endswith(tail)]
            if matches:
                return nearest_path(matches, near)
        return ""

    def nearest_folder(self, name: str, near: str) -> str:
        """Return the folder nearest to `near` whose path ends with this relative path, or ""."""
        last = name.rpartition("/")[2]
        matches = [f for f in self._folders_named(last) if f.endswith("/" + name)]
        return nearest_path(matches, near) if matches else ""

    def _folders_named(self, name: str) -> tuple[str, ...]:
        if self._folders_by_name is None:
            packages: dict[str, list[str]] = {}
            for folder in sorted(self.folders):
                packages.setdefault(folder.rpartition("/")[2], []).append(folder)
            self._folders_by_name = {last: tuple(matches) for last, matches in packages.items()}
        return self._folders_by_name.get(name, ())[:MAX_SAME_NAME]


def nearest_path(paths: Sequence[str], near: str) -> str:
    """Return the path with the most folders in common with `near`; ties: the shortest, then the first by name."""

    def rank(path: str) -> tuple[int, int, str]:
        return (-common_segments(path, near), path.count("/"), path)

    return min(paths, key=rank)


def unambiguous_nearest(paths: Sequence[str], near: str) -> str:
    """Return the path with more folders in common with `near` than any other, or "" if it is ambiguous."""
    ranked = sorted(paths, key=lambda path: -common_segments(path, near))
    if len(ranked) > 1 and common_segments(ranked[0], near) == common_segments(ranked[1], near):
        return ""
    return ranked[0] if ranked else ""

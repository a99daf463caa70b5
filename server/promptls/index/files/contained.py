"""Containment of opened files: no folder between a root and a file may be a symbolic link.

A check before the open is not sufficient, because a folder can be replaced by a link in between.  The path of the open
descriptor is therefore compared with the expected one, which costs one system call.  If they differ, or the system
does not know the path of a descriptor, the file is opened again, folder by folder, without following links.
Folders above a root, and the root itself, may be links, since the user chose that path.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH115
from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache

LINKED_FOLDER = "a folder in its path is a symbolic link; use the path of its target"

_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS: int = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_STEP_FLAGS: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd and bool(_NOFOLLOW)


class LinkInPath(OSError):
    """A folder between the root and the file is a symbolic link."""


def innermost_root(path: str, roots: Sequence[str]) -> str:
    """Return the longest of the roots that contain a path, "" without one."""
    return max((root for root in roots if path.startswith(root.rstrip("/") + "/")), key=len, default="")


def ensure_contained(fd: int, path: str, roots: Sequence[str], flags: int) -> int:
    """Return a descriptor of exactly the file `path`; `fd`, opened from this path, is closed if it is another file.

    Args:
        fd: Descriptor of a file or folder.
        path: Absolute path from which it was opened.
        roots: Paths of roots; links are allowed only in the innermost one that contains `path`.
        flags: Flags with which it was opened.

    Raises:
        LinkInPath: A folder below the root is a link.
        OSError: The file cannot be opened again, for example because it was deleted.
    """
    actual = _descriptor_path(fd)
    if actual == path:  # the common case: no part of the path is a link
        return fd
    root = innermost_root(path, roots)
    if actual is not None and root:
        expected = _real_path(root).rstrip("/\\") + path[len(root.rstrip("/")) :]
        if _comparable(actual) == _comparable(expected):
            return fd
    os.close(fd)
    if not _HAS_DIR_FD:
        raise LinkInPath(LINKED_FOLDER)
    return _open_by_components(path, root, flags)


@contextmanager
def open_folder(path: str, roots: Sequence[str]) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Return a context manager that lists the entries of a folder; no folder below its root may be a link.

    The entries have names without a folder.

    Raises:
        OSError: The folder cannot be listed.
    """
    if os.scandir not in os.supports_fd:
        if path not in roots:
            root = innermost_root(path, roots)
            expected = _real_path(root or "/") + path[len(root) :]
            if _comparable(os.path.realpath(path)) != _comparable(expected):
                raise LinkInPath(LINKED_FOLDER)
        with os.scandir(path) as entries:
            yield entries
        return
    fd = os.open(path, _FOLDER_FLAGS)
    if path not in roots:
        fd = ensure_contained(fd, path, roots, _FOLDER_FLAGS)
    try:
        with os.scandir(fd) as listing:
            yield listing
    finally:
        os.close(fd)


def _open_by_components(path: str, root: str, flags: int) -> int:
    """Open a file below a root, folder by folder, without following links."""
    *parents, base = path[len(root.rstrip("/")) :].lstrip("/").split("/")
    if ".." in parents or base == "..":
        raise LinkInPath(LINKED_FOLDER)
    folder = os.open(root or "/", _STEP_FLAGS)
    try:
        for parent in parents:
            try:
                following = os.open(parent, _STEP_FLAGS | _NOFOLLOW, dir_fd=folder)
            except OSError:
                if _is_link(parent, folder):
                    raise LinkInPath(LINKED_FOLDER) from None
                raise
            os.close(folder)
            folder = following
        return os.open(base, flags | _NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _is_link(name: str, folder: int) -> bool:
    with suppress(OSError):
        os.readlink(name, dir_fd=folder)
        return True
    return False


@lru_cache(maxsize=64)
def _real_path(root: str) -> str:
    """Return the real path of a root; if it has changed since, the comparison fails and the file is opened again."""
    return os.path.realpath(root)


def _comparable(path: str) -> str:
    """Return a path in the form in which paths are compared: the default file systems of two systems ignore case."""
    if sys.platform == "darwin":
        return unicodedata.normalize("NFC", path).casefold()
    return os.path.normcase(path)


if sys.platform == "win32":
    import ctypes
    import msvcrt

    _MAX_WINDOWS_PATH = 32_768  # characters, the limit of the system

    def _descriptor_path(fd: int) -> str | None:
        """Return the path of an open file, None if it is unknown."""
        buffer = ctypes.create_unicode_buffer(_MAX_WINDOWS_PATH)
        length = ctypes.windll.kernel32.GetFinalPathNameByHandleW(
            ctypes.c_void_p(msvcrt.get_osfhandle(fd)), buffer, _MAX_WINDOWS_PATH, 0
        )
        if not 0 < length < _MAX_WINDOWS_PATH:
            return None
        path = buffer.value
        return "\\\\" + path[8:] if path.startswith("\\\\?\\UNC\\") else path.removeprefix("\\\\?\\")

elif sys.platform == "darwin":
    import fcntl

    def _descriptor_path(fd: int) -> str | None:
        """Return the path of an open file, None if it is unknown."""
        try:
            return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        except OSError:
            return None

else:

    def _descriptor_path(fd: int) -> str | None:
        """Return the path of an open file, None if it is unknown."""
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return None

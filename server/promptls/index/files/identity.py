"""Identity of documents: the path under which the index knows the file that an editor shows.

Clients spell the URI of one file in several ways: percent-encoded or not, with `.` and `..`, through a symbolic link,
or in another letter case. The index has one path for it: the path of the root as the client spelled it, and the real
path below. A document that is not a file, such as `untitled:Untitled-1`, has its URI as path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from urllib.parse import unquote

from promptls.index.files.uris import from_uri, is_file_path, normalized

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://[^/?#]*)?")


def document_path(uri: str, roots: Iterable[str]) -> str:
    """Return the path of a document in the index.

    Args:
        uri: URI of the document; an absolute path is accepted as well.
        roots: Paths of the workspace folders.
    """
    path = from_uri(uri)
    if path is None:
        if not is_file_path(uri):
            return uri
        path = normalized(uri)
    return workspace_path(path, roots)


def workspace_path(path: str, roots: Iterable[str]) -> str:
    """Return the path of a file below the root that contains its real path; the path itself outside of all roots."""
    roots = tuple(roots)
    try:
        real = _real_path(path)
        tops = [(_real_path(root), root) for root in roots]
    except (OSError, ValueError):  # a loop of links, a NUL character
        return path
    inside = [(top, root) for top, root in tops if _is_below(top, real)]
    if not inside:
        return _path_by_inode(real, roots) or path
    top, root = max(inside, key=lambda pair: (len(pair[0]), _is_below(pair[1], path)))
    return _join(root, real[len(top.rstrip("/")) :])


def located_path(uri: str) -> str:
    """Return the path in the URI of a document that is not a file: "/w/a.py" of "git:/w/a.py?HEAD", "" without one."""
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return ""
    path = unquote(re.split("[?#]", uri[scheme.end() :], maxsplit=1)[0])
    return normalized(path) if is_file_path(path) else path


def document_label(uri: str) -> str:
    """Return the display name of a document that is not a file, with its scheme: "a.py (git)"."""
    scheme = _SCHEME.match(uri)
    name = located_path(uri).rstrip("/").rsplit("/", 1)[-1]
    return f"{name} ({scheme[1]})" if scheme is not None and name else uri


def _path_by_inode(real: str, roots: Iterable[str]) -> str | None:
    """Return the path below a root that is the same folder as one above the file, by device and inode.

    Finds roots behind bind mounts, and roots in another letter case on a file system that ignores case.
    """
    root_by_inode: dict[tuple[int, int], str] = {}
    for root in roots:
        if (inode := _inode(root)) is not None:
            root_by_inode.setdefault(inode, root)
    for folder in (real, *map(str, PurePath(real).parents)) if root_by_inode else ():
        inode = _inode(folder)
        if inode in root_by_inode:
            return _join(root_by_inode[inode], real[len(folder.rstrip("/\\")) :])
    return None


def _inode(path: str) -> tuple[int, int] | None:
    try:
        stat = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (stat.st_dev, stat.st_ino) if stat.st_ino else None


def _real_path(path: str) -> str:
    return os.path.realpath(path).replace(os.sep, "/")


def _is_below(root: str, path: str) -> bool:
    root, path = os.path.normcase(root).rstrip(os.sep), os.path.normcase(path)
    return path == root or path.startswith(root + os.sep)


def _join(root: str, rest: str) -> str:
    return root.rstrip("/") + rest or "/"

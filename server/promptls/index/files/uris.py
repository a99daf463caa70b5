"""File URIs, paths, and the identity of documents: the path under which the index knows the file that an editor shows.

Paths are absolute with forward slashes; case and Unicode normalization (NFC or NFD) are kept as on disk.  Names that
are not valid UTF-8 are represented with surrogate escapes, as in Python's `os` functions.

Clients spell the URI of one file in several ways: percent-encoded or not, with `.` and `..`, through a symbolic link,
or in another letter case.  The index has one path for it: the path of the root as the client spelled it, and the real
path below.  A document that is not a file, such as `untitled:Untitled-1`, has its URI as path.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

WINDOWS = os.name == "nt"
CASE_INSENSITIVE = sys.platform in ("win32", "darwin")  # default of the file systems there

_URI = re.compile(r"(?i:file):(?://(?P<host>[^/?#]*))?(?P<path>/[^?#]*)?(?:[?#].*)?", re.DOTALL)
_DRIVE = re.compile(r"/?([A-Za-z]):(?=/|$)")


def is_inside(root: str, path: str) -> bool:
    """Return whether `path` is `root` or inside it, after resolving `..` and symbolic links; it need not exist."""
    try:
        top, target = (os.path.normcase(os.path.realpath(p)) for p in (root, path))
    except (OSError, ValueError):  # a loop of links, a NUL character
        return False
    return target == top or target.startswith(top.rstrip(os.sep) + os.sep)


def to_uri(path: str, windows: bool = WINDOWS) -> str:
    """Return the file URI of an absolute path, percent-encoding all but letters, digits and "-._~/"."""
    if windows:
        path = path.replace("\\", "/")
        if path.startswith("//?/UNC/"):
            path = "//" + path[len("//?/UNC/") :]
        elif path.startswith("//?/"):
            path = path[len("//?/") :]
        drive = _DRIVE.match(path)
        if drive:
            return f"file:///{drive[1]}:{_percent_encode(path[drive.end() :], windows) or '/'}"
        if path.startswith("//"):
            return "file:" + _percent_encode(path, windows)
    return "file://" + _percent_encode(path, windows)


def from_uri(uri: str, windows: bool = WINDOWS) -> str | None:
    """Return the absolute path of a file URI, None for another scheme or host.

    Empty and "." segments are removed, and ".." is resolved without the disk, as RFC 3986 does.
    On Windows, the drive letter is converted to upper case, because clients differ, and a host becomes a UNC path.
    Elsewhere, the only host allowed is "localhost".
    """
    match = _URI.fullmatch(uri)
    if match is None or not match["path"]:
        return None
    try:
        path = unquote_to_bytes(match["path"]).decode("utf-8", _encoding_errors(windows))
        host = unquote_to_bytes(match["host"] or "").decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in path or "\0" in host:
        return None
    is_local = host.lower() in ("", "localhost")
    if not windows:
        return normalized(path, windows) if is_local else None
    path = path.replace("\\", "/")
    if not is_local:
        return normalized(f"//{host}{path}", windows)
    return normalized(path, windows) if _DRIVE.match(path) or path.startswith("//") else None


def is_file_path(text: str) -> bool:
    """Return whether a text is an absolute path, and not a URI or a relative path."""
    return text.startswith(("/", "\\\\")) or _DRIVE.match(text.replace("\\", "/")) is not None


def normalized(path: str, windows: bool = WINDOWS) -> str:
    """Return an absolute path without empty, "." and ".." segments, and with an upper-case drive letter."""
    if not windows:
        return posixpath.normpath("/" + path.lstrip("/"))
    path = path.replace("\\", "/")
    drive = _DRIVE.match(path)
    if drive:
        return f"{drive[1].upper()}:{posixpath.normpath('/' + path[drive.end() :].lstrip('/'))}"
    return posixpath.normpath("//" + path.lstrip("/") if path.startswith("//") else path)


def _percent_encode(path: str, windows: bool) -> str:
    return quote_from_bytes(path.encode("utf-8", _encoding_errors(windows)), safe="/")


def _encoding_errors(windows: bool) -> str:
    """Return the error handler for names that are not valid UTF-8: bytes on POSIX, lone surrogates on Windows."""
    return "surrogatepass" if windows else "surrogateescape"


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
        return path
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


def _real_path(path: str) -> str:
    return os.path.realpath(path).replace(os.sep, "/")


def _is_below(root: str, path: str) -> bool:
    root, path = os.path.normcase(root).rstrip(os.sep), os.path.normcase(path)
    return path == root or path.startswith(root + os.sep)


def _join(root: str, rest: str) -> str:
    return root.rstrip("/") + rest or "/"

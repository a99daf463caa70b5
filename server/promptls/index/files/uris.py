"""Conversion between paths and file URIs, and the test whether a path is inside a root.

Paths are absolute with forward slashes; case and Unicode normalization (NFC or NFD) are kept as on disk.  Names that
are not valid UTF-8 are represented with surrogate escapes, as in Python's `os` functions.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from urllib.parse import quote_from_bytes, unquote_to_bytes

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

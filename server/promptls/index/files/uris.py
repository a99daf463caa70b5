"""Paths: what lies inside a root, and file URIs.

Paths are absolute with forward slashes; letters and accents (case, NFC or NFD) stay as they are on disk.
Names that are not UTF-8 travel as surrogate escapes, as Python's `os` functions give them.
"""

from __future__ import annotations

import os
import re
import sys
from urllib.parse import quote_from_bytes, unquote_to_bytes

WINDOWS = os.name == "nt"
FOLDS = sys.platform in ("win32", "darwin")  # file names there match in either case unless somebody chose otherwise

_URI = re.compile(r"(?i:file):(?://(?P<host>[^/?#]*))?(?P<path>/[^?#]*)?(?:[?#].*)?", re.DOTALL)
_DRIVE = re.compile(r"/?([A-Za-z]):(?=/|$)")


def inside(root: str, path: str) -> bool:
    """Whether `path` is `root` or below it once `..` and symbolic links are resolved; it need not exist."""
    try:
        top, place = (os.path.normcase(os.path.realpath(p)) for p in (root, path))
    except (OSError, ValueError):  # a loop of links, a NUL character
        return False
    return place == top or place.startswith(top.rstrip(os.sep) + os.sep)


def to_uri(path: str, windows: bool = WINDOWS) -> str:
    """The file URI of an absolute path: everything but letters, digits and "-._~/" percent-encoded."""
    if windows:
        path = path.replace("\\", "/")
        if path.startswith("//?/UNC/"):
            path = "//" + path[len("//?/UNC/") :]
        elif path.startswith("//?/"):
            path = path[len("//?/") :]
        drive = _DRIVE.match(path)
        if drive:
            return f"file:///{drive[1]}:{_quoted(path[drive.end() :], windows) or '/'}"
        if path.startswith("//"):
            return "file:" + _quoted(path, windows)
    return "file://" + _quoted(path, windows)


def from_uri(uri: str, windows: bool = WINDOWS) -> str | None:
    """The absolute path of a file URI, without a slash at the end; None for any other scheme or host.

    On Windows the drive letter comes out in upper case (clients disagree on it, the disk has no say) and a
    host becomes a UNC path; elsewhere a host other than "localhost" is not this machine: None.
    """
    found = _URI.fullmatch(uri)
    if found is None or not found["path"]:
        return None
    try:
        path = unquote_to_bytes(found["path"]).decode("utf-8", _errors(windows))
        host = unquote_to_bytes(found["host"] or "").decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in path or "\0" in host:
        return None
    here = host.lower() in ("", "localhost")
    if not windows:
        return (path.rstrip("/") or "/") if here else None
    path = path.replace("\\", "/")
    drive = _DRIVE.match(path)
    if here and drive:
        return f"{drive[1].upper()}:{path[drive.end() :].rstrip('/') or '/'}"
    if here:
        return (path.rstrip("/") or "/") if path.startswith("//") else None
    return f"//{host}{path.rstrip('/')}"


def _quoted(path: str, windows: bool) -> str:
    return quote_from_bytes(path.encode("utf-8", _errors(windows)), safe="/")


def _errors(windows: bool) -> str:
    """How what is not UTF-8 travels: bytes on POSIX, lone surrogates on Windows."""
    return "surrogatepass" if windows else "surrogateescape"

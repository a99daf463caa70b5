"""Read the text of one file, or determine why it is not readable as text.

A file is opened once, without blocking (FIFOs and devices are refused), and its size is checked before its content.
The stat of a text is taken before the text is read, so that a modification in between is detected.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH112, PTH114
from __future__ import annotations

import codecs
import errno
import os
import re
import stat as modes
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from msgspec import Struct

from promptls.index.files.contained import LinkInPath, ensure_contained
from promptls.index.files.notebooks import max_raw_size, notebook_text
from promptls.index.files.policy import FilePolicy
from promptls.redaction.secret_files import secret_reason
from promptls.util.text.display import is_minified, may_have_line_over

BINARY_PROBE_BYTES = 8192  # bytes checked for NULs (as in git) and control characters

_BOMS = (  # UTF-32 first: FF FE 00 00 also starts with FF FE
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL_CHARACTERS = bytes(c for c in [*range(32), 127] if c not in b"\t\n\r\f\b\x1b")  # ESC: terminal recordings

_DECLARATION_BYTES = 1024
_DECLARATION = re.compile(rb"(?:coding|charset|encoding)\s{0,4}[=:]\s{0,4}[\"']?([A-Za-z0-9][\w.-]{1,30})")
"""An encoding that a text names: PEP 263, XML, HTML and CSS, the mode lines of Vim and Emacs."""
_DECLARABLE = ("iso8859", "cp", "koi8", "mac-", "gb", "big5", "euc_", "shift_jis", "johab", "tis-620")
"""Beginnings of the names of encodings for files; Python has codecs for other purposes, some of them slow."""

_MULTI_BYTE = ("cp932", "euc_jis_2004", "shift_jis_2004", "gb18030", "big5hkscs", "cp949", "euc_kr")
_SINGLE_BYTE = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("cp874", "koi8-r", "koi8-u", "cp866", "iso8859-2"),
)
"""Encodings that source files have: those of the web (https://encoding.spec.whatwg.org) that differ in letters.

With all encodings that chardet knows, a short text is often taken for one of a mainframe.
"""
_DEFAULT = "cp1252"  # Latin-1 with quotation marks and the euro sign

MIN_CONFIDENCE = 0.08
"""Confidence below which a single-byte encoding is replaced by `_DEFAULT`: a few letters fit many encodings.

Chosen on generated sources in 14 encodings with 1, 3 and 10 comments, of which 93 %, 98 % and 100 % are decoded right,
and on 24 western names and signs, of which 22 are.
"""
SURE_CONFIDENCE = 0.2
"""Confidence from which all of these sources were decoded right."""

_MAX_DETECTION_BYTES = 1 << 16


class DecodedText(Struct, frozen=True):
    """The text of a file, and how its encoding was determined."""

    text: str  # without byte order mark
    encoding: str = ""  # "" for Unicode
    note: str = ""  # what may be wrong, as a sentence without subject


def decode_text(data: bytes) -> DecodedText | None:
    """Decode the bytes of a file; return None if it is binary.

    A byte order mark decides, then valid UTF-8, then UTF-16 by the positions of NULs.  Text that is UTF-8 apart from a
    few bytes stays UTF-8, with U+FFFD for each of them, as in editors.  Otherwise the encoding is the one that the
    text names, or it is detected from the lines that are not ASCII.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return DecodedText(data[len(bom) :].decode(encoding))
            except UnicodeDecodeError:
                continue
    head = data[:BINARY_PROBE_BYTES]
    if b"\0" in head:
        return _decode_utf_16(data, head)
    controls = len(head) - len(head.translate(None, _CONTROL_CHARACTERS))
    if controls * 20 > len(head):  # random bytes have 10 % control characters, texts have none
        return None
    try:
        return DecodedText(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _decode_damaged_utf_8(data) or _decode_declared(data) or _decode_detected(data)


def _decode_utf_16(data: bytes, head: bytes) -> DecodedText | None:
    """Decode UTF-16 without a byte order mark: every other byte of text in Latin script is NUL."""
    for encoding, nul, other in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if nul.count(0) * 2 > len(nul) and other.count(0) * 20 < len(other):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            sample = text[:BINARY_PROBE_BYTES]
            if sum(c.isprintable() or c.isspace() for c in sample) * 20 > 19 * len(sample):
                return DecodedText(text)
    return None


def _decode_damaged_utf_8(data: bytes) -> DecodedText | None:
    """Decode UTF-8 in which invalid bytes are rarer than valid characters outside of ASCII.

    In other encodings valid sequences are accidents: 1 in 10 pairs of bytes of EUC and GBK, fewer elsewhere.
    """
    text = data.decode("utf-8", "replace")
    invalid = text.count("\N{REPLACEMENT CHARACTER}") - data.count("\N{REPLACEMENT CHARACTER}".encode())
    valid = sum(not c.isascii() for c in text) - invalid
    return DecodedText(text, note="has bytes that are not UTF-8, shown as U+FFFD") if valid > invalid else None


def _decode_declared(data: bytes) -> DecodedText | None:
    match = _DECLARATION.search(data[:_DECLARATION_BYTES])
    if match is None:
        return None
    try:
        encoding = codecs.lookup(match[1].decode("ascii")).name
        return DecodedText(data.decode(encoding), encoding) if encoding.startswith(_DECLARABLE) else None
    except (LookupError, UnicodeError):
        return None


def _decode_detected(data: bytes) -> DecodedText:
    """Decode with the encoding that the lines outside of ASCII suggest."""
    import chardet  # slow to import, and seldom needed

    lines = (line for line in data.splitlines(keepends=True) if not line.isascii())
    sample = b"".join(lines)[:_MAX_DETECTION_BYTES]
    found = chardet.detect(sample, include_encodings=(*_MULTI_BYTE, *_SINGLE_BYTE), compat_names=False)
    encoding, confidence = found["encoding"] or _DEFAULT, found["confidence"]
    if confidence < MIN_CONFIDENCE and encoding not in _MULTI_BYTE:
        encoding = _DEFAULT
    note = f"is not UTF-8 and was read as {encoding}, which is a guess" if confidence < SURE_CONFIDENCE else ""
    return DecodedText(data.decode(encoding, "replace"), encoding, note)


MAX_HEADER_LINES = 40  # lines of the opening comment that are searched for "generated"

_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)  # missing on some systems
_OPEN_FLAGS: int = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
_SYMBOLIC_LINK = "it is a symbolic link; use the path of its target"

# fmt: off
_LOCK_FILES = frozenset(
    {
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
        "deno.lock", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pixi.lock",
        "conda-lock.yml", "go.sum", "go.work.sum", "composer.lock", "gemfile.lock", "podfile.lock",
        "cartfile.resolved", "package.resolved", "pubspec.lock", "mix.lock", "rebar.lock", "flake.lock",
        "gradle.lockfile", "packages.lock.json", "paket.lock", "stack.yaml.lock", "cabal.project.freeze",
        ".terraform.lock.hcl",
    }
)
# fmt: on
_BUILD_OUTPUT = re.compile(r".*(\.min\.(js|mjs|cjs|css)|\.bundle\.(js|mjs|cjs|css)|\.map)", re.IGNORECASE | re.DOTALL)
# A paragraph of prose may be one line.
_PROSE_SUFFIXES = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org", ".tex", ".typ", ".ipynb")
_GENERATED_TAG = re.compile(
    r"^\W*(?:@generated\b|<auto-generated|code generated\b.*\bdo not edit\b"
    r"|(?:please )?do not (?:edit|modify|change)\b.*\b(?:auto-?)?generated\b)",
    re.IGNORECASE,
)
"""A comment line that marks a file as generated: the tags of Go, C#, Meta's tools and Bazel, and a plain prohibition."""

_GENERATED_SENTENCE = re.compile(
    r"^\W*(?:this (?:file|code|class|module|source) (?:is|was|has been) |file )?(?:automatically |auto-?)?generated\b",
    re.IGNORECASE,
)
"""A comment line that says that the file is generated; tools also write it into files that are to be edited."""

_KEEP_OUT = re.compile(
    r"\b(?:do not|don't|never) (?:edit|modify|change|touch)\b|\bchanges\b.*\b(?:lost|overwritten)\b", re.IGNORECASE
)
"""A prohibition or warning that a generated file contains."""

_KEEP_OUT_LINES = 3
"""Lines from the sentence on in which it is searched for."""

_MAX_POINTER_BYTES = 1024
_LFS_POINTER = re.compile(r"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?size (\d{1,15})\s*\Z")
"""Text that stands for the content of a file in Git LFS (its specification, docs/spec.md)."""

_COMMENT_LINE = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|<[!?%]|\"\"\"|'''|\{-|\(\*|'|rem\b|@echo|$)", re.IGNORECASE)
_BLOCK_COMMENTS = (("/*", "*/"), ("<!--", "-->"), ('"""', '"""'), ("'''", "'''"), ("{-", "-}"), ("(*", "*)"))


class FileLimits(Struct, frozen=True):
    """Limits for listing and reading the files of a root."""

    max_file_size: int = 1_000_000  # bytes; of a notebook, characters of its cells
    max_line: int = 10_000  # characters; prose with a longer line is examined as code is
    max_files: int = 500_000  # a walk stops here, for example if "/" was opened
    policy: FilePolicy = FilePolicy()
    ignore_files: tuple[str, ...] = ()  # names of other tools' ignore files


class UnreadableFile(Struct, frozen=True):
    """Reason why a file is not read as text."""

    reason: str
    size: int = 0
    mtime_ns: int = 0
    transient: bool = False  # a temporary condition of the system, unrelated to the file


class FileContent(Struct, frozen=True):
    """Text of a file with the stat from before it was read."""

    text: str  # without byte order mark; line ends as in the file; of a notebook, its cells
    size: int  # bytes
    mtime_ns: int
    encoding_note: str = ""  # what may be wrong with the text, see `decode.DecodedText`


PERMISSION_DENIED = "permission to read it is denied"
"""Independent of the content: a file may become readable without a change of its size or mtime."""


LEASED = "it is locked by another process"
"""Reading would block: a lease of a file server, or a pseudo file.  Independent of the content."""


class _TransientReason(str):
    """Reason that is unrelated to the file and may be temporary."""

    __slots__ = ()


def is_out_of_resources(error: Exception) -> TypeGuard[OSError]:
    """Return whether an error means that the system is out of file descriptors or memory."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def read_text(path: str, limits: FileLimits, roots: Sequence[str] = ()) -> FileContent | UnreadableFile:
    """Read the text of a file for the index, or return why it is not indexed.  Does not block or raise.

    The innermost of `roots` that contains the file may be or contain a link; all other parts of the path must not.
    """
    return _read(path, limits, roots, allow_generated=False, allow_secrets=False)


def read_any_text(
    path: str, limits: FileLimits, roots: Sequence[str] = (), allow_secrets: bool = False
) -> FileContent | UnreadableFile:
    """Read the text of an explicitly mentioned file, including generated and minified files.

    With `allow_secrets`, files that usually hold secrets are read too; the user has agreed to that.  For `roots`, see
    `read_text`.
    """
    return _read(path, limits, roots, allow_generated=True, allow_secrets=allow_secrets)


def file_stat(path: str) -> tuple[int, int] | None:
    """Return (size in bytes, mtime in ns) of a regular file; None for anything else, including links."""
    try:
        stat = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (stat.st_size, stat.st_mtime_ns) if modes.S_ISREG(stat.st_mode) else None


def is_readable(path: str) -> bool:
    """Return whether this process has permission to read a file."""
    return os.access(path, os.R_OK)


def listing_problem(path: str) -> str:
    """Return why the entries of a folder, or of a link to one, cannot be listed; "" if they can."""
    try:
        os.scandir(path).close()
    except FileNotFoundError:
        return "it does not exist" if not os.path.lexists(path) else "it is a link to a folder that does not exist"
    except NotADirectoryError:
        return "it is not a folder"
    except PermissionError:
        return "permission to read it is denied"
    except (OSError, ValueError) as error:  # for example, a network file system that is disconnected
        return str(getattr(error, "strerror", None) or error)
    return "" if os.access(path, os.X_OK) else "permission to read it is denied"


def folder_exists(path: str) -> bool:
    """Return whether `path` is a folder, and not a link to one."""
    try:
        return modes.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def open_file(path: str, follow: bool = False, roots: Sequence[str] | None = None) -> tuple[int, os.stat_result] | str:
    """Open a regular file for reading; return (descriptor, stat), or the reason of the failure.

    Without `follow`, a link as the last part of the path is refused.  With `roots`, links are allowed only in the
    innermost root that contains the file.  The caller closes the descriptor.
    """
    try:
        if not follow and not _NOFOLLOW and os.path.islink(path):
            return _SYMBOLIC_LINK
        fd = os.open(path, _OPEN_FLAGS if follow else _OPEN_FLAGS | _NOFOLLOW)
        if roots is not None and modes.S_ISREG(os.fstat(fd).st_mode):
            fd = ensure_contained(fd, path, roots, _OPEN_FLAGS)
    except (OSError, ValueError) as error:
        return _failure_reason(path, error)
    stat = os.fstat(fd)
    if modes.S_ISREG(stat.st_mode):
        return fd, stat
    os.close(fd)
    return file_type_problem(stat.st_mode)


def file_type_problem(mode: int) -> str:
    """Return why a file of this mode is not read; "" for a regular file."""
    if modes.S_ISREG(mode):
        return ""
    if modes.S_ISLNK(mode):
        return _SYMBOLIC_LINK
    return "it is a folder" if modes.S_ISDIR(mode) else "it is not a file but a pipe, socket or device"


def read_small_file(
    path: str, max_bytes: int, follow: bool = False, strict: bool = False, roots: Sequence[str] | None = None
) -> bytes | None:
    """Read a configuration file; return None if it is not a regular file, unreadable or larger than `max_bytes`.

    For `follow` and `roots`, see `open_file`.

    Raises:
        OSError: With `strict`, if the system is out of file descriptors or memory.
    """
    opened = open_file(path, follow, roots)
    if (isinstance(opened, _TransientReason) or opened == LEASED) and strict:
        raise OSError(errno.EMFILE, str(opened), path)
    if isinstance(opened, str):
        return None
    try:
        with os.fdopen(opened[0], "rb", buffering=0) as file:
            return _read_all(file.fileno(), max_bytes, opened[1].st_size)
    except OSError:
        return None


def _read(
    path: str, limits: FileLimits, roots: Sequence[str], allow_generated: bool, allow_secrets: bool
) -> FileContent | UnreadableFile:
    reason = "" if allow_secrets else secret_reason(path, roots)
    if reason:
        size, mtime = file_stat(path) or (0, 0)
        return UnreadableFile(reason, size, mtime)
    opened = open_file(path, roots=roots)
    if isinstance(opened, str):
        return UnreadableFile(str(opened), transient=isinstance(opened, _TransientReason))
    fd, stat = opened
    size, mtime = stat.st_size, stat.st_mtime_ns
    max_bytes = max_raw_size(path, limits.max_file_size)
    try:
        if size > max_bytes:
            return UnreadableFile(size_problem(size, max_bytes), size, mtime)
        reason = "" if allow_generated else _generated_by_name(path)
        if reason:
            return UnreadableFile(reason, size, mtime)
        data = _read_all(fd, max_bytes, size)
    except OSError as error:
        problem = _failure_reason(path, error)
        return UnreadableFile(str(problem), size, mtime, isinstance(problem, _TransientReason))
    finally:
        os.close(fd)
    if data is None:  # it grew, or reports a wrong size like files in /proc
        return UnreadableFile(f"it is over the limit of {_format_size(max_bytes)}", size, mtime)
    cells = notebook_text(path, data)
    text_size = len(data) if cells is None else len(cells)
    if text_size > limits.max_file_size:
        return UnreadableFile(size_problem(text_size, limits.max_file_size), size, mtime)
    decoded = decode_text(data) if cells is None else DecodedText(cells)
    if decoded is None:
        return UnreadableFile("it is a binary file", size, mtime)
    text = decoded.text
    if size <= _MAX_POINTER_BYTES and (pointer := _LFS_POINTER.match(text)):
        full_size = _format_size(int(pointer[1]))
        reason = f"it is a pointer of Git LFS to {full_size}; run `git lfs pull` to get the file"
        return UnreadableFile(reason, size, mtime)
    reason = "" if allow_generated else _generated_by_header(text) or _minified_reason(path, text, limits)
    return UnreadableFile(reason, size, mtime) if reason else FileContent(text, size, mtime, decoded.note)


def _read_all(fd: int, max_bytes: int, size: int) -> bytes | None:
    """Read all bytes of a descriptor, whose reported size is `size`; return None if there are more than `max_bytes`."""
    parts: list[bytes] = []
    remaining = max_bytes + 1
    read_size = max(min(size, max_bytes) + 1, 1 << 12)  # read() allocates this many bytes
    while remaining > 0:
        part = os.read(fd, min(remaining, read_size))
        if not part:
            return b"".join(parts)
        parts.append(part)
        remaining -= len(part)
    return None


def _failure_reason(path: str, error: OSError | ValueError) -> str:
    if isinstance(error, BlockingIOError):
        return LEASED
    if isinstance(error, LinkInPath):
        return str(error)
    if is_out_of_resources(error):
        return _TransientReason(f"it is temporarily unreadable: {getattr(error, 'strerror', error)}")
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
    if isinstance(error, PermissionError):
        # Windows also raises this for a folder.
        return "it is a folder" if os.path.isdir(path) else PERMISSION_DENIED
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, NotADirectoryError):
        return "a part of its path is not a folder"
    if isinstance(error, ValueError):
        return "its path holds a NUL character"
    try:
        reason = file_type_problem(os.lstat(path).st_mode)  # a refused link, or a socket
    except OSError:
        reason = ""
    return reason or f"it cannot be read: {error.strerror or type(error).__name__}"


def size_problem(size: int, max_bytes: int) -> str:
    """Return the reason that a file of `size` bytes exceeds the limit of `max_bytes`."""
    for digits in (1, 2, 3):
        if _format_size(size, digits) != _format_size(max_bytes, digits):
            return f"{_format_size(size, digits)} is over the limit of {_format_size(max_bytes, digits)}"
    return f"{size:,} bytes are over the limit of {max_bytes:,}"


def _format_size(size: int, digits: int = 1) -> str:
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (1000, "kB")):
        if size >= factor:
            return f"{size / factor:.{digits}f}".rstrip("0").rstrip(".") + " " + unit
    return f"{size} bytes"


def _generated_by_name(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    if name.lower() in _LOCK_FILES:
        return "it is generated: a lock file of a package manager"
    if _BUILD_OUTPUT.fullmatch(name):
        kind = "source map" if name.lower().endswith(".map") else "bundle"
        return f"it is generated: a {kind}, by its name"
    folder, found, _ = path.rpartition("/single_include/")
    if found and os.path.isdir(f"{folder}/include"):
        return "it is generated: the files of include/ in one"
    return ""


def _generated_by_header(text: str) -> str:
    """Return the reason if the opening comment marks a file as generated, else ""."""
    head = text[:8192]
    if "generated" not in head.lower():
        return ""
    comment = list(_opening_comment(head))
    for i, (number, line) in enumerate(comment):
        following = " ".join(text for _, text in comment[i : i + _KEEP_OUT_LINES])
        is_stated = _GENERATED_SENTENCE.search(line) and _KEEP_OUT.search(following)
        if is_stated or _GENERATED_TAG.search(line):
            return f'it is generated: line {number} contains "{" ".join(line.split())[:80]}"'
    return ""


def _opening_comment(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) up to the first line of code; later markers may be in strings or templates."""
    closer = ""
    for number, line in enumerate(text.splitlines()[:MAX_HEADER_LINES], 1):
        if closer:
            closer = "" if closer in line else closer
        elif _COMMENT_LINE.match(line):
            start = line.lstrip()
            for opening, closing in _BLOCK_COMMENTS:
                if start.startswith(opening) and closing not in start[len(opening) :]:
                    closer = closing
        else:
            return
        yield number, line


def _minified_reason(path: str, text: str, limits: FileLimits) -> str:
    text = text.replace("\r", "\n") if "\r" in text else text
    if path.lower().endswith(_PROSE_SUFFIXES) and not may_have_line_over(text, limits.max_line):
        return ""
    if not is_minified(text):
        return ""
    lines = text.split("\n")
    longest, average = max(map(len, lines)), sum(map(len, lines)) // max(1, len(lines) - text.endswith("\n"))
    return f"it is minified or data: its lines have up to {longest:,} characters, {average:,} on average"

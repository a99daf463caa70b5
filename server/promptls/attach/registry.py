"""Registry of the running servers: one file for each, in a folder that only the user can read.

The folder is the runtime folder of the user, else one for temporary files.  A name begins with a hash of the cache
folder, so that servers with different caches do not see each other.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from promptls import __version__
from promptls.settings import cache_directory, user_settings
from promptls.util.decode import decode_json
from promptls.util.hashing import content_hash

MAX_ADDRESS_BYTES = 100
"""Maximum length of the path of a Unix socket; the smallest limit of a system is 104 with the final null byte."""
MAX_RECORD_BYTES = 100_000
"""Size of a file that is not read, because no server writes one."""
TOKEN_BYTES = 32
"""Length of a token in random bytes."""


class ServerRecord(Struct, frozen=True):
    """A running server."""

    pid: int
    version: str
    roots: tuple[str, ...]
    address: str  # path of a Unix socket, or name of a pipe
    token: str  # that both sides prove to know
    file: str = ""  # path of its file


def new_record(roots: Sequence[str]) -> ServerRecord:
    """Return the record of a new server of this process.

    Raises:
        OSError: No folder can hold its file.
    """
    name = f"{_cache_key()}-{secrets.token_hex(6)}"
    folder = _own_folder(f"{name}.sock")
    address = pipe_name(name) if sys.platform == "win32" else str(folder / f"{name}.sock")
    token = secrets.token_hex(TOKEN_BYTES)
    return ServerRecord(os.getpid(), __version__, tuple(roots), address, token, str(folder / f"{name}.json"))


def pipe_name(name: str) -> str:
    """Return the address of a named pipe of Windows."""
    return rf"\\.\pipe\promptls-{name}"


def publish(record: ServerRecord) -> None:
    """Write the file of a server, or replace it.

    Raises:
        OSError: It cannot be written.
    """
    temporary = Path(record.file).with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode(record))
    temporary.replace(record.file)


def withdraw(record: ServerRecord) -> None:
    """Remove the file of a server, and its socket if the server could not."""
    for file in (Path(record.file), Path(record.file).with_suffix(".sock")):
        with suppress(OSError):
            file.unlink()


def find_servers(roots: Iterable[str]) -> Iterator[ServerRecord]:
    """Yield the servers of this version that serve exactly these folders, the newest first."""
    wanted = set(roots)
    for path in _record_files():
        record = _read(path)
        if record is not None and record.version == __version__ and wanted == set(record.roots):
            yield record


def _record_files() -> list[Path]:
    """Return the files of all servers with the cache of this process, the newest first."""
    files: list[tuple[int, Path]] = []
    key = _cache_key()
    for folder in _folders():
        with suppress(OSError):
            if _is_private(folder):
                files += [(-path.stat().st_mtime_ns, path) for path in folder.glob(f"{key}-*.json")]
    return [path for _, path in sorted(files)]


def _read(path: Path) -> ServerRecord | None:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_RECORD_BYTES:
            return None
        return replace(decode_json(path.read_bytes(), ServerRecord), file=str(path))
    except (OSError, msgspec.MsgspecError):
        return None


def _cache_key() -> str:
    """Return a short hash of the cache folder."""
    return content_hash(str(cache_directory(user_settings()[0]))).hex()[:8]


def _folders() -> tuple[Path, ...]:
    """Return the folders that can hold the files of servers, the preferred one first."""
    temporary = Path(tempfile.gettempdir())
    if sys.platform == "win32":
        return (temporary / "promptls",)  # in the user's profile
    user = os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    return Path(runtime) / "promptls", temporary / f"promptls-{user}"


def _own_folder(socket_name: str) -> Path:
    """Return the first folder that can be used, created if it does not exist.

    Raises:
        OSError: No folder can be used.
    """
    problem = OSError("no folder for sockets has a short path and belongs to this user alone")
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            problem = error
            continue
        short = sys.platform == "win32" or len(os.fsencode(folder / socket_name)) <= MAX_ADDRESS_BYTES
        if short and _is_private(folder):
            return folder
    raise problem


def _is_private(folder: Path) -> bool:
    """Return whether a folder is open to this user alone, and not a link."""
    if sys.platform == "win32":
        return True  # by the access rights of the user's profile
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077

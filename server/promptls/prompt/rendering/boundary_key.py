"""The key from which the boundaries of a workspace are derived.

The key is the same for all prompts of a workspace on one day, also after a restart: prompts that begin with the same
content then begin with the same text, and a provider can cache this prefix.  The key is derived from a random secret of
the user, so that nothing in a workspace can predict a boundary.
"""

from __future__ import annotations

import hmac
import os
import secrets
from functools import lru_cache
from logging import getLogger
from pathlib import Path

log = getLogger(__name__)

SECRET_FILE = "boundary.key"
SECRET_BYTES = 32

SECONDS_PER_DAY = 86_400


def boundary_key(folder: Path, workspace: str, time_s: float) -> bytes:
    """Return the key for a workspace on the day (UTC) of a time.

    Args:
        folder: private folder of the user; the secret is created in it if it is missing.
        workspace: a name of the workspace, such as the URIs of its roots.
        time_s: seconds since the epoch.
    """
    day = int(time_s // SECONDS_PER_DAY)
    return hmac.digest(_secret(folder), f"{day}\n{workspace}".encode("utf-8", "surrogatepass"), "sha256")


@lru_cache(maxsize=8)
def _secret(folder: Path) -> bytes:
    """Return the user's secret; without write access a random one that this process keeps."""
    path = folder / SECRET_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _read(path) or _create(path)
    except OSError as error:
        log.warning("The boundary secret cannot be stored in %s: %s. Boundaries change with each start.", path, error)
        return secrets.token_bytes(SECRET_BYTES)


def _read(path: Path) -> bytes:
    """Return the stored secret, b"" if there is none or if it is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return b""
    return data if len(data) == SECRET_BYTES else b""


def _create(path: Path) -> bytes:
    """Store a new secret that only the user can read; of several processes, the last one decides."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
    part.replace(path)
    return path.read_bytes()

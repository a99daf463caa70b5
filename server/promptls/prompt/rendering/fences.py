r"""Fences around quoted content in a prompt, with an unpredictable boundary.

Grammar (BOUNDARY is the same string in the whole prompt):

    element   = "<context-" BOUNDARY attribute* ">" LF content LF "</context-" BOUNDARY ">"
              | "<context-" BOUNDARY attribute* "/>"            named but not shown
    attribute = " " name '="' value '"'                         name: letters a-z
    value     = any characters but `"`, `<`, `>` and line ends; see sanitize.header_text
    content   = any text in which BOUNDARY does not occur, to the last character as given

An element starts at the start of a line.  Its content ends before the LF of the only line that closes the element:
BOUNDARY is checked after the contents are known: it occurs neither in them nor in the message.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, Iterator
from functools import lru_cache
from logging import getLogger
from pathlib import Path

from promptls.prompt.sanitize import header_text

BOUNDARY_LENGTH = 12
"""Length of a boundary in hexadecimal digits: 48 bits, none of which a file can know in advance."""

SPECIMEN = "3f90127c048e"
"""Boundary with which prompts are counted: it has the average number of tokens."""

_KEY = secrets.token_bytes(32)


def boundary(message: str, contents: Iterable[str], key: bytes | None = None, length: int = BOUNDARY_LENGTH) -> str:
    """Return the boundary of a prompt: the first one derived from the key that does not occur in its texts.

    It depends on nothing else, so that prompts with the same beginning share it.  `contents` are all texts in the
    prompt, those of headers included.  The default `key` is random for each process.
    """
    return next(boundaries(message, contents, key, length))


def boundaries(
    message: str, contents: Iterable[str], key: bytes | None = None, length: int = BOUNDARY_LENGTH
) -> Iterator[str]:
    """Yield the boundary, followed by alternatives that are equally unpredictable.

    Candidate n is HMAC-SHA256(key, n), cut to `length` digits.  Texts that quote an earlier prompt, and so contain its
    boundary, get the next candidate, which no text has shown yet.
    """
    texts = [message, *contents]
    for attempt in range(1 << 32):
        digest = hmac.digest(_KEY if key is None else key, attempt.to_bytes(4, "big"), "sha256")
        name = digest.hex()[:length]
        if not any(name in text for text in texts):
            yield name
    raise AssertionError("unreachable: 2**32 boundaries cannot all occur in one text")


def fence(attributes: Iterable[tuple[str, str]], content: str | None, name: str) -> str:
    """Return one element of the grammar; without content in its short form.  Empty attributes are left out."""
    head = f"<context-{name}" + "".join(f' {key}="{header_text(value)}"' for key, value in attributes if value)
    return head + "/>" if content is None else f"{head}>\n{content}\n</context-{name}>"


# ---------------------------------------------------------------- boundary key


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

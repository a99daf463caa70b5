"""Handle `promptls/status`: progress, size and problems of the index."""

from __future__ import annotations

from pathlib import Path

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.api.results import encode_status
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.settings import log_file

PAGE_BYTES = 4096


def status(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/status`."""
    return encode_status(engine.index.status(), _resident_bytes(), log_file().name)


def _resident_bytes() -> int:
    """Return the resident set size of this process, 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0

"""Handle `promptls/status`: progress, size and problems of the index and of the team index, and the token counter."""

from __future__ import annotations

from pathlib import Path

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.api.messages.results import encode_status
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.prompt.budget import counter_status
from promptls.settings import log_file

PAGE_BYTES = 4096


def status(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/status`."""
    result = encode_status(
        engine.index.status(), counter_status(engine.settings.budget), _resident_bytes(), log_file().name
    )
    return result if engine.team is None else {**result, "team": engine.team.status()}


def _resident_bytes() -> int:
    """Return the resident set size of this process, 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0

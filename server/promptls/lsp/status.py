"""Index status notifications (`promptls/statusChanged`) and the indexing progress bar."""

from __future__ import annotations

import asyncio
import time

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.connection import PromptServer
from promptls.lsp.handlers import CUSTOM_REQUESTS
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.model import CancelToken

STATUS_DELAY_S = 0.05
"""Minimum delay before a status notification, in seconds; changes within it are sent together."""
STATUS_MAX_LOAD = 20
"""Delay of the next notification, in multiples of the time that the last status took: at most 5 % of one core."""


def schedule_status(server: PromptServer) -> None:
    """Schedule a status notification, early if the phase of the indexer changed; runs after every indexer step."""
    if server.loop is None or server.engine is None:
        return
    phase_changed = server.engine.index.progress_flags != server.status_phase
    delay = STATUS_DELAY_S if phase_changed else max(STATUS_DELAY_S, STATUS_MAX_LOAD * server.status_duration_s)
    if server.status_timer is not None:
        if server.status_timer.when() <= server.loop.time() + delay:
            return
        server.status_timer.cancel()
    server.status_timer = server.loop.call_later(delay, lambda: asyncio.ensure_future(_send_status(server)))


async def _send_status(server: PromptServer) -> None:
    server.status_timer = None
    if server.engine is None or server.protocol._shutdown or server.loop is None:
        return
    start = time.perf_counter()
    server.status_phase = server.engine.index.progress_flags
    _, compute_status = CUSTOM_REQUESTS["promptls/status"]
    try:
        status: Json = await server.loop.run_in_executor(
            server.request_executor, compute_status, server.engine, protocol.NoParams(), CancelToken()
        )
    except RuntimeError:
        return  # the executor is shut down
    server.status_duration_s = time.perf_counter() - start
    if status == {**server.last_status, "memoryBytes": status["memoryBytes"]}:
        return
    server.last_status = status
    server.protocol.notify("promptls/statusChanged", status)
    schedule_diagnostics(server)
    await server.indexing_progress.update(status)

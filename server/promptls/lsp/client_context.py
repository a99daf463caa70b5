"""Client context: fetches what only the editor knows (selection, diagnostics, terminal) when mentions need it."""

from __future__ import annotations

import asyncio
import logging
import time

from msgspec import structs
from pygls.exceptions import JsonRpcException

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams
from promptls.lsp.connection import PromptServer
from promptls.lsp.transport.jsonrpc import to_json
from promptls.model import CancelToken
from promptls.util.cancellation import run_cancellable

log = logging.getLogger(__name__)

CLIENT_CONTEXT_TTL_S = 0.3
"""Lifetime of a cached client context in seconds: editors send many requests at once after one edit."""
CLIENT_CONTEXT_TIMEOUT_S = 2.0
"""Maximum time that a request waits for the client context, in seconds."""


def client_supports(server: PromptServer, request: str) -> bool:
    """Return whether the client declares `capabilities.experimental.promptls.<request>`."""
    experimental = to_json(server.client_capabilities.experimental)
    ours = experimental.get("promptls") if isinstance(experimental, dict) else None
    return bool(ours.get(request)) if isinstance(ours, dict) else False


MAX_SCANNED_CHARACTERS = 20_000
"""Maximum length of a message whose mentions are parsed on the event loop, in characters: less than 20 ms."""


async def fetch_client_context(
    server: PromptServer,
    message: str,
    context: protocol.Context,
    token: CancelToken,
    max_age_s: float = CLIENT_CONTEXT_TTL_S,
) -> protocol.Context:
    """Complete a context with the fields that the message's mentions need and the client can be asked for."""
    if not client_supports(server, "clientContext"):
        return context
    from promptls.mentions.registry import required_context_fields

    loop = asyncio.get_running_loop()
    # A long message would block the event loop for seconds.
    is_long = len(message) > MAX_SCANNED_CHARACTERS
    if is_long:
        required = await loop.run_in_executor(
            server.request_executor, run_cancellable, token, required_context_fields, message
        )
    else:
        required = required_context_fields(message)
    missing = [name for name in required if not getattr(context, protocol.attribute(name))]
    if not missing:
        return context
    cached = server.client_context_cache.get(tuple(missing))
    if cached is None or time.monotonic() - cached[0] > max_age_s:
        response = server.protocol.send_request_async("promptls/clientContext", {"kinds": missing})
        try:
            value = to_json(await asyncio.wait_for(response, CLIENT_CONTEXT_TIMEOUT_S))
            cached = (time.monotonic(), protocol.decode(protocol.Context, value))
        except (JsonRpcException, InvalidParams, asyncio.TimeoutError) as error:
            log.info("the client did not provide %s: %s", ", ".join(missing), error)
            cached = (time.monotonic(), protocol.Context())
        server.client_context_cache[tuple(missing)] = cached
    fields = {protocol.attribute(name): getattr(cached[1], protocol.attribute(name)) for name in missing}
    return structs.replace(context, **fields)

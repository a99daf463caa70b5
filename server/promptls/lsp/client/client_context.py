"""Client context: fetches what only the editor knows (selection, diagnostics, terminal) when mentions need it."""

from __future__ import annotations

import asyncio
import logging
import time

from msgspec import structs
from pygls.exceptions import JsonRpcException

from promptls.api import params as protocol
from promptls.api.params import InvalidParams
from promptls.lsp.connection import PromptServer
from promptls.lsp.transport.jsonrpc import to_json

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


async def fetch_client_context(server: PromptServer, message: str, context: protocol.Context) -> protocol.Context:
    """Complete a context with the fields that the message's mentions need and the client can be asked for."""
    if not client_supports(server, "clientContext"):
        return context
    from promptls.mentions.registry import required_context_fields

    missing = [name for name in required_context_fields(message) if not getattr(context, protocol.attribute(name))]
    if not missing:
        return context
    cached = server.client_context_cache.get(tuple(missing))
    if cached is None or time.monotonic() - cached[0] > CLIENT_CONTEXT_TTL_S:
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

"""Request dispatch: decodes params, runs the request on a thread and returns one result or one clean error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import structs
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams
from promptls.index import is_out_of_resources
from promptls.lsp.client_context import fetch_client_context
from promptls.lsp.connection import PromptServer
from promptls.lsp.handlers import INSTRUCTION_FEATURES, LSP_FEATURES
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.model import Cancelled, CancelToken
from promptls.settings import log_file
from promptls.util.cancellation import run_cancellable

log = logging.getLogger(__name__)

P = TypeVar("P", bound=protocol.Params)

REQUEST_CANCELLED = -32800


class EngineStartError(Exception):
    """Raised by requests while the engine cannot start; the text names the cause and what to do."""


def request_handler(
    method: str, kind: type[protocol.Params], function: Callable[..., Any]
) -> Callable[[PromptServer, Any], Awaitable[Any]]:
    """Return the pygls handler of a request."""

    async def request(server: PromptServer, params: Any) -> Any:
        return await handle_request(server, method, kind, function, params)

    return request


def command_handler(
    method: str, kind: type[protocol.Params], function: Callable[..., Any]
) -> Callable[..., Awaitable[Any]]:
    """Return the `workspace/executeCommand` handler of a request; its params are the first argument."""

    async def command(server: PromptServer, *arguments: Any) -> Any:
        return await handle_request(server, method, kind, function, arguments[0] if arguments else None)

    return command


def decode_params(kind: type[P], params: Any) -> P:
    """Decode the params of a handler that does not run on a thread.

    Raises:
        JsonRpcInvalidParams: The params do not match the type.
    """
    try:
        return protocol.decode(kind, params)
    except InvalidParams as error:
        raise _rejected(error) from None


def _rejected(error: InvalidParams) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(str(error), data={"field": error.field, "valid": list(error.valid)})


async def handle_request(
    server: PromptServer, method: str, kind: type[protocol.Params], function: Callable[..., Any], params: Any
) -> Any:
    """Decode the params, run the request on a thread, and map every failure to one JSON-RPC error."""
    token = CancelToken()
    server.cancel_tokens.add(token)
    try:
        decoded: Any = protocol.decode(kind, params)
        assert server.engine_future is not None
        target: Any = await asyncio.shield(server.engine_future)
        await server.configuration.wait_current()
        if method in LSP_FEATURES:
            target = server.session
            uri = getattr(getattr(decoded, "text_document", None), "uri", "")
            document = server.documents.get(uri)
            if document is None and server.documents.instruction_file(uri) is not None:
                function = INSTRUCTION_FEATURES.get(method, function)
            if document is not None and server.session is not None:
                context = await fetch_client_context(server, document.text, protocol.Context(), token)
                if server.session.set_client_context(document.uri, context):
                    schedule_diagnostics(server)
        elif isinstance(decoded, protocol.BuildPromptParams | protocol.ResolveMentionsParams):
            context = await fetch_client_context(server, decoded.message, decoded.context, token)
            decoded = structs.replace(decoded, context=context)
            chosen = server.session.budget(decoded.document) if server.session is not None else None
            if chosen is not None and decoded.budget.tokens is None and decoded.budget.model is None:
                decoded = structs.replace(decoded, budget=structs.replace(decoded.budget, tokens=chosen))
        return await asyncio.get_running_loop().run_in_executor(
            server.request_executor, run_cancellable, token, function, target, decoded, token
        )
    except InvalidParams as error:
        raise _rejected(error) from None
    except EngineStartError as error:
        raise JsonRpcInternalError(str(error)) from None
    except Cancelled:
        raise JsonRpcException("The request was cancelled.", REQUEST_CANCELLED) from None
    except asyncio.CancelledError:
        token.cancel()
        raise
    except Exception as error:
        log.exception("%s failed", method)
        if is_out_of_resources(error):
            raise JsonRpcInternalError(f"{method} failed temporarily: {error.strerror}. Try again.") from None
        name = f"{log_file().name} (`promptls doctor` prints its folder)"
        raise JsonRpcInternalError(f"{method} failed unexpectedly. See the log: {name}.") from None
    finally:
        server.cancel_tokens.discard(token)

"""The MCP server over streamable HTTP on the loopback interface, for any number of clients.

Every request must carry a token, because all users and programs of the machine can connect, and the `Host` and
`Origin` headers of this machine, so that a web page cannot reach the server through a name that it controls.  The
server keeps no sessions.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

from promptls.mcp.mcp_server import create_server
from promptls.mcp.workspaces import Workspaces

PATH = "/mcp"
"""Path of the URL that clients use."""
SHUTDOWN_TIMEOUT_S = 2
"""Seconds that running calls have to finish after an interrupt."""

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def serve_http(workspaces: Workspaces, bound: socket.socket, token: str, *, structured: bool) -> None:
    """Serve clients that send the token, until the process is interrupted."""
    app = create_server(workspaces, structured=structured).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        host="127.0.0.1",  # turns on the check of Host and Origin, for all names of the loopback interface
    )
    config = uvicorn.Config(
        _require_token(app, token),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        ws="none",
    )
    try:
        uvicorn.Server(config).run([bound])
    finally:
        workspaces.close()


def _require_token(app: _App, token: str) -> _App:
    """Return an ASGI application that answers 401 to requests without the token."""
    expected = f"Bearer {token}".encode()

    async def check(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(given[0], expected):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return check


async def _refuse(send: _Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    body = (
        b"Send the token that promptls mcp printed, or that PROMPTLS_MCP_TOKEN contains: Authorization: Bearer TOKEN.\n"
    )
    await send({"type": "http.response.body", "body": body})

"""Transports: serves one client over stdin and stdout, or over a TCP socket for debugging."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from promptls.lsp.connection import PromptServer
from promptls.lsp.server import create_server
from promptls.lsp.transport.jsonrpc import GuardedWriter

log = logging.getLogger(__name__)


def serve_stdio() -> int:
    """Serve over stdin and stdout until the client exits, and return the exit status."""
    server = create_server()
    try:
        if not asyncio.run(_serve(server)):
            log.error("The client closed the server's output, or its process ended. The server exits.")
            server.stop()
            logging.shutdown()
            os._exit(1)  # a thread blocks on stdin and would keep the process alive
    except BrokenPipeError:
        log.error("Lost the connection to the client. The server exits.")
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]
        server.stop()
    return 0 if server.protocol._shutdown and not server.framing_failed else 1


async def _serve(server: PromptServer) -> bool:
    """Serve until stdin ends or the client is gone; return whether stdin ended first."""
    server.protocol.set_writer(GuardedWriter(sys.stdout.buffer, server.disconnected))
    listening = asyncio.ensure_future(server.listen(sys.stdin.buffer))
    disconnected = asyncio.ensure_future(server.disconnected.wait())
    await asyncio.wait([listening, disconnected], return_when=asyncio.FIRST_COMPLETED)
    if not listening.done():
        return False
    disconnected.cancel()
    listening.result()
    return True


def serve_tcp(host: str, port: int) -> int:
    """Serve one client over TCP, for debugging."""
    server = create_server()
    try:
        server.start_tcp(host, port)
    finally:
        server.stop()
    return 0

"""Transports: serves one client over stdin and stdout, or over a TCP socket for debugging."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress

from promptls.lsp.connection import PromptServer
from promptls.lsp.server import create_server
from promptls.lsp.transport.jsonrpc import GuardedWriter
from promptls.util.termination import cleanup_on_signal

log = logging.getLogger(__name__)


def serve_stdio() -> int:
    """Serve over stdin and stdout until the client exits, and return the exit status."""
    server = create_server()
    with cleanup_on_signal(server.stop):
        try:
            if not asyncio.run(_serve(server)):
                _report("The client closed the server's output, or its process ended")
                server.stop()
                logging.shutdown()
                os._exit(1)  # a thread blocks on stdin and would keep the process alive
        except (BrokenPipeError, SystemExit):
            pass  # the notification `exit`, or a client that is gone
        finally:
            server.shutdown()  # type: ignore[no-untyped-call]
            server.stop()
    if server.framing_problem:
        _report(f"Invalid message framing: {server.framing_problem}")
    elif not server.protocol._shutdown:
        _report("The connection ended without the request shutdown")
    else:
        return 0
    return 1


def _report(problem: str) -> None:
    """Report why the server exits with status 1, in the log and on stderr."""
    log.error("%s. The server exits.", problem)
    with suppress(OSError):
        print(f"promptls: {problem}. The server exits.", file=sys.stderr)


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
    with cleanup_on_signal(server.stop):
        try:
            server.start_tcp(host, port)
        finally:
            server.stop()
    return 0

"""The choice of the backend of an MCP server over stdin and stdout: the engine of a language server, or one of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from promptls.attach.client import CONNECTION_ERRORS, MCP, Attached, attach
from promptls.attach.registry import find_servers
from promptls.mcp.handshake import StdioStreams


def serve_with_best_engine(
    streams: StdioStreams, roots: Sequence[str], structured: bool, serve_alone: Callable[[], None]
) -> None:
    """Serve one client until it closes the connection, with the engine of a language server whenever there is one.

    `serve_alone` serves from an engine of this process until the messages of the streams end.
    """
    lost: set[str] = set()  # addresses of servers whose connection has ended

    def finds_server() -> bool:
        return any(record.address not in lost for record in find_servers(roots))

    while not streams.ended:
        options = {"structured": structured, "promptsListed": streams.has_listed_prompts}
        attached = attach(roots, MCP, options, without=lost) if roots else None
        if attached is not None:
            lost.add(attached.record.address)
            _relay(streams, attached)
        else:
            streams.begin(finds_server if roots else lambda: False)
            serve_alone()


def _relay(streams: StdioStreams, attached: Attached) -> None:
    """Pass on messages between client and server until one of them closes the connection."""
    backend = streams.begin()

    def receive() -> None:
        try:
            while True:
                streams.write(attached.receive().decode())
        except CONNECTION_ERRORS:
            streams.end(backend)

    receiver = threading.Thread(target=receive, daemon=True, name="relay")
    receiver.start()
    try:
        while line := streams.readline():
            attached.send(line.encode())
    except CONNECTION_ERRORS:
        pass
    attached.close()
    receiver.join()

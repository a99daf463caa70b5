"""The official client of the Model Context Protocol, connected to a server process, without `await`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from processes import deliver_interrupts

TIMEOUT_S = 120.0
ANNOUNCEMENT = re.compile(
    r"promptls: MCP server at (?P<url>\S+); clients send the header `Authorization: (?P<header>.+)`\."
)


class McpClient:
    """One server process and the connection to it."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self._portal = portal

    def tool(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that succeeds; return its text."""
        result = self.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert len(result.content) == 1
        return result.content[0].text

    def tool_error(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that fails; return its message."""
        result = self.call_tool(tool, arguments)
        assert result.is_error
        return result.content[0].text

    def call_tool(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool; return the whole result."""
        return self.run("call_tool", name, arguments, read_timeout_seconds=TIMEOUT_S)

    def run(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the client."""
        return self._portal.call(partial(getattr(self.client, method), *arguments, **options))


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which `home` contains configuration, cache and data."""
    return {
        **os.environ,
        "HOME": str(home),
        "PROMPTLS_CACHE": str(home / "cache"),
        "PROMPTLS_DATA": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
    }


@contextmanager
def connect(
    home: Path, *arguments: str, cwd: Path | None = None, mode: str = "auto", command: Sequence[str] = ()
) -> Iterator[McpClient]:
    """Start a server, by default with some arguments of `promptls mcp`, and connect to it."""
    program, *rest = command or (sys.executable, "-m", "promptls", "mcp", *arguments)
    with _connected(StdioServerParameters(command=program, args=rest, env=environment(home), cwd=cwd), mode) as client:
        yield client


@contextmanager
def connect_http(url: str, headers: Mapping[str, str], mode: str = "auto") -> Iterator[McpClient]:
    """Connect to a server over HTTP; all requests have the headers."""

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S) as http,
            streamable_http_client(url, http_client=http) as streams,
        ):
            yield streams

    with _connected(transport(), mode) as client:
        yield client


@contextmanager
def _connected(server: Any, mode: str) -> Iterator[McpClient]:
    failure: BaseException | None = None
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, mode=mode)) as client,  # type: ignore[arg-type]
    ):
        try:
            yield McpClient(client, portal)
        except BaseException as error:  # the task groups of the client would wrap it
            failure = error
    if failure is not None:
        raise failure


@contextmanager
def serve_http(
    home: Path, *arguments: str, address: str = "0", **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Start a server for HTTP clients; yield the process, the URL and the header that it prints."""
    command = [sys.executable, "-m", "promptls", "mcp", "--http", address, *arguments]
    environ = {**environment(home), **variables}
    signals = deliver_interrupts if os.name != "nt" else None
    process = subprocess.Popen(command, env=environ, cwd=home, stderr=subprocess.PIPE, text=True, preexec_fn=signals)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = ANNOUNCEMENT.fullmatch(line.strip())
        assert found, line + process.stderr.read()
        yield process, found["url"], found["header"]
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
        process.stderr.close()

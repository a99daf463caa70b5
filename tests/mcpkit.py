"""The official client of the Model Context Protocol, connected to a server process over stdio, without `await`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

TIMEOUT_S = 60.0


class McpClient:
    """One server process and the connection to it."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self._portal = portal

    def tool(self, tool: str, /, **arguments: Any) -> tuple[dict[str, Any], str]:
        """Call a tool that succeeds; return its structured content and its text."""
        result = self._call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content, result.content[0].text

    def tool_error(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that fails; return its message."""
        result = self._call_tool(tool, arguments)
        assert result.is_error
        return result.content[0].text

    def _call_tool(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
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
    server = StdioServerParameters(command=program, args=rest, env=environment(home), cwd=cwd)
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

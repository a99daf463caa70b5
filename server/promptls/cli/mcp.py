"""promptls mcp: the tools for agents, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import socket
from importlib.util import find_spec
from typing import Any

from promptls.cli.loopback import listen, parse_loopback, shown_address
from promptls.cli.output import SUCCESS, CommandError, UsageError, print_error, require_stream
from promptls.cli.workspace import invalid_folder_as_usage_error, workspace_paths
from promptls.util.termination import cleanup_on_signal

TOKEN_VARIABLE = "PROMPTLS_MCP_TOKEN"
"""Environment variable with the token that HTTP clients send."""
MIN_TOKEN_CHARACTERS = 16
"""Minimum length of a token; shorter ones can be guessed by a program on this machine."""


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("mcp", help="run the MCP server for agents over stdin and stdout, or over HTTP")
    parser.add_argument(
        "--root",
        action="append",
        metavar="DIR",
        help="workspace folder (default: current folder); repeatable",
    )
    parser.add_argument(
        "--any-root",
        action="store_true",
        help="let calls name folders outside of the workspace folders with their parameter root",
    )
    parser.add_argument(
        "--structured",
        action="store_true",
        help="return results as JSON, too; clients that show both to the language model pay twice",
    )
    parser.add_argument(
        "--http",
        metavar="[HOST:]PORT",
        help=f"serve HTTP clients on a loopback address instead; they send the token of ${TOKEN_VARIABLE}, or the "
        "printed one",
    )
    parser.set_defaults(begin=_begin, run=_mcp)


def _begin(options: argparse.Namespace) -> None:
    """Check the arguments, and answer the handshake over stdin and stdout before heavy imports."""
    if not options.http:
        require_stream("stdin")
    if find_spec("mcp") is None:
        raise CommandError("the MCP server needs the package mcp; run `pip install 'promptls[mcp]'`.")
    options.roots = workspace_paths(options) if options.root else None
    if not options.http:
        from promptls.mcp.handshake import open_streams

        options.streams = open_streams()
        options.streams.wait()


def _mcp(options: argparse.Namespace) -> int:
    roots = options.roots
    bound = listen(*parse_loopback("--http", options.http, "8750", "127.0.0.1")) if options.http else None
    token = _announced_token(bound) if bound is not None else ""
    from promptls.index import limit_memory, prestart_worker

    prestart_worker()
    limit_memory()
    from promptls.mcp.workspaces import Workspaces, default_root
    from promptls.settings import user_settings

    settings, problems = user_settings()
    for problem in problems:
        print_error(problem.message)
    with invalid_folder_as_usage_error():
        workspaces = Workspaces(default_root() if roots is None else roots, settings, any_root=options.any_root)
    with cleanup_on_signal(workspaces.close):
        workspaces.prestart()  # the index is loaded while the SDK is imported
        from promptls.mcp.sdk import import_sdk

        import_sdk()
        if bound is None:
            from promptls.mcp.server import serve_stdio

            serve_stdio(workspaces, options.streams, structured=options.structured)
        else:
            from promptls.mcp.http import serve_http

            serve_http(workspaces, bound, token, structured=options.structured)
    return SUCCESS


def _announced_token(bound: socket.socket) -> str:
    """Return the token of the environment or a new one, and print what clients need.

    Raises:
        UsageError: The token of the environment cannot be sent in a header, or is too short.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token and not (len(token) >= MIN_TOKEN_CHARACTERS and re.fullmatch(r"[!-~]+", token)):
        raise UsageError(f"{TOKEN_VARIABLE} needs at least {MIN_TOKEN_CHARACTERS} ASCII characters without spaces.")
    shown = f"${TOKEN_VARIABLE}" if token else (token := secrets.token_urlsafe(24))
    url = f"http://{shown_address(*bound.getsockname()[:2])}/mcp"
    print_error(f"MCP server at {url}; clients send the header `Authorization: Bearer {shown}`.")
    return token

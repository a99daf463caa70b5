"""promptls mcp: the tools for agents, over the Model Context Protocol."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from promptls.cli.output import FAILURE, SUCCESS, print_error
from promptls.cli.workspace import workspace_paths


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("mcp", help="run the MCP server for agents over stdin and stdout")
    parser.add_argument(
        "--root",
        action="append",
        metavar="DIR",
        help="workspace folder; calls may use no other (default: current folder); repeatable",
    )
    parser.set_defaults(run=_mcp)


def _mcp(options: argparse.Namespace) -> int:
    if find_spec("mcp") is None:
        print_error("the MCP server needs the package mcp; run `pip install 'promptls[mcp]'`.")
        return FAILURE
    roots = workspace_paths(options) if options.root else None
    from promptls.index import limit_memory, prestart_worker

    prestart_worker()
    limit_memory()
    from promptls.mcp.workspaces import Workspaces, default_root
    from promptls.settings import user_settings

    settings, problems = user_settings()
    for problem in problems:
        print_error(problem.message)
    workspaces = Workspaces(default_root() if roots is None else roots, settings, confined=roots is not None)
    workspaces.prestart()  # the index is loaded while the SDK is imported
    from promptls.mcp.server import serve_stdio

    serve_stdio(workspaces)
    return SUCCESS

"""promptls install: adds the MCP server to the configuration of a client."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_error


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("install", help="add the MCP server to the configuration of a client")
    parser.add_argument("client", nargs="?", help="name of the client, see --list")
    parser.add_argument("--list", action="store_true", help="list the clients and their configuration files")
    parser.add_argument("--dry-run", action="store_true", help="print the change without writing it")
    parser.add_argument("--uninstall", action="store_true", help="remove the MCP server")
    parser.add_argument("--project", action="store_true", help="change the file in the current folder, not the user's")
    parser.set_defaults(run=_install)


def _install(options: argparse.Namespace) -> int:
    from promptls.install.clients import CLIENTS
    from promptls.install.configuration import InstallError, plan_install, plan_uninstall, write

    if options.list:
        for client in CLIENTS.values():
            print(f"{client.name:<12} {client.title:<12} {client.path(Path.home())}")
        return SUCCESS
    valid = ", ".join(CLIENTS)
    if options.client not in CLIENTS:
        problem = f"unknown client {options.client!r}" if options.client else "the name of a client is required"
        raise UsageError(f"{problem}; valid: {valid}.")
    missing = [package for package in ("mcp", "tomlkit") if find_spec(package) is None]
    if missing and not options.uninstall:
        print_error("the MCP server needs the package mcp; run `pip install 'promptls[mcp]'`.")
        return FAILURE
    client = CLIENTS[options.client]
    plan = plan_uninstall if options.uninstall else plan_install
    try:
        change = plan(client, Path.cwd() if options.project else None, Path.home())
        if change.is_empty:
            state = "not installed in" if options.uninstall else "already installed in"
            print(f"promptls is {state} {change.path}.")
            return SUCCESS
        print(change.diff())
        if options.dry_run:
            return SUCCESS
        backup = write(change)
    except InstallError as error:
        print_error(str(error))
        return FAILURE
    print(f"Changed {change.path}." + (f" Backup: {backup}" if backup else ""))
    if not options.uninstall:
        print(f"Restart {client.title} to use it.")
    return SUCCESS

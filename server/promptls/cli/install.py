"""promptls install: adds the MCP server to the configuration of a client, or the plugin to an editor."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_error, print_text
from promptls.util.packages import extra_command

if TYPE_CHECKING:
    from promptls.install.client_configuration import Change
    from promptls.install.editors import FolderChange


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("install", help="add the MCP server to a client, or the plugin to an editor")
    parser.add_argument("client", nargs="?", help="name of the client or editor, see --list")
    parser.add_argument(
        "--list", action="store_true", help="list the clients and editors with the files that are changed"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the change without writing it")
    parser.add_argument("--uninstall", action="store_true", help="remove the MCP server or the plugin")
    parser.add_argument("--project", action="store_true", help="change the file in the current folder, not the user's")
    parser.set_defaults(run=_install)


def _install(options: argparse.Namespace) -> int:
    from promptls.install.agents import check_server, plan_permission, plan_skill
    from promptls.install.client_configuration import InstallError, plan_entry
    from promptls.install.clients import CLIENTS, server_words
    from promptls.install.editors import EDITORS

    names = sorted([*CLIENTS, *EDITORS])
    if options.list:
        for name in names:
            target = CLIENTS.get(name) or EDITORS[name]
            print_text(f"{name:<12} {target.title:<12} {target.path(Path.home())}")
        return SUCCESS
    if options.client not in names:
        problem = f"unknown client {options.client!r}" if options.client else "the name of a client is required"
        raise UsageError(f"{problem}; valid: {', '.join(names)}.")
    try:
        if options.client in EDITORS:
            if options.project:
                raise InstallError(f"{EDITORS[options.client].title} has no configuration in projects; omit --project.")
            change = EDITORS[options.client].plan(Path.home(), not options.uninstall)
            _apply([change], EDITORS[options.client].title, options)
            return SUCCESS
        missing = [package for package in ("mcp", "tomlkit") if find_spec(package) is None]
        if missing and not options.uninstall:
            print_error(f"the MCP server needs the package mcp; run `{extra_command('mcp')}`.")
            return FAILURE
        client = CLIENTS[options.client]
        project = Path.cwd() if options.project else None
        place, install = (client, project, Path.home()), not options.uninstall
        changes = [plan_entry(*place, install), plan_permission(*place, install), plan_skill(*place, install)]
        _apply([change for change in changes if change is not None], client.title, options)
        if install and not options.dry_run:
            tools = check_server(server_words(client, project))
            print_text(f"The server starts and offers {', '.join(tools)}.")
        return SUCCESS
    except InstallError as error:
        print_error(_escaped(str(error)))
        return FAILURE


def _show(text: str) -> None:
    print_text(_escaped(text))


def _escaped(text: str) -> str:
    """Return a text without control characters of terminals: a project's file and its path can have any."""
    from promptls.prompt.sanitize import escape_invisible

    return escape_invisible(text)[0]


def _apply(changes: Sequence[Change | FolderChange], title: str, options: argparse.Namespace) -> None:
    """Show changes and write them."""
    for change in changes:
        if change.is_empty:
            state = "not installed in" if options.uninstall else "already installed in"
            _show(f"promptls is {state} {change.path}.")
            continue
        _show(change.diff())
        if not options.dry_run:
            backup = change.write()
            _show(f"Changed {change.path}." + (f" Backup: {backup}" if backup else ""))
    if not (options.uninstall or options.dry_run or all(change.is_empty for change in changes)):
        print_text(f"Restart {title} to use it.")

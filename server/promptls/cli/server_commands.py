"""promptls serve and promptls mcp: the language server, and the MCP server with the tools for agents.

Servers listen on the loopback interface only, because other addresses would expose the workspace.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from promptls.cli.command_workspace import workspace_paths
from promptls.cli.output import SUCCESS, CommandError, UsageError, print_error
from promptls.util.import_stubs import import_with_stubs
from promptls.util.packages import extra_command
from promptls.util.termination import cleanup_on_signal

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from promptls.engine import Engine
    from promptls.mcp.workspaces import Workspaces


def add_serve_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("serve", help="run the language server over stdin and stdout")
    parser.add_argument("--stdio", action="store_true", help="use stdin and stdout (the default)")
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    from promptls.index import limit_memory, prestart_worker

    prestart_worker()
    limit_memory()
    _enable_stack_dumps()
    from promptls.lsp import serve_stdio

    sessions = {"mcp": _serve_mcp_session} if find_spec("mcp") is not None else {}
    return serve_stdio(sessions)


def _enable_stack_dumps() -> None:
    """Print the stacks of all threads to stderr when the interpreter crashes, and on SIGUSR1, where signals exist."""
    with suppress(OSError, RuntimeError, ValueError):  # stderr is closed
        faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, _print_stacks)


def _print_stacks(*_: object) -> None:
    """Print the stacks while no other thread runs; `faulthandler.register` reads those of running threads and can crash."""
    with suppress(OSError, RuntimeError, ValueError):  # stderr is closed
        faulthandler.dump_traceback()


# ---------------------------------------------------------------- loopback


LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1", "[::1]")


def parse_loopback(option: str, address: str, example: str) -> tuple[str, int]:
    """Return host and port of an address "HOST:PORT" or "PORT", which is on 127.0.0.1.

    Raises:
        UsageError: The host is not a loopback address, or the port is invalid.
    """
    host, _, port = address.rpartition(":")
    host = host or "127.0.0.1"
    is_number = port.isascii() and port.isdecimal()
    if not is_number or int(port) > 65535 or host not in LOOPBACK_HOSTS:
        raise UsageError(f"{option} needs a loopback address and a port, such as {example}, not {address!r}.")
    return host.strip("[]"), int(port)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections at an address; port 0 selects a free port.

    Raises:
        UsageError: The address is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error  # libraries add the address to `strerror`
        raise UsageError(f"cannot listen on {shown_address(host, port)}: {reason}. Choose another port.") from None


def shown_address(host: str, port: int) -> str:
    """Return an address as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# ---------------------------------------------------------------- mcp


TOKEN_VARIABLE = "PROMPTLS_MCP_TOKEN"
"""Environment variable with the token that HTTP clients send."""
MIN_TOKEN_CHARACTERS = 16
"""Minimum length of a token; shorter ones can be guessed by a program on this machine."""


def add_mcp_parser(commands: Any) -> None:
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
        "--saved", action="store_true", help="ignore unsaved text in editors, and do not use the engine of an editor"
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
    if find_spec("mcp") is None:
        raise CommandError(f"the MCP server needs the package mcp; run `{extra_command('mcp')}`.")
    options.roots = workspace_paths(options) if options.root else None
    if not options.http:
        from promptls.mcp.handshake import open_streams

        options.streams = open_streams()
        options.streams.wait()


def _mcp(options: argparse.Namespace) -> int:
    from promptls.api.open_workspace import default_root

    roots = default_root() if options.roots is None else options.roots
    if options.http:
        bound = listen(*parse_loopback("--http", options.http, "8750"))
        token = _announced_token(bound)
        with _own_workspaces(options, roots) as workspaces:
            from promptls.mcp.http import serve_http

            serve_http(workspaces, bound, token, structured=options.structured)
        return SUCCESS

    from promptls.mcp.relay import serve_with_best_engine

    def serve_alone() -> None:
        from promptls.index import release_closed_index

        with _own_workspaces(options, roots) as workspaces:
            from promptls.mcp.mcp_server import serve_stdio

            serve_stdio(workspaces, options.streams, structured=options.structured)
        release_closed_index()

    is_shareable = not options.saved and not options.any_root
    serve_with_best_engine(options.streams, roots if is_shareable else (), options.structured, serve_alone)
    return SUCCESS


@contextmanager
def _own_workspaces(options: argparse.Namespace, roots: Sequence[str]) -> Iterator[Workspaces]:
    """Return a context manager with engines of this process; the index is loaded while the SDK is imported."""
    from promptls.index import limit_memory, prestart_worker

    prestart_worker()
    limit_memory()
    from promptls.mcp.workspaces import Workspaces
    from promptls.settings import user_settings

    settings, problems = user_settings()
    for problem in problems:
        print_error(problem.message)
    workspaces = Workspaces(roots, settings, any_root=options.any_root)
    with cleanup_on_signal(workspaces.close):
        workspaces.prestart()
        import_sdk()
        yield workspaces


def import_sdk() -> None:
    """Import the SDK of the protocol without its client and its second server interface.

    That saves 12 MB of memory and a third of the time of the import.
    """
    import_with_stubs("mcp", ("mcp.client", "mcp.server.mcpserver"))


def _serve_mcp_session(engine: Callable[[], Engine], connection: Connection, session: Mapping[str, Any]) -> None:
    """Run the session of an agent on the engine of a language server."""
    import_sdk()
    from promptls.mcp.mcp_server import serve_attached

    serve_attached(engine, connection, session)


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

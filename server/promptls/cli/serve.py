"""promptls serve: the language server."""

from __future__ import annotations

import argparse
import faulthandler
import signal
from contextlib import suppress
from typing import Any

from promptls.cli.loopback import cannot_listen, parse_loopback
from promptls.cli.output import require_stream


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("serve", help="run the language server over stdin and stdout")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen on a loopback address instead (for debugging)")
    parser.add_argument("--stdio", action="store_true", help="use stdin and stdout (the default)")
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    if not options.tcp:
        require_stream("stdin")
    from promptls.index import limit_memory, prestart_worker

    prestart_worker()
    limit_memory()
    _enable_stack_dumps()
    from promptls.lsp import serve_stdio, serve_tcp

    if not options.tcp:
        return serve_stdio()
    host, port = parse_loopback("--tcp", options.tcp, "127.0.0.1:2087")
    try:
        return serve_tcp(host, port)
    except OSError as error:
        raise cannot_listen(options.tcp, error) from None


def _enable_stack_dumps() -> None:
    """Print the stacks of all threads to stderr when the interpreter crashes, and on SIGUSR1, where signals exist."""
    with suppress(OSError, RuntimeError, ValueError):  # stderr is closed
        faulthandler.enable()
    if hasattr(faulthandler, "register"):
        with suppress(OSError, RuntimeError, ValueError):  # stderr is closed
            faulthandler.register(signal.SIGUSR1)

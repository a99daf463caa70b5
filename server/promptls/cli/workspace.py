"""Shared by the commands: workspace arguments, the engine, and requests on a complete index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from promptls.cli.output import UsageError, print_error

if TYPE_CHECKING:
    from promptls.engine import Engine

REPORT_INTERVAL_S = 10
"""Interval between sentences about the progress of the index, in seconds; small workspaces take less."""


def add_workspace_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--root` and `--json`."""
    parser.add_argument(
        "--root", action="append", metavar="DIR", help="workspace folder (default: current folder); repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print the protocol result as JSON")


def workspace_paths(options: argparse.Namespace) -> list[str]:
    """Return the absolute paths of the workspace folders.

    Raises:
        UsageError: A folder does not exist or cannot be read.
    """
    from promptls.api.open_workspace import InvalidFolder, folder_path

    try:
        return [folder_path(name) for name in options.root or ["."]]
    except InvalidFolder as error:
        raise UsageError(str(error)) from None


def start_engine(options: argparse.Namespace) -> Engine:
    """Start the engine for the workspace folders with the user's settings."""
    from promptls.api.open_workspace import open_workspace
    from promptls.settings import user_settings

    roots = workspace_paths(options)
    settings, problems = user_settings()
    for problem in problems:
        print_error(problem.message)
    return open_workspace(roots, settings)


@contextmanager
def request(
    options: argparse.Namespace, method: str, params: dict[str, Any], needs_index: bool = True
) -> Iterator[dict[str, Any]]:
    """Serve one request on a complete index and yield its result; the index is stored afterwards.

    Args:
        options: Arguments with the workspace folders.
        method: Name of the request.
        params: Params of the request.
        needs_index: Whether to wait for the index; requests that do not read it skip this.

    Raises:
        UsageError: The params are invalid.
    """
    if needs_index:
        from promptls.index import prestart_worker

        prestart_worker()
    from promptls.api import params as protocol
    from promptls.api.requests import CUSTOM_REQUESTS
    from promptls.model import CancelToken

    kind, function = CUSTOM_REQUESTS[method]
    try:
        decoded = protocol.decode(kind, params)
        engine = start_engine(options)
        try:
            if needs_index:
                wait_for_index(engine)
                # the server updates this in the background; here the first request is the only one
                engine.services.cooccurrence.follow(engine.index.snapshot())
            yield function(engine, decoded, CancelToken())
            print(end="", flush=True)
            if needs_index:
                wait_for_index(engine, stored=True)
        finally:
            engine.close()
    except protocol.InvalidParams as error:
        raise UsageError(str(error)) from None


def wait_for_index(engine: Engine, stored: bool = False) -> None:
    """Wait until the index is complete, or stored; report the progress with a bar on a terminal, else in sentences."""
    index = engine.index
    wait = index.wait_until_stored if stored else index.wait_until_searchable
    if wait(timeout_s=0.3):
        return
    if not sys.stderr.isatty():
        while not wait(timeout_s=REPORT_INTERVAL_S):
            state = index.state()
            done = f"{state.files - state.unread:,} of {state.files:,} files" if state.files else "listing the files"
            print_error(f"indexing, {done}. Choose a smaller folder with --root DIR if this takes too long.")
        return
    from tqdm import tqdm

    with tqdm(total=1, desc="indexing", unit=" files", leave=False, file=sys.stderr) as bar:
        while not wait(timeout_s=0.1):
            state = index.state()
            bar.total, bar.n = max(1, state.files), int(state.progress * state.files)
            bar.refresh()

"""Shared by the commands: workspace arguments, the engine, and requests on a complete index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from promptls.cli.output import UsageError, print_error
from promptls.util.termination import cleanup_on_signal

if TYPE_CHECKING:
    from promptls.engine import Engine

REPORT_INTERVAL_S = 10
"""Interval between sentences about the progress of the index, in seconds; small workspaces take less."""
RERANKED_METHODS = ("promptls/search", "promptls/list", "promptls/buildPrompt", "promptls/callTool")
"""Requests that use the reranking model, if one is configured."""
MODEL_TIMEOUT_S = 60.0
"""Maximum wait for a reranking model, in seconds; a large one on a slow disk takes longest."""

TEAM_TIMEOUT_S = 15.0
"""Maximum time for opening the team index, in seconds; a server opens it in the background."""


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
    from promptls.api.open_workspace import folder_path

    return [folder_path(name) for name in options.root or ["."]]


@contextmanager
def started_engine(options: argparse.Namespace) -> Iterator[Engine]:
    """Start the engine for the workspace folders with the user's settings, and close it at the end."""
    from promptls.api.open_workspace import open_workspace
    from promptls.settings import user_settings

    roots = workspace_paths(options)
    settings, problems = user_settings()
    for problem in problems:
        print_error(problem.message)
    engine = open_workspace(roots, settings)
    with cleanup_on_signal(engine.close):
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def request(
    options: argparse.Namespace, method: str, params: dict[str, Any], needs_index: bool = True
) -> Iterator[dict[str, Any]]:
    """Serve one request on a complete index and yield its result; the index is stored afterwards.

    Requests that do not read the index do not wait for it.  Raises UsageError for invalid params.
    """
    if needs_index:
        from promptls.index import prestart_worker

        prestart_worker()
    from promptls.api.messages import params as protocol
    from promptls.api.requests import CUSTOM_REQUESTS
    from promptls.model import CancelToken

    kind, function = CUSTOM_REQUESTS[method]
    try:
        decoded = protocol.decode(kind, params)
        with started_engine(options) as engine:
            if needs_index:
                wait_for_index(engine)
                # the server does this in the background; here the first request is the only one
                if method in RERANKED_METHODS:
                    engine.index.wait_for_reranker(MODEL_TIMEOUT_S)
                if method in ("promptls/read", "promptls/callTool"):
                    engine.graph_of(engine.index.snapshot())
                engine.services.cooccurrence.follow(engine.index.snapshot())
                if engine.team is not None:
                    engine.team.wait_until_open(TEAM_TIMEOUT_S)
            result = function(engine, decoded, CancelToken())
            if needs_index and "warnings" not in result and (problem := engine.index.state().problem):
                print_error(problem)
            yield result
            print(end="", flush=True)
            if needs_index:
                wait_for_index(engine, stored=True)
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

    bar = tqdm(total=1, desc="indexing", unit=" files", leave=False, file=sys.stderr)
    with bar, cleanup_on_signal(bar.close):
        while not wait(timeout_s=0.1):
            state = index.state()
            bar.total, bar.n = max(1, state.files), int(state.progress * state.files)
            bar.refresh()

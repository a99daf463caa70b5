"""Shared by the commands: workspace arguments, the engine, and requests on a complete index."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from promptls.cli.output import UsageError, print_error
from promptls.util.termination import cleanup_on_signal

if TYPE_CHECKING:
    from tqdm import tqdm

    from promptls.engine import Engine

BAR_DELAY_S, POLL_S = 0.3, 0.02
"""Seconds until a progress bar appears, and between two checks whether the index is complete."""
REPORT_INTERVAL_S = 10
"""Interval between sentences about the progress of the index, in seconds; small workspaces take less."""
EXPANDED_METHODS = ("promptls/search", "promptls/list", "promptls/buildPrompt", "promptls/callTool")
"""Requests whose queries get further terms."""

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

    An editor's server with the same folders serves it, if there is one.  Requests that do not read the index do not wait
    for it.  Raises UsageError for invalid params.
    """
    result = _attached_request(workspace_paths(options), method, params) if needs_index else None
    if result is not None:
        yield result
        return
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
                if method in EXPANDED_METHODS:
                    engine.services.cooccurrence.follow(engine.index.snapshot())
                if method in ("promptls/read", "promptls/callTool"):
                    engine.graph_of(engine.index.snapshot())
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


def _attached_request(roots: Sequence[str], method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request on the engine of an editor's server, None if there is none."""
    from promptls.attach.client import CONNECTION_ERRORS, REQUESTS, RequestFailed, attach

    attached = attach(roots, REQUESTS)
    if attached is None:
        return None
    status: dict[str, Any] = {}

    def progress() -> tuple[bool, int, int]:
        status.update(attached.request("promptls/status", {}).result)
        files = sum(root["files"] for root in status["roots"])
        return status["complete"] >= 1, int(files * status["complete"]), files

    try:
        with cleanup_on_signal(attached.close):
            show_progress(progress)
            answer = attached.request(method, params)
    except RequestFailed as error:
        raise UsageError(str(error)) from None
    except CONNECTION_ERRORS:
        return None  # the editor was closed
    finally:
        attached.close()
    if answer.unsaved:
        print_error(f"{', '.join(answer.unsaved)}: unsaved in the editor.")
    if status["state"] == "degraded" and "warnings" not in answer.result:
        print_error(status["message"])
    return answer.result


def wait_for_index(engine: Engine, stored: bool = False) -> None:
    """Wait until the index is complete, or stored; show the progress."""
    index = engine.index
    wait = index.wait_until_stored if stored else index.wait_until_searchable

    def progress() -> tuple[bool, int, int]:
        is_complete, state = wait(timeout_s=0.1), index.state()
        return is_complete, int(state.progress * state.files), state.files

    show_progress(progress)


def show_progress(progress: Callable[[], tuple[bool, int, int]]) -> None:
    """Wait for an index; show its progress with a bar on a terminal, else in sentences.

    `progress` waits a moment and returns whether the index is complete, and the numbers of files done and of all files.
    """
    began = reported = time.monotonic()
    bar: tqdm[Any] | None = None

    def close() -> None:
        if bar is not None:
            bar.close()

    with cleanup_on_signal(close):
        while True:
            is_complete, done, files = progress()
            now = time.monotonic()
            if is_complete:
                break
            if sys.stderr.isatty() and now - began > BAR_DELAY_S:
                bar = bar or _bar()
                bar.total, bar.n = max(1, files), done
                bar.refresh()
            elif not sys.stderr.isatty() and now - reported > REPORT_INTERVAL_S:
                reported = now
                shown = f"{done:,} of {files:,} files" if files else "listing the files"
                print_error(f"indexing, {shown}. Choose a smaller folder with --root DIR if this takes too long.")
            time.sleep(POLL_S)
    close()


def _bar() -> tqdm[Any]:
    from tqdm import tqdm

    return tqdm(total=1, desc="indexing", unit=" files", leave=False, file=sys.stderr)

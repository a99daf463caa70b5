"""The language server: registers all handlers, and serves one client over stdin and stdout, or TCP for debugging."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from promptls.lsp import lifecycle, notebook_sync, text_sync
from promptls.lsp.commands import answer, set_budget, show_prompt
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import command_handler, request_handler
from promptls.lsp.handlers import (
    ANSWER_COMMAND,
    COPY_PROMPT_COMMAND,
    CUSTOM_REQUESTS,
    LSP_FEATURES,
    OPEN_PAGE_COMMAND,
    OPEN_PROMPT_COMMAND,
    PAGE_ACTION_COMMAND,
    PAGE_RESULT_COMMAND,
    SET_BUDGET_COMMAND,
)
from promptls.lsp.pages import open_page, page_action, page_result, text_document_content
from promptls.lsp.transport.jsonrpc import GuardedWriter
from promptls.util.termination import cleanup_on_signal

if TYPE_CHECKING:
    from promptls.attach.listener import Session

log = logging.getLogger(__name__)

EXIT_TIMEOUT_S = 1.5
"""Seconds after which the process ends, whatever runs."""

LIFECYCLE_AND_SYNC: dict[str, Callable[..., Any]] = {
    lsp.INITIALIZE: lifecycle.initialize,
    lsp.INITIALIZED: lifecycle.initialized,
    lsp.SHUTDOWN: lifecycle.shutdown,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lifecycle.did_change_workspace_folders,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lifecycle.did_change_configuration,
    lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: lifecycle.progress_cancel,
    lsp.TEXT_DOCUMENT_DID_OPEN: text_sync.did_open,
    lsp.TEXT_DOCUMENT_DID_CHANGE: text_sync.did_change,
    lsp.TEXT_DOCUMENT_DID_SAVE: text_sync.did_save,
    lsp.TEXT_DOCUMENT_DID_CLOSE: text_sync.did_close,
    lsp.NOTEBOOK_DOCUMENT_DID_OPEN: notebook_sync.did_open,
    lsp.NOTEBOOK_DOCUMENT_DID_CHANGE: notebook_sync.did_change,
    lsp.NOTEBOOK_DOCUMENT_DID_SAVE: notebook_sync.did_save,
    lsp.NOTEBOOK_DOCUMENT_DID_CLOSE: notebook_sync.did_close,
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: text_sync.did_change_watched_files,
}
"""Handlers of the life cycle and of synchronization by LSP method."""


DOCUMENT_REQUESTS: dict[str, Callable[..., Any]] = {
    SET_BUDGET_COMMAND: set_budget,
    ANSWER_COMMAND: answer,
    OPEN_PAGE_COMMAND: open_page,
    PAGE_ACTION_COMMAND: page_action,
    PAGE_RESULT_COMMAND: page_result,
}
"""Handlers of prompt documents and pages by command; each is also a request."""


def create_server(sessions: Mapping[str, Session] = {}) -> PromptServer:
    """Create a language server with all handlers registered.

    `sessions` are the kinds of sessions that it offers to other processes in addition to requests.
    Each custom request is also registered as a command of the same name with a dot instead of the slash.
    """
    server = PromptServer(notebook_sync.NOTEBOOK_SYNC, sessions)
    for method, handler in LIFECYCLE_AND_SYNC.items():
        server.feature(method)(handler)
    for method, (kind, function) in CUSTOM_REQUESTS.items():
        server.feature(method)(request_handler(method, kind, function))
        server.command(method.replace("/", "."))(command_handler(method, kind, function))
    for method, (kind, function, options) in LSP_FEATURES.items():
        server.feature(method, options)(request_handler(method, kind, function))
    for command in (OPEN_PROMPT_COMMAND, COPY_PROMPT_COMMAND):
        server.command(command)(show_prompt)
    for command, handler in DOCUMENT_REQUESTS.items():
        server.feature(command.replace(".", "/"))(handler)
        server.command(command)(handler)
    server.feature(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT)(text_document_content)
    return server


def serve_stdio(sessions: Mapping[str, Session] = {}) -> int:
    """Serve over stdin and stdout until the client exits, and return the exit status."""
    server = create_server(sessions)
    with cleanup_on_signal(server.stop):
        try:
            if not asyncio.run(_serve(server)):
                _report("The client closed the server's output, or its process ended")
                server.stop()
                logging.shutdown()
                os._exit(1)  # a thread blocks on stdin and would keep the process alive
        except (BrokenPipeError, SystemExit):
            pass  # the notification `exit`, or a client that is gone
        finally:
            status = 0 if server.protocol._shutdown and not server.framing_problem else 1
            threading.Thread(target=_exit_at_the_latest, args=(status,), daemon=True).start()
            server.shutdown()  # type: ignore[no-untyped-call]
            server.stop()
    if server.framing_problem:
        _report(f"Invalid message framing: {server.framing_problem}")
    elif not server.protocol._shutdown:
        _report("The connection ended without the request shutdown")
    else:
        return 0
    return 1


def _exit_at_the_latest(status: int) -> None:
    """End the process if its threads do not end in time; whatever is being written is consistent without them."""
    time.sleep(EXIT_TIMEOUT_S)
    log.warning("not all work ended within %.1f s", EXIT_TIMEOUT_S)
    logging.shutdown()
    os._exit(status)


def _report(problem: str) -> None:
    """Report why the server exits with status 1, in the log and on stderr."""
    log.error("%s. The server exits.", problem)
    with suppress(OSError):
        print(f"promptls: {problem}. The server exits.", file=sys.stderr)


async def _serve(server: PromptServer) -> bool:
    """Serve until stdin ends or the client is gone; return whether stdin ended first."""
    server.protocol.set_writer(GuardedWriter(sys.stdout.buffer, server.disconnected))
    listening = asyncio.ensure_future(server.listen(sys.stdin.buffer))
    disconnected = asyncio.ensure_future(server.disconnected.wait())
    await asyncio.wait([listening, disconnected], return_when=asyncio.FIRST_COMPLETED)
    if not listening.done():
        return False
    disconnected.cancel()
    listening.result()
    return True

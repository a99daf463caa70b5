"""Life cycle of the server: initialization, settings, workspace folders, engine start and shutdown.

The engine and the index are imported after `initialize` has been answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from promptls.api.params import Json
from promptls.index import from_uri
from promptls.lsp.client.client_context import client_supports
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import EngineStartError
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.lsp.status import schedule_status
from promptls.lsp.synced_workspace import SyncedWorkspace
from promptls.lsp.text_sync import reclassify_documents
from promptls.lsp.transport.jsonrpc import to_json
from promptls.model import Root

if TYPE_CHECKING:  # imported after `initialize` has been answered
    from promptls.engine import Engine

log = logging.getLogger(__name__)

SETTINGS_TIMEOUT_S = 5.0
"""Maximum time that the start waits for the client's settings, in seconds; later ones are applied on arrival."""
START_RETRY_S = 2.0
"""Delay before the engine start is retried, in seconds; the cause may be fixed by then."""


# ---- handlers


def initialize(server: PromptServer, params: lsp.InitializeParams) -> None:
    """Handle `initialize`."""
    server.loop = asyncio.get_running_loop()
    pygls_workspace = server.workspace
    folders = list(pygls_workspace.folders.values())
    server.protocol._workspace = SyncedWorkspace(
        pygls_workspace.root_uri,
        workspace_folders=folders,
        position_encoding=pygls_workspace.position_encoding,
    )
    server.engine_future = server.loop.create_future()
    server.configuration.initialize(params.initialization_options or None)
    root_uri = pygls_workspace.root_uri
    root = [] if folders or not root_uri else [lsp.WorkspaceFolder(root_uri, "")]
    _update_folders(server, folders or root, ())


async def initialized(server: PromptServer, params: lsp.InitializedParams) -> None:
    """Handle `Initialized`."""
    if server.initialized:
        return
    server.initialized = True
    server.create_task(_register_file_watcher(server))
    settings_request = server.create_task(_request_settings(server))
    await asyncio.wait({settings_request}, timeout=SETTINGS_TIMEOUT_S)
    await _start_engine(server)
    _apply_settings(server)  # they may have changed during the start


def shutdown(server: PromptServer, params: None) -> None:
    """Handle `shutdown`."""
    server.stop()


def did_change_workspace_folders(server: PromptServer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    """Handle `workspace/didChangeWorkspaceFolders`."""
    _update_folders(server, params.event.added, params.event.removed)


async def did_change_configuration(server: PromptServer, params: lsp.DidChangeConfigurationParams) -> None:
    """Handle `workspace/didChangeConfiguration`."""
    if _can_request_settings(server):
        await _request_settings(server)
    elif isinstance(pushed := to_json(params.settings), dict) and "promptls" in pushed:
        server.configuration.push(pushed["promptls"])
        _apply_settings(server)


def progress_cancel(server: PromptServer, params: lsp.WorkDoneProgressCancelParams) -> None:
    """Handle `window/workDoneProgress/cancel`."""
    if server.indexing_progress.is_active(params.token) and server.engine is not None:
        server.engine.indexer.pause()


# ---- settings and folders


def _can_request_settings(server: PromptServer) -> bool:
    workspace = server.client_capabilities.workspace
    return workspace is not None and bool(workspace.configuration)


async def _request_settings(server: PromptServer) -> None:
    """Request the workspace settings from the client and apply them."""

    async def fetch() -> Any:
        item = lsp.ConfigurationItem(section="promptls")
        values = await server.workspace_configuration_async(lsp.ConfigurationParams([item]))
        return to_json(values[0]) if values else None

    if _can_request_settings(server):
        await server.configuration.request(fetch)
        _apply_settings(server)


def _apply_settings(server: PromptServer) -> None:
    """Report new problems of the settings and pass the settings to everything that depends on them."""
    for problem in server.configuration.new_problems():
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, problem))
    reclassify_documents(server)
    if server.engine is not None:
        server.engine.apply(server.settings)
        server.index_workspace = server.engine.workspace
    schedule_diagnostics(server)


def _update_folders(
    server: PromptServer, added: Iterable[lsp.WorkspaceFolder], removed: Iterable[lsp.WorkspaceFolder]
) -> None:
    """Update the workspace folders; a folder that is both removed and added was renamed."""
    for folder in removed:
        server.folders.pop(from_uri(folder.uri) or "", None)
    for folder in added:
        path = from_uri(folder.uri)
        if path is not None:
            server.folders[path] = Root(path, folder.name or path.rsplit("/", 1)[-1] or path, folder.uri)
    server.index_workspace.set_roots(server.folders.values())


# ---- engine


def _supports_insert_replace(server: PromptServer) -> bool:
    """Return whether the client chooses between inserting a completion and replacing text with it."""
    text_document = server.client_capabilities.text_document
    completion = text_document.completion if text_document is not None else None
    item = completion.completion_item if completion is not None else None
    return item is not None and bool(item.insert_replace_support)


async def _start_engine(server: PromptServer) -> None:
    """Build and start the engine, retrying until it succeeds; requests fail with the cause meanwhile."""
    assert server.engine_future is not None and server.loop is not None
    loop, future = server.loop, server.engine_future

    def build() -> Engine:
        from promptls.api import build_prompt, status  # noqa: F401  (before the first request arrives)
        from promptls.engine import Engine
        from promptls.lsp.session import PromptDocumentSession

        complete = None
        if client_supports(server, "complete"):
            complete = lambda params: _send_complete(server, loop, params)  # noqa: E731
        encoding = str(server.workspace.position_encoding or "utf-16")
        on_change = lambda: _call_soon(loop, lambda: schedule_status(server))  # noqa: E731
        engine = Engine(server.settings, server.index_workspace, on_change, complete, encoding)
        server.session = PromptDocumentSession(engine, server.documents, _supports_insert_replace(server))
        return engine

    while True:
        try:
            engine = await loop.run_in_executor(server.request_executor, build)
            engine.start()
            break
        except Exception as error:
            if server.protocol._shutdown:
                return
            log.exception("promptls failed to start")
            if not future.done():
                message = _start_error(error)
                future.set_exception(EngineStartError(message))
                server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, message))
        await asyncio.sleep(START_RETRY_S)
    if future.done():
        future = server.engine_future = loop.create_future()
    future.set_result(engine)


def _start_error(error: Exception) -> str:
    cause = str(error).rstrip(".") or type(error).__name__
    return (
        f"promptls failed to start: {cause}. Retrying every {START_RETRY_S:.0f} s; "
        "run `promptls doctor` for a diagnosis."
    )


def _send_complete(server: PromptServer, loop: asyncio.AbstractEventLoop, params: Json) -> Future[Any]:
    """Send `promptls/complete` to the client from any thread; the future's result is plain JSON."""

    async def send() -> Any:
        return to_json(await server.protocol.send_request_async("promptls/complete", params))

    return asyncio.run_coroutine_threadsafe(send(), loop)


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        pass  # the loop is closed


async def _register_file_watcher(server: PromptServer) -> None:
    """Ask the client to report changes of all files."""
    workspace = server.client_capabilities.workspace
    capability = workspace.did_change_watched_files if workspace else None
    if capability is None or not capability.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers=[lsp.FileSystemWatcher(glob_pattern="**/*")])
    registration = lsp.Registration("promptls-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    try:
        await server.client_register_capability_async(lsp.RegistrationParams([registration]))
    except JsonRpcException as error:
        log.info("the client does not watch files: %s", error)

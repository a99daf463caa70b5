"""Life cycle of the server: initialization, settings, workspace folders, engine start and shutdown.

The engine and the index are imported after `initialize` has been answered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.workspace import PositionCodec, TextDocument, Workspace

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.index import document_path, from_uri, is_file_path, to_uri
from promptls.lsp.client_context import client_supports
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import EngineStartError
from promptls.lsp.handlers import CUSTOM_REQUESTS
from promptls.lsp.pages import rebuild_incomplete
from promptls.lsp.process_watch import watch_process
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.lsp.text_sync import reclassify_documents, update_paths
from promptls.lsp.transport.jsonrpc import PromptServerProtocol, to_json
from promptls.model import CancelToken, Root
from promptls.util.text.positions import LineIndex

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
    server.protocol._workspace = SyncedWorkspace(None, position_encoding=server.workspace.position_encoding)
    server.engine_future = server.loop.create_future()
    server.configuration.initialize(params.initialization_options or None)
    assert isinstance(server.protocol, PromptServerProtocol)
    _open_roots(server, server.protocol.root_params)
    if params.process_id is not None:
        watch_process(server.loop, params.process_id, server.disconnected.set)


async def initialized(server: PromptServer, params: lsp.InitializedParams) -> None:
    """Handle `Initialized`."""
    if server.initialized:
        return
    server.initialized = True
    _show_folder_problems(server)
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
    _show_folder_problems(server)


async def did_change_configuration(server: PromptServer, params: lsp.DidChangeConfigurationParams) -> None:
    """Handle `workspace/didChangeConfiguration`.

    The settings that most clients send are those of the workspace, or both merged, so they are not trusted. A client
    that declares `userSettings` sends the user's own settings, which replace the initialization options.
    """
    pushed = to_json(params.settings)
    has_settings = isinstance(pushed, dict) and "promptls" in pushed
    if has_settings and client_supports(server, "userSettings"):
        server.configuration.replace_options(pushed["promptls"])
        has_settings = False
        _apply_settings(server)
    if _can_request_settings(server):
        await _request_settings(server)
    elif has_settings:
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
        server.folders.pop(document_path(folder.uri, ()), None)
    for folder in added:
        path = document_path(folder.uri, ())
        if is_file_path(path):
            uri = folder.uri if from_uri(folder.uri) is not None else to_uri(path)
            # Some clients send no name, others the whole path.
            is_name = folder.name and not is_file_path(folder.name)
            server.folders[path] = Root(path, folder.name if is_name else path.rsplit("/", 1)[-1] or path, uri)
        else:
            problem = f"Cannot open the workspace folder {folder.uri!r}: it is not a folder of this machine. "
            server.folder_problems.append(problem + "Open a folder with a file URI.")
    server.index_workspace.set_roots(server.folders.values())
    update_paths(server)
    if server.listener is not None:
        server.request_executor.submit(server.listener.serve)


def _open_roots(server: PromptServer, params: lsp.InitializeParams) -> None:
    """Open the workspace folders, else the root URI, else the root path; the later ones are deprecated in LSP."""
    alternatives = [list(params.workspace_folders or ())]
    alternatives += [[lsp.WorkspaceFolder(uri, "")] for uri in (params.root_uri, params.root_path) if uri]
    for folders in alternatives:
        _update_folders(server, folders, ())
        if server.folders:
            return


def _show_folder_problems(server: PromptServer) -> None:
    """Show the problems of workspace folders to the user, once each."""
    for problem in dict.fromkeys(server.folder_problems):
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, problem))
    server.folder_problems.clear()


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
        from promptls.api import build_prompt, index_requests  # noqa: F401  (before the first request arrives)
        from promptls.engine import Engine
        from promptls.lsp.session import PromptDocumentSession

        complete = None
        if client_supports(server, "complete"):
            complete = lambda params: _send_complete(server, loop, params)  # noqa: E731
        encoding = str(server.workspace.position_encoding or "utf-16")
        on_change = lambda: _call_soon(loop, lambda: schedule_status(server))  # noqa: E731
        engine = Engine(server.settings, server.index_workspace, on_change, complete, encoding)
        server.session = PromptDocumentSession(engine, server.documents, _supports_insert_replace(server))
        engine.start()
        _start_listener(server, engine)
        return engine

    while True:
        try:
            engine = await loop.run_in_executor(server.request_executor, build)
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


def _start_listener(server: PromptServer, engine: Engine) -> None:
    """Let other processes use the engine."""
    from promptls.attach.listener import AttachListener

    server.listener = AttachListener(engine, server.sessions)
    server.listener.serve()
    if server.protocol._shutdown:
        server.listener.close()


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


# ---------------------------------------------------------------- status


STATUS_DELAY_S = 0.05
"""Minimum delay before a status notification, in seconds; changes within it are sent together."""
STATUS_MAX_LOAD = 20
"""Delay of the next notification, in multiples of the time that the last status took: at most 5 % of one core."""


def schedule_status(server: PromptServer) -> None:
    """Schedule a status notification, early if the phase of the indexer changed; runs after every indexer step."""
    if server.loop is None or server.engine is None:
        return
    phase_changed = server.engine.index.progress_flags != server.status_phase
    delay = STATUS_DELAY_S if phase_changed else max(STATUS_DELAY_S, STATUS_MAX_LOAD * server.status_duration_s)
    if server.status_timer is not None:
        if server.status_timer.when() <= server.loop.time() + delay:
            return
        server.status_timer.cancel()
    server.status_timer = server.loop.call_later(delay, lambda: asyncio.ensure_future(_send_status(server)))


async def _send_status(server: PromptServer) -> None:
    server.status_timer = None
    if server.engine is None or server.protocol._shutdown or server.loop is None:
        return
    start = time.perf_counter()
    server.status_phase = server.engine.index.progress_flags
    _, compute_status = CUSTOM_REQUESTS["promptls/status"]
    try:
        status: Json = await server.loop.run_in_executor(
            server.request_executor, compute_status, server.engine, protocol.NoParams(), CancelToken()
        )
    except RuntimeError:
        return  # the executor is shut down
    server.status_duration_s = time.perf_counter() - start
    if status == {**server.last_status, "memoryBytes": status["memoryBytes"]}:
        return
    server.last_status = status
    server.protocol.notify("promptls/statusChanged", status)
    schedule_diagnostics(server)
    if status["complete"] == 1 and server.documents.pages.incomplete():
        server.create_task(rebuild_incomplete(server))
    await server.indexing_progress.update(status)


# ---------------------------------------------------------------- synced workspace


class SyncedDocument(TextDocument):
    """A document whose text comes from the editor alone.

    pygls differs in four ways: it fails for a URI that urllib cannot parse, it reads the disk for a document that was
    never opened (a named pipe would block), it treats form feeds and U+2028 as line ends, and it loses edits whose range
    is reversed.
    """

    def __init__(
        self, uri: str, source: str | None, version: int | None, language_id: str | None, position_codec: PositionCodec
    ) -> None:
        """Create a document; unlike pygls, without parsing the URI, which fails for some."""
        self.uri, self.version, self.language_id = uri, version, language_id
        self._source = source
        self._is_sync_kind_full, self._is_sync_kind_incremental, self._is_sync_kind_none = False, True, False
        self._position_codec = position_codec

    @property
    def source(self) -> str:
        """Text of the document."""
        return self._source or ""

    def _apply_incremental_change(self, change: lsp.TextDocumentContentChangePartial) -> None:
        encoding = self.position_codec.encoding
        lines = LineIndex(self.source, str(getattr(encoding, "value", encoding)))
        offsets = [lines.offset(edge.line, edge.character) for edge in (change.range.start, change.range.end)]
        self._source = lines.text[: min(offsets)] + change.text + lines.text[max(offsets) :]


class SyncedWorkspace(Workspace):
    """The pygls workspace with documents of class `SyncedDocument`."""

    def update_text_document(
        self, text_doc: lsp.VersionedTextDocumentIdentifier, change: lsp.TextDocumentContentChangeEvent
    ) -> None:
        """Apply a change of a document; pygls fails for one that is not open."""
        if unquote(text_doc.uri) in self.text_documents:
            super().update_text_document(text_doc, change)

    def update_notebook_document(self, params: lsp.DidChangeNotebookDocumentParams) -> None:
        """Apply a change of a notebook; changes of a notebook or a cell that is not open are ignored."""
        if self.get_notebook_document(notebook_uri=params.notebook_document.uri) is None:
            log.warning("ignored a change of %s, which is not open", params.notebook_document.uri)
            return
        super().update_notebook_document(params)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return SyncedDocument(doc_uri, source, version, language_id, position_codec=self.position_codec)

"""Creation of the language server: registers all handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

from promptls.lsp import lifecycle, notebook_sync, text_sync
from promptls.lsp.commands import show_prompt
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import command_handler, request_handler
from promptls.lsp.handlers import COPY_PROMPT_COMMAND, CUSTOM_REQUESTS, LSP_FEATURES, OPEN_PROMPT_COMMAND

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


def create_server() -> PromptServer:
    """Create a language server with all handlers registered.

    Each custom request is also registered as a command of the same name with a dot instead of the slash.
    """
    server = PromptServer(notebook_sync.NOTEBOOK_SYNC)
    for method, handler in LIFECYCLE_AND_SYNC.items():
        server.feature(method)(handler)
    for method, (kind, function) in CUSTOM_REQUESTS.items():
        server.feature(method)(request_handler(method, kind, function))
        server.command(method.replace("/", "."))(command_handler(method, kind, function))
    for method, (kind, function, options) in LSP_FEATURES.items():
        server.feature(method, options)(request_handler(method, kind, function))
    for command in (OPEN_PROMPT_COMMAND, COPY_PROMPT_COMMAND):
        server.command(command)(show_prompt)
    return server

"""Text synchronization: document and watched-file notifications.

The handlers are plain functions on the event loop. They only record changes; the indexer processes them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.workspace import TextDocument

from promptls.index import file_stat, from_uri, is_file_path, workspace_path
from promptls.lsp.connection import PromptServer
from promptls.lsp.documents import EXPORTED_LANGUAGE, PromptDocument
from promptls.lsp.handlers import PAGE_SCHEME
from promptls.lsp.publish_diagnostics import clear_document, schedule_diagnostics
from promptls.model.files import is_prompt_document

log = logging.getLogger(__name__)


def did_open(server: PromptServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """Handle `textDocument/didOpen`; the server has the text of its own pages."""
    if params.text_document.uri.startswith(f"{PAGE_SCHEME}:"):
        return
    on_disk = file_stat(server.path_of(params.text_document.uri)) is not None
    _store_document(server, params.text_document.uri, edited=not on_disk)
    engine = server.engine
    if engine is not None and engine.team is not None and server.documents.get(params.text_document.uri) is not None:
        engine.team.warm()


def did_change(server: PromptServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Handle `textDocument/didChange`."""
    uri = params.text_document.uri
    if uri.startswith(f"{PAGE_SCHEME}:"):
        return
    if unquote(uri) not in server.workspace.text_documents:
        log.warning("ignored a change of %s, which is not open", uri)
        return
    _store_document(server, uri, edited=True)


def did_save(server: PromptServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """Handle `textDocument/didSave`."""
    server.index_workspace.mark_saved(server.path_of(params.text_document.uri))


def did_close(server: PromptServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Handle `textDocument/didClose`."""
    uri = params.text_document.uri
    server.documents.remove(uri)
    clear_document(server, uri)
    close_path(server, uri)


def close_path(server: PromptServer, uri: str) -> None:
    """Remove the text of a document from the index; another open document of the same file replaces it."""
    path, other = server.document_paths.close(uri)
    if other is not None:
        _store_document(server, other, edited=True)
    elif path is not None:
        server.index_workspace.close_document(path)


def did_change_watched_files(server: PromptServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    """Handle `workspace/didChangeWatchedFiles`."""
    roots = [root.path for root in server.index_workspace.roots]
    paths = (path for change in params.changes if (path := from_uri(change.uri)))
    server.index_workspace.touch([path if _is_below(path, roots) else workspace_path(path, roots) for path in paths])


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root.rstrip("/") + "/") for root in roots)


def update_paths(server: PromptServer) -> None:
    """Move open documents in the index whose path has changed with the workspace folders."""
    for uri in server.document_paths.moved(server.index_workspace.roots):
        path = server.path_of(uri)
        document, edited = server.index_workspace.documents.get(path), path in server.index_workspace.unsaved
        close_path(server, uri)
        if document is not None:
            path = server.document_paths.record(uri, server.index_workspace.roots)
            server.index_workspace.put_open_document(path, document, edited)


def reclassify_documents(server: PromptServer) -> None:
    """Re-evaluate which open documents are prompt documents, after `documents.languages` changed."""
    languages = server.settings.documents.languages
    for document in server.workspace.text_documents.values():
        is_prompt = is_prompt_document(document.uri, document.language_id or "", languages)
        if is_prompt != (server.documents.get(document.uri) is not None):
            server.documents.put(prompt_document(document), languages)
            if not is_prompt:
                clear_document(server, document.uri)


def _store_document(server: PromptServer, uri: str, edited: bool) -> None:
    document = prompt_document(server.workspace.get_text_document(uri))
    server.documents.put(document, server.settings.documents.languages)
    schedule_diagnostics(server)
    path = server.document_paths.record(uri, server.index_workspace.roots)
    if is_file_path(path) or document.language != EXPORTED_LANGUAGE:
        server.index_workspace.put_document(path, document.text, document.version, edited, document.language, uri)


def prompt_document(document: TextDocument) -> PromptDocument:
    """Return the current version of a document."""
    return PromptDocument(document.uri, document.language_id or "", document.version or 0, document.source)

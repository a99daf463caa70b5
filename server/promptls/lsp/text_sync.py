"""Text synchronization: document and watched-file notifications.

The handlers are plain functions on the event loop. They only record changes; the indexer processes them.
"""

from __future__ import annotations

import logging
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.workspace import TextDocument

from promptls.index import file_stat, from_uri
from promptls.lsp.connection import PromptServer
from promptls.lsp.documents import PromptDocument
from promptls.lsp.publish_diagnostics import clear_document, schedule_diagnostics
from promptls.model.prompt_documents import is_prompt_document

log = logging.getLogger(__name__)


def did_open(server: PromptServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """Handle `textDocument/didOpen`."""
    path = from_uri(params.text_document.uri)
    on_disk = file_stat(path) is not None if path else False
    _store_document(server, params.text_document.uri, edited=not on_disk)


def did_change(server: PromptServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Handle `textDocument/didChange`."""
    uri = params.text_document.uri
    if unquote(uri) not in server.workspace.text_documents:
        log.warning("ignored a change of %s, which is not open", uri)
        return
    _store_document(server, uri, edited=True)


def did_save(server: PromptServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """Handle `textDocument/didSave`."""
    if path := from_uri(params.text_document.uri):
        server.index_workspace.mark_saved(path)


def did_close(server: PromptServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Handle `textDocument/didClose`."""
    uri = params.text_document.uri
    server.documents.remove(uri)
    clear_document(server, uri)
    if path := from_uri(uri):
        server.index_workspace.close_document(path)


def did_change_watched_files(server: PromptServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    """Handle `workspace/didChangeWatchedFiles`."""
    server.index_workspace.touch([p for p in (from_uri(c.uri) for c in params.changes) if p])


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
    path = from_uri(uri)
    if path is not None:
        server.index_workspace.put_document(path, document.text, document.version, edited, document.language)


def prompt_document(document: TextDocument) -> PromptDocument:
    """Return the current version of a document."""
    return PromptDocument(document.uri, document.language_id or "", document.version or 0, document.source)

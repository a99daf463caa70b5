"""Notebook synchronization: cells that the editor shows as documents become the overlay of their notebook.

The editor does not send outputs.  Those of the saved file are kept with their cells, so that an open notebook does not
differ from its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from msgspec import Struct, field

from promptls.index import (
    Cell,
    OpenCell,
    OpenDocument,
    decode_notebook,
    is_file_path,
    kernel_language,
    kernel_names,
    max_raw_size,
    read_small_file,
    render_cells,
)
from promptls.lsp.connection import PromptServer
from promptls.lsp.documents import PromptDocument
from promptls.lsp.publish_diagnostics import clear_document, schedule_diagnostics
from promptls.lsp.text_sync import close_path, prompt_document
from promptls.lsp.transport.jsonrpc import to_json

NOTEBOOK_SYNC = lsp.NotebookDocumentSyncOptions(
    notebook_selector=[
        lsp.NotebookDocumentFilterWithNotebook(lsp.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"))
    ],
    save=True,
)
"""Server capability: all cells of Jupyter notebooks, saved or not, and a notification when they are saved."""

NOTEBOOK_LANGUAGE = "jupyter-notebook"


class SavedNotebook(Struct, frozen=True):
    """Contents of the file of an open notebook besides the sources of its cells."""

    language_names: tuple[str, ...] = ()
    outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by URI of the cell


def did_open(server: PromptServer, params: lsp.DidOpenNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didOpen`."""
    uri = params.notebook_document.uri
    on_disk = _load_saved(server, uri)
    for document in params.cell_text_documents:
        _store_cell(server, document.uri)
    _store_notebook(server, uri, edited=not on_disk)


def did_change(server: PromptServer, params: lsp.DidChangeNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didChange`."""
    cells = params.change.cells
    if cells is not None:
        structure = cells.structure
        for closed in (structure.did_close or ()) if structure is not None else ():
            _remove_cell(server, closed.uri)
        opened = [document.uri for document in (structure.did_open or ())] if structure is not None else []
        for uri in (*opened, *(change.document.uri for change in cells.text_content or ())):
            _store_cell(server, uri)
    _store_notebook(server, params.notebook_document.uri, edited=True)


def did_save(server: PromptServer, params: lsp.DidSaveNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didSave`."""
    uri = params.notebook_document.uri
    if server.workspace.get_notebook_document(notebook_uri=uri) is not None:
        _load_saved(server, uri)
        _store_notebook(server, uri, edited=False)
        server.index_workspace.mark_saved(server.path_of(uri))


def did_close(server: PromptServer, params: lsp.DidCloseNotebookDocumentParams) -> None:
    """Handle `notebookDocument/didClose`."""
    uri = params.notebook_document.uri
    for document in params.cell_text_documents:
        _remove_cell(server, document.uri)
    server.saved_notebooks.pop(uri, None)
    server.documents.remove(uri)
    close_path(server, uri)


def _store_cell(server: PromptServer, uri: str) -> None:
    """Store a cell that may be a prompt document."""
    if unquote(uri) not in server.workspace.text_documents:
        return
    document = prompt_document(server.workspace.get_text_document(uri))
    server.documents.put(document, server.settings.documents.languages)
    if server.documents.get(uri) is None:
        server.documents.remove(uri)  # the notebook counts as the document that was used
    else:
        schedule_diagnostics(server)


def _remove_cell(server: PromptServer, uri: str) -> None:
    server.documents.remove(uri)
    clear_document(server, uri)


def _load_saved(server: PromptServer, uri: str) -> bool:
    """Read languages and outputs from the file of an open notebook; return whether there is one."""
    path = server.path_of(uri)
    notebook = server.workspace.get_notebook_document(notebook_uri=uri)
    max_size = max_raw_size(path, server.settings.index.max_file_size)
    content = read_small_file(path, max_size) if is_file_path(path) else None
    saved = decode_notebook(content) if content is not None else None
    if saved is None or notebook is None:
        server.saved_notebooks[uri] = SavedNotebook()
        return content is not None
    outputs_by_source: dict[str, list[tuple[str, ...]]] = {}
    for cell in reversed(saved.cells):
        outputs_by_source.setdefault(_normalized(cell.source), []).append(cell.outputs)
    outputs = {}
    for uri_of_cell, source, _ in _cells(server, notebook):
        if same_source := outputs_by_source.get(_normalized(source)):
            outputs[uri_of_cell] = same_source.pop()
    server.saved_notebooks[uri] = SavedNotebook(saved.language_names, outputs)
    return True


def _store_notebook(server: PromptServer, uri: str, edited: bool) -> None:
    """Make the cells of a notebook the overlay of its file."""
    notebook = server.workspace.get_notebook_document(notebook_uri=uri)
    if notebook is None:
        return
    path = server.document_paths.record(uri, server.index_workspace.roots)
    server.documents.put(PromptDocument(uri, NOTEBOOK_LANGUAGE, notebook.version, ""))
    saved = server.saved_notebooks.get(uri, SavedNotebook())
    contents = list(_cells(server, notebook))
    kinds = [cell.kind for cell in notebook.cells]
    languages = [language for _, _, language in contents]
    code_languages = [name for name, kind in zip(languages, kinds, strict=True) if kind == lsp.NotebookCellKind.Code]
    most_frequent = tuple(name for name, _ in Counter(filter(None, code_languages)).most_common(1))
    names = saved.language_names or tuple(_kernel_names(to_json(notebook.metadata))) or most_frequent
    cells = [
        Cell("code", source, language, saved.outputs.get(cell_uri, ()))
        if kind == lsp.NotebookCellKind.Code
        else Cell("raw" if language == "raw" else "markdown", source)
        for kind, (cell_uri, source, language) in zip(kinds, contents, strict=True)
    ]
    rendered = render_cells(cells, kernel_language(names))
    open_cells = tuple(
        OpenCell(cell_uri, lines) for (cell_uri, _, _), lines in zip(contents, rendered.cells, strict=True)
    )
    before = server.index_workspace.documents.get(path)
    edited = edited and (before is None or before.text != rendered.text)
    document = OpenDocument(rendered.text, notebook.version, NOTEBOOK_LANGUAGE, cells=open_cells, uri=uri)
    server.index_workspace.put_open_document(path, document, edited)


def _cells(server: PromptServer, notebook: lsp.NotebookDocument) -> Iterator[tuple[str, str, str]]:
    """Yield (URI, source, language ID) of the cells of an open notebook."""
    for cell in notebook.cells:
        document = server.workspace.text_documents.get(unquote(cell.document))
        yield (cell.document, document.source, document.language_id or "") if document else (cell.document, "", "")


def _kernel_names(metadata: Any) -> Iterator[str]:
    """Yield the names of the kernel's language; VS Code wraps the metadata of the file."""
    while isinstance(metadata, dict):
        yield from kernel_names(metadata)
        metadata = metadata.get("metadata") or metadata.get("custom")


def _normalized(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")

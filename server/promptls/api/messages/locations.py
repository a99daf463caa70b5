"""Conversion of locations between the editor and the texts of the index, which differ for notebooks.

An editor shows a notebook as cells, each with a URI of its own, or as JSON.  The index has one text for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, unquote

from promptls.api.messages.params import Context, Json
from promptls.index import (
    OpenCell,
    OpenDocument,
    Snapshot,
    Workspace,
    document_path,
    file_stat,
    from_cell,
    is_file_path,
    is_notebook,
    is_virtual,
    json_cells,
    read_small_file,
    to_cell,
    to_uri,
)
from promptls.mentions.context import ClientContext, EditorDiagnostic
from promptls.model import VIRTUAL_SCHEME, Span
from promptls.util.mappings import PersistentMap

Documents = PersistentMap[str, OpenDocument]
"""Open documents by path."""


OpenState = Snapshot | Workspace
"""Workspace folders and open documents."""


def path_of_document(uri: str, state: OpenState) -> str:
    """Return the path of a document in the index; of a cell, that of its open notebook."""
    notebooks = (path for path, document in state.documents.items() if any(cell.uri == uri for cell in document.cells))
    return next(notebooks, None) or document_path(uri, [root.path for root in state.roots])


def uri_of(path: str, documents: Documents) -> str:
    """Return the URI of a file, an open document or a virtual document; of an open one as the editor spells it."""
    if is_virtual(path):
        return VIRTUAL_SCHEME + quote(path[len(VIRTUAL_SCHEME) :])
    document = documents.get(path)
    if document is not None and document.uri:
        return document.uri
    return to_uri(path) if is_file_path(path) else path


def path_of(uri: str, state: OpenState) -> str:
    """Return the path of a URI made by `uri_of`."""
    return VIRTUAL_SCHEME + unquote(uri[len(VIRTUAL_SCHEME) :]) if is_virtual(uri) else path_of_document(uri, state)


def decode_location(uri: str, span: Span, state: OpenState) -> tuple[str, Span] | None:
    """Return (path, lines of the text in the index) of lines in an editor; None if a notebook shows nothing there."""
    path = path_of_document(uri, state)
    document = state.documents.get(path)
    if document is None:
        return path, span
    lines: Span | None = span
    if document.json:
        lines = from_cell(json_cells(path, document.json), "", span)
    elif any(cell.uri == uri for cell in document.cells):
        lines = from_cell(document.cells, uri, span)
    return (path, lines) if lines is not None else None


def editor_location(path: str, span: Span, documents: Documents) -> tuple[str, Span] | None:
    """Return (URI, lines) where an editor shows lines of a notebook; None if it shows the text of the index.

    In a closed notebook, these are lines of the JSON.
    """
    document = documents.get(path)
    if document is not None and document.cells:
        location = to_cell(document.cells, span)
    elif document is not None:
        location = to_cell(json_cells(path, document.json), span) if document.json else None
    elif span.start and is_notebook(path) and (stat := file_stat(path)) is not None:
        location = to_cell(_saved_cells(path, *stat), span)
    else:
        location = None
    return (location[0] or uri_of(path, documents), location[1]) if location is not None else None


@lru_cache(maxsize=16)  # a result has many items of few notebooks
def _saved_cells(path: str, size: int, mtime_ns: int) -> tuple[OpenCell, ...]:
    """Return the cells in the JSON of a file with this stat."""
    content = read_small_file(path, size)
    return json_cells(path, content) if content is not None else ()


def encode_editor_location(path: str, span: Span, documents: Documents) -> Json:
    """Return the field `location` of an item of a notebook, {} for other items."""
    location = editor_location(path, span, documents)
    if location is None:
        return {}
    start, end = ({"line": line, "character": 0} for line in (location[1].start, location[1].end))
    return {"location": {"uri": location[0], "range": {"start": start, "end": end}}}


# ---------------------------------------------------------------- client context


def decode_client_context(context: Context, state: OpenState) -> ClientContext:
    """Convert URIs to paths of the index, and ranges to spans."""
    selection = None
    if context.selection is not None:
        selection = decode_location(context.selection.uri, context.selection.range.span, state)
    opened = state.documents if context.open_documents is None else _paths(context.open_documents, state)
    quickfix = (decode_location(at.uri, at.range.span, state) for at in context.quickfix)
    return ClientContext(
        active_document=path_of_document(context.active_document, state) if context.active_document else "",
        selection=selection,
        open_documents=tuple(dict.fromkeys(opened)),
        visible_documents=tuple(dict.fromkeys(_paths(context.visible_documents, state))),
        diagnostics=tuple(_diagnostics(context, state)),
        quickfix=tuple(location for location in quickfix if location is not None),
        terminal=context.terminal or "",
        clipboard=context.clipboard or "",
        history=tuple((turn.role, turn.content) for turn in context.history),
    )


def _paths(uris: Iterable[str], state: OpenState) -> Iterator[str]:
    return (path_of_document(uri, state) for uri in uris if uri)


def _diagnostics(context: Context, state: OpenState) -> Iterator[EditorDiagnostic]:
    for file in context.diagnostics:
        for one in file.diagnostics:
            location = decode_location(file.uri, one.range.span, state)
            if location is None:
                continue
            code = one.code.get("value", "") if isinstance(one.code, dict) else one.code
            severity, source = one.severity or 0, one.source or ""
            yield EditorDiagnostic(*location, one.message, severity, str(code or ""), source)

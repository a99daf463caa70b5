"""Conversion of the client context in request params to the values that mentions use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.api.locations import Documents, decode_location, path_of_document
from promptls.api.params import Context
from promptls.mentions.context import ClientContext, EditorDiagnostic


def decode_client_context(context: Context, documents: Documents) -> ClientContext:
    """Convert URIs to paths and ranges to spans; documents that are neither files nor cells of open ones are dropped."""
    selection = None
    if context.selection is not None:
        selection = decode_location(context.selection.uri, context.selection.range.span, documents)
    quickfix = (decode_location(at.uri, at.range.span, documents) for at in context.quickfix)
    return ClientContext(
        active_document=next(_paths(filter(None, (context.active_document,)), documents), ""),
        selection=selection,
        open_documents=tuple(dict.fromkeys(_paths(context.open_documents, documents))),
        visible_documents=tuple(dict.fromkeys(_paths(context.visible_documents, documents))),
        diagnostics=tuple(_diagnostics(context, documents)),
        quickfix=tuple(location for location in quickfix if location is not None),
        terminal=context.terminal or "",
        clipboard=context.clipboard or "",
        history=tuple((turn.role, turn.content) for turn in context.history),
    )


def _paths(uris: Iterable[str], documents: Documents) -> Iterator[str]:
    return (path for uri in uris if (path := path_of_document(uri, documents)))


def _diagnostics(context: Context, documents: Documents) -> Iterator[EditorDiagnostic]:
    for file in context.diagnostics:
        for one in file.diagnostics:
            location = decode_location(file.uri, one.range.span, documents)
            if location is None:
                continue
            code = one.code.get("value", "") if isinstance(one.code, dict) else one.code
            severity, source = one.severity or 0, one.source or ""
            yield EditorDiagnostic(*location, one.message, severity, str(code or ""), source)

"""Conversion of the client context in request params to the values that mentions use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.api.messages.locations import OpenState, decode_location, path_of_document
from promptls.api.messages.params import Context
from promptls.mentions.context import ClientContext, EditorDiagnostic


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

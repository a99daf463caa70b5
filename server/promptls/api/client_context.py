"""Conversion of the client context in request params to the values that mentions use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.api.params import Context
from promptls.index import from_uri
from promptls.mentions.context import ClientContext, EditorDiagnostic


def decode_client_context(context: Context) -> ClientContext:
    """Convert URIs to paths and ranges to spans; documents that are not files are dropped."""
    selection = None
    if context.selection is not None and (path := from_uri(context.selection.uri)):
        selection = (path, context.selection.range.span)
    return ClientContext(
        active_document=next(_paths(filter(None, (context.active_document,))), ""),
        selection=selection,
        open_documents=tuple(dict.fromkeys(_paths(context.open_documents))),
        visible_documents=tuple(_paths(context.visible_documents)),
        diagnostics=tuple(_diagnostics(context)),
        quickfix=tuple((path, at.range.span) for at in context.quickfix if (path := from_uri(at.uri))),
        terminal=context.terminal or "",
        clipboard=context.clipboard or "",
        history=tuple((turn.role, turn.content) for turn in context.history),
    )


def _paths(uris: Iterable[str]) -> Iterator[str]:
    return (path for uri in uris if (path := from_uri(uri)))


def _diagnostics(context: Context) -> Iterator[EditorDiagnostic]:
    for file in context.diagnostics:
        path = from_uri(file.uri)
        for one in file.diagnostics if path else ():
            code = one.code.get("value", "") if isinstance(one.code, dict) else one.code
            severity, source = one.severity or 0, one.source or ""
            yield EditorDiagnostic(path or "", one.range.span, one.message, severity, str(code or ""), source)

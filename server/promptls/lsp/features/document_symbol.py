"""Document symbols: the mentions as the outline of a prompt document."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.features.inlay_hint import cost_label
from promptls.lsp.session import PromptDocumentSession
from promptls.model import CancelToken

_SYMBOL_KIND = {"file": 1, "folder": 4, "workspace": 4, "symbol": 12}  # File, Package, Package, Function
_KEY = 14


def document_symbols(
    session: PromptDocumentSession, params: protocol.Document, token: CancelToken
) -> list[Json] | None:
    """Return a document symbol for each mention."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    return [
        {
            "name": outcome.mention.text,
            "detail": cost_label(outcome),
            "kind": _SYMBOL_KIND.get(outcome.mention.kind, _KEY),
            "range": analysis.range_of(outcome),
            "selectionRange": analysis.range_of(outcome),
        }
        for outcome in analysis.run.mentions
    ]

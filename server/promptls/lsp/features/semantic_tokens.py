"""Semantic tokens: highlights mentions by kind and status."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.handlers import TOKEN_MODIFIERS, TOKEN_TYPES
from promptls.lsp.session import PromptDocumentSession
from promptls.model import CancelToken

_TOKEN_TYPE = {"file": "string", "symbol": "function", "folder": "namespace", "workspace": "namespace"}
_OTHER_TYPE = "keyword"
_MODIFIER = {
    "unresolved": "deprecated",
    "ambiguous": "deprecated",
    "refused": "deprecated",
    "omitted": "deprecated",
    "partial": "readonly",
}


def semantic_tokens(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> Json | None:
    """Return the semantic tokens of a prompt document in the relative encoding of LSP.

    The mention that the user is typing has no modifier, which would come and go with each keystroke.
    """
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    data: list[int] = []
    previous_line = previous_start = 0
    typed = analysis.typed_mention()
    for outcome in analysis.run.mentions:
        mention = outcome.mention
        line, start = analysis.lines.position(mention.start)
        end_line, end = analysis.lines.position(mention.end)
        if end_line != line:
            continue
        modifier = _MODIFIER.get(outcome.status) if mention.start != typed else None
        data += [line - previous_line, start - previous_start if line == previous_line else start, end - start]
        data.append(TOKEN_TYPES.index(_TOKEN_TYPE.get(mention.kind, _OTHER_TYPE)))
        data.append(1 << TOKEN_MODIFIERS.index(modifier) if modifier is not None else 0)
        previous_line, previous_start = line, start
    return {"data": data}

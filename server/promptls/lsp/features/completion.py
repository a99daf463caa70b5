"""textDocument/completion: the mention that is being typed."""

from __future__ import annotations

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.api.prompt import cost_of
from promptls.api.results import redacted
from promptls.lsp.session import LOOK_S, Desk, range_of
from promptls.mentions.completion.complete import complete
from promptls.model import CancelToken

LIMIT = 50

_KINDS = {
    "file": 17,
    "folder": 19,
    "root": 9,
    "range": 15,
    "kind": 14,
    "class": 7,
    "interface": 8,
    "struct": 22,
    "enum": 13,
    "method": 2,
    "function": 3,
    "constructor": 4,
    "field": 5,
    "property": 10,
    "variable": 6,
    "constant": 21,
    "module": 9,
    "namespace": 9,
    "type": 25,
}
"""CompletionItemKind by what is offered; anything else is a reference."""
_REFERENCE = 18


def completion(desk: Desk, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """What can be mentioned here.

    Labels are the mentions themselves, since clients filter by them; the list is always incomplete, because what
    matches is decided here, by rules that no client has.
    """
    uri = params.text_document.uri
    text = desk.text(uri)
    if text is None:
        return None
    offset = text.offset(params.position.line, params.position.character)
    snapshot = desk.engine.view(token, LOOK_S)
    request = desk.engine.request(desk.context(uri), snapshot, token, uri)
    done = complete(text.text, offset, request, LIMIT, lambda path: cost_of(path, snapshot))
    if done.start == done.end:
        return {"isIncomplete": False, "items": []}
    typed = text.text[done.start : offset]
    where = range_of(text, done.start, done.end)
    items = []
    for i, item in enumerate(done.items):
        price = f"{item.tokens:,} tokens" if item.tokens is not None else ""
        items.append(
            {
                "label": item.insert_text,
                "labelDetails": {"description": price or item.detail},
                "kind": _KINDS.get(item.kind, _REFERENCE),
                "detail": " · ".join(filter(None, (item.detail, price))),
                "documentation": item.documentation,
                "sortText": f"{i:04}",
                "filterText": typed,
                "textEdit": {"range": where, "newText": item.insert_text},
            }
        )
    return redacted({"isIncomplete": True, "items": items})

"""Completion of the mention that is being typed."""

from __future__ import annotations

from promptls.api.mention_requests import complete_at, encode_completion_item
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_client_context
from promptls.api.messages.params import Json
from promptls.api.messages.results import redact_result
from promptls.lsp.session import RECONCILE_MAX_AGE_S, PromptDocumentSession, offset_range
from promptls.model import CancelToken

MAX_COMPLETIONS = 50
"""Maximum number of completion items; the list is recomputed after every keystroke."""

_COMPLETION_KIND = {
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
"""LSP CompletionItemKind by the kind of a completion item."""
_REFERENCE = 18


def completion(session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """Return the completion list at a position.

    Labels are the mentions themselves, because clients filter by them. The list is always incomplete: matching follows
    rules that clients do not have, so they must ask again after each keystroke.
    """
    uri = params.text_document.uri
    lines = session.line_index(uri)
    if lines is None:
        return None
    offset = lines.offset(params.position.line, params.position.character)
    snapshot = session.engine.listed_snapshot(token, RECONCILE_MAX_AGE_S)
    client = decode_client_context(session.client_context(uri), session.engine.workspace)
    context = session.engine.resolve_context(client, snapshot, token, uri)
    completions = complete_at(lines.text, offset, context, MAX_COMPLETIONS)
    if completions.start == completions.end:
        return {"isIncomplete": False, "items": []}
    typed = lines.text[completions.start : offset]
    after = lines.text[offset : completions.end]
    replaced = offset_range(lines, completions.start, completions.end)
    before_cursor = offset_range(lines, completions.start, offset)
    items: list[Json] = []
    for rank, item in enumerate(completions.items):
        edit = {"range": replaced, "newText": item.insert_text}
        if session.insert_replace:
            # Text that the item repeats is replaced in both modes of the client.
            insert = replaced if item.insert_text.endswith(after) else before_cursor
            edit = {"insert": insert, "replace": replaced, "newText": item.insert_text}
        items.append(_lsp_item(encode_completion_item(item), rank, typed, edit))
    return redact_result({"isIncomplete": True, "items": items})


def _lsp_item(item: Json, rank: int, typed: str, edit: Json) -> Json:
    """Convert an item of promptls/completeMention to an LSP CompletionItem."""
    cost = f"about {_round(item['tokens']):,} tokens" if item["tokens"] is not None else ""
    return {
        "label": item["insertText"],
        "labelDetails": {"description": cost or item["detail"]},
        "kind": _COMPLETION_KIND.get(item["kind"], _REFERENCE),
        "detail": " · ".join(filter(None, (item["detail"], cost))),
        "documentation": item["documentation"],
        "sortText": f"{rank:04}",
        "filterText": typed,
        "textEdit": edit,
    }


def _round(tokens: int) -> int:
    """Round an estimate to two digits, all that is known without reading the file."""
    unit = int(10 ** max(0, len(str(tokens)) - 2))
    return round(tokens / unit) * unit

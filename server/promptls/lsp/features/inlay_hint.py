"""What stands in and beside the text: inlay hints, code lenses, semantic tokens, symbols, folds of built prompts."""

from __future__ import annotations

import re

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.documents import COPY, OPEN, Text
from promptls.lsp.session import Desk, Reading, position_of, range_of
from promptls.model import CancelToken, MentionOutcome

_TYPE_OF = {"file": 0, "symbol": 1, "folder": 3, "workspace": 3}
_SYMBOL_KINDS = {"file": 1, "folder": 4, "workspace": 4, "symbol": 12}
_FENCE = re.compile(r"^<(/?)context-([0-9a-f]{6,})\b([^\n]*?)(/?)>$", re.MULTILINE)


def hints(desk: Desk, params: protocol.DocumentRange, token: CancelToken) -> list[Json] | None:
    """What each mention in a range costs."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    first = reading.text.offset(params.range.start.line, params.range.start.character)
    last = reading.text.offset(params.range.end.line, params.range.end.character)
    return [
        {
            "position": position_of(reading.text, outcome.mention.end),
            "label": _hint(outcome),
            "paddingLeft": True,
            "tooltip": outcome.reason,
        }
        for outcome in reading.mentions
        if first <= outcome.mention.end <= last
    ]


def _hint(outcome: MentionOutcome) -> str:
    if outcome.status in ("included", "partial"):
        part = " (part)" if outcome.status == "partial" else ""
        return f"{outcome.tokens:,} tokens{part}"
    return {"ambiguous": f"{len(outcome.candidates)} fit", "unresolved": "not found"}.get(outcome.status, "not sent")


def lenses(desk: Desk, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """What of the budget is spoken for, and the ways to the prompt."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    argument = {"uri": reading.document.uri}
    return [
        {"range": top, "command": {"title": title, "command": command, "arguments": [argument]}}
        for title, command in ((_spent(reading), OPEN), ("Build prompt", OPEN), ("Copy prompt", COPY))
    ]


def _spent(reading: Reading) -> str:
    count = len(reading.mentions)
    what = "no mentions" if not count else "1 mention" if count == 1 else f"{count} mentions"
    return f"{reading.used:,} of {reading.budget:,} tokens, {what}"


def semantic_tokens(desk: Desk, params: protocol.Document, token: CancelToken) -> Json | None:
    """Mentions by what they name."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    data: list[int] = []
    line = column = 0
    for outcome in reading.mentions:
        mention = outcome.mention
        at, start = reading.text.position(mention.start)
        end_line, end = reading.text.position(mention.end)
        if end_line != at:
            continue
        modifiers = {"unresolved": 1, "ambiguous": 1, "refused": 1, "omitted": 1, "partial": 2}.get(outcome.status, 0)
        data += [at - line, start - column if at == line else start, end - start]
        data += [_TYPE_OF.get(mention.kind, 2), modifiers]
        line, column = at, start
    return {"data": data}


def symbols(desk: Desk, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """The mentions as the outline of the document."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    return [
        {
            "name": outcome.mention.text,
            "detail": _hint(outcome),
            "kind": _SYMBOL_KINDS.get(outcome.mention.kind, 14),
            "range": reading.range(outcome),
            "selectionRange": reading.range(outcome),
        }
        for outcome in reading.mentions
    ]


def folds(desk: Desk, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """The fenced parts of a built prompt that is open as a document."""
    document = desk.documents.built(params.text_document.uri)
    if document is None:
        return None
    text = Text(document.text, desk.engine.encoding)
    out: list[Json] = []
    opened: dict[str, int] = {}
    for found in _FENCE.finditer(text.text):
        closing, name, _, short = found.groups()
        if short:
            continue
        if not closing:
            opened[name] = found.start()
        elif name in opened:
            where = range_of(text, opened.pop(name), found.end())
            out.append({"startLine": where["start"]["line"], "endLine": where["end"]["line"], "kind": "region"})
    return out

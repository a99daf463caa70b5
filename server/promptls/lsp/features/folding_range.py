"""Folding ranges: the fenced items of a built prompt that is open as a document."""

from __future__ import annotations

import re

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.session import PromptDocumentSession, offset_range
from promptls.model import CancelToken
from promptls.util.text.positions import LineIndex

_FENCE = re.compile(r"^<(/?)context-([0-9a-f]{6,})\b([^\n]*?)(/?)>$", re.MULTILINE)


def folding_ranges(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return a folding range for each pair of fences."""
    document = session.documents.exported(params.text_document.uri)
    if document is None:
        return None
    lines = LineIndex(document.text, session.engine.encoding)
    ranges: list[Json] = []
    open_fences: dict[str, int] = {}
    for match in _FENCE.finditer(lines.text):
        closing, boundary, _, self_closing = match.groups()
        if self_closing:
            continue
        if not closing:
            open_fences[boundary] = match.start()
        elif boundary in open_fences:
            span = offset_range(lines, open_fences.pop(boundary), match.end())
            ranges.append({"startLine": span["start"]["line"], "endLine": span["end"]["line"], "kind": "region"})
    return ranges

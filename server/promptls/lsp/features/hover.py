"""textDocument/hover, definition and documentLink: what a mention stands for, and the way there."""

from __future__ import annotations

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.index import files as disk
from promptls.index.snapshot import is_exhibit
from promptls.lsp.session import Desk, Reading, lines_of
from promptls.model import CancelToken, MentionOutcome

SHOWN = 40
"""Lines of what would be sent that a hover shows."""

_WORDS = {
    "included": "is sent",
    "partial": "is sent in part",
    "omitted": "is not sent",
    "ambiguous": "is not clear",
    "unresolved": "is not found",
    "refused": "is not sent",
}


def hover(desk: Desk, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """What would be sent for the mention at a position, and what it costs."""
    reading = desk.read(params.text_document.uri, token)
    outcome = reading.at(params.position.line, params.position.character) if reading is not None else None
    if reading is None or outcome is None:
        return None
    return {"contents": {"kind": "markdown", "value": _page(reading, outcome)}, "range": reading.range(outcome)}


def _page(reading: Reading, outcome: MentionOutcome) -> str:
    cost = f", {outcome.tokens:,} of {reading.budget:,} tokens" if outcome.tokens else ""
    parts = [f"{_code(outcome.mention.text)} {_WORDS[outcome.status]}{cost}."]
    if outcome.reason:
        parts.append(_plain(outcome.reason))
    if outcome.suggestion:
        parts.append(f"Did you mean {_code(outcome.suggestion)}?")
    if outcome.candidates:
        parts.append("\n".join(f"- {_code(name)}" for name in outcome.candidates[:10]))
    left = SHOWN
    for placed in reading.placed(outcome):
        if left <= 0:
            parts.append("…")
            break
        block = placed.block
        lines = block.body.split("\n")
        where = ", ".join(span.label for span in block.spans)
        label = reading.request.snapshot.label(block.item.path)
        form = "" if block.form == "full" else f", {block.form}"
        parts.append(f"{_code(label + (':' + where if where else ''))}{form}, {block.tokens:,} tokens")
        shown = lines[:left]
        more = [f"… {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else []
        parts.append(_fenced("\n".join([*shown, *more]), _language(reading, block.item.path)))
        left -= len(shown)
    return "\n\n".join(parts)


def _language(reading: Reading, path: str) -> str:
    entry = reading.request.snapshot.files.get(path)
    return entry.outline.language if entry is not None and entry.outline is not None else ""


def _code(text: str) -> str:
    """A text as a code span, whatever is in it."""
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{text}{ticks}" if ticks == "`" else f"{ticks} {text} {ticks}"


def _fenced(body: str, language: str) -> str:
    ticks = "```"
    while ticks in body:
        ticks += "`"
    return f"{ticks}{language if language.isalnum() else ''}\n{body}\n{ticks}"


def _plain(sentence: str) -> str:
    """A sentence that markdown leaves as it is."""
    return "".join("\\" + c if c in "\\`*_{}[]<>#|!" else c for c in sentence)


def definition(desk: Desk, params: protocol.DocumentPosition, token: CancelToken) -> list[Json] | None:
    """Where the mention at a position leads."""
    reading = desk.read(params.text_document.uri, token)
    outcome = reading.at(params.position.line, params.position.character) if reading is not None else None
    if reading is None or outcome is None:
        return None
    files = [t for t in outcome.targets if t.kind != "folder" and not is_exhibit(t.path)]
    return [{"uri": disk.to_uri(t.path), "range": lines_of(t.span)} for t in files[:50]]


def links(desk: Desk, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """A link for each mention that leads to one place."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    out: list[Json] = []
    for outcome in reading.mentions:
        target = outcome.targets[0] if outcome.targets else None
        if target is None or target.kind == "folder" or is_exhibit(target.path):
            continue
        if len(outcome.targets) > 1 and outcome.mention.kind not in ("file", "symbol"):
            continue
        anchor = f"#L{target.span.start + 1}" if target.span.start else ""
        label = reading.request.snapshot.label(target.path)
        out.append({"range": reading.range(outcome), "target": disk.to_uri(target.path) + anchor, "tooltip": label})
    return out

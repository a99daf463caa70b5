"""The wire, outwards: values as clients see them, plain JSON; the only place that writes camelCase."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from promptls.api.params import Json
from promptls.index import files
from promptls.index.snapshot import EXHIBIT, Snapshot, is_exhibit
from promptls.index.status import Standing, Status
from promptls.model import Item, MentionOutcome, Span
from promptls.prompt.intent import Intent
from promptls.prompt.sanitize import redact

_NAMES = frozenset({"uri", "path", "label", "insertText", "newText", "filterText"})
"""Fields that stay as they are, since they must lead to what they name."""

_OFFERED = re.compile(r", (.+?):\d+(?: · |$)")
"""Where a definition stands that is offered: "function, src/a.py:3"."""


def redacted(answer: Json, path: str = "") -> Json:
    """An answer whose texts hold no secrets: a model may be given what an editor shows."""
    offered = _OFFERED.search(str(answer.get("detail", "")))
    path = str(answer.get("path") or (answer.get("node") or {}).get("path") or (offered and offered[1]) or path)
    return {key: _redacted(key, value, path) for key, value in answer.items()}


def _redacted(key: str, value: Any, path: str) -> Any:
    if isinstance(value, str):
        return value if key in _NAMES else redact(value, path)[0]
    if isinstance(value, dict):
        return redacted(value, path)
    return [_redacted(key, one, path) for one in value] if isinstance(value, list) else value


def uri_of(path: str) -> str:
    """The URI of a file; for what is no file one that only says what it is."""
    return EXHIBIT + quote(path[len(EXHIBIT) :]) if is_exhibit(path) else files.to_uri(path)


def path_of(uri: str) -> str | None:
    """What a URI of ours stands for; None for one that is not ours."""
    return EXHIBIT + unquote(uri[len(EXHIBIT) :]) if is_exhibit(uri) else files.from_uri(uri)


def range_of(span: Span) -> Json:
    """Whole lines as an LSP range."""
    return {"start": {"line": span.start, "character": 0}, "end": {"line": span.end, "character": 0}}


def utf16_offset(message: str, offset: int) -> int:
    """A code point offset in UTF-16 units."""
    return len(message[:offset].encode("utf-16-le", "surrogatepass")) // 2


def item_json(
    item: Item,
    snapshot: Snapshot,
    form: str | None = None,
    tokens: int | None = None,
    citation: str | None = None,
    spans: tuple[Span, ...] = (),
    others: tuple[Item, ...] = (),
) -> Json:
    """An item as clients see it; `version` and `hash` say which text it was cut from."""
    entry = snapshot.files.get(item.path)
    shown = Span(spans[0].start, spans[-1].end) if spans else item.span
    out: Json = {
        "uri": uri_of(item.path),
        "path": entry.name if entry is not None else snapshot.label(item.path),
        "range": range_of(shown),
        "kind": item.kind,
        "origin": item.origin.value,
        "score": round(item.score, 4),
        "reasons": dict(item.reasons),
        "version": "disk" if entry is None or entry.version is None else entry.version,
        "hash": entry.digest.hex() if entry is not None else "",
    }
    optional = {"symbol": redact(item.symbol)[0] or None, "form": form, "tokens": tokens, "citation": citation}
    out.update({k: v for k, v in optional.items() if v is not None})
    if len(spans) > 1:
        out["spans"] = [range_of(span) for span in spans]
    if others:
        out["joined"] = [{"symbol": redact(o.symbol)[0], "range": range_of(o.span)} for o in others]
    return out


def mention_json(outcome: MentionOutcome, message: str) -> Json:
    """What became of a mention; `range` is in UTF-16 units of the message."""
    m = outcome.mention
    out: Json = {
        "text": m.text,
        "range": {"start": utf16_offset(message, m.start), "end": utf16_offset(message, m.end)},
        "kind": m.kind,
        "status": outcome.status,
        "targets": [{"uri": uri_of(t.path), "range": range_of(t.span)} for t in outcome.targets],
        "tokens": outcome.tokens,
        "reason": outcome.reason,
    }
    if outcome.candidates:
        out["candidates"] = list(outcome.candidates)
    if outcome.anchor:
        out["anchor"] = outcome.anchor
    if outcome.suggestion:
        out["suggestion"] = outcome.suggestion
    return out


def intent_json(intent: Intent) -> Json:
    """What the question was taken for."""
    return {
        "codebase": intent.codebase,
        "categories": [
            {"name": c.name, "confidence": c.confidence, "matched": list(c.matched), "strong": c.strong}
            for c in intent.categories
        ],
        "types": list(intent.types),
        "action": intent.action,
        "negated": list(intent.negated),
        "terms": list(intent.query.terms),
        "confidence": intent.confidence,
        "confidenceLabel": intent.confidence_label,
        "scope": intent.scope,
        "entities": [{"name": e.name, "verified": e.verified} for e in intent.entities],
        "corrected": dict(intent.query.corrected),
        "expanded": [term for term, _ in intent.query.expanded],
    }


def status_json(status: Status, memory_bytes: int, log_file: str) -> Json:
    """How far the index is."""
    return {
        "state": status.standing.state,
        "usable": status.standing.usable,
        "complete": round(status.standing.complete, 4),
        "generation": status.standing.generation,
        "roots": [
            {
                "uri": r.root.uri,
                "name": r.root.name,
                "files": r.files,
                "symbols": r.symbols,
                "chunks": r.chunks,
                "vectors": r.vectors,
                "pending": r.pending,
                "skipped": r.skipped,
                "lastError": r.last_error,
            }
            for r in status.roots
        ],
        "embedder": {
            "model": status.model,
            "dimension": status.dimension,
            "problem": status.problem,
            "embedded": status.embedded,
        },
        "disk": {
            name: sum(r.disk.get(name, 0) for r in status.roots) for name in ("bytes", "rows", "versions", "fragments")
        },
        "memoryBytes": memory_bytes,
        "message": status.standing.message,
        "log": log_file,
    }


def index_json(standing: Standing) -> Json:
    """How complete the index was when a request was answered."""
    return {
        "state": standing.state,
        "generation": standing.generation,
        "complete": round(standing.complete, 4),
        "message": standing.message,
    }

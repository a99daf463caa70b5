"""Results of requests: encodes values as plain JSON with camelCase names, and redacts secrets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from promptls.api.messages.locations import encode_editor_location, uri_of
from promptls.api.messages.params import Json
from promptls.index import IndexState, IndexStatus, Snapshot
from promptls.model import Item, MentionOutcome, Origin, Span
from promptls.prompt.budget import CounterStatus
from promptls.prompt.intent import Intent
from promptls.redaction.secrets import may_have_secret, redact
from promptls.util.cancellation import check_each
from promptls.util.text.display import percentage

_WIDE = re.compile("[\U00010000-\U0010ffff]")  # two UTF-16 units

_UNREDACTED = frozenset({"uri", "path", "label", "insertText", "newText", "filterText", "hash", "why"})
"""Fields that are never redacted: clients use them to find what they name, or their values are our own."""

_LOCATIONS = frozenset({"range", "ranges"})
"""Fields without texts."""

_COMPLETION_PATH = re.compile(r", (.+?):\d+(?: · |$)")
"""Path in the detail of a completion item: "function, src/a.py:3"."""


def redact_result(result: Json, path: str = "") -> Json:
    """Redact secrets in all texts of a result, because clients may pass them to a language model.

    The texts of one file are redacted together: a name and its value, or the lines of a key, may be different fields.
    `path` is that of the file that the texts come from, "" if a nested object names it.
    """
    texts: dict[str, list[str]] = {}

    def collect(text: str, path: str) -> str:
        texts.setdefault(path, []).append(text)
        return text

    _map_texts("", result, path, collect)
    redacted = {path: _redact_together(group, path) for path, group in texts.items()}
    if redacted == texts:
        return result
    rest = {path: iter(group) for path, group in redacted.items()}
    mapped: Json = _map_texts("", result, path, lambda _, path: next(rest[path]))
    return mapped


def _redact_together(texts: list[str], path: str) -> list[str]:
    if not any(map(may_have_secret, texts)):
        return texts
    lines = iter(redact("\n".join(texts), path)[0].split("\n"))
    return ["\n".join(islice(lines, text.count("\n") + 1)) for text in texts]


def _map_texts(key: str, value: Any, path: str, function: Callable[[str, str], str]) -> Any:
    """Return a value with a function applied to each text and to the path of the file that it comes from."""
    if isinstance(value, str):
        return value if key in _UNREDACTED else function(value, path)
    if key in _LOCATIONS:
        return value
    if isinstance(value, list):
        return [_map_texts(key, one, path, function) for one in value]
    if not isinstance(value, dict):
        return value
    match = _COMPLETION_PATH.search(str(value["detail"])) if "detail" in value else None
    path = str(value.get("path") or (value.get("node") or {}).get("path") or (match and match[1]) or path)
    return {key: _map_texts(key, one, path, function) for key, one in value.items()}


def encode_span(span: Span) -> Json:
    """Return whole lines as an LSP range."""
    return {"start": {"line": span.start, "character": 0}, "end": {"line": span.end, "character": 0}}


def utf16_offset(text: str, offset: int) -> int:
    """Convert an offset in code points to UTF-16 units."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def code_point_offset(text: str, utf16: int) -> int:
    """Convert an offset in UTF-16 units to code points."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * utf16].decode("utf-16-le", "ignore"))


_ORIGIN_TEXT = {
    Origin.MENTION: "mentioned",
    Origin.SELECTION: "selected",
    Origin.PINNED: "pinned",
    Origin.ACTIVE: "active file",
    Origin.MODEL: "chosen by the model",
    Origin.TASK: "for this task",
    Origin.SYMBOL: "by name",
    Origin.KEYWORD: "by words",
    Origin.SEMANTIC: "by meaning",
    Origin.PATH: "by path",
    Origin.GRAPH: "by calls",
    Origin.TEAM: "team index",
}


def explain_origin(item: Item) -> str:
    """Return in words why an item was considered, and how likely it is needed: "by meaning, 86 %"."""
    text = _ORIGIN_TEXT[item.origin]
    return text if item.score >= 1 else f"{text}, {percentage(item.score)}"


def encode_item(
    item: Item,
    snapshot: Snapshot,
    form: str | None = None,
    tokens: int | None = None,
    citation: str | None = None,
    spans: tuple[Span, ...] = (),
    joined: Sequence[tuple[Item, int]] = (),
    lines: Span | None = None,
) -> Json:
    """Encode an item; `version` and `hash` identify the text that it was taken from.

    `lines` is the range of the item, by default from the first of `spans` to the last. Of a notebook, `location`
    is where an editor shows it.
    """
    entry, document = snapshot.files.get(item.path), snapshot.documents.get(item.path)
    version = entry.version if entry is not None else document.version if document is not None else None
    shown = lines or (Span(spans[0].start, spans[-1].end) if spans else item.span)
    result: Json = {
        "uri": uri_of(item.path, snapshot.documents),
        "path": snapshot.label(item.path),
        "range": encode_span(shown),
        "kind": item.kind,
        "origin": item.origin.value,
        "score": round(item.score, 4),
        "why": explain_origin(item),
        "reasons": dict(item.reasons),
        "version": "disk" if version is None else version,
        "hash": entry.content_hash.hex() if entry is not None else "",
    }
    optional = {"symbol": redact(item.symbol)[0] or None, "form": form, "tokens": tokens, "citation": citation}
    result.update({k: v for k, v in optional.items() if v is not None})
    result.update(encode_editor_location(item.path, shown, snapshot.documents))
    if len(spans) > 1:
        result["spans"] = [encode_span(span) for span in spans]
    if joined:
        result["joined"] = [
            {
                "symbol": redact(one.symbol)[0],
                "range": encode_span(one.span),
                "why": explain_origin(one),
                "tokens": tokens,
            }
            for one, tokens in joined
        ]
    return result


def encode_mentions(outcomes: Iterable[MentionOutcome], message: str, snapshot: Snapshot) -> list[Json]:
    """Encode the outcomes of the mentions of a message; `range` is in UTF-16 units of the message."""
    to_utf16 = utf16_offsets(message)
    return [_encode_mention(outcome, to_utf16, snapshot) for outcome in check_each(outcomes)]


def utf16_offsets(text: str) -> Callable[[int], int]:
    """Return a function that converts offsets of a text in code points to UTF-16 units, in logarithmic time."""
    wide = [match.start() for match in _WIDE.finditer(text)]
    return lambda offset: min(offset, len(text)) + bisect_left(wide, offset)


def _encode_mention(outcome: MentionOutcome, to_utf16: Callable[[int], int], snapshot: Snapshot) -> Json:
    mention = outcome.mention
    result: Json = {
        "range": {"start": to_utf16(mention.start), "end": to_utf16(mention.end)},
        "kind": mention.kind,
        "status": outcome.status,
        "targets": [
            {"uri": uri_of(t.path, snapshot.documents), "range": encode_span(t.span)}
            | encode_editor_location(t.path, t.span, snapshot.documents)
            for t in outcome.targets
        ],
        "tokens": outcome.tokens,
        "fullTokens": outcome.full_tokens,
        "reason": outcome.reason,
    }
    if outcome.candidates:
        result["candidates"] = list(outcome.candidates)
    if outcome.anchor:
        result["anchor"] = outcome.anchor
    if outcome.suggestion:
        result["suggestion"] = outcome.suggestion
    return {"text": mention.text, **redact_result(result)}


def encode_intent(intent: Intent) -> Json:
    """Encode the classification of a question."""
    translation, encoded = intent.query.translation, {}
    if translation is not None:
        confidence = round(translation.confidence, 2)
        language, english = translation.language, translation.gloss
        encoded = {"translation": {"language": language, "english": english, "confidence": confidence}}
    return encoded | {
        "codebase": intent.about_codebase,
        "categories": [
            {"name": c.name, "confidence": c.confidence, "matched": list(c.matched_words), "strong": c.has_strong_match}
            for c in intent.categories
        ],
        "types": list(intent.types),
        "action": intent.action,
        "negated": list(intent.excluded_words),
        "terms": list(intent.query.terms),
        "confidence": intent.confidence,
        "confidenceLabel": intent.confidence_label,
        "scope": intent.scope,
        "entities": [{"name": e.name, "verified": e.verified} for e in intent.entities],
        "corrected": dict(intent.query.corrected),
        "expanded": [term for term, _ in intent.query.expanded],
    }


MAX_LINKED_FOLDERS = 20
"""Maximum number of links to folders, and of ignore files, that the status names."""


def encode_status(status: IndexStatus, counter: CounterStatus, memory_bytes: int, log_file: str) -> Json:
    """Encode the status of the index, and the token counter."""
    return {
        "state": status.state.phase,
        "usable": status.state.usable,
        "complete": round(status.state.progress, 4),
        "generation": status.state.generation,
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
                "skipReasons": dict(sorted(r.skip_reasons.items())),
                "linkedFolders": list(r.linked_folders[:MAX_LINKED_FOLDERS]),
                "undecodableNames": r.undecodable_names,
                "ignoreFiles": list(r.ignore_files[:MAX_LINKED_FOLDERS]),
                "lastError": r.last_error,
            }
            for r in status.roots
        ],
        "embedder": {
            "model": status.model,
            "dimension": status.dimension,
            "problem": status.problem,
            "embedded": status.embedded_chunks,
        },
        "disk": {
            name: sum(r.disk.get(name, 0) for r in status.roots) for name in ("bytes", "rows", "versions", "fragments")
        },
        "tokens": {"counter": counter.name, "exact": counter.exact, "problem": counter.problem},
        "memoryBytes": memory_bytes,
        "message": status.state.message,
        "log": log_file,
    }


def encode_index_state(state: IndexState) -> Json:
    """Encode how complete the index was when a request was served."""
    return {
        "state": state.phase,
        "generation": state.generation,
        "complete": round(state.progress, 4),
        "message": state.message,
    }

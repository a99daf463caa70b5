"""The wire: what clients send and get, and the only place with camelCase.

Params are decoded by msgspec; what does not fit raises `InvalidParams` with the path of the field and what
is valid.  Results are plain JSON values.  Field names are a contract: adding is fine, renaming is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from promptls.index import disk
from promptls.index.snapshot import Snapshot
from promptls.index.status import Standing, Status
from promptls.model import Item, MentionOutcome, Span
from promptls.prompt.intent import Intent

Json = dict[str, Any]


class InvalidParams(ValueError):
    """A request that cannot be served as it stands; the text names what is wrong and what is valid."""

    def __init__(self, message: str, field: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.valid = valid


class Params(Struct, frozen=True, rename="camel"):
    """Base of all params: camelCase on the wire, unknown fields are passed over."""


class Position(Params, frozen=True):
    line: int
    character: int


class Range(Params, frozen=True):
    start: Position
    end: Position

    @property
    def span(self) -> Span:
        """The lines it touches."""
        end = self.end.line + (1 if self.end.character > 0 or self.end.line == self.start.line else 0)
        return Span(max(0, self.start.line), max(self.start.line + 1, end))


class Location(Params, frozen=True):
    uri: str
    range: Range


class Context(Params, frozen=True):
    """What the editor knows."""

    active_document: str | None = None
    selection: Location | None = None
    open_documents: tuple[str, ...] = ()
    diagnostics: tuple[Any, ...] = ()
    terminal: str | None = None
    clipboard: str | None = None
    quickfix: tuple[Location, ...] = ()
    history: tuple[Any, ...] = ()


class Budget(Params, frozen=True):
    tokens: int | None = None
    model: str | None = None
    counter: str | None = None


class BuildPromptParams(Params, frozen=True):
    message: str
    context: Context = Context()
    budget: Budget = Budget()
    profile: str = "default"
    variant: str | None = None
    output: str = "text"
    sections: dict[str, bool] = {}
    work_done_token: int | str | None = None


class ResolveMentionsParams(Params, frozen=True):
    message: str
    context: Context = Context()
    budget: Budget = Budget()


class CompleteMentionParams(Params, frozen=True):
    text: str
    offset: int
    context: Context = Context()
    limit: int = 50


class SearchParams(Params, frozen=True):
    query: str
    limit: int = 20
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class ReindexParams(Params, frozen=True):
    roots: tuple[str, ...] = ()
    full: bool = False


class UriParams(Params, frozen=True):
    uri: str


class NoParams(Params, frozen=True):
    pass


P = TypeVar("P", bound=Params)


def decode(kind: type[P], data: Any) -> P:
    """Params of a request.  Raises InvalidParams with the path of the field that does not fit."""
    try:
        return msgspec.convert({} if data is None else data, kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        field = path.rstrip("`").removeprefix("$.") or _missing(text)
        raise InvalidParams(f"{field or 'params'}: {text[:1].lower()}{text[1:]}.", field) from None


def _missing(text: str) -> str:
    return text.split("`")[1] if "missing required field" in text else ""


def one_of(field: str, value: str, valid: tuple[str, ...]) -> str:
    """`value` if it is valid.  Raises InvalidParams listing what is."""
    if value not in valid:
        names = tuple(sorted(valid))
        raise InvalidParams(f"unknown {field} {value!r}; valid: {', '.join(names)}.", field, names)
    return value


# ---- results


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
        "uri": disk.to_uri(item.path),
        "path": entry.name if entry is not None else snapshot.label(item.path),
        "range": range_of(shown),
        "kind": item.kind,
        "origin": item.origin.value,
        "score": round(item.score, 4),
        "reasons": dict(item.reasons),
        "version": "disk" if entry is None or entry.version is None else entry.version,
        "hash": entry.digest.hex() if entry is not None else "",
    }
    optional = {"symbol": item.symbol or None, "form": form, "tokens": tokens, "citation": citation}
    out.update({k: v for k, v in optional.items() if v is not None})
    if len(spans) > 1:
        out["spans"] = [range_of(span) for span in spans]
    if others:
        out["joined"] = [{"symbol": o.symbol, "range": range_of(o.span)} for o in others]
    return out


def mention_json(outcome: MentionOutcome, message: str) -> Json:
    """What became of a mention; `range` is in UTF-16 units of the message."""
    m = outcome.mention
    out: Json = {
        "text": m.text,
        "range": {"start": utf16_offset(message, m.start), "end": utf16_offset(message, m.end)},
        "kind": m.kind,
        "status": outcome.status,
        "targets": [{"uri": disk.to_uri(t.path), "range": range_of(t.span)} for t in outcome.targets],
        "tokens": outcome.tokens,
        "reason": outcome.reason,
    }
    if outcome.candidates:
        out["candidates"] = list(outcome.candidates)
    if outcome.suggestion:
        out["suggestion"] = outcome.suggestion
    return out


def intent_json(intent: Intent) -> Json:
    """What the question was taken for."""
    return {
        "codebase": intent.codebase,
        "categories": [
            {"name": c.name, "confidence": c.confidence, "matched": list(c.matched)} for c in intent.categories
        ],
        "types": list(intent.types),
        "action": intent.action,
        "negated": list(intent.negated),
        "terms": list(intent.query.terms),
    }


def status_json(status: Status, memory_bytes: int, log_file: str) -> Json:
    """How far the index is."""
    return {
        "state": status.standing.state,
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


OUTPUTS: tuple[Literal["text", "messages"], ...] = ("text", "messages")
PROFILES = ("default",)
Encoder = Callable[[Any], Mapping[str, Any]]

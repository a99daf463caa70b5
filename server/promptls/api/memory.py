"""promptls/memory: what the user has told us to remember."""

from __future__ import annotations

from msgspec import structs

from promptls.api import params as protocol
from promptls.api.params import InvalidParams, Json
from promptls.engine import Engine
from promptls.knowledge.memory import Ask, Entry, InvalidEntry, perform
from promptls.model import CancelToken


def memory(engine: Engine, params: protocol.MemoryParams, token: CancelToken) -> Json:
    """promptls/memory"""
    try:
        answer = perform(engine.memory, Ask(**structs.asdict(params)), engine.workspace.roots)
    except InvalidEntry as error:
        raise InvalidParams(str(error), error.field, error.valid) from None
    uris = {root.path: root.uri for root in engine.workspace.roots}
    entries = [_entry(entry, uris) for entry in answer.entries]
    for entry, score in zip(entries, answer.scores, strict=False):
        entry["score"] = round(score, 4)
    return {"entries": entries, "total": answer.total, "warnings": [p.message for p in answer.problems]}


def _entry(entry: Entry, uris: dict[str, str]) -> Json:
    out: Json = {
        "id": entry.id,
        "scope": entry.scope,
        "category": entry.category,
        "title": entry.title,
        "content": entry.content,
        "tags": list(entry.tags),
        "paths": list(entry.paths),
        "created": entry.created.isoformat(),
        "updated": entry.updated.isoformat(),
        "expires": entry.expires.isoformat() if entry.expires else None,
    }
    if entry.root:
        out["root"] = uris.get(entry.root, "")
    return out

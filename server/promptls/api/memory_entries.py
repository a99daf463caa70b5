"""Handle `promptls/memory`: lists, searches, adds, updates and removes memory entries."""

from __future__ import annotations

from msgspec import structs

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.engine import Engine
from promptls.knowledge.memory_requests import MemoryRequest, perform
from promptls.knowledge.memory_store import InvalidEntry, MemoryEntry
from promptls.model import CancelToken


def memory(engine: Engine, params: protocol.MemoryParams, token: CancelToken) -> Json:
    """Handle `promptls/memory`."""
    assert engine.services.memory is not None
    try:
        result = perform(engine.services.memory, MemoryRequest(**structs.asdict(params)), engine.workspace.roots)
    except InvalidEntry as error:
        raise InvalidParams(str(error), error.field, error.valid) from None
    root_uris = {root.path: root.uri for root in engine.workspace.roots}
    entries = [_encode_entry(entry, root_uris) for entry in result.entries]
    for entry, score in zip(entries, result.scores, strict=False):
        entry["score"] = round(score, 4)
    return {"entries": entries, "total": result.total, "warnings": [p.message for p in result.problems]}


def _encode_entry(entry: MemoryEntry, root_uris: dict[str, str]) -> Json:
    result: Json = {
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
        result["root"] = root_uris.get(entry.root, "")
    return result

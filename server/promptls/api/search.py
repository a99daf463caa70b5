"""Handle `promptls/search`: ranked regions of the workspace for a query."""

from __future__ import annotations

from collections.abc import Iterable

from promptls import retrieval
from promptls.api import params as protocol
from promptls.api.params import InvalidParams, Json
from promptls.api.results import encode_index_state, encode_item, redact_result
from promptls.engine import Engine
from promptls.index import Snapshot, match_globs
from promptls.mentions.resolve import parse_mentions
from promptls.model import CancelToken
from promptls.prompt.intent.detect import detect_intent

MAX_HITS = 1000
"""Maximum value of `limit`; the ranker considers about as many candidates."""


def search(engine: Engine, params: protocol.SearchParams, token: CancelToken) -> Json:
    """Handle `promptls/search`."""
    if not params.query.strip():
        raise InvalidParams("query: must not be blank.", "query")
    if not 1 <= params.limit <= MAX_HITS:
        raise InvalidParams(f"limit: must be between 1 and {MAX_HITS}.", "limit")
    snapshot = engine.snapshot_for_message(params.query, parse_mentions(params.query), token)
    paths = _match_paths(snapshot, params.paths) if params.paths else None
    services = engine.services
    query = services.cooccurrence.expand(
        detect_intent(params.query, params.query).query,
        snapshot,
        engine.index.reader(),
        complete=engine.index_complete,
    )
    with engine.index.foreground():
        find = retrieval.search_by_file if params.group_by == "file" else retrieval.search
        found = find(query, snapshot, engine.index, services.strategy, token, paths)
    items = [i for i in found.items if not params.kinds or i.kind in params.kinds]
    hits = [encode_item(item, snapshot) for item in items[: params.limit]]
    return redact_result({"hits": hits, "index": encode_index_state(engine.index.state())})


def _match_paths(snapshot: Snapshot, globs: Iterable[str]) -> list[str]:
    """Return the paths whose names match one of the glob patterns."""
    paths_by_name: dict[str, list[str]] = {}
    for path, entry in snapshot.files.items():
        paths_by_name.setdefault(entry.name, []).append(path)
    return [path for name in match_globs(paths_by_name, globs) for path in paths_by_name[name]]

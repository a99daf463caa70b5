"""Handle `promptls/search`: ranked regions of the workspace, and of the team index, for a query."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.path_globs import match_paths
from promptls.api.messages.results import encode_index_state, encode_item, redact_result
from promptls.api.team import start_team_search
from promptls.engine import Engine
from promptls.languages.kinds import SYMBOL_KINDS
from promptls.mentions.resolve import message_syntax
from promptls.model import CancelToken
from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval import retrieve

KINDS = (*SYMBOL_KINDS, "text")
"""Kinds of regions: those of definitions, and text between definitions."""
MAX_HITS = 1000
"""Maximum value of `limit`; the ranker considers about as many candidates."""


def search(engine: Engine, params: protocol.SearchParams, token: CancelToken) -> Json:
    """Handle `promptls/search`."""
    if not params.query.strip():
        raise InvalidParams("query: must not be blank.", "query")
    if not 1 <= params.limit <= MAX_HITS:
        raise InvalidParams(f"limit: must be between 1 and {MAX_HITS}.", "limit")
    kinds = {protocol.one_of("kinds", kind.lower(), KINDS) for kind in params.kinds}
    snapshot = engine.snapshot_for_message(message_syntax(params.query), token)
    paths = match_paths(snapshot, params.paths) if params.paths else None
    services = engine.services
    query = services.cooccurrence.expand(
        detect_intent(params.query, params.query).query,
        snapshot,
        engine.index.reader(),
        complete=engine.index_complete,
    )
    team = start_team_search(engine, query, snapshot)
    with engine.index.foreground():
        find = retrieve.search_by_file if params.group_by == "file" else retrieve.search
        found = find(query, snapshot, engine.index, services.strategy, token, paths)
    items = [i for i in found.items if not kinds or i.kind in kinds]
    hits = [encode_item(item, snapshot) for item in items[: params.limit]]
    result = {"hits": hits, "index": encode_index_state(engine.index.state())}
    return redact_result({**result, **team(params.limit, kinds)})

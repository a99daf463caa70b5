"""Handle `promptls/search`: ranked regions of the workspace, and of the team index, for a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.path_globs import match_paths
from promptls.api.messages.results import encode_index_state, encode_item, encode_span, redact_result
from promptls.engine import Engine
from promptls.index import Snapshot, file_stat
from promptls.languages.kinds import SYMBOL_KINDS
from promptls.mentions.resolve import message_syntax
from promptls.model import CancelToken, Item
from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval import retrieve
from promptls.retrieval.query import Query
from promptls.retrieval.team_source import TeamHit

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
    items = (item for item in found.items if not kinds or item.kind in kinds)
    hits = [encode_item(item, snapshot) for item in islice(current_items(items, engine, snapshot), params.limit)]
    result = {"hits": hits, "index": encode_index_state(engine.index.state())}
    return redact_result({**result, **team(params.limit, kinds)})


def current_items(items: Iterable[Item], engine: Engine, snapshot: Snapshot) -> Iterator[Item]:
    """Yield the regions whose lines are right: those of files that have not changed since they were indexed.

    Changed files are scheduled to be read.
    """
    changed: dict[str, bool] = {}
    for item in items:
        if item.path not in changed:
            changed[item.path] = has_changed_on_disk(item.path, snapshot)
            if changed[item.path]:
                engine.workspace.touch([item.path])
        if not changed[item.path]:
            yield item


def has_changed_on_disk(path: str, snapshot: Snapshot) -> bool:
    """Return whether a file that no editor has opened differs from its index."""
    entry = snapshot.files.get(path)
    return entry is None or (path not in snapshot.documents and file_stat(path) != (entry.size, entry.mtime_ns))


def start_team_search(engine: Engine, query: Query, snapshot: Snapshot) -> Callable[[int, Collection[str]], Json]:
    """Start a search; return a function of the limit and the kinds of hits that waits and encodes the result.

    The result is {} without a team index.
    """
    team = engine.services.team
    if team is None:
        return lambda limit, kinds: {}
    pending = team.start_search(query, engine.index.query_vector, [root.path for root in snapshot.roots])

    def wait(limit: int, kinds: Collection[str]) -> Json:
        answer = pending()
        hits = [hit for hit in answer.hits if not kinds or hit.kind in kinds][:limit]
        return {"team": {"hits": [encode_team_hit(hit) for hit in hits], "message": answer.problem}}

    return wait


def encode_team_hit(hit: TeamHit) -> Json:
    """Encode a hit with its text, because no client can open the file."""
    return {
        "repository": hit.repository.name,
        "commit": hit.repository.commit,
        "age": hit.repository.age(),
        "path": hit.path,
        "range": encode_span(hit.span),
        "kind": hit.kind,
        "symbol": hit.symbol,
        "score": hit.score,
        "text": hit.text,
    }


def render_team_hits(result: Json) -> str:
    """Return the hits of a result as a Markdown list, and the message if there is one; "" without a team index."""
    team = result.get("team")
    if not team or not (team["hits"] or team["message"]):
        return ""
    lines = [f"- {team_place(hit)} {hit['kind']} {hit['symbol']}".rstrip() for hit in team["hits"]]
    return "\n".join(["## Other repositories", "", *lines, *([team["message"]] if team["message"] else [])])


def team_place(hit: Json) -> str:
    """Return the place of an encoded hit: "acme/shop@1a2b3c4d5e/shop/cart.py:3-9 (3 days old)"."""
    lines = f"{hit['range']['start']['line'] + 1}-{hit['range']['end']['line']}"
    return f"{hit['repository']}@{hit['commit'][:10]}/{hit['path']}:{lines} ({hit['age']})"

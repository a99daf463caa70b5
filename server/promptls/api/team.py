"""Hits of the team index in the results of search requests."""

from __future__ import annotations

from collections.abc import Callable, Collection

from promptls.api.messages.params import Json
from promptls.api.messages.results import encode_span
from promptls.engine import Engine
from promptls.index import Snapshot
from promptls.retrieval.query import Query
from promptls.retrieval.team_source import TeamHit


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

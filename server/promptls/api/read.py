"""Handle `promptls/read`: regions with line numbers, imports, headers and relations, within a token budget."""

from __future__ import annotations

from promptls.api.list_regions import budget_for, first_line
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import uri_of
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import encode_index_state, encode_span
from promptls.engine import Engine
from promptls.mentions.context import ClientContext
from promptls.model import CancelToken
from promptls.prompt.read_code import READ_BUDGET, read_places
from promptls.util.text.plural import plural

MAX_PLACES = 100
"""Maximum number of places in one request; more do not fit in any budget."""


def read(engine: Engine, params: protocol.ReadParams, token: CancelToken) -> Json:
    """Handle `promptls/read`."""
    if not 1 <= len(params.places) <= MAX_PLACES:
        raise InvalidParams(
            f"places: give 1 to {MAX_PLACES} places, such as src/a.py:10-60 or src/a.py#Name.", "places"
        )
    budget, counter = budget_for(engine, params.budget, READ_BUDGET)
    snapshot = engine.snapshot(token)
    context = engine.resolve_context(ClientContext(), snapshot, token)
    session = "" if params.again else params.session
    with engine.index.foreground():
        result = read_places(
            params.places,
            context,
            counter,
            budget,
            lambda: engine.graph_if_ready(snapshot),
            lambda path, span, lines: engine.received.has(session, path, span, lines),
        )
    engine.received.add(params.session, result.received)
    state = engine.index.state()
    changed = f"{plural(result.changed, 'file')} changed since they were indexed and have no relations yet."
    text = "\n".join(filter(None, [first_line(state, 0), changed if result.changed else "", result.text]))
    return {
        "text": text,
        "tokens": counter.count(text),
        "regions": [
            {
                "uri": uri_of(region.path, snapshot.documents),
                "path": snapshot.label(region.path),
                "range": encode_span(region.span),
                "kind": region.kind,
                "symbol": region.symbol,
                "complete": region.is_complete,
                "repeated": region.is_repeated,
            }
            for region in result.regions
        ],
        "problems": list(result.problems),
        "index": encode_index_state(state),
    }

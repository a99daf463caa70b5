"""Handle `promptls/list` and `promptls/read`: regions of code in one line each or with their text, within a token budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase, translate
from itertools import islice, pairwise
from typing import Any

from msgspec.structs import replace

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import uri_of
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.path_globs import match_paths
from promptls.api.messages.results import encode_index_state, encode_span
from promptls.api.search import has_changed_on_disk
from promptls.engine import Engine
from promptls.index import IndexState, Snapshot, find_words, split_identifier
from promptls.languages.kinds import TITLED_KINDS
from promptls.mentions.context import ClientContext
from promptls.mentions.resolve import message_syntax
from promptls.model import CancelToken, Item
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.prompt.errors import InvalidOption
from promptls.prompt.intent.detect import detect_intent
from promptls.prompt.read_code import READ_BUDGET, read_places
from promptls.prompt.region_list import LIST_BUDGET, ListedRegion
from promptls.prompt.region_list import list_regions as lay_out
from promptls.prompt.sanitize import one_line
from promptls.prompt.tokens import Counter
from promptls.retrieval import retrieve
from promptls.retrieval.places import with_places
from promptls.retrieval.query import Query
from promptls.util.text.display import plural

SUMMARY_TOKENS = 36
"""Maximum tokens of the line that counts the regions."""
MAX_SNIPPET_LINES = 20
"""Maximum value of `snippets`; whole regions are read with promptls/read."""

MAX_NAME_WORDS = 5
"""Maximum number of words of a query that may be those of a name; longer ones are questions."""
MAX_GLOB_NAMES = 200
"""Maximum number of names that a glob adds to a query; more do not fit in a list."""

_WILDCARD = re.compile(r"[*?\[]")


def list_regions(engine: Engine, params: protocol.ListParams, token: CancelToken) -> Json:
    """Handle `promptls/list`."""
    if not params.query.strip():
        raise InvalidParams("query: must not be blank.", "query")
    if not 0 <= params.snippets <= MAX_SNIPPET_LINES:
        raise InvalidParams(f"snippets: must be between 0 and {MAX_SNIPPET_LINES}.", "snippets")
    if params.first < 1:
        raise InvalidParams("first: must be at least 1.", "first")
    budget, counter = budget_for(engine, params.budget, LIST_BUDGET)
    snapshot = engine.snapshot_for_message(message_syntax(params.query), token)
    paths = match_paths(snapshot, params.paths) if params.paths else None
    services = engine.services
    query = services.cooccurrence.expand(
        detect_intent(params.query, params.query).query,
        snapshot,
        engine.index.reader(),
        complete=engine.index_complete,
    )
    query = with_names(with_joined_names(query, snapshot), params.names, snapshot)
    sources = engine.index.source_reader(snapshot)
    with engine.index.foreground():
        found: Sequence[Item] = retrieve.search(query, snapshot, engine.index, services.strategy, token, paths).items
        reader = engine.index.reader()
        found = with_places(found, params.query, query, (), snapshot, reader, sources, token, paths)
        items = promote_names(found, query)
        named = [item for item in items if matches_name(item, params.names)] if params.names else items
        changed = {path for path in {item.path for item in named} if has_changed_on_disk(path, snapshot)}
        current = [item for item in named if item.path not in changed]
        if changed:
            engine.workspace.touch(changed)
        state = engine.index.state()
        header = first_line(state, len(changed))
        reserve = SUMMARY_TOKENS + (counter.count(header) if header else 0)
        listed = lay_out(
            current,
            query,
            sources,
            counter,
            max(1, budget - reserve),
            all_marked=params.all_marked or bool(params.paths) or query.seeks_tests or query.about_docs,
            snippet_lines=params.snippets,
            first_number=params.first,
        )
    summary = f"{len(listed.regions)} of {listed.found} regions"
    if listed.hidden:
        summary += f"; {listed.hidden} in tests, docs, examples and data are left out"
    if not listed.regions:
        summary = _nothing_found(params, paths, state)
    text = "\n".join(filter(None, [header, summary, listed.text]))
    return {
        "text": text,
        "tokens": counter.count(text),
        "regions": _encode_regions(listed.regions, snapshot),
        "found": listed.found,
        "index": encode_index_state(state),
    }


def budget_for(engine: Engine, budget: protocol.Budget, default: int) -> tuple[int, Counter]:
    """Return the tokens and the counter of a request.

    Raises:
        InvalidParams: The budget is invalid.
    """
    request = BudgetRequest(budget.tokens or default, budget.model, budget.counter)
    try:
        limit = budget_of(engine.settings.budget, request)
    except InvalidOption as error:
        raise InvalidParams(str(error), error.field, error.valid) from None
    return limit.tokens, limit.counter


def with_joined_names(query: Query, snapshot: Snapshot) -> Query:
    """Add the names in the workspace that three or more adjacent words of a short query make: "news resource entity"."""
    words = [word.lower() for word in find_words(query.text)]
    if not 3 <= len(words) <= MAX_NAME_WORDS:
        return query
    runs = [words[i:j] for i in range(len(words)) for j in range(len(words), i + 2, -1)]
    joined = [name for run in runs for name in ("".join(run), "_".join(run)) if name in snapshot.names]
    return replace(query, names=tuple(dict.fromkeys([*joined, *query.names])), word_pairs=(*joined, *query.word_pairs))


def with_names(query: Query, names: Sequence[str], snapshot: Snapshot) -> Query:
    """Add the names that a list is restricted to, so that their definitions are candidates."""
    exact = [name for name in names if not _WILDCARD.search(name)]
    last_parts = [re.split(r"[.#]|::", name)[-1].lower() for name in names if _WILDCARD.search(name)]
    patterns = [re.compile(translate(part)) for part in last_parts if part.strip("*")]
    matching = (name for name in snapshot.names if any(pattern.match(name) for pattern in patterns)) if patterns else ()
    return replace(query, names=tuple(dict.fromkeys([*exact, *islice(matching, MAX_GLOB_NAMES), *query.names])))


def promote_names(items: Sequence[Item], query: Query) -> Sequence[Item]:
    """Move definitions whose names contain adjacent words of a short query in order to the front: "fish install"."""
    words = [word.lower() for word in find_words(query.text)]
    if not 2 <= len(words) <= MAX_NAME_WORDS:
        return items
    pairs = {first + second for first, second in pairwise(words)}

    def matched(item: Item) -> int:
        parts = split_identifier(item.symbol.rpartition(".")[2]) if item.kind not in TITLED_KINDS else []
        return len(pairs.intersection(first + second for first, second in pairwise(parts)))

    return sorted(items, key=lambda item: -matched(item))


def matches_name(item: Item, names: Sequence[str]) -> bool:
    """Return whether the qualified name of a region ends with one of the names, or matches it as a glob."""
    name = item.symbol.lower()
    for wanted in (one.lower().replace("::", ".").replace("#", ".") for one in names):
        if _WILDCARD.search(wanted):
            if fnmatchcase(name, wanted) or fnmatchcase(name.rpartition(".")[2], wanted):
                return True
        elif f".{name}".endswith(f".{wanted}") or name.startswith(f"{wanted}.") or f".{wanted}." in name:
            return True
    return False


def first_line(state: IndexState, changed: int) -> str:
    """Return what the reader must know first: an incomplete index, and changed files; "" if there is neither."""
    parts = [state.incomplete] if state.incomplete else []
    if changed:
        parts.append(f"{plural(changed, 'file')} changed since they were indexed and are left out; list again.")
    return " ".join(parts)


def unsaved_files(engine: Engine, result: Json) -> list[str]:
    """Return the files in a result whose text in an editor differs from the disk, as displayed and sorted."""
    snapshot = engine.index.snapshot()
    by_uri = {uri_of(path, snapshot.documents): path for path in engine.unsaved if path in snapshot.files}
    found = {by_uri[uri] for uri in _uris(result) if uri in by_uri} if by_uri else ()
    sources = engine.index.source_reader(snapshot)
    return sorted(snapshot.label(path) for path in found if sources.differs_from_disk(path))


def _uris(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        uri = value.get("uri")
        if isinstance(uri, str):
            yield uri
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _uris(one)


def unsaved_line(engine: Engine, result: Json) -> str:
    """Return the line about unsaved text in a result, "" without any."""
    names = unsaved_files(engine, result)
    return f"{', '.join(map(one_line, names))}: unsaved in the editor." if names else ""


def _nothing_found(params: protocol.ListParams, paths: Sequence[str] | None, state: IndexState) -> str:
    if paths is not None and not paths:
        return f"No indexed file matches {', '.join(params.paths)}. Globs are relative to the workspace folder."
    if state.progress < 1:
        return "No regions yet; list again when more of the workspace is indexed."
    limited = " Try without paths or names." if params.paths or params.names else " Try other words."
    return f"No regions found.{limited}"


def _encode_regions(regions: Sequence[ListedRegion], snapshot: Snapshot) -> list[Json]:
    places = {path: (uri_of(path, snapshot.documents), snapshot.label(path)) for path in {r.path for r in regions}}
    return [
        {
            "number": region.number,
            "uri": places[region.path][0],
            "path": places[region.path][1],
            "ranges": [encode_span(span) for span in region.spans],
            "kind": region.kind,
            "symbol": region.symbol,
            "mark": region.mark,
        }
        for region in regions
    ]


# ---------------------------------------------------------------- read


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

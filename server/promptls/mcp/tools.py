"""Functions of the tools: each calls functions of `promptls.api` and returns a result and its compact text.

All take the engine, the parameters, whether the index was up to date with the disk, and a cancel token.
"""

from __future__ import annotations

from msgspec import structs

from promptls.api import params as protocol
from promptls.api.build_prompt import build_prompt
from promptls.api.explain import explain
from promptls.api.params import InvalidParams, Json
from promptls.api.search import search
from promptls.engine import Engine
from promptls.mcp.params import (
    RELATIONS,
    ContextItem,
    ExplainSymbolParams,
    ExplainSymbolResult,
    GetContextParams,
    GetContextResult,
    Hit,
    IndexFreshness,
    MentionResult,
    OmittedRegion,
    RelatedCodeParams,
    RelatedCodeResult,
    SearchCodeParams,
    SearchCodeResult,
)
from promptls.mcp.regions import (
    RegionReader,
    freshness,
    qualified_name,
    related_of,
    related_of_item,
    render_freshness,
    render_region,
    render_related,
    span_of,
)
from promptls.mentions.context import ClientContext, ResolveContext
from promptls.mentions.format import format_argument_mention
from promptls.mentions.resolve import parse_mentions, resolve_mentions
from promptls.model import CancelToken, MentionOutcome

MAX_OMITTED = 20
"""Maximum number of omitted regions that are listed; all are counted."""
MAX_RELATED = 25
"""Maximum number of related definitions in each list."""
DEFINITION_LINES, RELATED_LINES = 60, 6
"""Maximum number of lines shown of an explained definition, and of each related one."""

_SECTIONS = protocol.Sections(instructions=False, rules=False)
"""Sections left out of a context: agents have instructions and read the rule files of the workspace themselves."""


def search_code(
    engine: Engine, params: SearchCodeParams, up_to_date: bool, token: CancelToken
) -> tuple[SearchCodeResult, str]:
    """Search for regions of code by meaning, names and words."""
    end = params.offset + params.limit
    request = protocol.SearchParams(params.query, end + 1, params.paths, params.kinds)
    found = search(engine, request, token)["hits"]
    reader = _region_reader(engine, token)
    hits = []
    for one in found[params.offset : end]:
        region = reader.from_range(one, params.max_lines)
        hits.append(Hit(**structs.asdict(region), score=one["score"]))
    result = SearchCodeResult(tuple(hits), end if len(found) > end else None, _freshness(engine, up_to_date))
    parts = [render_region(hit, f" (score {hit.score:.2f})") for hit in hits] or ["Nothing found."]
    if result.next_offset is not None:
        parts.append(f"More: offset={result.next_offset}.")
    return result, _join(*parts, render_freshness(result.index))


def get_context(
    engine: Engine, params: GetContextParams, up_to_date: bool, token: CancelToken
) -> tuple[GetContextResult, str]:
    """Build the context for a question within a token budget."""
    output, sections = ("text", protocol.Sections()) if params.instructions else ("context", _SECTIONS)
    budget = protocol.Budget(tokens=params.budget_tokens, model=params.model or None)
    request = protocol.BuildPromptParams(params.question, budget=budget, output=output, sections=sections)
    try:
        built = build_prompt(engine, request, token)
    except InvalidParams as error:
        raise _renamed(
            error, {"message": "question", "budget.tokens": "budget_tokens", "budget.model": "model"}
        ) from None
    reader = _region_reader(engine, token)
    omitted = [one for one in built["omitted"] if one["tokens"] > 0]  # the others scored too low to be useful
    result = GetContextResult(
        built["prompt"],
        built["tokens"]["used"],
        built["tokens"]["budget"],
        tuple(_context_item(one, reader) for one in built["items"]),
        tuple(_mention_result(one) for one in built["mentions"]),
        tuple(_omitted_region(one, reader) for one in omitted[:MAX_OMITTED]),
        len(omitted),
        tuple(built["warnings"]),
        _freshness(engine, up_to_date),
    )
    return result, _render_context(result)


def _render_context(result: GetContextResult) -> str:
    mentions = [
        f"{m.mention}: {m.status}. {m.reason} {' '.join(m.candidates)}".rstrip() for m in result.mentions if m.reason
    ]
    omitted = [f"- {o.path}:{o.start_line}-{o.end_line}: {o.reason} ({o.tokens} tokens)" for o in result.omitted]
    return _join(
        result.context,
        f"({result.tokens} of {result.budget_tokens} tokens)",
        "\n".join(mentions),
        "\n".join([f"Left out ({result.omitted_count}):", *omitted]) if omitted else "",
        "\n".join(result.warnings),
        render_freshness(result.index),
    )


def explain_symbol(
    engine: Engine, params: ExplainSymbolParams, up_to_date: bool, token: CancelToken
) -> tuple[ExplainSymbolResult, str]:
    """Explain a definition: its text, callers, callees, tests and implementations."""
    target = f"{params.path}#{params.name}" if params.path else params.name
    explained = _explain(engine, target, token)
    node = explained["node"]
    context = engine.resolve_context(ClientContext(), engine.snapshot(token), token)
    reader = RegionReader(context.sources)
    lists = {
        name: tuple(related_of(one, reader) for one in explained[name][:MAX_RELATED])
        for name in ("callers", "callees", "tests", "supertypes", "users", "others")
    }
    implementations = tuple(related_of(one, reader) for one in explained["subtypes"][:MAX_RELATED])
    if not implementations and qualified_name(node):  # overrides of a method
        outcome = _resolve_relation("implementations", f"{node['path']}#{qualified_name(node)}", context)
        items = outcome.targets if outcome is not None else ()
        implementations = tuple(related_of_item(item, reader) for item in items[:MAX_RELATED])
    result = ExplainSymbolResult(
        definition=reader.from_range(node, DEFINITION_LINES),
        signature=explained["signature"],
        doc=explained["doc"],
        implementations=implementations,
        index=_freshness(engine, up_to_date),
        **lists,
    )
    text = _join(
        render_region(result.definition),
        render_related("Called by", result.callers),
        render_related("Calls", result.callees),
        render_related("Tested by", result.tests),
        render_related("Implemented by", result.implementations),
        render_related("Extends", result.supertypes),
        render_related("Used by", result.users),
        render_related("Others of that name", result.others),
        render_freshness(result.index),
    )
    return result, text


def related_code(
    engine: Engine, params: RelatedCodeParams, up_to_date: bool, token: CancelToken
) -> tuple[RelatedCodeResult, str]:
    """List the code that has a relation to a definition."""
    argument = params.symbol
    if params.relation == "call path":
        if not params.to:
            raise InvalidParams('to: required for a "call path": the symbol that the path ends in.', "to")
        argument = f"{params.symbol}..{params.to}"
    elif params.to:
        raise InvalidParams(f'to: not allowed for {params.relation!r}; only a "call path" has an end.', "to")
    context = engine.resolve_context(ClientContext(), engine.snapshot(token), token)
    outcome = _resolve_relation(params.relation, argument, context)
    if outcome is None:
        raise InvalidParams(f"symbol: {argument[:80]!r} is not a name; give a name or path#name.", "symbol")
    if outcome.status == "ambiguous":
        names = tuple(text.removeprefix(f"@{RELATIONS[params.relation]}:") for text in outcome.candidates)
        raise InvalidParams(f"symbol: {outcome.reason} Give one of: {', '.join(names)}.", "symbol", names)
    if not outcome.targets:
        for symbol in filter(None, (params.symbol, params.to)):
            _explain(engine, symbol, token)  # an unknown symbol is an error, but a symbol without callers is not
    reader = RegionReader(context.sources)
    regions = tuple(reader.from_item(item, RELATED_LINES) for item in outcome.targets)
    result = RelatedCodeResult(regions, outcome.reason, _freshness(engine, up_to_date))
    return result, _join(outcome.reason, *map(render_region, regions), render_freshness(result.index))


def _resolve_relation(relation: str, argument: str, context: ResolveContext) -> MentionOutcome | None:
    """Return the outcome of the mention of a relation; None if no mention can contain the argument."""
    message = format_argument_mention(RELATIONS[relation], argument)
    return resolve_mentions(message, context, mentions=parse_mentions(message))[0] if message else None


def _explain(engine: Engine, target: str, token: CancelToken) -> Json:
    """Return the explanation of a target.

    Raises:
        InvalidParams: Nothing has this name.
    """
    explained = explain(engine, protocol.ExplainParams(symbol=target), token)
    if not explained["found"]:
        suggestions = tuple(explained["suggestions"])
        hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
        raise InvalidParams(explained["problem"] + hint, "symbol", suggestions)
    return explained


def _region_reader(engine: Engine, token: CancelToken) -> RegionReader:
    return RegionReader(engine.index.source_reader(engine.index.snapshot(token), engine.settings.secrets.allow_files))


def _freshness(engine: Engine, up_to_date: bool) -> IndexFreshness:
    return freshness(engine.index.state(), up_to_date)


def _context_item(item: Json, reader: RegionReader) -> ContextItem:
    region = reader.from_range(item, 0)
    mentioned = item["origin"] in ("mention", "selection")
    return ContextItem(
        region.path, region.start_line, region.end_line, region.symbol, item["form"], item["tokens"], mentioned
    )


def _omitted_region(omitted: Json, reader: RegionReader) -> OmittedRegion:
    span = span_of(omitted["range"])
    return OmittedRegion(
        reader.label(omitted["uri"]),
        span.start + 1,
        max(span.start + 1, span.end),
        omitted["reason"],
        omitted["tokens"],
    )


def _mention_result(outcome: Json) -> MentionResult:
    return MentionResult(
        outcome["text"],
        outcome["status"],
        outcome["reason"],
        outcome.get("suggestion", ""),
        tuple(outcome.get("candidates", ())),
    )


def _renamed(error: InvalidParams, names: dict[str, str]) -> InvalidParams:
    """Return an error with the names of the tool's parameters instead of those of the request."""
    name = names.get(error.field, error.field)
    message = str(error).replace(f"{error.field}:", f"{name}:", 1)
    for old, new in names.items():
        message = message.replace(old, new) if "." in old else message
    return InvalidParams(message, name, error.valid)


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))

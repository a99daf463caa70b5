"""Functions of the tools: each calls functions of `promptls.api` and returns a result and its compact text.

All take the engine, the parameters, whether the index was up to date with the disk, and a cancel token.
"""

from __future__ import annotations

from msgspec import structs

from promptls.api.build_prompt import build_prompt
from promptls.api.explain import explain
from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.path_globs import match_paths
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
    team_region,
)
from promptls.mentions.context import ClientContext, ResolveContext
from promptls.mentions.resolve import ParsedMessage, message_syntax, resolve_message
from promptls.mentions.syntax.grammar import format_argument_mention
from promptls.model import CancelToken, MentionOutcome

MAX_OMITTED = 10
"""Maximum number of omitted regions that are listed, best first; all are counted. The list is not in the budget."""
MAX_RELATED, MAX_MEMBERS = 25, 100
"""Maximum number of related definitions in each list, and of members of a file or class."""
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
    result = search(engine, request, token)
    found = result["hits"]
    team = result.get("team", {"hits": [], "message": ""})
    others = tuple(team_region(one, params.max_lines) for one in team["hits"][: params.limit] if not params.offset)
    reader = _region_reader(engine, token)
    hits = []
    for one in found[params.offset : end]:
        region = reader.from_range(one, params.max_lines)
        hits.append(Hit(**structs.asdict(region), score=one["score"]))
    next_offset = end if len(found) > end else None
    answer = SearchCodeResult(tuple(hits), next_offset, _freshness(engine, up_to_date), others, team["message"])
    parts = [render_region(hit, f" (score {hit.score:.2f})") for hit in hits]
    if not hits:
        parts = [_nothing_found(engine, params, len(found), token)]
    if next_offset is not None:
        parts.append(f"More: offset={next_offset}.")
    if others:
        parts += ["Other repositories:", *(render_region(hit, f" (score {hit.score:.2f})") for hit in others)]
    return answer, _join(*parts, team["message"], render_freshness(answer.index))


def _nothing_found(engine: Engine, params: SearchCodeParams, count: int, token: CancelToken) -> str:
    """Return a sentence about a page without regions: what to change in the call."""
    if count:
        return f"No more regions: the search found {count}."
    if params.paths and not match_paths(engine.index.snapshot(token), params.paths):
        return (
            f"Nothing found: no indexed file matches paths {', '.join(params.paths)}. Globs are relative to the root."
        )
    return "Nothing found." + (" Try without kinds or paths." if params.kinds or params.paths else "")


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
        "\n".join([f"Left out ({result.omitted_count}); raise budget_tokens to include more:", *omitted])
        if omitted
        else "",
        "\n".join(result.warnings),
        render_freshness(result.index),
    )


def explain_symbol(
    engine: Engine, params: ExplainSymbolParams, up_to_date: bool, token: CancelToken
) -> tuple[ExplainSymbolResult, str]:
    """Explain a definition: its text, callers, callees, tests and implementations."""
    explained = _explain_in_file(engine, params, token)
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
        definition=reader.from_range(node, 0 if explained["children"] and node["type"] == "file" else DEFINITION_LINES),
        signature=explained["signature"],
        doc=explained["doc"],
        implementations=implementations,
        members=tuple(related_of(one, reader) for one in explained["children"][:MAX_MEMBERS]),
        index=_freshness(engine, up_to_date),
        **lists,
    )
    text = _join(
        render_region(result.definition),
        render_related("Contains", result.members),
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
        raise _ambiguous(outcome, params)
    if not outcome.targets:
        for symbol in filter(
            None, (params.symbol, params.to)
        ):  # an unknown one is an error, one without callers is not
            if _explain(engine, symbol, token)["node"]["type"] == "file":
                raise InvalidParams(
                    f"symbol: {symbol} is a file; give {symbol}#NAME. explain_symbol lists its definitions.", "symbol"
                )
    reader = RegionReader(context.sources)
    regions = tuple(reader.from_item(item, RELATED_LINES) for item in outcome.targets)
    result = RelatedCodeResult(regions, outcome.reason, _freshness(engine, up_to_date))
    return result, _join(outcome.reason, *map(render_region, regions), render_freshness(result.index))


def _ambiguous(outcome: MentionOutcome, params: RelatedCodeParams) -> InvalidParams:
    """Return the error for a name that several places define; of a call path, for the end that is ambiguous."""
    field, names = "symbol", [text.removeprefix(f"@{RELATIONS[params.relation]}:") for text in outcome.candidates]
    if params.to:
        ends = [name.partition("..")[::2] for name in names]
        field = "symbol" if len({start for start, _ in ends}) > 1 else "to"
        names = list(dict.fromkeys(start if field == "symbol" else end for start, end in ends))
    value = params.symbol if field == "symbol" else params.to
    return InvalidParams(
        f"{field}: several definitions match {value!r}. Give one of: {', '.join(names)}.", field, tuple(names)
    )


def _resolve_relation(relation: str, argument: str, context: ResolveContext) -> MentionOutcome | None:
    """Return the outcome of the mention of a relation; None if no mention can contain the argument."""
    message = format_argument_mention(RELATIONS[relation], argument)
    if not message:
        return None
    return resolve_message(ParsedMessage(message, mentions=message_syntax(message).mentions), context).outcomes[0]


def _explain_in_file(engine: Engine, params: ExplainSymbolParams, token: CancelToken) -> Json:
    """Return the explanation of a symbol, in a file if one is given.

    Raises:
        InvalidParams: Nothing has this name, or the file does not define it; the error names the files that do.
    """
    if not params.path:
        return _explain(engine, params.name, token)
    try:
        return _explain(engine, f"{params.path}#{params.name}", token)
    except InvalidParams:
        elsewhere = _explain(engine, params.name, token)
    paths = tuple(dict.fromkeys(one["path"] for one in (elsewhere["node"], *elsewhere["others"])))
    raise InvalidParams(
        f"path: {params.path} does not define {params.name}. It is defined in: {', '.join(paths)}.", "path", paths
    )


def _explain(engine: Engine, target: str, token: CancelToken) -> Json:
    """Return the explanation of a target.

    Raises:
        InvalidParams: Nothing has this name.
    """
    explained = explain(engine, protocol.ExplainParams(symbol=target), token)
    if not explained["found"]:
        suggestions = tuple(explained["suggestions"])
        hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
        problem = explained["problem"].replace(" (see promptls/explainIgnore)", "")  # a request of the language server
        raise InvalidParams(problem + hint, "symbol", suggestions)
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

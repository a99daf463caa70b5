"""promptls/buildPrompt, resolveMentions, completeMention, verifyCitations."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from promptls.api import params as protocol
from promptls.api import results
from promptls.api.params import InvalidParams, Json
from promptls.engine import Engine
from promptls.index.snapshot import Snapshot, Sources
from promptls.mentions.completion.complete import complete
from promptls.mentions.context import Request
from promptls.mentions.grammar import parse
from promptls.model import CancelToken, Item, TextView
from promptls.prompt import build, citations, recipes, tokens
from promptls.prompt.assemble import OUTPUTS, BudgetTooSmall, Placed
from promptls.prompt.explicit import in_front
from promptls.prompt.hints import Contents, hints
from promptls.prompt.layouts import Message
from promptls.prompt.profile import PROFILES, Profile, profile
from promptls.prompt.variants import VARIANTS
from promptls.settings import MAX_TOKENS, SectionSettings


def build_prompt(engine: Engine, params: protocol.BuildPromptParams, token: CancelToken) -> Json:
    """promptls/buildPrompt"""
    if not params.message.strip():
        raise InvalidParams("message: it is blank; it must hold the question.", "message")
    snapshot = engine.view_for(params.message, token)
    request = engine.request(params.context, snapshot, token, params.document)
    wanted = _wanted(engine, params, request)
    try:
        with engine.indexer.undisturbed():
            built = build.build(params.message, wanted, request, engine.surroundings())
    except BudgetTooSmall as error:
        raise InvalidParams(
            f"budget.tokens: {error.budget} cannot hold the message, which needs at least {error.needed}.",
            "budget.tokens",
        ) from None
    engine.workspace.edits.mark()
    final = built.assembled
    standing = engine.indexer.standing()
    messages = [{"role": m.role, "content": m.content} for m in final.messages]
    return {
        **({"messages": messages} if messages else {"prompt": final.prompt}),
        "tokens": {
            "budget": wanted.budget,
            "used": final.used,
            "counter": wanted.counter.name,
            "exact": wanted.counter.exact,
            "sections": dict(final.sections),
        },
        "items": [
            results.item_json(
                p.block.item, snapshot, p.block.form, p.block.tokens, p.citation, p.block.spans, _others(p)
            )
            for p in final.items
        ],
        "omitted": [
            {
                "uri": results.uri_of(o.item.path),
                "range": results.range_of(o.item.span),
                "reason": o.reason,
                "tokens": o.tokens,
            }
            for o in built.omitted
        ],
        "mentions": [results.mention_json(m, params.message) for m in built.mentions],
        "intent": results.intent_json(built.intent),
        "wasTruncated": built.dropped > 0,
        "droppedCount": built.dropped,
        "trace": {
            "stages": [{"name": s.name, "in": s.taken, "out": s.given, "ms": s.ms} for s in built.stages],
            "line": built.line,
        },
        "modelHints": _hints(params, wanted, built),
        "index": results.index_json(standing),
        "warnings": [*built.warnings, *([standing.message] if standing.state == "degraded" else [])],
    }


def _others(placed: Placed) -> tuple[Item, ...]:
    """What a block stands for beside its own item."""
    item = placed.block.item
    return tuple(s for s in placed.sources if (s.span, s.symbol) != (item.span, item.symbol))


def _hints(params: protocol.BuildPromptParams, wanted: build.Wanted, built: build.Built) -> Json:
    """What a client may tell its model."""
    items = built.assembled.items
    contents = Contents(
        variant=wanted.variant,
        recipe=params.recipe if params.recipe and "task" in built.assembled.sections else "",
        sections=tuple(built.assembled.sections),
        typed=wanted.wants("instructions"),
        mentioned=sum(item.explicit for item in items),
        found=sum(not item.explicit for item in items),
        reduced=sum(item.block.form != "full" for item in items),
        redacted=any(warning.startswith("redacted") for warning in built.warnings),
        messages=wanted.output == "messages",
    )
    found = hints(built.intent.action, built.intent.types, params.budget.model or "", contents)
    return {"temperature": found.temperature, "maxTokens": found.max_tokens, "practices": list(found.practices)}


def _wanted(engine: Engine, params: protocol.BuildPromptParams, request: Request) -> build.Wanted:
    ours = engine.settings
    wanted = profile(protocol.one_of("profile", params.profile or ours.retrieval.profile, PROFILES))
    recipe = _recipe(engine, params, request)
    variant = params.variant or recipe.variant or ours.retrieval.variant or wanted.variant or "baseline"
    try:
        budget, counter, warnings = budget_of(engine, params.budget, wanted)
        return build.Wanted(
            budget=budget,
            counter=counter,
            profile=wanted,
            variant=protocol.one_of("variant", variant, VARIANTS),
            output=protocol.one_of("output", params.output, OUTPUTS),
            history=tuple(Message(turn.role, turn.content) for turn in params.context.history),
            task=recipe.text,
            brings=recipe.mentions,
            switched=_switched(params.sections, recipe.sections, ours.sections),
            threshold=ours.retrieval.threshold,
            warnings=(*warnings, *recipe.warnings),
            completeness=engine.indexer.standing().complete,
        )
    except tokens.UnknownName as error:
        raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None


class _Task(Struct, frozen=True):
    """A recipe as this request uses it."""

    text: str = ""
    variant: str = ""
    mentions: tuple[str, ...] = ()
    sections: dict[str, bool] = {}
    warnings: tuple[str, ...] = ()


def _recipe(engine: Engine, params: protocol.BuildPromptParams, request: Request) -> _Task:
    """The recipe that is asked for, with its arguments filled in.  Raises InvalidParams."""
    if params.recipe is None:
        if params.arguments:
            raise InvalidParams("arguments: there is no recipe to take them; name one.", "arguments")
        return _Task()
    recipe = recipes.find(engine.recipes(request).recipes, params.recipe)
    if isinstance(recipe, recipes.Wrong):
        raise InvalidParams(recipe.message, recipe.field, recipe.valid)
    text = recipes.render(recipe, params.arguments, _values(params.message, request))
    if isinstance(text, recipes.Wrong):
        raise InvalidParams(text.message, text.field, text.valid)
    warnings = (
        (f"The recipe {recipe.name!r} comes from this workspace ({recipe.source}).",)
        if recipe.origin == "workspace"
        else ()
    )
    return _Task(text, recipe.variant or "", recipe.mentions, dict(recipe.sections), warnings)


def _values(message: str, request: Request) -> dict[str, str]:
    """What a recipe's text can speak of."""
    client, snapshot = request.client, request.snapshot
    named = [mention.text.removeprefix("@") for mention in parse(message)]
    path, selection, symbol = client.active, "", ""
    if client.selection is not None:
        path, span = client.selection
        selection = f"{snapshot.label(path)}:{span.label}"
        around, _ = in_front(message, request)
        symbol = around[0].symbol if around else ""
    entry = snapshot.files.get(path)
    language = entry.outline.language if entry is not None and entry.outline is not None else ""
    file = snapshot.label(path) if path else ""
    return recipes.values_for(named=named, selection=selection, symbol=symbol, file=file, language=language)


def _switched(
    asked: protocol.Sections, recipe: Mapping[str, bool], ours: SectionSettings
) -> tuple[tuple[str, bool], ...]:
    """Which sections are on: as the request says, else the recipe, else the settings."""
    settings = {"format": ours.instructions, "overview": ours.architecture, **structs.asdict(ours)}
    said = {name: value for name, value in structs.asdict(asked).items() if value is not None}
    return tuple(
        (name, bool(value)) for name, value in {**settings, **recipe, **said}.items() if name != "rules_tokens"
    )


def budget_of(
    engine: Engine, wanted: protocol.Budget, of: Profile | None = None
) -> tuple[int, tokens.Counter, tuple[str, ...]]:
    """Tokens, their counter and warnings: as the request says, else the settings, else the profile."""
    of = of or profile("default")
    ours, user = engine.settings.budget, tokens.user_models()
    model = wanted.model or ours.model
    name = wanted.counter or (ours.counter if ours.counter != "auto" else of.counter or "auto")
    counter, doubts = tokens.choose(name, tokens.vocabulary_of(model, user) if model else "", ours.tokenizer)
    problems = tuple(problem.message for problem in doubts)
    if wanted.tokens is not None:
        if not 0 < wanted.tokens <= MAX_TOKENS:
            raise InvalidParams(f"budget.tokens: it must be an integer from 1 to {MAX_TOKENS:,}.", "budget.tokens")
        return wanted.tokens, counter, problems
    if wanted.model is None and ours.tokens:
        return ours.tokens, counter, problems
    if isinstance(of.budget, int):
        return of.budget, counter, problems
    if of.budget == "codebuddy":
        return tokens.codebuddy_budget(model), counter, problems
    problems += tuple(problem.message for problem in tokens.model_table(user).problems)
    budget, warning = tokens.budget_for(model, user)
    return budget, counter, (*problems, warning) if warning and model else problems


def resolve_mentions(engine: Engine, params: protocol.ResolveMentionsParams, token: CancelToken) -> Json:
    """promptls/resolveMentions: a dry run of the explicit part."""
    try:
        budget, counter, _ = budget_of(engine, params.budget)
    except tokens.UnknownName as error:
        raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None
    request = engine.request(params.context, engine.view_for(params.message, token), token, params.document)
    run = build.dry_run(params.message, request, budget, counter)
    return {
        "mentions": [results.mention_json(m, params.message) for m in run.mentions],
        "tokens": sum(p.block.tokens for p in run.items),
    }


def complete_mention(engine: Engine, params: protocol.CompleteMentionParams, token: CancelToken) -> Json:
    """promptls/completeMention"""
    if not 0 <= params.offset <= results.utf16_offset(params.text, len(params.text)):
        raise InvalidParams("offset: it must lie inside the text.", "offset")
    if not 1 <= params.limit <= 1000:
        raise InvalidParams("limit: it must lie between 1 and 1000.", "limit")
    snapshot = engine.view(token)
    request = engine.request(params.context, snapshot, token)
    offset = _code_points(params.text, params.offset)
    done = complete(params.text, offset, request, params.limit, lambda path: cost_of(path, snapshot))
    answer = {
        "isIncomplete": done.is_incomplete,
        "replace": {
            "start": results.utf16_offset(params.text, done.start),
            "end": results.utf16_offset(params.text, done.end),
        },
        "items": [
            {
                "label": i.label,
                "insertText": i.insert_text,
                "detail": i.detail,
                "documentation": i.documentation,
                "kind": i.kind,
                "tokens": i.tokens,
            }
            for i in done.items
        ],
    }
    return results.redacted(answer)


def cost_of(path: str, snapshot: Snapshot) -> int:
    """About how many tokens a file costs, without reading it: a quarter of its size."""
    document, entry = snapshot.documents.get(path), snapshot.files.get(path)
    return (len(document.text) if document is not None else entry.size if entry is not None else 0) // 4


def _code_points(text: str, utf16: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * utf16].decode("utf-16-le", "ignore"))


def verify_citations(engine: Engine, params: protocol.VerifyCitationsParams, token: CancelToken) -> Json:
    """promptls/verifyCitations"""
    snapshot = engine.view(token)
    sources = engine.request(protocol.Context(), snapshot, token).sources
    items = [_cited(item, snapshot, sources) for item in params.items]
    by_label = {snapshot.label(path): entry for path, entry in snapshot.files.items()}

    def lines_of(label: str) -> int | None:
        entry = by_label.get(label)
        if entry is None:
            found = [e for name, e in by_label.items() if name.endswith((f"/{label}", f":{label}"))]
            entry = found[0] if len(found) == 1 else None
        return None if entry is None else entry.outline.lines if entry.outline is not None else 1 << 30

    verdict = citations.verify(params.answer, items, lines_of)
    return {
        "citations": [
            {
                "text": c.text,
                "offset": results.utf16_offset(params.answer, c.start),
                "status": c.status,
                **({"citation": c.citation} if c.citation else {}),
                **({"path": c.path} if c.path else {}),
                **({"range": results.range_of(c.span)} if c.span is not None else {}),
                **({"reason": c.reason} if c.reason else {}),
                **({"missing": list(c.missing)} if c.missing else {}),
            }
            for c in verdict.citations
        ],
        "unknown": list(verdict.unknown),
        "unused": list(verdict.unused),
        "uncited": [
            {"start": results.utf16_offset(params.answer, start), "end": results.utf16_offset(params.answer, end)}
            for start, end in verdict.uncited
        ],
        "citedShare": verdict.share,
    }


def _cited(item: protocol.Cited, snapshot: Snapshot, sources: Sources) -> citations.Cited:
    """An item that may be cited, with its text as it is now."""
    path = results.path_of(item.uri)
    spans = tuple(one.span for one in item.spans) or (item.range.span,)
    if item.form in ("outline", "reference"):  # they show no lines
        spans = ()
    view = sources.read(path) if path is not None and path in snapshot.files else None
    text = "\n".join(map(view.slice, spans)) if isinstance(view, TextView) else ""
    return citations.Cited(item.citation, snapshot.label(path) if path else item.uri, item.range.span, text, spans)

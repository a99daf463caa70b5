"""promptls/buildPrompt, promptls/resolveMentions, promptls/completeMention."""

from __future__ import annotations

from promptls import protocol
from promptls.context.mentions.complete import complete
from promptls.engine import Engine
from promptls.index import disk
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.prompt import build, tokens
from promptls.prompt.assemble import OUTPUTS, BudgetTooSmall
from promptls.protocol import InvalidParams, Json
from promptls.requests import results


def build_prompt(engine: Engine, params: protocol.BuildPromptParams, token: CancelToken) -> Json:
    """promptls/buildPrompt"""
    wanted = _wanted(engine, params)
    snapshot = engine.view(token)
    request = engine.request(params.context, snapshot, token)
    try:
        built = build.build(params.message, wanted, request, engine.indexer, engine.legs)
    except BudgetTooSmall as error:
        raise InvalidParams(
            f"budget.tokens: {error.budget} cannot hold the message, which needs at least {error.needed}.",
            "budget.tokens",
        ) from None
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
                p.block.item, snapshot, p.block.form, p.block.tokens, p.citation, p.block.spans, p.sources[1:]
            )
            for p in final.items
        ],
        "omitted": [
            {
                "uri": disk.to_uri(o.item.path),
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
        "index": results.index_json(standing),
        "warnings": list(built.warnings),
    }


def _wanted(engine: Engine, params: protocol.BuildPromptParams) -> build.Wanted:
    if not params.message.strip():
        raise InvalidParams("message: it is blank; it must hold the question.", "message")
    protocol.one_of("profile", params.profile or "default", ("default",))
    variant = params.variant or engine.settings.retrieval.variant
    try:
        budget, counter, warnings = _budget(engine, params.budget)
        return build.Wanted(
            budget=budget,
            counter=counter,
            variant=protocol.one_of("variant", variant, build.VARIANTS),
            output=protocol.one_of("output", params.output, OUTPUTS),
            retrieval=params.sections.retrieval is not False,
            threshold=engine.settings.retrieval.threshold or 0.02,
            warnings=warnings,
            completeness=engine.indexer.standing().complete,
        )
    except tokens.UnknownName as error:
        raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None


def _budget(engine: Engine, wanted: protocol.Budget) -> tuple[int, tokens.Counter, tuple[str, ...]]:
    ours = engine.settings.budget
    counter = tokens.counter(wanted.counter or ours.counter)
    if wanted.tokens is not None:
        if wanted.tokens <= 0:
            raise InvalidParams("budget.tokens: it must be a positive integer.", "budget.tokens")
        return wanted.tokens, counter, ()
    if wanted.model is None and ours.tokens:
        return ours.tokens, counter, ()
    budget, warning = tokens.budget_for(wanted.model or ours.model)
    return budget, counter, (warning,) if warning and (wanted.model or ours.model) else ()


def resolve_mentions(engine: Engine, params: protocol.ResolveMentionsParams, token: CancelToken) -> Json:
    """promptls/resolveMentions: a dry run of the explicit part."""
    try:
        budget, counter, _ = _budget(engine, params.budget)
    except tokens.UnknownName as error:
        raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None
    request = engine.request(params.context, engine.view(token), token)
    outcomes = build.mentions_of(params.message, request, budget, counter)
    return {
        "mentions": [results.mention_json(m, params.message) for m in outcomes],
        "tokens": sum(m.tokens for m in outcomes),
    }


def complete_mention(engine: Engine, params: protocol.CompleteMentionParams, token: CancelToken) -> Json:
    """promptls/completeMention"""
    if not 0 <= params.offset <= results.utf16_offset(params.text, len(params.text)):
        raise InvalidParams("offset: it must lie inside the text.", "offset")
    snapshot = engine.view(token)
    request = engine.request(params.context, snapshot, token)
    offset = _code_points(params.text, params.offset)
    done = complete(params.text, offset, request, params.limit, lambda path: _cost(path, snapshot))
    return {
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


def _cost(path: str, snapshot: Snapshot) -> int:
    """About how many tokens a file costs, without reading it: a quarter of its size."""
    document, entry = snapshot.documents.get(path), snapshot.files.get(path)
    return (len(document.text) if document is not None else entry.size if entry is not None else 0) // 4


def _code_points(text: str, utf16: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * utf16].decode("utf-16-le", "ignore"))

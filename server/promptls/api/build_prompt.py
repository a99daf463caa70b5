"""Handle `promptls/buildPrompt` and `promptls/verifyCitations`: the prompt for a message, and the answer to it."""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec import structs

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import (
    decode_client_context,
    decode_location,
    encode_editor_location,
    path_of,
    uri_of,
)
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import (
    encode_index_state,
    encode_intent,
    encode_item,
    encode_mentions,
    encode_span,
    redact_result,
    utf16_offset,
    utf16_offsets,
)
from promptls.engine import Engine
from promptls.index import Snapshot, SourceReader
from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import locate_message, message_syntax
from promptls.mentions.syntax.answers import split_turns
from promptls.model import CancelToken, FileText, Mention, Span
from promptls.prompt.assemble import BudgetTooSmall, PromptItem
from promptls.prompt.budget import BudgetRequest
from promptls.prompt.build import BuildResult, build
from promptls.prompt.context.selection import SelectionReport
from promptls.prompt.errors import InvalidOption
from promptls.prompt.hints import PromptContents, model_hints
from promptls.prompt.layouts import Message
from promptls.prompt.options import PromptOptions, RequestOptions, resolve_options, resolve_recipe
from promptls.prompt.rendering.citations import CitableItem, Citation, verify


def build_prompt(engine: Engine, params: protocol.BuildPromptParams, token: CancelToken) -> Json:
    """Handle `promptls/buildPrompt`."""
    if not params.message.strip() and params.recipe is None:  # a recipe can do without
        raise InvalidParams("message: must not be blank.", "message")
    turns, (start, end) = split_turns(params.message)
    before = params.message[:start]
    if end - start < len(params.message):
        history = (*params.context.history, *(protocol.Turn(role, content) for role, content in turns))
        with_turns = structs.replace(params.context, history=history)
        params = structs.replace(params, message=params.message[start:end], context=with_turns)
    client = decode_client_context(params.context, engine.workspace)
    syntax = message_syntax(params.message)
    snapshot = engine.snapshot_for_message(syntax, token)
    incomplete = engine.index.state().incomplete if engine.index.is_reading else ""
    context = engine.resolve_context(client, snapshot, token, params.document)
    message = locate_message(syntax, context)
    options = _resolve_options(engine, params, message.mentions, context)
    try:
        with engine.index.foreground():
            result = build(message, options, context)
    except BudgetTooSmall as error:
        raise InvalidParams(
            f"message: needs at least {error.needed:,} tokens, more than the budget of {error.budget:,}. "
            "Shorten the message, or raise budget.tokens.",
            "message",
        ) from None
    engine.workspace.edit_history.mark_prompt()
    encoded = _encode_prompt(engine, params, options, snapshot, result, incomplete)
    shift = utf16_offsets(before)(len(before))
    for mention in encoded["mentions"] if shift else ():
        mention["range"] = {side: offset + shift for side, offset in mention["range"].items()}
    return encoded


def _resolve_options(
    engine: Engine, params: protocol.BuildPromptParams, mentions: tuple[Mention, ...], context: ResolveContext
) -> PromptOptions:
    """Merge the params with recipe, settings and profile.

    Raises:
        InvalidParams: A name or value is invalid.
    """
    budget = BudgetRequest(params.budget.tokens, params.budget.model, params.budget.counter, params.budget.fill)
    request = RequestOptions(
        profile=params.profile,
        variant=params.variant,
        output=params.output,
        selection=params.selection,
        budget=budget,
        sections={name: value for name, value in structs.asdict(params.sections).items() if value is not None},
        history=tuple(Message(turn.role, turn.content) for turn in params.context.history),
        pinned=_regions(params.pinned, engine),
        dropped=_regions(params.dropped, engine),
    )
    try:
        recipe = resolve_recipe(
            params.recipe,
            params.arguments,
            lambda: engine.recipes(context).recipes,
            mentions,
            context,
        )
        return resolve_options(
            engine.settings,
            request,
            recipe,
            language_model=engine.language_model,
            index_completeness=engine.index.state().progress,
            boundary_key=engine.boundary_key(),
        )
    except InvalidOption as error:
        raise InvalidParams(str(error), error.field, error.valid) from None


def _regions(regions: tuple[protocol.Location, ...], engine: Engine) -> tuple[tuple[str, Span], ...]:
    found = (decode_location(region.uri, region.range.span, engine.workspace) for region in regions)
    return tuple(region for region in found if region is not None)


def _encode_prompt(
    engine: Engine,
    params: protocol.BuildPromptParams,
    options: PromptOptions,
    snapshot: Snapshot,
    result: BuildResult,
    incomplete: str,
) -> Json:
    assembled = result.assembled
    state = engine.index.state()
    messages = [{"role": m.role, "content": m.content} for m in assembled.messages]
    text: Json = {"prompt": assembled.prompt}
    if messages:
        characters = utf16_offset(messages[-1]["content"], assembled.cacheable_characters)
        text = {
            "messages": messages,
            "cacheablePrefix": {"message": len(messages) - 1, "characters": characters},
        }
    encoded = {
        "tokens": {
            "budget": options.budget,
            "used": assembled.tokens_used,
            "counter": options.counter.name,
            "exact": options.counter.exact,
            "sections": dict(assembled.section_tokens),
        },
        "items": [_encode_prompt_item(item, snapshot, engine.unsaved) for item in assembled.items],
        "omitted": [
            {
                "uri": uri_of(omitted.item.path, snapshot.documents),
                "path": snapshot.label(omitted.item.path),
                "range": encode_span(omitted.item.span),
                **({"symbol": omitted.item.symbol} if omitted.item.symbol else {}),
                "reason": omitted.reason,
                "tokens": omitted.tokens,
                **encode_editor_location(omitted.item.path, omitted.item.span, snapshot.documents),
            }
            for omitted in result.omitted
        ],
        "intent": encode_intent(result.intent),
        "wasTruncated": result.was_truncated,
        "droppedCount": result.dropped_count,
        "trace": {
            "stages": [{"name": s.name, "in": s.input_count, "out": s.output_count, "ms": s.ms} for s in result.stages],
            "line": result.trace_line,
        },
        **({"selection": _encode_selection(result.selection)} if result.selection is not None else {}),
        "modelHints": _encode_model_hints(params, options, result),
        "index": encode_index_state(state),
        "warnings": [
            *filter(None, [incomplete]),
            *result.warnings,
            *([state.message] if state.phase == "degraded" else []),
        ],
    }
    mentions = encode_mentions(result.mentions, params.message, snapshot)
    return {**text, "mentions": mentions, **redact_result(encoded)}


def _encode_prompt_item(prompt_item: PromptItem, snapshot: Snapshot, unsaved: Set[str]) -> Json:
    block = prompt_item.rendered
    item = block.item
    joined = prompt_item.joined
    requested = prompt_item.lines  # without the lines that open enclosing definitions
    result = encode_item(item, snapshot, block.form, block.tokens, prompt_item.citation, block.spans, joined, requested)
    return {**result, "unsaved": True} if item.path in unsaved else result


def _encode_selection(report: SelectionReport) -> Json:
    return {
        "model": report.model,
        "rounds": report.rounds,
        "chosen": report.chosen,
        "queries": list(report.queries),
        "sentTokens": report.sent_tokens,
        "receivedTokens": report.received_tokens,
        "ms": report.ms,
    }


def _encode_model_hints(params: protocol.BuildPromptParams, options: PromptOptions, result: BuildResult) -> Json:
    """Encode recommended model parameters and the prompting techniques that the prompt uses."""
    sections, items = result.assembled.section_tokens, result.assembled.items
    contents = PromptContents(
        variant=options.variant,
        recipe=params.recipe if params.recipe and "task" in sections else "",
        sections=tuple(sections),
        has_type_instructions=options.includes("instructions"),
        explicit_count=sum(item.explicit for item in items),
        implicit_count=sum(not item.explicit for item in items),
        reduced_count=sum(item.rendered.form != "full" for item in items),
        redacted=any(warning.startswith("redacted") for warning in result.warnings),
        messages=options.output == "messages",
    )
    hints = model_hints(result.intent.action, result.intent.types, params.budget.model or "", contents)
    return {"temperature": hints.temperature, "maxTokens": hints.max_tokens, "practices": list(hints.practices)}


# ---------------------------------------------------------------- verify citations


UNKNOWN_LINE_COUNT = 1 << 30
"""Line count assumed for a file that is not parsed yet, so that no citation of it is rejected."""


def verify_citations(engine: Engine, params: protocol.VerifyCitationsParams, token: CancelToken) -> Json:
    """Handle `promptls/verifyCitations`."""
    snapshot = engine.snapshot(token)
    sources = engine.index.source_reader(snapshot, engine.settings.secrets.allow_files)
    items = [_citable_item(item, snapshot, sources) for item in params.items]
    entries = {snapshot.label(path): entry for path, entry in snapshot.files.items()}

    def count_lines(label: str) -> int | None:
        entry = entries.get(label)
        if entry is None:
            matches = [e for name, e in entries.items() if name.endswith((f"/{label}", f":{label}"))]
            entry = matches[0] if len(matches) == 1 else None
        if entry is None:
            return None
        return entry.outline.lines if entry.outline is not None else UNKNOWN_LINE_COUNT

    to_utf16 = utf16_offsets(params.answer)
    report = verify(params.answer, items, count_lines)
    return {
        "citations": [_encode_citation(citation, to_utf16) for citation in report.citations],
        "unknown": list(report.unknown),
        "unused": list(report.unused),
        "uncited": [{"start": to_utf16(start), "end": to_utf16(end)} for start, end in report.uncited],
        "citedShare": report.cited_share,
    }


def _citable_item(item: protocol.Cited, snapshot: Snapshot, sources: SourceReader) -> CitableItem:
    """Return an item with its current text."""
    path = path_of(item.uri, snapshot)
    spans = tuple(one.span for one in item.spans) or (item.range.span,)
    if item.form in ("outline", "reference"):  # they show no lines
        spans = ()
    text = sources.read(path) if path in snapshot.files else None
    shown = "\n".join(map(text.slice, spans)) if isinstance(text, FileText) else ""
    return CitableItem(item.citation, snapshot.label(path), item.range.span, shown, spans)


def _encode_citation(citation: Citation, to_utf16: Callable[[int], int]) -> Json:
    optional = {
        "citation": citation.citation,
        "path": citation.path,
        "range": encode_span(citation.span) if citation.span is not None else None,
        "reason": citation.reason,
        "missing": list(citation.missing),
    }
    return {
        "text": citation.text,
        "offset": to_utf16(citation.start),
        "status": citation.status,
        **{name: value for name, value in optional.items() if value},
    }

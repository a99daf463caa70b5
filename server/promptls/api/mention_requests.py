"""Handle `promptls/completeMention`, shared with textDocument/completion, and `promptls/resolveMentions`, a dry run."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_client_context
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import code_point_offset, encode_mentions, redact_result, utf16_offset
from promptls.engine import Engine
from promptls.mentions.completion.complete import CompletionResult, complete
from promptls.mentions.completion.completion_items import CompletionItem
from promptls.mentions.context import ResolveContext
from promptls.mentions.lookalikes import text_warnings
from promptls.mentions.resolve import locate_message, message_syntax
from promptls.model import CancelToken
from promptls.prompt.budget import BudgetRequest, cost_of
from promptls.prompt.dry_run import dry_run
from promptls.prompt.errors import InvalidOption
from promptls.prompt.layouts import Message
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options

MAX_COMPLETIONS = 1000
"""Maximum value of `limit`; no client shows more."""


def complete_mention(engine: Engine, params: protocol.CompleteMentionParams, token: CancelToken) -> Json:
    """Handle `promptls/completeMention`."""
    if not 0 <= params.offset <= utf16_offset(params.text, len(params.text)):
        raise InvalidParams("offset: must be inside the text.", "offset")
    if not 1 <= params.limit <= MAX_COMPLETIONS:
        raise InvalidParams(f"limit: must be between 1 and {MAX_COMPLETIONS}.", "limit")
    client = decode_client_context(params.context, engine.workspace)
    context = engine.resolve_context(client, engine.listed_snapshot(token), token)
    result = complete_at(params.text, code_point_offset(params.text, params.offset), context, params.limit)
    return redact_result(
        {
            "isIncomplete": result.is_incomplete,
            "replace": {
                "start": utf16_offset(params.text, result.start),
                "end": utf16_offset(params.text, result.end),
            },
            "items": [encode_completion_item(item) for item in result.items],
        }
    )


def complete_at(text: str, offset: int, context: ResolveContext, limit: int) -> CompletionResult:
    """Complete the mention at an offset in code points, with token costs estimated from file sizes."""
    return complete(text, offset, context, limit, lambda path: cost_of(path, context.snapshot))


def encode_completion_item(item: CompletionItem) -> Json:
    """Encode a completion item; what a list shows of it is one line."""
    from promptls.prompt.sanitize import one_line  # not at the start of the server

    return {
        "label": one_line(item.label),
        "insertText": item.insert_text,
        "detail": one_line(item.detail),
        "documentation": item.documentation,
        "kind": item.kind,
        "tokens": item.tokens,
    }


# ---------------------------------------------------------------- resolve mentions


def resolve_mentions(engine: Engine, params: protocol.ResolveMentionsParams, token: CancelToken) -> Json:
    """Handle `promptls/resolveMentions`."""
    request = RequestOptions(
        budget=BudgetRequest(params.budget.tokens, params.budget.model, params.budget.counter, params.budget.fill),
        history=tuple(Message(turn.role, turn.content) for turn in params.context.history),
    )
    try:
        options = resolve_options(
            engine.settings, request, RecipeOptions(), index_completeness=engine.index.state().progress
        )
    except InvalidOption as error:
        raise InvalidParams(str(error), error.field, error.valid) from None
    client = decode_client_context(params.context, engine.workspace)
    syntax = message_syntax(params.message)
    snapshot = engine.snapshot_for_message(syntax, token)
    context = engine.resolve_context(client, snapshot, token, params.document)
    run = dry_run(locate_message(syntax, context), context, options)
    return {
        "mentions": encode_mentions(run.mentions, params.message, snapshot),
        "tokens": sum(item.rendered.tokens for item in run.items),
        "warnings": text_warnings(run.texts),
    }

"""Handle `promptls/resolveMentions`: a dry run that resolves the mentions of a message and counts their tokens."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.client_context import decode_client_context
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import encode_mentions
from promptls.engine import Engine
from promptls.mentions.lookalikes import text_warnings
from promptls.mentions.resolve import locate_message, message_syntax
from promptls.model import CancelToken
from promptls.prompt.budget import BudgetRequest
from promptls.prompt.dry_run import dry_run
from promptls.prompt.errors import InvalidOption
from promptls.prompt.layouts import Message
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options


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

"""Handle `promptls/resolveMentions`: a dry run that resolves the mentions of a message and counts their tokens."""

from __future__ import annotations

from promptls.api import params as protocol
from promptls.api.client_context import decode_client_context
from promptls.api.params import InvalidParams, Json
from promptls.api.results import encode_mentions
from promptls.engine import Engine
from promptls.mentions.resolve import parse_mentions
from promptls.mentions.text_outcomes import text_warnings
from promptls.model import CancelToken
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.prompt.dry_run import dry_run
from promptls.prompt.errors import InvalidOption


def resolve_mentions(engine: Engine, params: protocol.ResolveMentionsParams, token: CancelToken) -> Json:
    """Handle `promptls/resolveMentions`."""
    request = BudgetRequest(params.budget.tokens, params.budget.model, params.budget.counter)
    try:
        budget = budget_of(engine.settings.budget, request)
    except InvalidOption as error:
        raise InvalidParams(str(error), error.field, error.valid) from None
    client = decode_client_context(params.context, engine.workspace)
    snapshot = engine.snapshot_for_message(params.message, parse_mentions(params.message), token)
    context = engine.resolve_context(client, snapshot, token, params.document)
    numbers = engine.settings.sections.line_numbers
    run = dry_run(params.message, context, budget.tokens, budget.counter, line_numbers=numbers)
    return {
        "mentions": encode_mentions(run.mentions, params.message, snapshot),
        "tokens": sum(item.rendered.tokens for item in run.items),
        "warnings": text_warnings(run.texts),
    }

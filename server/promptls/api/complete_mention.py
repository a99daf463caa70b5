"""Handle `promptls/completeMention`: completion of a mention, shared with textDocument/completion."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.client_context import decode_client_context
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import code_point_offset, redact_result, utf16_offset
from promptls.engine import Engine
from promptls.mentions.completion.complete import CompletionResult, complete
from promptls.mentions.completion.items import CompletionItem
from promptls.mentions.context import ResolveContext
from promptls.model import CancelToken
from promptls.prompt.budget import cost_of

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
    """Encode a completion item."""
    return {
        "label": item.label,
        "insertText": item.insert_text,
        "detail": item.detail,
        "documentation": item.documentation,
        "kind": item.kind,
        "tokens": item.tokens,
    }

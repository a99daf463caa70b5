"""Inlay hints: the token cost behind each mention."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.session import PromptDocumentSession, offset_position
from promptls.model import CancelToken, MentionOutcome


def inlay_hints(
    session: PromptDocumentSession, params: protocol.DocumentRange, token: CancelToken
) -> list[Json] | None:
    """Return the inlay hints of the mentions in a range, without problems of the mention that the user is typing."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    start = analysis.lines.offset(params.range.start.line, params.range.start.character)
    end = analysis.lines.offset(params.range.end.line, params.range.end.character)
    typed = analysis.typed_mention()
    return [
        {
            "position": offset_position(analysis.lines, outcome.mention.end),
            "label": cost_label(outcome),
            "paddingLeft": True,
            "tooltip": outcome.reason,
        }
        for outcome in analysis.run.mentions
        if start <= outcome.mention.end <= end
        and (outcome.mention.start != typed or outcome.status in ("included", "partial"))
    ]


def cost_label(outcome: MentionOutcome) -> str:
    """Return the cost of the whole mention in tokens, as in completion, or the reason why it has none."""
    if outcome.status in ("included", "partial"):
        suffix = f" ({outcome.tokens:,} sent)" if outcome.status == "partial" else ""
        return f"{outcome.full_tokens:,} tokens{suffix}"
    if outcome.status == "ambiguous":
        return f"{len(outcome.candidates)} candidates"
    if outcome.status == "omitted" and not outcome.targets:
        return "no content"
    return {"unresolved": "not found", "refused": "refused"}.get(outcome.status, "omitted")

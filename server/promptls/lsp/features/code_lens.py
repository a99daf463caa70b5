"""Code lenses: the used budget of a prompt document, "Build prompt" and "Copy prompt"."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.handlers import COPY_PROMPT_COMMAND, OPEN_PROMPT_COMMAND
from promptls.lsp.session import PromptDocumentSession
from promptls.model import CancelToken
from promptls.util.text.display import plural


def code_lenses(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the code lenses above the first line of a prompt document."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    first_line = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    arguments = [{"uri": analysis.document.uri}]
    mentions = plural(len(analysis.run.mentions), "mention") if analysis.run.mentions else "no mentions"
    lenses = (
        (f"{analysis.run.tokens_used:,} of {analysis.budget:,} tokens, {mentions}", OPEN_PROMPT_COMMAND),
        ("Build prompt", OPEN_PROMPT_COMMAND),
        ("Copy prompt", COPY_PROMPT_COMMAND),
    )
    return [
        {"range": first_line, "command": {"title": title, "command": command, "arguments": arguments}}
        for title, command in lenses
    ]

"""Rename: replaces a mention in all open prompt documents."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.lsp.session import PromptDocumentSession
from promptls.mentions.extent import find_mentions
from promptls.model import CancelToken


def prepare_rename(
    session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken
) -> Json | None:
    """Return the range and text of the mention at a position."""
    analysis = session.analyze(params.text_document.uri, token)
    outcome = analysis.mention_at(params.position) if analysis is not None else None
    if analysis is None or outcome is None:
        return None
    return {"range": analysis.range_of(outcome), "placeholder": outcome.mention.text}


def rename(session: PromptDocumentSession, params: protocol.RenameParams, token: CancelToken) -> Json | None:
    """Return the edits that replace every occurrence of a mention.

    Raises:
        InvalidParams: The new name is not a mention.
    """
    analysis = session.analyze(params.text_document.uri, token)
    outcome = analysis.mention_at(params.position) if analysis is not None else None
    if analysis is None or outcome is None:
        return None
    name = params.new_name if params.new_name.startswith("@") else "@" + params.new_name
    parsed = find_mentions(name + " x", analysis.context)
    if len(parsed) != 1 or parsed[0].text != name:
        raise InvalidParams(f"newName: {params.new_name!r} is not a mention.", "newName")
    changes: Json = {}
    for document in session.documents.all():
        other = session.analyze(document.uri, token)
        occurrences = [o for o in other.run.mentions if o.mention.text == outcome.mention.text] if other else []
        if other is not None and occurrences:
            changes[document.uri] = [{"range": other.range_of(o), "newText": name} for o in occurrences]
    return {"changes": changes}

"""Go to definition: the targets of a mention."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import editor_location, uri_of
from promptls.api.messages.params import Json
from promptls.index import is_virtual
from promptls.lsp.session import PromptDocumentSession, span_range
from promptls.model import CancelToken

MAX_TARGETS = 50
"""Maximum number of locations returned; editors list them for the user to choose from."""


def definition(
    session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken
) -> list[Json] | None:
    """Return the locations of the files and symbols that the mention at a position refers to."""
    analysis = session.analyze(params.text_document.uri, token)
    outcome = analysis.mention_at(params.position) if analysis is not None else None
    if analysis is None or outcome is None:
        return None
    targets = [t for t in outcome.targets if t.kind != "folder" and not is_virtual(t.path)]
    documents = analysis.context.snapshot.documents
    shown = targets[:MAX_TARGETS]
    locations = (editor_location(t.path, t.span, documents) or (uri_of(t.path, documents), t.span) for t in shown)
    return [{"uri": uri, "range": span_range(span)} for uri, span in locations]

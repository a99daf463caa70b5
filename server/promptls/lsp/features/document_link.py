"""Document links: a link for each mention with a single target."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import editor_location, uri_of
from promptls.api.messages.params import Json
from promptls.index import is_virtual
from promptls.lsp.session import PromptDocumentSession
from promptls.model import CancelToken


def document_links(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the links of a prompt document."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    links: list[Json] = []
    for outcome in analysis.run.mentions:
        target = outcome.targets[0] if outcome.targets else None
        if target is None or target.kind == "folder" or is_virtual(target.path):
            continue
        if len(outcome.targets) > 1 and outcome.mention.kind not in ("file", "symbol"):
            continue
        path, snapshot = target.path, analysis.context.snapshot
        documents = snapshot.documents
        uri, span = editor_location(path, target.span, documents) or (uri_of(path, documents), target.span)
        anchor = f"#L{span.start + 1}" if span.start and "#" not in uri else ""  # the URI of a cell has a fragment
        links.append({"range": analysis.range_of(outcome), "target": uri + anchor, "tooltip": snapshot.label(path)})
    return links

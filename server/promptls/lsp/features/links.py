"""Go to definition and document links: the targets of mentions."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import editor_location, uri_of
from promptls.api.messages.params import Json
from promptls.index import is_virtual
from promptls.lsp.pages import page_definition, page_links
from promptls.lsp.session import PromptDocumentSession, span_range
from promptls.model import CancelToken

MAX_TARGETS = 50
"""Maximum number of locations returned; editors list them for the user to choose from."""


def definition(
    session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken
) -> list[Json] | None:
    """Return the locations of the files and symbols that the mention at a position refers to."""
    page = session.documents.pages.get(params.text_document.uri)
    if page is not None:
        return page_definition(page, params.position.line)
    analysis = session.analyze(params.text_document.uri, token)
    outcome = analysis.mention_at(params.position) if analysis is not None else None
    if analysis is None or outcome is None:
        return None
    targets = [t for t in outcome.targets if t.kind != "folder" and not is_virtual(t.path)]
    documents = analysis.context.snapshot.documents
    shown = targets[:MAX_TARGETS]
    locations = (editor_location(t.path, t.span, documents) or (uri_of(t.path, documents), t.span) for t in shown)
    return [{"uri": uri, "range": span_range(span)} for uri, span in locations]


def document_links(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the links of a prompt document or of a page."""
    page = session.documents.pages.get(params.text_document.uri)
    if page is not None:
        return page_links(page, params.text_document.uri, session.engine.encoding)
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

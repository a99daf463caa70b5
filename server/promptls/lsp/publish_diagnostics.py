"""Publishing of diagnostics for open prompt documents, debounced, and refresh requests to the client."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from promptls.api.messages import params as protocol
from promptls.lsp.client_context import fetch_client_context
from promptls.lsp.connection import PromptServer, PublishedDiagnostics
from promptls.model import CancelToken

if TYPE_CHECKING:  # imported after `initialize` has been answered
    from promptls.lsp.session import DocumentAnalysis, PromptDocumentSession

log = logging.getLogger(__name__)

DIAGNOSTICS_DEBOUNCE_S = 0.1
"""Delay between the last edit and the publishing of diagnostics, in seconds; longer than between two keystrokes."""

_REFRESHABLE = (("code_lens", "codeLens"), ("inlay_hint", "inlayHint"), ("semantic_tokens", "semanticTokens"))
"""Client capability and LSP method name of each feature that has a refresh request."""


def schedule_diagnostics(server: PromptServer, delay_s: float = DIAGNOSTICS_DEBOUNCE_S) -> None:
    """Publish diagnostics after a delay; every call restarts the delay."""
    if server.loop is None or not (server.documents.all() or server.documents.instruction_files()):
        return
    if server.diagnostics_timer is not None:
        server.diagnostics_timer.cancel()
    server.diagnostics_timer = server.loop.call_later(
        delay_s, lambda: asyncio.ensure_future(_publish_diagnostics(server))
    )


async def _publish_diagnostics(server: PromptServer) -> None:
    """Publish the diagnostics of every open prompt document for which they differ from the published ones.

    They are published again when the user has stopped typing a mention, or after a pause if the index is
    incomplete or the history of git is being read.
    """
    server.diagnostics_timer = None
    if server.engine is None or server.session is None or server.loop is None or server.protocol._shutdown:
        return
    from promptls.lsp.features.diagnostics import diagnostics
    from promptls.lsp.session import TYPING_PAUSE_S

    session, needs_refresh, is_preliminary = server.session, False, False
    for document in server.documents.all():
        try:
            context = await fetch_client_context(server, document.text, protocol.Context(), CancelToken(), max_age_s=0)
            session.set_client_context(document.uri, context)
            was_preliminary = session.is_preliminary(document.uri)
            analysis, is_partial = await server.loop.run_in_executor(
                server.request_executor, _analyze, session, document.uri
            )
        except RuntimeError:
            return  # the executor is shut down
        except Exception:
            log.exception("cannot analyze %s", document.uri)
            continue
        if analysis is None or server.documents.get(document.uri) != document:
            continue
        published = server.published_diagnostics.get(document.uri)
        typed = analysis.typed_mention()
        is_latest = session.engine.services.git_history.are_latest(analysis.histories)
        is_preliminary = is_preliminary or is_partial or typed is not None or not is_latest
        found = diagnostics(analysis, published.diagnostics if published is not None else (), typed, is_partial)
        current = PublishedDiagnostics(document.version, context, found)
        needs_refresh = needs_refresh or was_preliminary
        if published != current:
            # Hints and lenses that the client requested before do not reflect another snapshot or context.
            if published is None or published.version == document.version or published.context != context:
                needs_refresh = True
            _publish(server, document.uri, current)
    instructions_change = await _publish_instruction_diagnostics(server, session, server.loop)
    if (is_preliminary or instructions_change) and server.diagnostics_timer is None:
        schedule_diagnostics(server, TYPING_PAUSE_S)
    if needs_refresh:
        await _request_refresh(server)


def _publish(server: PromptServer, uri: str, current: PublishedDiagnostics) -> None:
    server.published_diagnostics[uri] = current
    params = {"uri": uri, "version": current.version, "diagnostics": current.diagnostics}
    server.text_document_publish_diagnostics(server.protocol._converter.structure(params, lsp.PublishDiagnosticsParams))


async def _publish_instruction_diagnostics(
    server: PromptServer, session: PromptDocumentSession, loop: asyncio.AbstractEventLoop
) -> bool:
    """Publish the diagnostics of open instruction files for which they differ from the published ones.

    Returns:
        Whether they may change without an edit, because the history of git is being read.
    """
    from promptls.lsp.features import instructions

    may_change = False
    for document in server.documents.instruction_files():
        if server.documents.get(document.uri) is not None:
            continue  # a prompt document has its own diagnostics
        try:
            analysis = await loop.run_in_executor(
                server.request_executor, instructions.analyze, session, document.uri, CancelToken()
            )
        except RuntimeError:
            return False  # the executor is shut down
        except Exception:
            log.exception("cannot analyze %s", document.uri)
            continue
        if analysis is None or server.documents.instruction_file(document.uri) != document:
            continue
        may_change = may_change or not session.engine.services.git_history.are_latest(analysis.histories)
        current = PublishedDiagnostics(document.version, protocol.Context(), instructions.diagnostics(analysis))
        if server.published_diagnostics.get(document.uri) != current:
            _publish(server, document.uri, current)
    return may_change


def _analyze(session: PromptDocumentSession, uri: str) -> tuple[DocumentAnalysis | None, bool]:
    """Return the analysis of a document, and whether mentions may be found when the index is complete."""
    analysis = session.analyze(uri, CancelToken(), exact=True)
    return analysis, analysis is not None and analysis.may_be_found_later()


def clear_document(server: PromptServer, uri: str) -> None:
    """Drop the analysis of a document and remove its published diagnostics."""
    if server.session is not None:
        server.session.close(uri)
    if server.published_diagnostics.pop(uri, None):
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


async def _request_refresh(server: PromptServer) -> None:
    """Ask the client to refresh lenses, hints and semantic tokens, because the index changed and the text did not."""
    workspace = server.client_capabilities.workspace
    for capability, method in _REFRESHABLE:
        support = getattr(workspace, capability, None)
        if support is not None and support.refresh_support:
            try:
                await server.protocol.send_request_async(f"workspace/{method}/refresh", None)
            except JsonRpcException as error:
                log.info("the client rejected workspace/%s/refresh: %s", method, error)

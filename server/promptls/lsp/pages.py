"""Open pages of a connection: their requests, and the text and links that the editor asks for."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import quote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.api.pages import BUTTON, PAGES, Group, prompt_page, toggle, whole_file, without
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import decode_params, handle_request
from promptls.lsp.handlers import CUSTOM_REQUESTS, PAGE_ACTION_COMMAND
from promptls.lsp.open_pages import OpenPage
from promptls.util.text.positions import LineIndex

log = logging.getLogger(__name__)

_ENDED = "This page has ended. Open it again from its command.\n"


async def open_page(server: PromptServer, *arguments: Any) -> Json:
    """Handle `promptls/openPage`: send the request of a page and keep the page."""
    params = decode_params(protocol.OpenPageParams, arguments[0] if arguments else None)
    return await _build(server, params.uri, params.kind, params.params, params.follows_document)


async def page_action(server: PromptServer, *arguments: Any) -> Json:
    """Handle `promptls/pageAction`: pin, drop or add the items of a line, or build the prompt again."""
    params = decode_params(protocol.PageActionParams, arguments[0] if arguments else None)
    page = server.documents.pages.get(params.uri)
    if page is None or page.kind != "prompt":
        raise JsonRpcInvalidParams("This page has ended; build the prompt again.", data={"field": "uri", "valid": []})
    request, pinned, dropped = page.params, page.pinned, page.dropped
    lines = page.page.lines
    regions = lines[params.line].regions if 0 <= params.line < len(lines) else ()
    if params.action == "budget":
        request = {**request, "budget": {**(request.get("budget") or {}), "tokens": params.tokens}}
    elif params.action in ("drop", "restore") and regions:
        dropped, pinned = toggle(whole_file(regions), dropped), without(regions, pinned)
    elif params.action in ("pin", "unpin", "add") and regions:
        pinned, dropped = toggle(regions, pinned), without(regions, dropped)
    elif params.action != "rebuild":
        return {"line": params.line, "changed": False}
    await _build(server, params.uri, "prompt", request, page.follows_document, pinned, dropped)
    _refresh(server, params.uri)
    shown = server.documents.pages.get(params.uri)
    last = len(shown.page.lines) - 1 if shown is not None else 0
    return {"line": min(params.line, last), "changed": True}


def page_result(server: PromptServer, *arguments: Any) -> Json:
    """Handle `promptls/pageResult`: return what `promptls/openPage` has returned, for the current state of a page."""
    uri = decode_params(protocol.UriParams, arguments[0] if arguments else None).uri
    page = server.documents.pages.get(uri)
    if page is None:
        raise JsonRpcInvalidParams("This page has ended; open it again.", data={"field": "uri", "valid": []})
    return {"uri": uri, "title": page.page.title, "result": page.result}


def text_document_content(server: PromptServer, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """Handle `workspace/textDocumentContent`."""
    page = server.documents.pages.get(params.uri)
    return lsp.TextDocumentContentResult(page.page.text if page is not None else _ENDED)


async def rebuild_incomplete(server: PromptServer) -> None:
    """Build the prompts again that were built from an incomplete index."""
    for uri in server.documents.pages.incomplete():
        page = server.documents.pages.get(uri)
        if page is None:
            continue
        try:
            await _build(server, uri, page.kind, page.params, page.follows_document, page.pinned, page.dropped)
        except JsonRpcException as error:
            log.info("cannot build %s again: %s", uri, error)
            continue
        _refresh(server, uri)


async def _build(
    server: PromptServer,
    uri: str | None,
    kind: str,
    params: Json,
    follows_document: bool,
    pinned: tuple[Group, ...] = (),
    dropped: tuple[Group, ...] = (),
) -> Json:
    method, render = PAGES[kind]
    sent = params
    if kind == "prompt":
        document = server.documents.get(str(params.get("document"))) if follows_document else None
        text = {"message": document.text} if document is not None else {}
        sent = {**params, **text, "pinned": _encode(pinned), "dropped": _encode(dropped)}
    result: Json = await handle_request(server, method, *CUSTOM_REQUESTS[method], sent)
    page = prompt_page(result, pinned, dropped) if kind == "prompt" else render(result)
    uri = server.documents.pages.put(uri, OpenPage(kind, params, follows_document, page, result, pinned, dropped))
    return {"uri": uri, "title": page.title, "result": result}


def _encode(groups: tuple[Group, ...]) -> list[Json]:
    return [{"uri": region.uri, "range": region.range} for group in groups for region in group]


def _refresh(server: PromptServer, uri: str) -> None:
    """Ask the client to read a page again, without waiting for its answer."""
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.text_document_content is not None:
        params = lsp.TextDocumentContentRefreshParams(uri)
        server.protocol.send_request(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, params)


# ---------------------------------------------------------------- features of pages


def page_links(page: OpenPage, uri: str, encoding: str) -> list[Json]:
    """Return the links of a page: places, and buttons as commands."""
    from promptls.lsp.session import offset_range  # loaded when the engine has started

    lines, links, start = LineIndex(page.page.text, encoding), [], 0
    for number, line in enumerate(page.page.lines):
        at = line.text.rfind(f" {line.label} ") + 1  # tokens and shares before the label may contain its digits
        if at == 0:
            at = line.text.find(line.label)
        if line.shown is not None and line.label and at >= 0:
            first = line.shown.range["start"]["line"] + 1
            target = line.shown.uri if "#" in line.shown.uri else f"{line.shown.uri}#L{first}"
            links.append({"range": offset_range(lines, start + at, start + at + len(line.label)), "target": target})
        for match in BUTTON.finditer(line.text) if line.regions else ():
            arguments = quote(json.dumps([{"uri": uri, "line": number, "action": match[1]}]))
            where = offset_range(lines, start + match.start(), start + match.end())
            links.append({"range": where, "target": f"command:{PAGE_ACTION_COMMAND}?{arguments}"})
        start += len(line.text) + 1
    return links


def page_definition(page: OpenPage, line: int) -> list[Json]:
    """Return where a line of a page leads."""
    shown = page.page.lines[line].shown if 0 <= line < len(page.page.lines) else None
    return [{"uri": shown.uri, "range": shown.range}] if shown is not None else []

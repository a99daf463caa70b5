"""Open pages of a connection: their requests, and the text and links that the editor asks for."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import quote

from lsprotocol import types as lsp
from msgspec.structs import replace
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.api.pages import (
    BUTTON,
    PAGES,
    Group,
    Region,
    prompt_page,
    region_key,
    related_of,
    toggle,
    whole_file,
    without,
)
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
    result = await _request(server, params.kind, _with_document(server, params.params, params.follows_document))
    page = PAGES[params.kind][1](result)
    opened = OpenPage(params.kind, params.params, params.follows_document, page, result)
    return {"uri": server.documents.pages.put(params.uri, opened), "title": page.title, "result": result}


async def page_action(server: PromptServer, *arguments: Any) -> Json:
    """Handle `promptls/pageAction`: decide about the items of a line, or build the prompt again."""
    params = decode_params(protocol.PageActionParams, arguments[0] if arguments else None)
    page = server.documents.pages.get(params.uri)
    if page is None or page.kind != "prompt":
        raise JsonRpcInvalidParams("This page has ended; build the prompt again.", data={"field": "uri", "valid": []})
    request, pinned, dropped = page.params, page.pinned, page.dropped
    lines = page.page.lines
    regions = lines[params.line].regions if 0 <= params.line < len(lines) else ()
    if params.action == "more" and len(regions) == 1:
        await _toggle_related(server, params.uri, page, regions[0])
        _refresh(server, params.uri)
        return {"line": params.line, "changed": True}
    if params.action == "budget":
        request = {**request, "budget": {**(request.get("budget") or {}), "tokens": params.tokens}}
    elif params.action in ("drop", "restore") and regions:
        dropped, pinned = toggle(whole_file(regions), dropped), without(regions, pinned)
    elif params.action in ("pin", "unpin", "add") and regions:
        pinned, dropped = toggle(regions, pinned), without(regions, dropped)
    elif params.action != "rebuild":
        return {"line": params.line, "changed": False}
    changed = replace(page, params=request, pinned=pinned, dropped=dropped)
    await _rebuild(server, params.uri, changed)
    _refresh(server, params.uri)
    shown = server.documents.pages.get(params.uri)
    last = len(shown.page.lines) - 1 if shown is not None else 0
    return {"line": min(params.line, last), "changed": True}


async def _toggle_related(server: PromptServer, uri: str, page: OpenPage, region: Region) -> None:
    """Open or close the list of definitions that are related to an item."""
    lists, key = dict(page.related), region_key(region)
    if lists.pop(key, None) is None:
        method, params = "promptls/explain", {"uri": region.uri, "position": region.range["start"]}
        lists[key] = related_of(await handle_request(server, method, *CUSTOM_REQUESTS[method], params))
    shown = prompt_page(page.result, page.pinned, page.dropped, lists)
    server.documents.pages.put(uri, replace(page, page=shown, related=lists))


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
            await _rebuild(server, uri, page)
        except JsonRpcException as error:
            log.info("cannot build %s again: %s", uri, error)
            continue
        _refresh(server, uri)


async def _rebuild(server: PromptServer, uri: str, page: OpenPage) -> None:
    """Build a prompt again, with the decisions about its items."""
    params = _with_document(server, page.params, page.follows_document)
    result = await _request(
        server, page.kind, {**params, "pinned": _encode(page.pinned), "dropped": _encode(page.dropped)}
    )
    shown = prompt_page(result, page.pinned, page.dropped, page.related)
    server.documents.pages.put(uri, replace(page, page=shown, result=result))


def _with_document(server: PromptServer, params: Json, follows_document: bool) -> Json:
    """Return the params of a prompt with the current text of the document that it follows."""
    document = server.documents.get(str(params.get("document"))) if follows_document else None
    return params if document is None else {**params, "message": document.text}


async def _request(server: PromptServer, kind: str, params: Json) -> Json:
    method = PAGES[kind][0]
    result: Json = await handle_request(server, method, *CUSTOM_REQUESTS[method], params)
    return result


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

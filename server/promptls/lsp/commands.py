"""Commands of prompt documents: the budget, and the prompt itself for clients without a preview of their own."""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import decode_params, handle_request
from promptls.lsp.documents import EXPORTED_SUFFIX
from promptls.lsp.handlers import CUSTOM_REQUESTS
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.settings import MAX_TOKENS, Settings, cache_directory

log = logging.getLogger(__name__)


async def show_prompt(server: PromptServer, *arguments: Any) -> Json:
    """Build the prompt of a document, export it to a file and ask the client to open the file."""
    argument = arguments[0] if arguments else None
    uri = argument.get("uri") if isinstance(argument, dict) else None
    prompts = server.documents.all()
    document = server.documents.get(uri) if isinstance(uri, str) else prompts[-1] if prompts else None
    if document is None:
        raise JsonRpcInvalidParams("uri: must name an open prompt document.", data={"field": "uri", "valid": []})
    context = protocol.encode(server.session.client_context(document.uri)) if server.session is not None else {}
    params = {"message": document.text, "document": document.uri, "context": context}
    result = await handle_request(server, "promptls/buildPrompt", *CUSTOM_REQUESTS["promptls/buildPrompt"], params)

    assert server.loop is not None
    file = await server.loop.run_in_executor(
        server.request_executor, export_prompt, server.settings, document.uri, result["prompt"]
    )
    window = server.client_capabilities.window
    shown = False
    if window is not None and window.show_document is not None and window.show_document.support:
        try:
            response = await server.window_show_document_async(lsp.ShowDocumentParams(file.as_uri(), take_focus=True))
            shown = response.success
        except JsonRpcException as error:
            log.info("the client did not show the prompt: %s", error)
    if not shown:
        message = f"Saved the prompt ({result['tokens']['used']:,} tokens) to {file}."
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
    return {"uri": file.as_uri(), "tokens": result["tokens"], "shown": shown}


async def set_budget(server: PromptServer, *arguments: Any) -> None:
    """Set the budget of an open prompt document until it is closed."""
    params = decode_params(protocol.SetBudgetParams, arguments[0] if arguments else None)
    if server.documents.get(params.uri) is None:
        raise JsonRpcInvalidParams("uri: must name an open prompt document.", data={"field": "uri", "valid": []})
    if not 0 < params.tokens <= MAX_TOKENS:
        raise JsonRpcInvalidParams(f"tokens: must be from 1 to {MAX_TOKENS:,}.", data={"field": "tokens", "valid": []})
    if server.session is not None:
        server.session.set_budget(params.uri, params.tokens)
        schedule_diagnostics(server, 0)


# ---------------------------------------------------------------- export


MAX_EXPORTS = 20
"""Number of exported prompts that are kept; older ones are deleted."""


def export_prompt(settings: Settings, uri: str, prompt: str) -> Path:
    """Write a prompt to a new file in the cache that only the user can read.

    Raises:
        OSError: The file cannot be written.
    """
    directory = cache_directory(settings) / "prompts"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = re.sub(r"[^\w-]+", "-", uri.rsplit("/", 1)[-1].removesuffix(".md"))[:40].strip("-") or "prompt"
    file = directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}{EXPORTED_SUFFIX}"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(prompt)
    for old in sorted(directory.glob(f"*{EXPORTED_SUFFIX}"))[:-MAX_EXPORTS]:
        old.unlink(missing_ok=True)
    return file

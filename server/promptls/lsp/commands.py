"""Commands of prompt documents: the budget, and the prompt itself for clients without a preview of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.connection import PromptServer
from promptls.lsp.dispatch import decode_params, handle_request
from promptls.lsp.documents import EXPORTED_SUFFIX
from promptls.lsp.handlers import CUSTOM_REQUESTS
from promptls.lsp.publish_diagnostics import schedule_diagnostics
from promptls.mentions.syntax.answers import format_answer
from promptls.model import CancelToken
from promptls.settings import MAX_TOKENS, Settings, cache_directory

if TYPE_CHECKING:
    from promptls.engine import Engine

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
        server.published_diagnostics.pop(params.uri, None)  # so that lenses are refreshed if no diagnostic changes
        schedule_diagnostics(server, 0)


# ---------------------------------------------------------------- answers


ANSWER_TIMEOUT_S = 120.0
"""Seconds for an answer of the language model; choosing code has a shorter limit."""
MAX_ANSWER_TOKENS = 4_000


async def answer(server: PromptServer, *arguments: Any) -> Json:
    """Handle `promptls/answer`: send the prompt of a document to the language model, and insert its answer below."""
    uri = decode_params(protocol.UriParams, arguments[0] if arguments else None).uri
    document, session, loop = server.documents.get(uri), server.session, server.loop
    if document is None or session is None or loop is None:
        raise JsonRpcInvalidParams("uri: must name an open prompt document.", data={"field": "uri", "valid": []})
    context = protocol.encode(session.client_context(uri))
    params = {"message": document.text, "document": uri, "context": context, "output": "messages"}
    result = await handle_request(server, "promptls/buildPrompt", *CUSTOM_REQUESTS["promptls/buildPrompt"], params)
    token = CancelToken()
    server.cancel_tokens.add(token)
    try:
        name, text = await loop.run_in_executor(
            server.request_executor, _ask_model, session.engine, result["messages"], token
        )
    except asyncio.CancelledError:
        token.cancel()
        raise
    finally:
        server.cancel_tokens.discard(token)
    await _insert_at_end(server, uri, format_answer(text, name))
    return {"model": name, "tokens": result["tokens"]}


def _ask_model(engine: Engine, messages: list[Json], token: CancelToken) -> tuple[str, str]:
    """Return the name of the language model and its answer.

    Raises:
        JsonRpcInternalError: No model is configured, or it did not answer.
    """
    from promptls.prompt.language_model import LanguageModel, LanguageModelError
    from promptls.prompt.layouts import Message

    model = engine.model_for_answers(ANSWER_TIMEOUT_S)
    if not isinstance(model, LanguageModel):
        why = model.message if model is not None else "No language model is configured."
        raise JsonRpcInternalError(f"{why} Set languageModel.use, or send the prompt to a chat.")
    try:
        chat = [Message(message["role"], message["content"]) for message in messages]
        return model.name, model.complete(chat, MAX_ANSWER_TOKENS, token)
    except LanguageModelError as error:
        raise JsonRpcInternalError(f"The language model gave no answer: {error}.") from None
    finally:
        model.close()


async def _insert_at_end(server: PromptServer, uri: str, text: str) -> None:
    """Insert a text at the end of an open prompt document."""
    document = server.documents.get(uri)
    if document is None or server.session is None:
        return
    lines = server.session.line_index(uri)
    assert lines is not None
    line, character = lines.position(len(document.text.rstrip()))
    end_line, end_character = lines.position(len(document.text))
    span = lsp.Range(lsp.Position(line, character), lsp.Position(end_line, end_character))
    edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(span, text)]})
    await server.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit, "Answer"))


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

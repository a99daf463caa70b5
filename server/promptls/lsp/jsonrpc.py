"""LSP as it comes and goes: messages, answers, what editors hold.

pygls' own parts, each with the differences that its class tells.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any, BinaryIO

import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.io_ import StdoutWriter
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCRequestMessage
from pygls.workspace import TextDocument
from pygls.workspace import Workspace as EditorWorkspace

from promptls.api.params import Json
from promptls.documents import Text
from promptls.lsp.handlers import LANGUAGE

log = logging.getLogger(__name__)

NOT_INITIALIZED = -32002
INVALID_REQUEST = -32600
PARSE_ERROR = -32700


class Protocol(LanguageServerProtocol):
    """pygls' protocol with two differences: our params stay plain JSON, and every request gets one answer.

    pygls decodes messages inside json.loads, where the id of a request that does not fit is lost, and turns
    params it has no type for into named tuples that rename keys.
    """

    def structure_message(self, data: Any) -> Any:
        return data

    def handle_body(self, body: bytes) -> None:
        """A message as it came; one that cannot be read is answered too, without the id that nobody knows."""
        try:
            message = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
            if _HALVES.search(body):
                named = isinstance(message, dict) and "id" in message
                message = {**_mended(message), "id": message["id"]} if named else _mended(message)
        except (ValueError, RecursionError) as error:
            log.info("a message of %d bytes cannot be read: %s", len(body), error)
            self._refuse(None, PARSE_ERROR, "The message is no JSON that can be read.")
            return
        self.handle_message(message)

    def handle_message(self, message: Any) -> None:
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "A message is a JSON object with jsonrpc, method and params.")
            return
        method, msg_id = message.get("method"), message.get("id")
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str | None):
            if method is not None and msg_id is not None:
                self._refuse(msg_id, INVALID_REQUEST, 'A message needs "jsonrpc": "2.0" and a method name.')
            return
        is_request = method is not None and "id" in message
        if is_request and (not isinstance(msg_id, str | int) or isinstance(msg_id, bool)):
            self._refuse(None, INVALID_REQUEST, "The id of a request is a string or an integer.")
            return
        if is_request and lsp.METHOD_TO_TYPES.get(str(method), (None, True))[1] is None:
            self._refuse(msg_id, INVALID_REQUEST, f"{method} is a notification, which has no id.")
            return
        if method is None and not (isinstance(msg_id, str | int) and msg_id in self._result_types):
            log.info("an answer that nobody waits for is passed over")
            return
        if is_request and self._shutdown:
            self._refuse(msg_id, INVALID_REQUEST, "The server is shutting down.")
            return
        if self._workspace is None and method not in (None, lsp.INITIALIZE, lsp.EXIT):
            if is_request:
                self._refuse(msg_id, NOT_INITIALIZED, "The first request must be initialize.")
            return
        if is_request and method == lsp.INITIALIZE and self._workspace is not None:
            self._refuse(msg_id, INVALID_REQUEST, "The server is initialized already.")
            return
        try:
            structured = self._structured(message, method, msg_id)
        except Exception as error:
            log.info("message of %s does not fit: %s", method, error)
            if is_request:
                self._refuse(msg_id, JsonRpcInvalidParams.CODE, f"The params of {method} do not fit the protocol.")
            elif method is None and isinstance(msg_id, str | int):
                self._handle_response(msg_id, error=lsp.ResponseError(INVALID_REQUEST, "The answer does not fit."))
            return
        super().handle_message(structured)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: lsp.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """A command is one task, like any request: pygls', in two parts, keeps results and goes on when cancelled."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(
                f"There is no command {params.command!r}; the server's capabilities list those that there are."
            )
        return await handler(*(params.arguments or ()))

    def _execute_handler(self, msg_id: Any, handler: Any, callback: Any, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, handler, callback, *args, **kwargs)
        running = self._request_futures.get(msg_id)
        if running is not None and callback == self._check_handler_result:  # of a notification: pygls keeps it for ever
            running.add_done_callback(lambda _: self._forget(msg_id))

    def _forget(self, msg_id: Any) -> None:
        """Let go of a future; in a new dictionary, since pygls goes through this one while it cancels them."""
        self._request_futures = {key: future for key, future in self._request_futures.items() if key != msg_id}

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        asked = self._request_futures.get(msg_id)
        if asked is not None and asked.cancelled():  # its answer was waited for by a request that is over
            del self._request_futures[msg_id]
            return
        super()._handle_response(msg_id, result, error)

    def _structured(self, message: Json, method: str | None, msg_id: Any) -> Any:
        if method is not None and msg_id is not None and (method.startswith("promptls/") or method in LANGUAGE):
            return JsonRPCRequestMessage(msg_id, method, "2.0", message.get("params"))
        structured = super().structure_message(message)
        if method == lsp.WORKSPACE_EXECUTE_COMMAND:
            structured.params.arguments = (message.get("params") or {}).get("arguments") or []
        return structured

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if error is None and isinstance(result, dict | list):  # ours is JSON already, pygls would fit it to classes
            self._result_types.pop(msg_id, None)
            self._send_plain({"jsonrpc": "2.0", "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    def _send_plain(self, message: Json) -> None:
        """A message of plain values; a long one takes a tenth of the time that pygls' way takes."""
        try:
            body = msgspec.json.encode(message)
        except (TypeError, ValueError):  # halves of characters, say
            self._send_data(message)
            return
        head = f"Content-Length: {len(body)}\r\nContent-Type: {self.CONTENT_TYPE}; charset={self.CHARSET}\r\n\r\n"
        if self.writer is not None:
            self.writer.write(head.encode() + body)

    def _refuse(self, msg_id: Any, code: int, text: str) -> None:
        self._send_response(msg_id, error=lsp.ResponseError(code=code, message=text))


_HALVES = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def _mended(value: Any) -> Any:
    """A message without halves of characters, which no text can hold and no file be named; positions stay the same."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in value.items()}
    return [_mended(v) for v in value] if isinstance(value, list) else value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class EditorDocument(TextDocument):
    """What an editor holds, by the rules of LSP and by its word alone.

    pygls reads the disk for a document that was never opened (a pipe never ends), takes form feeds and U+2028 for
    ends of lines, and loses edits whose range is turned around.
    """

    @property
    def source(self) -> str:
        return self._source or ""

    def _apply_incremental_change(self, change: lsp.TextDocumentContentChangePartial) -> None:
        encoding = self.position_codec.encoding
        text = Text(self.source, str(getattr(encoding, "value", encoding)))
        places = [text.offset(at.line, at.character) for at in (change.range.start, change.range.end)]
        self._source = text.text[: min(places)] + change.text + text.text[max(places) :]


class EditorDocuments(EditorWorkspace):
    """pygls' workspace, with documents of ours."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return EditorDocument(doc_uri, source, version, language_id, position_codec=self.position_codec)


class Output(StdoutWriter):
    """The stream to the client; `closed` is set when nobody reads it any more."""

    def __init__(self, stream: BinaryIO, closed: asyncio.Event) -> None:
        super().__init__(stream)
        self._closed = closed
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        try:
            super().write(data)
        except (BrokenPipeError, ValueError):
            self._loop.call_soon_threadsafe(self._closed.set)
            raise BrokenPipeError("nobody reads what the server says") from None

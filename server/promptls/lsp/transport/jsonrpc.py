"""JSON-RPC layer: pygls' protocol with strict validation of messages, plus the writer to the client."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Generator
from typing import Any, BinaryIO

import attrs
import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.io_ import StdoutWriter
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCRequestMessage

from promptls.api.messages.params import Json
from promptls.lsp.handlers import LSP_FEATURES, PAGE_SCHEME

log = logging.getLogger(__name__)

NOT_INITIALIZED = -32002
INVALID_REQUEST = -32600
PARSE_ERROR = -32700

_TEXT_SYNC = (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
              lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)  # fmt: skip
"""Notifications without which the server does not know the text of a document; ignored ones are shown to the user."""
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def _with_defaults(params: Json) -> Json:
    """Return the params of didOpen or didChange with the fields that some clients leave out or set to null."""
    document = {"version": 0, "languageId": "", **{k: v for k, v in params["textDocument"].items() if v is not None}}
    changed = {**params, "textDocument": document}
    if "contentChanges" in params:
        changes = params["contentChanges"]
        changed["contentChanges"] = [{k: v for k, v in change.items() if v is not None} for change in changes]
    return changed


class PromptServerProtocol(LanguageServerProtocol):
    """pygls' protocol with three differences.

    Params of promptls stay plain JSON: pygls converts params without a registered type into named tuples, which renames
    keys. Every request gets one response: pygls decodes messages inside `json.loads`, which loses the ID of an invalid
    request. Capabilities that lsprotocol does not know are dropped, instead of all of `initialize`.
    """

    opened_uri: Callable[[str], str] = staticmethod(lambda uri: uri)
    """Returns the URI under which a document is open."""
    root_params: lsp.InitializeParams
    """Params of `initialize`, whose roots pygls does not see: it parses their URIs with urllib, which can fail."""

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self._client_initialized = False  # whether `initialized` was received

    def structure_message(self, data: Any) -> Any:
        """Return the message unchanged; `handle_body` decodes it."""
        return data

    def handle_body(self, body: bytes) -> None:
        """Decode and dispatch a message body; invalid JSON is answered with a parse error."""
        try:
            message = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_reject_constant)
            if _LONE_SURROGATE.search(body):
                # U+FFFD keeps positions; neither texts nor file names can contain lone surrogates.
                text = json.dumps(message, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
                repaired = json.loads(text.decode("utf-16-le", "replace"))
                has_id = isinstance(message, dict) and "id" in message
                message = {**repaired, "id": message["id"]} if has_id else repaired
        except (ValueError, RecursionError) as error:
            log.info("invalid JSON in a message of %d bytes: %s", len(body), error)
            self._send_error(None, PARSE_ERROR, "Parse error: the message is not valid JSON.")
            return
        self.handle_message(message)

    def handle_message(self, message: Any) -> None:
        """Validate a message and its position in the life cycle, then pass it to pygls."""
        if not isinstance(message, dict):
            self._send_error(None, INVALID_REQUEST, "A message is a JSON object with jsonrpc, method and params.")
            return
        method, msg_id = message.get("method"), message.get("id")
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str | None):
            if method is not None and msg_id is not None:
                self._send_error(msg_id, INVALID_REQUEST, 'A message needs "jsonrpc": "2.0" and a method name.')
            return
        is_request = method is not None and "id" in message
        if is_request and (not isinstance(msg_id, str | int) or isinstance(msg_id, bool)):
            self._send_error(None, INVALID_REQUEST, "The ID of a request must be a string or an integer.")
            return
        if is_request and lsp.METHOD_TO_TYPES.get(str(method), (None, True))[1] is None:
            self._send_error(msg_id, INVALID_REQUEST, f"{method} is a notification and must not have an ID.")
            return
        if method is None and not (isinstance(msg_id, str | int) and msg_id in self._result_types):
            log.info("ignored a response without a pending request")
            return
        if is_request and self._shutdown:
            self._send_error(msg_id, INVALID_REQUEST, "The server is shutting down.")
            return
        if self._workspace is None and method not in (None, lsp.INITIALIZE, lsp.EXIT):
            if is_request:
                self._send_error(msg_id, NOT_INITIALIZED, "The first request must be initialize.")
            return
        if is_request and method == lsp.INITIALIZE and self._workspace is not None:
            self._send_error(msg_id, INVALID_REQUEST, "The server is already initialized.")
            return
        self._client_initialized = self._client_initialized or method == lsp.INITIALIZED
        if is_request and not self._client_initialized and method not in (lsp.INITIALIZE, lsp.SHUTDOWN):
            self._send_error(msg_id, NOT_INITIALIZED, "Send the notification initialized before the first request.")
            return
        try:
            if method in (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE):
                message = {**message, "params": _with_defaults(message["params"])}
            if method != lsp.TEXT_DOCUMENT_DID_OPEN:
                message = self._with_opened_uri(message)
            structured = self._deserialize(message, method, msg_id)
        except Exception as error:
            log.warning("invalid params of %s: %s", method, error)
            if is_request:
                self._send_error(msg_id, JsonRpcInvalidParams.CODE, f"Invalid params for {method}.")
            elif method in _TEXT_SYNC:
                text = f"promptls ignored an invalid {method}. Reopen the document to synchronize its text."
                self._server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, text))
            elif method is None and isinstance(msg_id, str | int):
                self._handle_response(msg_id, error=lsp.ResponseError(INVALID_REQUEST, "Invalid response."))
            return
        super().handle_message(structured)

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Initialize pygls without roots."""
        self.root_params = params
        result = yield from super().lsp_initialize(
            attrs.evolve(params, root_uri=None, root_path=None, workspace_folders=None)
        )
        if result.capabilities.workspace is not None:  # pygls does not know this one yet
            options = lsp.TextDocumentContentOptions(schemes=[PAGE_SCHEME])
            result.capabilities.workspace.text_document_content = options
        return result

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: lsp.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Run a command as one task; pygls' two-part version leaks results and cannot be cancelled."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(
                f"Unknown command {params.command!r}. See executeCommandProvider.commands in the server capabilities."
            )
        return await handler(*(params.arguments or ()))

    def _execute_handler(self, msg_id: Any, handler: Any, callback: Any, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, handler, callback, *args, **kwargs)
        future = self._request_futures.get(msg_id)

        def discard(done: Any) -> None:  # by copying: pygls iterates over the dictionary while it cancels futures
            self._request_futures = {key: value for key, value in self._request_futures.items() if key != msg_id}

        if future is not None and callback == self._check_handler_result:  # a notification: pygls never removes it
            future.add_done_callback(discard)

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        future = self._request_futures.get(msg_id)
        if future is not None and future.cancelled():  # the request that waited for this response has ended
            del self._request_futures[msg_id]
            return
        super()._handle_response(msg_id, result, error)

    def _deserialize(self, message: Json, method: str | None, msg_id: Any) -> Any:
        """Convert a message to pygls' classes, with params as plain JSON where promptls decodes them."""
        if method is not None and msg_id is not None and (method.startswith("promptls/") or method in LSP_FEATURES):
            return JsonRPCRequestMessage(msg_id, method, "2.0", message.get("params"))
        if method in lsp.METHOD_TO_TYPES:
            params = (message.get("params") or {}) if lsp.METHOD_TO_TYPES[method][2] is not None else None
            message = {**message, "params": params}
        try:
            structured = super().structure_message(message)
        except Exception as error:
            if method != lsp.INITIALIZE:
                raise
            log.warning("ignored invalid fields of initialize: %s", error)
            structured = super().structure_message({**message, "params": self._valid_initialize(message["params"])})
        if method == lsp.WORKSPACE_EXECUTE_COMMAND:
            structured.params.arguments = (message.get("params") or {}).get("arguments") or []
        return structured

    def _with_opened_uri(self, message: Json) -> Json:
        """Return the message with the URI under which its document is open, if the client spells it differently."""
        params = message.get("params")
        if not isinstance(params, dict):
            return message
        for key in ("textDocument", "notebookDocument"):
            document = params.get(key)
            if isinstance(document, dict) and isinstance(uri := document.get("uri"), str):
                opened = self.opened_uri(uri)
                if opened != uri:
                    return {**message, "params": {**params, key: {**document, "uri": opened}}}
        return message

    def _valid_initialize(self, params: Json) -> Json:
        """Return params of `initialize` without the capabilities that lsprotocol rejects, such as new enum values."""

        def is_valid(group: str, name: str, value: Any) -> bool:
            try:
                self._converter.structure({group: {name: value}}, lsp.ClientCapabilities)
            except Exception:
                return False
            return True

        groups = {g: v for g, v in (params.get("capabilities") or {}).items() if isinstance(v, dict)}
        capabilities = {g: {k: v for k, v in some.items() if is_valid(g, k, v)} for g, some in groups.items()}
        folders = [f for f in params.get("workspaceFolders") or () if isinstance(f, dict) and "uri" in f]
        return {
            **{name: params.get(name) for name in ("processId", "rootUri", "rootPath", "initializationOptions")},
            "capabilities": capabilities,
            "workspaceFolders": [{"uri": str(f["uri"]), "name": str(f.get("name") or "")} for f in folders],
        }

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if error is None and isinstance(result, dict | list):  # already plain JSON; pygls would convert it to classes
            self._result_types.pop(msg_id, None)
            self._send_json({"jsonrpc": "2.0", "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    def _send_json(self, message: Json) -> None:
        """Send a message of plain values; ten times as fast as pygls for a long one."""
        try:
            body = msgspec.json.encode(message)
        except (TypeError, ValueError):  # lone surrogates, for example
            self._send_data(message)
            return
        head = f"Content-Length: {len(body)}\r\nContent-Type: {self.CONTENT_TYPE}; charset={self.CHARSET}\r\n\r\n"
        if self.writer is not None:
            self.writer.write(head.encode() + body)

    def _send_error(self, msg_id: Any, code: int, text: str) -> None:
        self._send_response(msg_id, error=lsp.ResponseError(code=code, message=text))


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def to_json(value: Any) -> Any:
    """Convert the named tuples that pygls makes of unknown objects back to plain JSON values."""
    if hasattr(value, "_asdict"):
        return {k: to_json(v) for k, v in value._asdict().items()}
    if isinstance(value, dict):
        return {k: to_json(v) for k, v in value.items()}
    return [to_json(v) for v in value] if isinstance(value, list | tuple) else value


class GuardedWriter(StdoutWriter):
    """The output stream to the client; sets `closed` when the client no longer reads."""

    def __init__(self, stream: BinaryIO, closed: asyncio.Event) -> None:
        super().__init__(stream)
        self._closed = closed
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Write bytes.

        Raises:
            BrokenPipeError: The client has closed its end of the stream.
        """
        try:
            super().write(data)
        except (BrokenPipeError, ValueError):
            self._loop.call_soon_threadsafe(self._closed.set)
            raise BrokenPipeError("the client no longer reads from the server") from None

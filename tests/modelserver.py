"""A scripted model for agents, in the protocols of OpenAI, Anthropic and Google, as an HTTP server on loopback.

The model calls the given tools one after the other, then says that it is done.  A tool is called by the name that the
client declares, which contains the name of the tool.  Requests that declare no such tool are answered with a word:
clients ask for titles and summaries.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]


class Call(NamedTuple):
    """A call of a tool that the model makes."""

    tool: str
    arguments: Json


class ModelServer(ThreadingHTTPServer):
    """The server; use it as a context manager."""

    daemon_threads = True

    def __init__(self, calls: list[Call]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = calls
        self.requests: list[tuple[str, Json]] = []  # path and body of requests that declare our tools
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def results(self) -> list[str]:
        """Return the results of the calls as the model receives them in the last request."""
        return list(_results(self.requests[-1][1])) if self.requests else []


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [], "models": [], "object": "list"}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "count" in self.path.lower():
            self._send("application/json", json.dumps({"totalTokens": 100, "input_tokens": 100}))
            return
        names = list(_tool_names(body))
        if any(self.server.calls[0].tool in name for name, _ in names):
            self.server.requests.append((self.path, body))
        done = len(list(_results(body)))
        call = self.server.calls[done] if done < len(self.server.calls) else None
        found = next(((name, space) for name, space in names if call is not None and call.tool in name), None)
        answer = (*found, call.arguments, f"call_{done}") if found is not None and call is not None else None
        write = next(write for part, write in _WRITERS.items() if part in self.path)
        streamed = body.get("stream", "stream" in self.path.lower())
        self._send("text/event-stream" if streamed else "application/json", write(answer, streamed))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _tool_names(body: Json) -> Iterator[tuple[str, str]]:
    """Yield name and name space of the tools that a request declares."""
    for tool in body.get("tools") or ():
        for declared in tool.get("functionDeclarations", ()):
            yield declared["name"], ""
        if tool.get("type") == "namespace":
            for inner in tool["tools"]:
                yield inner["name"], tool["name"]
        else:
            name = (tool.get("function") or tool).get("name")
            if name:
                yield name, ""


def tool_names(body: Json) -> list[str]:
    """Return the names of the tools that a request declares."""
    return [name for name, _ in _tool_names(body)]


def _results(body: Json) -> Iterator[str]:
    """Yield the texts of the results of tools in a request."""
    for message in body.get("messages") or ():
        if message.get("role") == "tool":
            yield _text(message["content"])
        elif isinstance(message.get("content"), list):
            for part in message["content"]:
                if part.get("type") == "tool_result":
                    yield _text(part["content"])
    for item in body["input"] if isinstance(body.get("input"), list) else ():
        if item.get("type") == "function_call_output":
            yield _text(item["output"])
    for content in body.get("contents") or ():
        for part in content.get("parts", ()):
            if "functionResponse" in part:
                yield json.dumps(part["functionResponse"]["response"], ensure_ascii=False)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", json.dumps(part)) for part in content)


Answer = tuple[str, str, Json, str] | None
"""Name, name space, arguments and ID of a call; None for the final answer."""


def _events(events: list[Json], named: bool = False) -> str:
    return "".join(
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events
    )


def _write_chat(answer: Answer, streamed: bool) -> str:
    message: Json = {"role": "assistant", "content": None if answer else "done"}
    if answer:
        function = {"name": answer[0], "arguments": json.dumps(answer[2])}
        message["tool_calls"] = [{"index": 0, "id": answer[3], "type": "function", "function": function}]
    base = {"id": "1", "created": 1, "model": "scripted"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    finish = "tool_calls" if answer else "stop"
    if not streamed:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunk = {**base, "object": "chat.completion.chunk"}
    first = {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
    return _events([first, last]) + "data: [DONE]\n\n"


def _write_responses(answer: Answer, streamed: bool) -> str:
    if answer:
        name, space, arguments, call = answer
        item: Json = {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": name}
        item |= {"arguments": json.dumps(arguments), **({"namespace": space} if space else {})}
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    if not streamed:
        return json.dumps(response)
    return _events(
        [
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ],
        named=True,
    )


def _write_messages(answer: Answer, streamed: bool) -> str:
    usage = {"input_tokens": 1, "output_tokens": 1}
    if answer:
        block: Json = {"type": "tool_use", "id": answer[3], "name": answer[0], "input": {}}
        delta: Json = {"type": "input_json_delta", "partial_json": json.dumps(answer[2])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
    stop = "tool_use" if answer else "end_turn"
    if not streamed:
        content = {**block, "input": answer[2]} if answer else {**block, "text": "done"}
        return json.dumps({**message, "content": [content], "stop_reason": stop, "stop_sequence": None})
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    return _events(
        [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ],
        named=True,
    )


def _write_gemini(answer: Answer, streamed: bool) -> str:
    part: Json = {"functionCall": {"name": answer[0], "args": answer[2]}} if answer else {"text": "done"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    response = {"candidates": [candidate], "usageMetadata": usage}
    return f"data: {json.dumps(response)}\r\n\r\n" if streamed else json.dumps(response)


_WRITERS = {
    "/chat/completions": _write_chat,
    "/responses": _write_responses,
    "/messages": _write_messages,
    "enerateContent": _write_gemini,
    "": _write_chat,
}
"""Function that writes the answer, by a part of the path of the request."""

"""Local HTTP server for /chat/completions with scripted responses, valid or faulty.

Each request is handled by the next action of the script; the last action is repeated.
"""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """A received request."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        action = self.server.next_action(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        try:
            action(self)
        except OSError:  # the client has disconnected
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def client_disconnected(self, within_s: float | None = None) -> bool:
        """Wait until the client closes the connection, and return whether it did."""
        readable, _, _ = select.select([self.connection], [], [], within_s)
        try:
            done = bool(readable) and not self.connection.recv(1)
        except ConnectionError:
            done = True
        if done:
            self.close_connection = True
            self.server.left.set()
        return done


Action = Callable[[Handler], None]


class ChatServer(ThreadingHTTPServer):
    """The server; use it as a context manager."""

    daemon_threads = True

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.actions = list(actions)
        self.requests: list[Request] = []
        self.arrived = threading.Event()  # a request was received
        self.left = threading.Event()  # a client disconnected before it had its response
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_action(self, request: Request) -> Action:
        action = self.actions[min(len(self.requests), len(self.actions) - 1)]
        self.requests.append(request)
        self.arrived.set()
        return action

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


# ---------------------------------------------------------------- actions


def completion(content: Any) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def say(content: Any) -> Action:
    return lambda handler: handler.send(200, completion(content))


def raw(body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None) -> Action:
    return lambda handler: handler.send(200, body, {"Content-Type": content_type, **(headers or {})})


def refuse(status: int, message: str = "", headers: Mapping[str, str] | None = None) -> Action:
    body = json.dumps({"error": {"message": message, "type": "x"}}).encode() if message else b"<html>no</html>"
    return lambda handler: handler.send(status, body, headers)


def hang(handler: Handler) -> None:
    """Receive the request and never respond."""
    handler.client_disconnected()


def drip(handler: Handler) -> None:
    """Start a response and send it endlessly, one space at a time."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.client_disconnected(0.02):
        handler.wfile.write(b" ")


def break_off(handler: Handler) -> None:
    """Close the connection within the body."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def slam(handler: Handler) -> None:
    """Close the connection without a response."""
    handler.close_connection = True


def flood(status: int = 200) -> Action:
    """Send an endless body."""

    def action(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        while not handler.client_disconnected(0):
            handler.wfile.write(chunk)

    return action

"""Answers to the handshake of the Model Context Protocol from constants, before anything heavy is imported.

Clients such as Codex and Claude Code start their first turn without the tools of a server that does not answer
`initialize`, `tools/list` and `prompts/list` within a second.  The import of the SDK and the engine takes longer.  This
module uses the standard library alone: a thread reads stdin, answers the constant requests from `answers.json`, and keeps
all other messages for a backend: the SDK, here or in the process of a language server.  `scripts/docs.py` writes that
file from the answers of the SDK.

A backend can be replaced by another one.  It receives the beginning of the session and the unanswered requests again.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

ANSWERS = Path(__file__).with_name("answers.json")
"""File with the constant results."""
MAX_WAIT_S, PROMPTS_WAIT_S = 2.0, 0.2
"""Seconds that heavy imports wait for the handshake, and then for `prompts/list`; they would delay it, because they hold
the GIL."""
_ENVELOPE = "io.modelcontextprotocol/"
"""Prefix of the keys of `_meta` in requests of the protocol versions without `initialize`."""


class StdioStreams:
    """Stdin and stdout of an MCP server: text files for a backend, which never sees the requests that are answered here.

    A backend does see `initialize`, because it serves no other request before it.  Its response is dropped.
    """

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._answers = json.loads(ANSWERS.read_text("utf-8"))
        self._reader = reader
        self._writer = writer
        self._write_lock = threading.Lock()
        self._lines: queue.SimpleQueue[str | int] = queue.SimpleQueue()  # or the number of a backend that has ended
        self._dropped: set[Any] = set()  # ids of requests whose second response is dropped
        self._preamble: dict[str, str] = {}  # method → message that begins the session
        self._pending: dict[Any, str] = {}  # id → request that the backend has not answered
        self._replayed: deque[str] = deque()  # messages that the backend receives next
        self._backend = 0  # number of the current backend
        self._finds_better: Callable[[], bool] = lambda: False
        self.ended = False  # whether the client has closed its side
        self._done = threading.Event()
        self._prompts_listed = threading.Event()
        self._has_session = False  # begun by `initialize`, so that the client accepts notifications
        self._sdk_reads = False
        threading.Thread(target=self._read, daemon=True, name="handshake").start()

    def wait(self) -> None:
        """Wait until the client has listed the tools, has sent another request, or closed its side."""
        if self._done.wait(MAX_WAIT_S):
            self._prompts_listed.wait(PROMPTS_WAIT_S)

    @property
    def has_listed_prompts(self) -> bool:
        """True if the client got the built-in prompts, which may differ from those of the workspace."""
        return self._has_session and self._prompts_listed.is_set()

    def begin(self, finds_better: Callable[[], bool] = lambda: False) -> int:
        """Begin a backend with the start of the session and the unanswered requests; return its number.

        If `finds_better` returns True between two requests, the messages of the backend end.
        """
        self._backend += 1
        self._finds_better = finds_better
        for method, line in self._preamble.items():
            if method == "initialize" and (id_ := json.loads(line)["id"]) not in self._pending:
                self._dropped.add(id_)
        unanswered = [line for line in self._pending.values() if line not in self._preamble.values()]
        self._replayed = deque([*self._preamble.values(), *unanswered, *self._replayed])
        return self._backend

    def end(self, backend: int) -> None:
        """End the messages of a backend that cannot answer any more.  Any thread."""
        self._lines.put(backend)

    def readline(self) -> str:
        """Return the next message for the backend, "" at the end."""
        self._sdk_reads = True
        while True:
            line = self._replayed.popleft() if self._replayed else self._lines.get()
            if line == self._backend:
                return ""
            if not isinstance(line, str):
                continue  # an earlier backend has ended
            if not line:
                self.ended = True
                return ""
            if not self._pending and self._backend_answers(line) and self._finds_better():
                self._replayed.appendleft(line)
                return ""
            self._record(line)
            return line

    def _backend_answers(self, line: str) -> bool:
        message = _message(line)
        return "id" in message and "method" in message and message["method"] != "initialize"

    def _record(self, line: str) -> None:
        """Keep what another backend would need."""
        message = _message(line)
        method, id_ = message.get("method"), message.get("id")
        if method in ("initialize", "notifications/initialized"):
            self._preamble[method] = line
        if method == "notifications/cancelled":
            params = message.get("params")
            self._pending.pop(params.get("requestId") if isinstance(params, dict) else None, None)
        elif type(method) is str and type(id_) in (int, str) and id_ not in self._dropped:
            self._pending[id_] = line

    def write(self, text: str) -> None:
        """Write a message of the backend."""
        message = _message(text)
        id_ = message.get("id")
        if "method" not in message and type(id_) in (int, str):
            self._pending.pop(id_, None)
            if id_ in self._dropped:
                self._dropped.discard(id_)
                return
        self._send(text.encode())

    def flush(self) -> None:
        """Do nothing: messages are written at once."""

    def _read(self) -> None:
        try:
            for line in self._reader:
                if self._answer(line):
                    continue
                self._lines.put(line.decode("utf-8", "replace"))
        except OSError:
            pass  # the client is gone
        finally:
            self._lines.put("")
            self._done.set()

    def _answer(self, line: bytes) -> bool:
        """Answer a request from constants; return whether the SDK does not need it."""
        try:
            message = json.loads(line)
            method, params, id_ = message["method"], message.get("params") or {}, message.get("id")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._done.set()
            return False
        if id_ is None:
            return False
        is_valid = type(id_) in (int, str) and isinstance(params, dict) and isinstance(method, str)
        result = self._result(method, params) if is_valid else None
        if result is None:
            self._done.set()
            return False
        if method == "initialize":
            self._has_session = True
            self._dropped.add(id_)
        response = {"jsonrpc": "2.0", "id": id_, "result": result}
        self._send(json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        if method == "tools/list":
            self._done.set()
        elif method == "prompts/list":
            self._prompts_listed.set()
        return bool(method != "initialize")

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        """Return the constant result of a valid request, None if the SDK has to answer it."""
        if method == "prompts/list" and self._sdk_reads:
            return None  # recipes of the workspace are prompts, too
        meta = params.get("_meta")
        if isinstance(meta, dict) and f"{_ENVELOPE}protocolVersion" in meta:
            version, client = meta[f"{_ENVELOPE}protocolVersion"], meta.get(f"{_ENVELOPE}clientCapabilities")
            known = version in self._answers["modern"] if isinstance(version, str) else False
            return self._answers["modern"][version].get(method) if known and isinstance(client, dict) else None
        if method != "initialize":
            return self._answers["legacy"].get(method)
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        valid = isinstance(client, dict) and all(isinstance(client.get(key), str) for key in ("name", "version"))
        if not valid or not isinstance(version, str) or not isinstance(params.get("capabilities"), dict):
            return None
        versions = self._answers["versions"]
        return {**self._answers["legacy"][method], "protocolVersion": version if version in versions else versions[-1]}

    def _send(self, data: bytes) -> None:
        with self._write_lock:
            self._writer.write(data)
            self._writer.flush()


def _message(line: str) -> dict[str, Any]:
    """Return a message, {} if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def open_streams() -> StdioStreams:
    """Start to answer on stdin and stdout; what else writes to stdout appears on stderr, as with the SDK."""
    if sys.platform == "win32":
        return StdioStreams(sys.stdin.buffer, sys.stdout.buffer)
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return StdioStreams(os.fdopen(reader, "rb"), os.fdopen(writer, "wb"))

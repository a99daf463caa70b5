"""Answers to the handshake of the Model Context Protocol from constants, before anything heavy is imported.

Clients such as Codex and Claude Code start their first turn without the tools of a server that does not answer
`initialize`, `tools/list` and `prompts/list` within a second.  The import of the SDK and the engine takes longer.  This
module uses the standard library alone: a thread reads stdin, answers the constant requests from `answers.json`, and keeps
all other messages for the SDK.  `scripts/docs.py` writes that file from the answers of the SDK.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
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
    """Stdin and stdout of an MCP server: text files for the SDK, which never sees the requests that are answered here.

    The SDK does see `initialize`, because it serves no other request before it.  Its response is dropped.
    """

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._answers = json.loads(ANSWERS.read_text("utf-8"))
        self._reader = reader
        self._writer = writer
        self._write_lock = threading.Lock()
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()  # for the SDK; "" at the end
        self._dropped: set[Any] = set()  # ids of requests whose second response is dropped
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

    def readline(self) -> str:
        """Return the next message for the SDK, "" at the end."""
        self._sdk_reads = True
        return self._lines.get()

    def write(self, text: str) -> None:
        """Write a message of the SDK."""
        if self._dropped and self._is_dropped(text):
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

    def _is_dropped(self, text: str) -> bool:
        message = json.loads(text)
        id_ = message.get("id")
        if "method" in message or id_ not in self._dropped:
            return False
        self._dropped.discard(id_)
        return True

    def _send(self, data: bytes) -> None:
        with self._write_lock:
            self._writer.write(data)
            self._writer.flush()


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

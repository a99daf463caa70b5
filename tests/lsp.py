"""JSON-RPC client over stdio for the end-to-end tests; shares no code with the server.

`wait_indexed` is the barrier: it returns when the server has processed every message sent before and the index is
complete. Nothing here sleeps; every wait is for a message and has a timeout.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]
TIMEOUT_S = 120.0


class ResponseError(Exception):
    """An error response."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class Client:
    """One server process and the connection to it."""

    def __init__(self, cache: Path, env: dict[str, str] | None = None, command: list[str] | None = None) -> None:
        home = {
            "PROMPTLS_CACHE": str(cache),
            "PROMPTLS_DATA": str(cache.parent / "data"),
            "XDG_STATE_HOME": str(cache.parent / "state"),
        }
        environment = {**os.environ, **home, **(env or {})}
        self.stderr = cache.parent / f"stderr-{time.monotonic_ns()}.log"
        with self.stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                command or [sys.executable, "-m", "promptls", "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
                cwd=cache.parent,
            )
        self.received = threading.Condition()
        self.responses: dict[Any, list[Json]] = {}
        self.notifications: list[Json] = []
        self.server_requests: list[Json] = []
        self.ended = False
        self.configuration: Any = None
        self.results_by_method: dict[str, Any] = {}  # results for requests from the server, by method
        self.unanswered_methods: set[str] = set()  # requests from the server that get no response
        self.open_uris: set[str] = set()  # URIs of open documents
        self._id = 0
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    # ---- raw

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (header := stream.readline().strip()) or not length:
                if not header:
                    with self.received:
                        self.ended = True
                        self.received.notify_all()
                    return
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            body = stream.read(length)
            if len(body) == length:  # otherwise the output has ended within the message
                self._handle_message(json.loads(body))

    def _handle_message(self, message: Json) -> None:
        if "method" in message and "id" in message:
            result: Any = self.results_by_method.get(message["method"])
            if message["method"] == "workspace/configuration":
                result = [self.configuration for _ in message["params"]["items"]]
            if message["method"] not in self.unanswered_methods:
                try:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
                except (OSError, ValueError):
                    pass  # the server has exited, or the test has closed the stream
        with self.received:
            if "method" in message:
                (self.server_requests if "id" in message else self.notifications).append(message)
            else:
                self.responses.setdefault(message.get("id"), []).append(message)
            self.received.notify_all()

    # ---- requests and notifications

    def start_request(self, method: str, params: Any = None) -> int:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def wait_response(self, request: Any, timeout: float = TIMEOUT_S) -> Any:
        """Wait for the result of a request.  Raises ResponseError."""
        with self.received:
            self._wait_for(lambda: request in self.responses, f"response to request {request}", timeout)
            message = self.responses[request][0]
        if "error" in message:
            raise ResponseError(message["error"])
        return message["result"]

    def _wait_for(self, condition: Callable[[], bool], awaited: str, timeout: float) -> None:
        """Wait for a message while `received` is held.  Raises TimeoutError, and ConnectionError if the server ends."""
        if not self.received.wait_for(lambda: condition() or self.ended, timeout):
            raise TimeoutError(f"no {awaited}; threads of the server: {self.thread_stacks()}")
        if not condition():
            raise ConnectionError("the server has closed its output: " + self.stderr.read_text(errors="replace"))

    def thread_stacks(self) -> str:
        """Return the stacks of all threads of the server."""
        self.process.send_signal(signal.SIGUSR1)
        with suppress(subprocess.TimeoutExpired):  # there is no signal for the end of the output
            self.process.wait(1)
        return self.stderr.read_text(errors="replace")[-20_000:]

    def request(self, method: str, params: Any = None, timeout: float = TIMEOUT_S) -> Any:
        return self.wait_response(self.start_request(method, params), timeout)

    def notify(self, method: str, params: Any = None) -> None:
        match method, params:
            case "textDocument/didOpen", {"textDocument": {"uri": uri}}:
                self.open_uris.add(uri)
            case "textDocument/didClose", {"textDocument": {"uri": uri}}:
                self.open_uris.discard(uri)
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait_notification(self, method: str, matches: Any = lambda params: True, timeout: float = TIMEOUT_S) -> Json:
        """Wait for a notification and return the params of the first one that matches."""

        def found() -> Json | None:
            return next(
                (n["params"] for n in self.notifications if n["method"] == method and matches(n["params"])), None
            )

        with self.received:
            self._wait_for(lambda: found() is not None, method, timeout)
            params = found()
        assert params is not None
        return params

    def wait_server_request(self, method: str, timeout: float = TIMEOUT_S) -> Json:
        """Wait for a request from the server and return the first one of the method."""

        def found() -> Json | None:
            return next((a for a in self.server_requests if a["method"] == method), None)

        with self.received:
            self._wait_for(lambda: found() is not None, method, timeout)
            request = found()
        assert request is not None
        return request

    def log_text(self) -> str:
        """Return the content of the server's log files."""
        return "".join(f.read_text(errors="replace") for f in self.stderr.parent.rglob("promptls.log"))

    # ---- the language server protocol

    def initialize(self, *roots: Path, options: Any = None, capabilities: Any = None) -> Any:
        folders = [{"uri": r.as_uri(), "name": r.name} for r in roots]
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folders[0]["uri"] if folders else None,
                "workspaceFolders": folders,
                "capabilities": capabilities
                or {
                    "window": {"workDoneProgress": True},
                    "workspace": {
                        "didChangeWatchedFiles": {"dynamicRegistration": True},
                        "configuration": True,
                        "workspaceFolders": True,
                    },
                },
                "initializationOptions": options or {},
            },
        )
        self.notify("initialized", {})
        return result

    def wait_indexed(self, timeout: float = TIMEOUT_S) -> Json:
        """Wait until all messages sent so far are processed and the index is complete, and return the status."""
        deadline = time.monotonic() + timeout
        while True:
            with self.received:
                seen = len(self.notifications)
            status: Json = self.request("promptls/status", {})
            if status["state"] in ("ready", "degraded") and all(r["pending"] == 0 for r in status["roots"]):
                return status
            with self.received:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(
                        f"the index is not complete: {status}; threads of the server: {self.thread_stacks()}"
                    )
                self.received.wait_for(lambda: len(self.notifications) > seen or self.ended, min(left, 1.0))  # noqa: B023
                if self.ended:
                    raise ConnectionError(self.stderr.read_text(errors="replace"))

    def open(self, path: Path, text: str, version: int = 1, language: str = "python") -> None:
        document = {"uri": path.as_uri(), "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, path: Path, version: int, *changes: Json) -> None:
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": list(changes)},
        )

    def replace(self, path: Path, version: int, text: str) -> None:
        self.change(path, version, {"text": text})

    def save(self, path: Path) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    def close(self, path: Path) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def close_all(self) -> None:
        for uri in sorted(self.open_uris):
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def files_changed(self, *paths: Path) -> None:
        changes = [{"uri": p.as_uri(), "type": 2 if p.exists() else 3} for p in paths]
        self.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def folders_changed(self, added: Iterable[tuple[Path, str]] = (), removed: Iterable[tuple[Path, str]] = ()) -> None:
        """Notify the server of added and removed workspace folders, each with its name."""
        event = {
            key: [{"uri": path.as_uri(), "name": name} for path, name in folders]
            for key, folders in (("added", added), ("removed", removed))
        }
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def build(self, message: str, **params: Any) -> Json:
        result: Json = self.request("promptls/buildPrompt", {"message": message, **params})
        return result

    def search(self, query: str, limit: int = 10) -> list[Json]:
        hits: list[Json] = self.request("promptls/search", {"query": query, "limit": limit})["hits"]
        return hits

    def stop(self) -> int:
        """Shut the server down and return its exit status."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """Kill the process and close its streams."""
        self.process.kill()
        self.process.wait()
        self._reader.join(TIMEOUT_S)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                pass  # buffered output cannot be written any more


@contextmanager
def indexed_client(cache: Path, *roots: Path, env: dict[str, str] | None = None, **options: Any) -> Iterator[Client]:
    """Start a server whose index is complete; kill it at the end of the block."""
    with Client(cache, env) as client:
        client.initialize(*roots, **options)
        client.wait_indexed()
        yield client


Start = Callable[..., Client]
"""Type of the fixture `start`."""
Visit = Callable[[Path], Client]
"""Type of the fixture `visit`."""

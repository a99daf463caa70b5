"""A plain JSON-RPC client over stdio for the end-to-end tests; shares nothing with the server.

`settled` is the barrier: it returns when the server has taken in every message sent before and says it is
ready.  Nothing here sleeps; every wait is for a message and is bounded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]
TIMEOUT_S = 60.0


class ServerError(Exception):
    """An error answer."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class Client:
    """One server process and the talk with it."""

    def __init__(self, cache: Path, env: dict[str, str] | None = None, command: list[str] | None = None) -> None:
        home = {
            "PROMPTLS_CACHE": str(cache),
            "PROMPTLS_DATA": str(cache.parent / "data"),
            "XDG_STATE_HOME": str(cache.parent / "state"),
        }
        environment = {**os.environ, **home, **(env or {})}
        if environment.pop("PYTHONDONTWRITEBYTECODE", ""):  # a server that compiles itself at each start is slower
            environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "promptls-bytecode")
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
        self.arrived = threading.Condition()
        self.answers: dict[Any, list[Json]] = {}
        self.notes: list[Json] = []
        self.asked: list[Json] = []
        self.watching = True
        self.ended = False
        self.configuration: Any = None
        self.replies: dict[str, Any] = {}  # method → result of requests that the server makes
        self.silent: set[str] = set()  # methods of requests that are not answered
        self.opened: set[str] = set()  # URIs of the documents that are open
        self._id = 0
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

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
                    with self.arrived:
                        self.ended = True
                        self.arrived.notify_all()
                    return
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            body = stream.read(length)
            if len(body) == length:  # else it is cut off, and the output has ended
                self._take(json.loads(body))

    def _take(self, message: Json) -> None:
        if "method" in message and "id" in message:
            result: Any = self.replies.get(message["method"])
            if message["method"] == "workspace/configuration":
                result = [self.configuration for _ in message["params"]["items"]]
            if message["method"] not in self.silent:
                try:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
                except (OSError, ValueError):
                    pass  # nobody reads any more, or the test has closed the stream
        with self.arrived:
            if "method" in message:
                (self.asked if "id" in message else self.notes).append(message)
            else:
                self.answers.setdefault(message.get("id"), []).append(message)
            self.arrived.notify_all()

    # ---- talk

    def start_request(self, method: str, params: Any = None) -> int:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def answer(self, request: Any, timeout: float = TIMEOUT_S) -> Any:
        """The result of a request that was started.  Raises ServerError."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: request in self.answers or self.ended, timeout):
                raise TimeoutError(f"no answer to request {request}; the server's threads: {self.stacks()}")
            if request not in self.answers:
                raise ConnectionError("the server has closed its output: " + self.stderr.read_text(errors="replace"))
            message = self.answers[request][0]
        if "error" in message:
            raise ServerError(message["error"])
        return message["result"]

    def stacks(self) -> str:
        """What the threads of the server are at."""
        self.process.send_signal(signal.SIGUSR1)
        with suppress(subprocess.TimeoutExpired):  # nothing tells when all is written
            self.process.wait(1)
        return self.stderr.read_text(errors="replace")[-20_000:]

    def request(self, method: str, params: Any = None, timeout: float = TIMEOUT_S) -> Any:
        return self.answer(self.start_request(method, params), timeout)

    def notify(self, method: str, params: Any = None) -> None:
        match method, params:
            case "textDocument/didOpen", {"textDocument": {"uri": uri}}:
                self.opened.add(uri)
            case "textDocument/didClose", {"textDocument": {"uri": uri}}:
                self.opened.discard(uri)
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait_note(self, method: str, fits: Any = lambda params: True, timeout: float = TIMEOUT_S) -> Json:
        """Params of the first notification of that method that fits, waiting for it."""

        def found() -> Json | None:
            return next((n["params"] for n in self.notes if n["method"] == method and fits(n["params"])), None)

        with self.arrived:
            if not self.arrived.wait_for(lambda: found() is not None, timeout):
                raise TimeoutError(method)
            note = found()
        assert note is not None
        return note

    def wait_asked(self, method: str, timeout: float = TIMEOUT_S) -> Json:
        """The first request of that method that the server has made, waiting for it."""

        def found() -> Json | None:
            return next((a for a in self.asked if a["method"] == method), None)

        with self.arrived:
            if not self.arrived.wait_for(lambda: found() is not None, timeout):
                raise TimeoutError(method)
            asked = found()
        assert asked is not None
        return asked

    def logged(self) -> str:
        """What the server has written into its log."""
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

    def settled(self, timeout: float = TIMEOUT_S) -> Json:
        """The status once every message sent so far has been taken in and the index is complete."""
        deadline = time.monotonic() + timeout
        while True:
            with self.arrived:
                seen = len(self.notes)
            status: Json = self.request("promptls/status", {})
            if status["state"] in ("ready", "degraded") and all(r["pending"] == 0 for r in status["roots"]):
                return status
            with self.arrived:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"the index is not complete: {status}; the server's threads: {self.stacks()}")
                self.arrived.wait_for(lambda: len(self.notes) > seen or self.ended, min(left, 1.0))  # noqa: B023
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
        for uri in sorted(self.opened):
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def files_changed(self, *paths: Path) -> None:
        changes = [{"uri": p.as_uri(), "type": 2 if p.exists() else 3} for p in paths]
        self.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def folders_changed(self, added: Iterable[tuple[Path, str]] = (), removed: Iterable[tuple[Path, str]] = ()) -> None:
        """Folders come and go, each with its name."""
        told = [[{"uri": path.as_uri(), "name": name} for path, name in folders] for folders in (added, removed)]
        self.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": told[0], "removed": told[1]}})

    def build(self, message: str, **params: Any) -> Json:
        result: Json = self.request("promptls/buildPrompt", {"message": message, **params})
        return result

    def search(self, query: str, limit: int = 10) -> list[Json]:
        hits: list[Json] = self.request("promptls/search", {"query": query, "limit": limit})["hits"]
        return hits

    def stop(self) -> int:
        """Shut down in the proper way; the exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """End the process, however it is, and let go of its streams."""
        self.process.kill()
        self.process.wait()
        self._reader.join(TIMEOUT_S)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                pass  # what was still to be written has nowhere to go

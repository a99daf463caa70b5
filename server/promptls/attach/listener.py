"""Listener of a language server: accepts connections of this user's processes and runs their sessions on the engine."""

from __future__ import annotations

import logging
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

import msgspec

from promptls import __version__
from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams
from promptls.api.regions import unsaved_files
from promptls.api.requests import CUSTOM_REQUESTS
from promptls.attach.client import (
    CONNECTION_ERRORS,
    MAX_MESSAGE_BYTES,
    REQUESTS,
    Greeting,
    Hello,
    Request,
    close_connection,
)
from promptls.attach.other_editors import DOCUMENTS, OtherEditors, serve_documents
from promptls.attach.registry import ServerRecord, new_record, publish, withdraw
from promptls.engine import Engine
from promptls.model import Cancelled, CancelToken
from promptls.settings import log_file
from promptls.util.cancellation import run_cancellable
from promptls.util.decode import decode_json

log = logging.getLogger(__name__)

MAX_SESSIONS = 64
"""Maximum number of sessions at a time; each has a thread or two."""
MAX_HELLO_BYTES = 10_000
"""Maximum length of the message that begins a session."""
ACCEPT_RETRY_S = 0.5
"""Seconds after a failure until connections are accepted again."""
BACKLOG = 16
"""Number of connections that wait to be accepted."""

Session = Callable[[Callable[[], Engine], Connection, Mapping[str, Any]], None]
"""Runs a session with its options until the connection ends; each call uses the engine that the function returns."""


class AttachListener:
    """The socket of a server, with a thread that accepts connections and a thread for each session."""

    def __init__(self, engine: Engine, sessions: Mapping[str, Session]) -> None:
        """Create a listener that is not open yet; `sessions` are those in addition to `REQUESTS`."""
        self._engine = engine
        self._sessions = {REQUESTS: serve_requests, DOCUMENTS: self._serve_documents, **sessions}
        self._other_editors = OtherEditors(engine)
        self._lock = threading.Lock()
        self._listener: Listener | None = None
        self._record: ServerRecord | None = None
        self._connections: set[Connection] = set()
        self._closed = False

    def serve(self) -> None:
        """Accept connections of processes with the engine's workspace folders; call it again when these have changed.

        A problem is logged: the server is complete without other processes.
        """
        with self._lock:
            roots = tuple(root.path for root in self._engine.workspace.roots)
            if self._closed or (self._record is not None and roots == self._record.roots):
                return
            outdated, self._connections = self._connections, set()
            try:
                self._publish(roots)
            except OSError as error:
                log.info("other processes cannot use this server: %s", error)
        for connection in outdated:
            close_connection(connection)

    def _publish(self, roots: tuple[str, ...]) -> None:
        """Write the file of this server; without folders, remove it."""
        record = self._record or new_record(roots)
        if self._listener is None:
            self._listener = Listener(record.address, backlog=BACKLOG)
            if sys.platform != "win32":
                Path(record.address).chmod(0o600)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True, name="attach").start()
        self._record = record = msgspec.structs.replace(record, roots=roots)
        if roots:
            publish(record)
        else:
            Path(record.file).unlink(missing_ok=True)

    def close(self) -> None:
        """End all sessions and remove the socket."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            listener, record, connections = self._listener, self._record, list(self._connections)
        if listener is None or record is None:
            return
        with suppress(*CONNECTION_ERRORS):
            Client(record.address).close()  # wakes the thread that accepts
        withdraw(record)
        for connection in connections:
            close_connection(connection)
        self._other_editors.close()

    def _accept(self, listener: Listener) -> None:
        while not self._closed:
            try:
                connection = listener.accept()
            except OSError:  # too many open files, or a client that is gone
                if not self._closed:
                    log.warning("cannot accept a connection", exc_info=True)
                    time.sleep(ACCEPT_RETRY_S)
                continue
            with self._lock:
                refused = self._closed or len(self._connections) >= MAX_SESSIONS
                if not refused:
                    self._connections.add(connection)
            if refused:
                close_connection(connection)
            else:
                threading.Thread(target=self._serve, args=(connection,), daemon=True, name="session").start()
        with suppress(OSError):
            listener.close()

    def _serve(self, connection: Connection) -> None:
        """Check the other end, greet it and run its session."""
        try:
            self._greet(connection)
            hello = decode_json(connection.recv_bytes(MAX_HELLO_BYTES), Hello)
            run = self._sessions.get(hello.session)
            if run is not None:
                run(self._engine_for_call, connection, hello.options)
        except CONNECTION_ERRORS:
            pass  # the other process has ended, or is not one of this user
        except Exception:
            log.exception("a session failed")
        finally:
            with self._lock:
                self._connections.discard(connection)
            close_connection(connection)

    def _engine_for_call(self) -> Engine:
        """Return the engine with the unsaved text of all editors."""
        if self._record is not None:
            self._other_editors.update(self._record)
        return self._engine.seen_by_others()

    def _serve_documents(self, engine: object, connection: Connection, options: object) -> None:
        serve_documents(self._engine, connection)

    def _greet(self, connection: Connection) -> None:
        record = self._record
        assert record is not None
        if peer_user(connection) not in (None, _this_user()):
            raise PermissionError
        token = record.token.encode()
        deliver_challenge(connection, token)
        answer_challenge(connection, token)
        connection.send_bytes(msgspec.json.encode(Greeting(__version__, record.roots, tuple(self._sessions))))


def peer_user(connection: Connection) -> int | None:
    """Return the user ID of the process at the other end, None on systems without this query."""
    if sys.platform == "win32":
        return None
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        if hasattr(socket, "SO_PEERCRED"):
            credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", credentials)[1])  # struct ucred: pid, uid, gid
        if sys.platform == "darwin":
            credentials = end.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED, struct xucred: version, uid, groups
            return int(struct.unpack_from("2I", credentials)[1])
    return None


def _this_user() -> int | None:
    return os.getuid() if sys.platform != "win32" else None


# ---------------------------------------------------------------- sessions of requests


def serve_requests(engine: Callable[[], Engine], connection: Connection, options: Mapping[str, Any]) -> None:
    """Answer requests one after the other; the end of the connection cancels the running one."""
    token = CancelToken()
    lock = threading.Lock()

    def answer(message: bytes) -> None:
        with lock:
            result = _answer(engine(), message, token)
            with suppress(*CONNECTION_ERRORS):
                connection.send_bytes(result)

    try:
        while True:
            message = connection.recv_bytes(MAX_MESSAGE_BYTES)
            threading.Thread(target=answer, args=(message,), daemon=True, name="attached-request").start()
    finally:
        token.cancel()


def _answer(engine: Engine, message: bytes, token: CancelToken) -> bytes:
    """Return the encoded answer to a request on an index that is up to date with the disk."""
    try:
        request = decode_json(message, Request)
        kind, function = CUSTOM_REQUESTS[request.method]
        params = protocol.decode(kind, request.params)
        if request.method != "promptls/status":
            engine.index.refresh(token)
        result = run_cancellable(token, function, engine, params, token)
        return msgspec.json.encode({"result": result, "unsaved": unsaved_files(engine, result)})
    except InvalidParams as error:
        return msgspec.json.encode({"error": str(error)})
    except Cancelled:
        return msgspec.json.encode({"error": "the request was cancelled."})
    except Exception:
        log.exception("an attached request failed")
        return msgspec.json.encode({"error": f"the request failed unexpectedly. See the log: {log_file()}."})

"""Connections to a running server: attaching to the server of some folders, and requests on its engine."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from typing import Any, NamedTuple

import msgspec

from promptls import __version__
from promptls.attach.registry import ServerRecord, find_servers, withdraw
from promptls.util.decode import decode_json

CONNECT_TIMEOUT_S = 1.0
"""Seconds that a server has to begin its greeting; one that is stopped or overloaded is not used."""
MAX_MESSAGE_BYTES = 256_000_000
"""Maximum length of a message; the largest are prompts with a budget of millions of tokens."""

REQUESTS, MCP = "requests", "mcp"
"""Kinds of sessions: requests of the protocol, and messages of the Model Context Protocol."""

CONNECTION_ERRORS = (OSError, EOFError, ValueError, AuthenticationError, msgspec.MsgspecError)
"""Exceptions of a connection that has ended, or whose other end is not what it should be; ValueError where Python does not
offer the hash function of the challenge."""


class RequestFailed(Exception):
    """A request that the server has refused or that has failed; the text is for the user."""


class Answer(NamedTuple):
    """Result of a request."""

    result: dict[str, Any]
    unsaved: Sequence[str]  # files in the result that are unsaved in an editor, as displayed


class Greeting(msgspec.Struct, frozen=True):
    """First message of a server."""

    version: str
    roots: tuple[str, ...]
    sessions: tuple[str, ...]  # that it offers


class Hello(msgspec.Struct, frozen=True):
    """First message of a client: the session that begins."""

    session: str
    options: Mapping[str, Any]


class Request(msgspec.Struct, frozen=True):
    """Message in a session of requests."""

    method: str
    params: Mapping[str, Any]


class Attached:
    """A session with a server.  Any thread can send; one thread receives."""

    def __init__(self, connection: Connection, record: ServerRecord) -> None:
        self.record = record
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: bytes) -> None:
        """Send a message.  Raises one of `CONNECTION_ERRORS`."""
        with self._lock:
            self._connection.send_bytes(message)

    def has_message(self, timeout_s: float) -> bool:
        """Wait for a message; return False after a timeout.  Raises one of `CONNECTION_ERRORS`."""
        return self._connection.poll(timeout_s)

    def receive(self) -> bytes:
        """Return the next message.  Raises one of `CONNECTION_ERRORS`."""
        return self._connection.recv_bytes(MAX_MESSAGE_BYTES)

    def request(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Send a request of the protocol and wait for its result.

        Raises:
            RequestFailed: The server reports an error.
        """
        self.send(msgspec.json.encode(Request(method, params)))
        answer = decode_json(self.receive(), dict[str, Any])
        if "error" in answer:
            raise RequestFailed(answer["error"])
        return Answer(answer["result"], answer["unsaved"])

    def close(self) -> None:
        """End the session."""
        close_connection(self._connection)


def attach(
    roots: Collection[str], session: str, options: Mapping[str, Any] = {}, without: Collection[str] = ()
) -> Attached | None:
    """Begin a session with the newest server of exactly these folders; None if there is none.

    Args:
        roots: Absolute paths of the workspace folders.
        session: Kind of the session, `REQUESTS` or `MCP`.
        options: Options of the session.
        without: Addresses of servers that are not used.
    """
    records = (record for record in find_servers(roots) if record.address not in without)
    return next(filter(None, (attach_to(record, session, options) for record in records)), None)


def attach_to(record: ServerRecord, session: str, options: Mapping[str, Any] = {}) -> Attached | None:
    """Begin a session with a server; None if it does not offer such sessions or cannot be reached."""
    try:
        connection = _connect(record)
    except (FileNotFoundError, ConnectionRefusedError):  # the server was killed
        withdraw(record)
        return None
    except CONNECTION_ERRORS:
        return None
    try:
        greeting = decode_json(connection.recv_bytes(MAX_MESSAGE_BYTES), Greeting)
        serves = greeting.version == __version__ and set(greeting.roots) == set(record.roots)
        if serves and session in greeting.sessions:
            connection.send_bytes(msgspec.json.encode(Hello(session, options)))
            return Attached(connection, record)
    except CONNECTION_ERRORS:
        pass
    close_connection(connection)
    return None


def _connect(record: ServerRecord) -> Connection:
    """Connect to a server; both sides prove that they know its token.  Raises one of `CONNECTION_ERRORS`."""
    connection = Client(record.address)
    try:
        if not connection.poll(CONNECT_TIMEOUT_S):
            raise TimeoutError
        token = record.token.encode()
        answer_challenge(connection, token)
        deliver_challenge(connection, token)
    except BaseException:
        connection.close()
        raise
    return connection


def close_connection(connection: Connection) -> None:
    """Close a connection, also one on which another thread waits for a message."""
    with suppress(OSError):
        if hasattr(socket, "AF_UNIX"):
            with socket.socket(fileno=os.dup(connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        connection.close()

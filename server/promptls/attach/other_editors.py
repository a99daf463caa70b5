"""Unsaved text of other editors: each server asks the other servers of its folders before an agent or the shell reads."""

from __future__ import annotations

import threading
from multiprocessing.connection import Connection

import msgspec

from promptls.attach.client import CONNECTION_ERRORS, MAX_MESSAGE_BYTES, Attached, attach_to
from promptls.attach.registry import ServerRecord, find_servers
from promptls.engine import Engine
from promptls.index import UnsavedDocument
from promptls.util.decode import decode_msgpack

DOCUMENTS = "documents"
"""Kind of a session that returns unsaved documents."""
PATIENCE_S = 2.0
"""Seconds that a server waits once for another one that is busy; an answer takes about a millisecond."""

_UNCHANGED = b""
_Documents = dict[str, UnsavedDocument]


class OtherEditors:
    """The servers of other editors with the same workspace, and their unsaved documents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._sessions: dict[str, Attached] = {}  # by address
        self._documents: dict[str, _Documents] = {}
        self._late: set[str] = set()  # addresses of servers that owe an answer

    def update(self, own: ServerRecord) -> None:
        """Give the unsaved documents of all other servers to the workspace of the engine.  Any thread."""
        with self._lock:
            addresses = set()
            for record in find_servers(own.roots):
                if record.address != own.address and self._ask(record):
                    addresses.add(record.address)
            for gone in self._sessions.keys() - addresses:
                self._sessions.pop(gone).close()
                self._documents.pop(gone, None)
                self._late.discard(gone)
            newest: _Documents = {}
            for documents in self._documents.values():
                for path, unsaved in documents.items():
                    if path not in newest or newest[path].edited_at < unsaved.edited_at:
                        newest[path] = unsaved
            self._engine.workspace.set_other_documents(newest)

    def close(self) -> None:
        """End the sessions."""
        with self._lock:
            for session in self._sessions.values():
                session.close()
            self._sessions.clear()

    def _ask(self, record: ServerRecord) -> bool:
        """Ask a server for its unsaved documents; return whether it is running.

        A server that does not answer is not waited for again, and its last documents count until it does.
        """
        address = record.address
        try:
            session = self._sessions.get(address) or attach_to(record, DOCUMENTS)
            if session is None:
                return False
            self._sessions[address] = session
            if address in self._late and session.has_message(0):
                self._receive(session)
                self._late.discard(address)
            if address not in self._late:
                session.send(b"?")
                if session.has_message(PATIENCE_S):
                    self._receive(session)
                else:
                    self._late.add(address)
            return True
        except CONNECTION_ERRORS:
            return False

    def _receive(self, session: Attached) -> None:
        message = session.receive()
        if message != _UNCHANGED:
            self._documents[session.record.address] = decode_msgpack(message, _Documents)


def serve_documents(engine: Engine, connection: Connection) -> None:
    """Answer each message with the unsaved documents of the editor, if they have changed since the last one."""
    sequence = -1
    while connection.recv_bytes(MAX_MESSAGE_BYTES):
        before, sequence = sequence, engine.workspace.sequence
        answer = _UNCHANGED if sequence == before else msgspec.msgpack.encode(engine.workspace.unsaved_documents())
        connection.send_bytes(answer)

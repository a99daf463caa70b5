"""Indexing progress against a real pygls server, with a client that accepts every progress token."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from promptls.lsp.connection import IndexingProgress

INITIALIZE = {
    "processId": None,
    "rootUri": None,
    "capabilities": {"window": {"workDoneProgress": True}},
}


class AcceptingClient:
    """Writer that records progress notifications and answers every request of the server with null."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.kinds: list[str] = []

    def write(self, data: bytes) -> None:
        message = json.loads(data.split(b"\r\n\r\n", 1)[1])
        if message.get("method") == lsp.PROGRESS:
            self.kinds.append(message["params"]["value"]["kind"])
        elif "method" in message and "id" in message:
            response = {"jsonrpc": "2.0", "id": message["id"], "result": None}
            asyncio.get_running_loop().call_soon(self.send, response)

    def send(self, message: dict[str, Any]) -> None:
        protocol = self.server.protocol
        protocol.handle_message(protocol.structure_message(message))

    def close(self) -> None:
        pass


def status(state: str) -> dict[str, Any]:
    return {"state": state, "message": state, "complete": 0.5}


def test_repeated_progress_leaves_no_tokens_behind() -> None:
    async def run_progress() -> tuple[list[str], int]:
        server = LanguageServer("promptls-test", "0")
        client = AcceptingClient(server)
        server.protocol.set_writer(client)
        client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        await asyncio.sleep(0)
        progress = IndexingProgress(server)
        for _ in range(5):
            await progress.update(status("indexing"))
            await progress.update(status("ready"))
        return client.kinds, len(server.work_done_progress.tokens)

    kinds, token_count = asyncio.run(run_progress())
    assert kinds == ["begin", "report", "end"] * 5
    assert token_count == 0

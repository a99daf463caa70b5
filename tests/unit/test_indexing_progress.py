"""The progress bar against pygls' own server, with a client that allows every bar."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from promptls.lsp.progress import Progress

INITIALIZE = {
    "processId": None,
    "rootUri": None,
    "capabilities": {"window": {"workDoneProgress": True}},
}


class Allowing:
    """What the server writes; its requests are answered with null."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.kinds: list[str] = []

    def write(self, data: bytes) -> None:
        message = json.loads(data.split(b"\r\n\r\n", 1)[1])
        if message.get("method") == lsp.PROGRESS:
            self.kinds.append(message["params"]["value"]["kind"])
        elif "method" in message and "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": None}
            asyncio.get_running_loop().call_soon(self.tell, answer)

    def tell(self, message: dict[str, Any]) -> None:
        protocol = self.server.protocol
        protocol.handle_message(protocol.structure_message(message))

    def close(self) -> None:
        pass


def status(state: str) -> dict[str, Any]:
    return {"state": state, "message": state, "complete": 0.5}


def test_bar_after_bar_leaves_nothing_behind() -> None:
    async def bars() -> tuple[list[str], int]:
        server = LanguageServer("promptls-test", "0")
        client = Allowing(server)
        server.protocol.set_writer(client)
        client.tell({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        await asyncio.sleep(0)
        bar = Progress(server)
        for _ in range(5):
            await bar.show(status("indexing"))
            await bar.show(status("ready"))
        return client.kinds, len(server.work_done_progress.tokens)

    kinds, kept = asyncio.run(bars())
    assert kinds == ["begin", "report", "end"] * 5
    assert kept == 0

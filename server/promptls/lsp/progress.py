"""The client's progress bar of indexing: it begins once, when the client has allowed it, and ends once.

On the loop.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from promptls.api.params import Json

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer


class Progress:
    """The bar of one connection."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._status: Json = {}  # the newest
        self._token = ""
        self._begun = False
        self._refused = False

    def is_shown(self, token: object) -> bool:
        """Whether this is the token of the bar."""
        return self._begun and token == self._token

    async def show(self, status: Json) -> None:
        """Show a status, the newest one."""
        self._status = status
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress or self._refused:
            return
        if self._begun:
            self._go_on()
        elif not self._token and _busy(status):
            self._token = f"promptls-index-{time.monotonic_ns()}"
            try:
                await self._server.work_done_progress.create_async(self._token)
            except JsonRpcException:
                self._refused = True
                return
            self._begin()

    def _begin(self) -> None:
        begin = lsp.WorkDoneProgressBegin("promptls", percentage=0, message=self._status["message"], cancellable=True)
        self._server.work_done_progress.begin(self._token, begin)
        self._begun = True
        self._go_on()

    def _go_on(self) -> None:
        progress, message = self._server.work_done_progress, self._status["message"]
        if _busy(self._status):
            report = lsp.WorkDoneProgressReport(message=message, percentage=percentage_of(self._status))
            progress.report(self._token, report)
        else:
            progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            progress.tokens.pop(self._token, None)  # pygls keeps it for ever; there is one for each burst of changes
            self._token, self._begun = "", False


def _busy(status: Json) -> bool:
    return status["state"] in ("scanning", "indexing")


def percentage_of(status: Json) -> int:
    """How much is done, as the bar shows it."""
    return int(100 * status["complete"])

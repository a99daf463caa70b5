"""Work-done progress of indexing, shown as the client's progress bar.

A progress begins after the client has accepted its token, and ends exactly once. Runs on the event loop.
"""

from __future__ import annotations

import time

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from promptls.api.messages.params import Json


class IndexingProgress:
    """The indexing progress of one connection."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._status: Json = {}  # the latest result of promptls/status
        self._token = ""
        self._begun = False
        self._rejected = False

    def is_active(self, token: object) -> bool:
        """Return whether the token belongs to the progress that is currently shown."""
        return self._begun and token == self._token

    async def update(self, status: Json) -> None:
        """Begin, report or end the progress according to the latest status."""
        self._status = status
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress or self._rejected:
            return
        if self._begun:
            self._report()
        elif not self._token and _is_busy(status):
            self._token = f"promptls-index-{time.monotonic_ns()}"
            try:
                await self._server.work_done_progress.create_async(self._token)
            except JsonRpcException:
                self._rejected = True
                return
            self._begin()

    def _begin(self) -> None:
        begin = lsp.WorkDoneProgressBegin("promptls", percentage=0, message=self._status["message"], cancellable=True)
        self._server.work_done_progress.begin(self._token, begin)
        self._begun = True
        self._report()

    def _report(self) -> None:
        progress, message = self._server.work_done_progress, self._status["message"]
        if _is_busy(self._status):
            report = lsp.WorkDoneProgressReport(message=message, percentage=_percentage(self._status))
            progress.report(self._token, report)
        else:
            progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            progress.tokens.pop(self._token, None)  # pygls never removes tokens; each burst of changes creates one
            self._token, self._begun = "", False


def _is_busy(status: Json) -> bool:
    return status["state"] in ("scanning", "indexing")


def _percentage(status: Json) -> int:
    return int(100 * status["complete"])

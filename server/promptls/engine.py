"""One workspace, ready to answer: the owners of all state that requests look at.

The same for the language server and the command line.  What is asked is in `requests`; this holds what
lives longer than a request, and gives each request its snapshot and its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from promptls import protocol
from promptls.context.mentions.request import Client, Request
from promptls.index import disk
from promptls.index.config import config_of
from promptls.index.indexer import Indexer
from promptls.index.roots import survey as survey_root
from promptls.index.snapshot import Snapshot
from promptls.index.workspace import Workspace
from promptls.model import CancelToken
from promptls.protocol import Json
from promptls.settings import Settings, user_settings

Send = Callable[[Json], "Future[Any]"]
RECONCILE_S = 2.0
"""Clients need not watch files: a request walks the roots again when the last walk is older than this."""


class Engine:
    """`start` before the first request, `close` at the end."""

    def __init__(
        self,
        settings: Settings,
        workspace: Workspace,
        on_change: Callable[[], None] = lambda: None,
        send: Send | None = None,
    ) -> None:
        self.settings = settings
        self.workspace = workspace
        self._on_change = on_change
        self._send = send  # to the editor's language model, None where there is none
        self.indexer = Indexer(config_of(settings), workspace, on_change)
        self.legs = ThreadPoolExecutor(4, "leg")

    def start(self) -> None:
        """Begin to index."""
        self.indexer.start()

    def close(self) -> None:
        """Stop everything."""
        self.indexer.close()
        self.legs.shutdown(wait=False, cancel_futures=True)

    def apply(self, settings: Settings) -> None:
        """Use other settings from now on; what the index depends on needs a new index."""
        if config_of(settings) != self.indexer.config:
            old = self.indexer
            self.indexer = Indexer(config_of(settings), old.workspace.renewed(), self._on_change)
            self.workspace = self.indexer.workspace
            old.close()
            self.indexer.start()
        self.settings = settings

    def view(self, token: CancelToken) -> Snapshot:
        """The workspace as of now: every keystroke, and what has changed on disk."""
        self.indexer.reconcile(RECONCILE_S)
        return self.indexer.view(token)

    def request(self, context: protocol.Context, snapshot: Snapshot, token: CancelToken) -> Request:
        """What one message's mentions may look at."""
        selection = None
        if context.selection is not None and (path := disk.from_uri(context.selection.uri)):
            selection = (path, context.selection.range.span)
        opened = [p for p in (disk.from_uri(uri) for uri in context.open_documents) if p]
        client = Client(
            active=(disk.from_uri(context.active_document) if context.active_document else None) or "",
            selection=selection,
            open=tuple(dict.fromkeys([*opened, *snapshot.documents])),
        )
        return Request(self.indexer.sources(snapshot), client, token)


def survey(root: str) -> Json:
    """What the index on disk holds for a folder, without changing anything."""
    config = config_of(user_settings()[0])
    found = survey_root(root, config.cache, config.limits)
    return {
        "path": root,
        "files": found.files,
        "upToDate": found.up_to_date,
        "stale": found.files - found.up_to_date,
        "bytes": found.bytes,
        "folder": found.folder,
    }

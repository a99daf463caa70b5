"""State of one client connection.

Document handlers are plain functions on the event loop that only record changes. Requests run on threads of their own
with a cancel token and an immutable snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO

from lsprotocol.types import NotebookDocumentSyncOptions
from msgspec import Struct
from pygls.lsp.server import LanguageServer

from promptls import __version__
from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.index import Workspace
from promptls.lsp.client.configuration import Configuration
from promptls.lsp.client.progress import IndexingProgress
from promptls.lsp.document_paths import DocumentPaths
from promptls.lsp.documents import OpenDocuments
from promptls.lsp.transport.framing import FramingError, read_frame
from promptls.lsp.transport.jsonrpc import PromptServerProtocol
from promptls.model import CancelToken, Root
from promptls.settings import Settings

if TYPE_CHECKING:  # imported after `initialize` has been answered
    from promptls.engine import Engine
    from promptls.lsp.notebook_sync import SavedNotebook
    from promptls.lsp.session import PromptDocumentSession

log = logging.getLogger(__name__)

REQUEST_THREADS = 4
"""Number of threads that compute requests; editors send about as many at once after an edit."""


class PublishedDiagnostics(Struct, frozen=True):
    """The diagnostics of a document that the client has received."""

    version: int
    context: protocol.Context  # that they were computed with
    diagnostics: list[Json]


class PromptServer(LanguageServer):
    """The language server of one connection and its mutable state."""

    def __init__(self, notebook_sync: NotebookDocumentSyncOptions | None = None) -> None:
        super().__init__(
            "promptls",
            __version__,
            protocol_cls=PromptServerProtocol,
            notebook_document_sync=notebook_sync,
            max_workers=2,
        )
        assert isinstance(self.protocol, PromptServerProtocol)
        self.protocol.opened_uri = lambda uri: self.document_paths.opened_uri(uri, self.index_workspace.roots)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.request_executor = ThreadPoolExecutor(REQUEST_THREADS, "request")
        self.cancel_tokens: set[CancelToken] = set()  # of running requests
        self.background_tasks: set[asyncio.Task[Any]] = set()  # keeps references, so that tasks are not collected
        self.initialized = False  # whether `initialized` was received
        self.disconnected = asyncio.Event()  # set when the client no longer reads, or its process has ended
        self.framing_problem = ""  # reason why messages cannot be separated any more
        # ---- index and engine
        self.index_workspace = Workspace()
        self.folders: dict[str, Root] = {}  # workspace folders by path
        self.folder_problems: list[str] = []  # of workspace folders, until they are shown to the user
        self.engine_future: asyncio.Future[Engine] | None = None  # requests wait for it
        self.configuration = Configuration()
        # ---- prompt documents
        self.documents = OpenDocuments()
        self.document_paths = DocumentPaths()  # of all open documents
        self.saved_notebooks: dict[str, SavedNotebook] = {}  # of open notebooks, by URI
        self.session: PromptDocumentSession | None = None
        self.diagnostics_timer: asyncio.TimerHandle | None = None
        self.published_diagnostics: dict[str, PublishedDiagnostics] = {}  # by URI
        self.client_context_cache: dict[tuple[str, ...], tuple[float, protocol.Context]] = {}  # fields → time, value
        # ---- status
        self.indexing_progress = IndexingProgress(self)
        self.status_timer: asyncio.TimerHandle | None = None
        self.status_duration_s = 0.0  # of the last computation
        self.status_phase: tuple[bool, bool, bool] | None = None  # of the indexer at that time
        self.last_status: Json = {}

    @property
    def engine(self) -> Engine | None:
        """The engine, None until it has started."""
        future = self.engine_future
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()

    @property
    def settings(self) -> Settings:
        """The effective settings: the user's own, overridden by the workspace's."""
        return self.configuration.settings

    def path_of(self, uri: str) -> str:
        """Return the path of a document in the index."""
        return self.document_paths.path(uri, self.index_workspace.roots)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log errors outside of requests; pygls would show them in the editor."""
        log.error("%s", error)

    def create_task(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine concurrently and keep a reference until it is done."""
        task = asyncio.ensure_future(coroutine)
        self.background_tasks.add(task)
        task.add_done_callback(self.background_tasks.discard)
        return task

    async def listen(self, stream: BinaryIO) -> None:
        """Read and handle messages until the stream ends or a framing error occurs."""
        loop, message_protocol = asyncio.get_running_loop(), self.protocol
        assert isinstance(message_protocol, PromptServerProtocol)
        try:  # one switch between threads for each message, instead of one for each of its lines
            while (body := await loop.run_in_executor(self.thread_pool, read_frame, stream)) is not None:
                try:
                    message_protocol.handle_body(body)
                except Exception:
                    log.exception("cannot handle a message")
        except FramingError as error:
            self.framing_problem = str(error)

    def stop(self) -> None:
        """Cancel all requests and close the engine."""
        for token in list(self.cancel_tokens):
            token.cancel()
        if self.engine is not None:
            self.engine.close()
        self.request_executor.shutdown(wait=False, cancel_futures=True)

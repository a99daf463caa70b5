"""State of one client connection.

Document handlers are plain functions on the event loop that only record changes. Requests run on threads of their own
with a cancel token and an immutable snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO

from lsprotocol import types as lsp
from lsprotocol.types import NotebookDocumentSyncOptions
from msgspec import Struct
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from promptls import __version__
from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.index import Workspace, document_path
from promptls.lsp.documents import OpenDocuments
from promptls.lsp.transport.framing import FramingError, read_frame
from promptls.lsp.transport.jsonrpc import PromptServerProtocol
from promptls.model import CancelToken, Root
from promptls.settings import Settings, parse, user_settings

if TYPE_CHECKING:  # imported after `initialize` has been answered
    from promptls.attach.listener import AttachListener, Session
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

    def __init__(
        self, notebook_sync: NotebookDocumentSyncOptions | None = None, sessions: Mapping[str, Session] = {}
    ) -> None:
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
        # ---- other processes
        self.sessions = sessions  # kinds that they can begin
        self.listener: AttachListener | None = None  # None until the engine has started
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
        if self.listener is not None:
            self.listener.close()
        if self.engine is not None:
            self.engine.close()
        self.request_executor.shutdown(wait=False, cancel_futures=True)


# ---------------------------------------------------------------- document paths


class DocumentPaths:
    """The path of each open document by its URI, most recently opened or edited last."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def record(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the path of a document that is open, recording it if it is new."""
        path = self._paths.pop(uri, None) or _path(uri, roots)
        self._paths[uri] = path
        return path

    def path(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the path of a document, which may be closed."""
        return self._paths.get(uri) or _path(uri, roots)

    def opened_uri(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the URI under which a document is open; the URI itself if it is not open."""
        if uri in self._paths:
            return uri
        return self._last_opened(_path(uri, roots)) or uri

    def close(self, uri: str) -> tuple[str | None, str | None]:
        """Remove a document; return its path, and the URI of another open document with this path."""
        path = self._paths.pop(uri, None)
        return path, self._last_opened(path) if path is not None else None

    def moved(self, roots: Iterable[Root]) -> list[str]:
        """Return the URIs of the open documents whose path differs with these roots."""
        roots = tuple(roots)
        return [uri for uri, path in self._paths.items() if _path(uri, roots) != path]

    def _last_opened(self, path: str) -> str | None:
        return next((uri for uri, other in reversed(self._paths.items()) if other == path), None)


def _path(uri: str, roots: Iterable[Root]) -> str:
    return document_path(uri, [root.path for root in roots])


# ---------------------------------------------------------------- progress


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
            report = lsp.WorkDoneProgressReport(message=message, percentage=int(100 * self._status["complete"]))
            progress.report(self._token, report)
        else:
            progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            progress.tokens.pop(self._token, None)  # pygls never removes tokens; each burst of changes creates one
            self._token, self._begun = "", False


def _is_busy(status: Json) -> bool:
    return status["state"] in ("scanning", "indexing")


# ---------------------------------------------------------------- configuration


WAIT_S = 2.0
"""Maximum time that requests wait for requested settings, in seconds; then the previous settings are used."""


class Configuration:
    """The current settings and the state of the settings requests to the client."""

    def __init__(self) -> None:
        self.settings = Settings()
        self._options: Any = None  # initialization options, part of the user's own settings
        self._values: Any = None  # settings of the workspace
        self._last_requested = 0  # number of the newest settings request or push
        self._last_received = 0  # number of the newest one that was answered
        self._deadline = 0.0  # until when requests wait, as time.monotonic()
        self._current = asyncio.Event()
        self._current.set()
        self._problems: tuple[str, ...] = ()
        self._reported: frozenset[str] = frozenset()

    def initialize(self, options: Any) -> None:
        """Load the user's settings file and the initialization options."""
        self.replace_options(options)

    def replace_options(self, options: Any) -> None:
        """Replace the initialization options and keep the workspace settings."""
        self._options = options
        self._update(self._values)

    async def request(self, fetch: Callable[[], Awaitable[Any]]) -> None:
        """Fetch the workspace settings from the client and apply them unless newer ones have arrived meanwhile."""
        self._last_requested += 1
        number = self._last_requested
        self._current.clear()
        self._deadline = time.monotonic() + WAIT_S
        try:
            values = await fetch()
        except JsonRpcException as error:
            log.info("the client did not return settings: %s", error)
            self._receive(number)
        else:
            if self._receive(number):
                self._update(values)

    def push(self, values: Any) -> None:
        """Apply workspace settings that the client sent unrequested."""
        self._last_requested += 1
        self._receive(self._last_requested)
        self._update(values)

    async def wait_current(self) -> None:
        """Wait for pending settings, at most until the deadline."""
        remaining = self._deadline - time.monotonic()
        if not self._current.is_set() and remaining > 0:
            try:
                await asyncio.wait_for(self._current.wait(), remaining)
            except asyncio.TimeoutError:
                log.info("the client has not returned settings yet; they are applied on arrival")

    def new_problems(self) -> list[str]:
        """Return the problems of the settings that were not returned by the previous call."""
        new = [problem for problem in self._problems if problem not in self._reported]
        self._reported = frozenset(self._problems)
        return new

    def _receive(self, number: int) -> bool:
        """Record a response and return whether it is the newest one so far."""
        if number < self._last_received:
            return False
        self._last_received = number
        if number == self._last_requested:
            self._current.set()
        return True

    def _update(self, values: Any) -> None:
        """Layer the workspace settings over the user's own; a setting that the workspace drops falls back to these."""
        self._values = values
        own, problems = user_settings()
        own, option_problems = parse(self._options, own, trusted=True)
        self.settings, workspace_problems = parse(values, own)
        self._problems = tuple(dict.fromkeys(p.message for p in (*problems, *option_problems, *workspace_problems)))

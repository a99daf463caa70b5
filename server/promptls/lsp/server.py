"""One client: its state, the handlers, the one answer wrapper, and where everything is put together.

Document handlers are plain functions on the loop and only record; requests run on threads of their own with a
cancel token and an immutable snapshot.  The index is imported after `initialize` has been answered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote

from lsprotocol import types as lsp
from msgspec import structs
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from promptls import __version__
from promptls.api import params as protocol
from promptls.api.params import InvalidParams, Json
from promptls.documents import COPY, OPEN, Documents, PromptDocument, is_prompt
from promptls.index import files
from promptls.index.workspace import Workspace
from promptls.lsp.configuration import Configuration
from promptls.lsp.framing import Lost, read_frame
from promptls.lsp.handlers import ENDPOINTS, LANGUAGE
from promptls.lsp.jsonrpc import EditorDocuments, Output, Protocol
from promptls.lsp.progress import Progress
from promptls.model import Cancelled, CancelToken, Root
from promptls.settings import Settings, log_file

if TYPE_CHECKING:
    from promptls.engine import Engine
    from promptls.lsp.session import Desk

log = logging.getLogger(__name__)

LOOK_DELAY_S = 0.1
"""Diagnostics of a prompt document follow its last edit after so long."""
TOLD_S = 0.3
"""How long what the client has said of itself is good for: editors ask many things at once."""
STATUS_DELAY_S = 0.05
"""Changes of state within this time are told together."""
START_TIMEOUT_S = 5.0
"""How long the start waits for the client's settings; those that come later are applied when they come."""
TELL_TIMEOUT_S = 2.0
"""How long a request waits for what the client is asked of itself."""
RETRY_S = 2.0
"""How long after it could not start promptls tries again: what was lacking may be there by then."""


class PromptServer(LanguageServer):
    """State of one connection."""

    def __init__(self) -> None:
        super().__init__("promptls", __version__, protocol_cls=Protocol, max_workers=2)
        self.ground = Workspace()
        self.folders: dict[str, Root] = {}  # by path
        self.configuration = Configuration()
        self.bar = Progress(self)
        self.requests = ThreadPoolExecutor(4, "request")
        self.tokens: set[CancelToken] = set()
        self.documents = Documents()
        self.starting: asyncio.Future[Engine] | None = None  # what requests wait for
        self.desk: Desk | None = None
        self.looking: asyncio.TimerHandle | None = None
        self.told: dict[tuple[str, ...], tuple[float, protocol.Context]] = {}  # fields → when, what the client said
        self.looked: dict[str, Any] = {}  # URI → diagnostics as they were told last
        self.loop: asyncio.AbstractEventLoop | None = None
        self.started = False  # the client has said that it is initialized
        self.lost = False  # its messages could not be told apart any more
        self.running: set[asyncio.Task[Any]] = set()
        self.status_due: asyncio.TimerHandle | None = None
        self.status_cost = 0.0
        self.status_phase: tuple[bool, bool, bool] | None = None  # of the index when its status was last made
        self.last_status: Json = {}

    @property
    def engine(self) -> Engine | None:
        """What answers, once it has started."""
        begun = self.starting
        if begun is None or not begun.done() or begun.cancelled() or begun.exception() is not None:
            return None
        return begun.result()

    @property
    def settings(self) -> Settings:
        """What holds now: the user's own, and the workspace's over them."""
        return self.configuration.settings

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Errors outside of requests go to the log, not into the user's face."""
        log.error("%s", error)

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have something done beside what is done now."""
        task = asyncio.ensure_future(work)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    async def listen(self, stream: BinaryIO) -> None:
        """Take in the client's messages until it leaves, or until they cannot be told apart any more."""
        loop, protocol_ = asyncio.get_running_loop(), self.protocol
        assert isinstance(protocol_, Protocol)
        try:  # a hop between threads for each message, not for each of its lines
            while (body := await loop.run_in_executor(self.thread_pool, read_frame, stream)) is not None:
                try:
                    protocol_.handle_body(body)
                except Exception:
                    log.exception("a message could not be handled")
        except Lost as error:
            self.lost = True
            log.error("The client's messages cannot be told apart any more: %s. The server ends.", error)

    def stop(self) -> None:
        """End all work."""
        for token in list(self.tokens):
            token.cancel()
        if self.engine is not None:
            self.engine.close()
        self.requests.shutdown(wait=False, cancel_futures=True)


def create_server() -> PromptServer:
    """A server with all its handlers."""
    server = PromptServer()
    _lifecycle(server)
    _documents(server)
    for method, (kind, run) in ENDPOINTS.items():
        _endpoint(server, method, kind, run)
    for method, (kind, run, options) in LANGUAGE.items():
        _feature(server, method, kind, run, options)
    _commands(server)
    return server


# ---- lifecycle


def _lifecycle(server: PromptServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(ls: PromptServer, params: lsp.InitializeParams) -> None:
        ls.loop = asyncio.get_running_loop()
        made = ls.workspace
        folders = list(made.folders.values())
        ls.protocol._workspace = EditorDocuments(
            made.root_uri, workspace_folders=folders, position_encoding=made.position_encoding
        )
        ls.starting = ls.loop.create_future()
        ls.configuration.begin(params.initialization_options or None)
        root = [] if folders or not made.root_uri else [lsp.WorkspaceFolder(made.root_uri, "")]
        _follow_folders(ls, folders or root, ())

    @server.feature(lsp.INITIALIZED)
    async def initialized(ls: PromptServer, params: lsp.InitializedParams) -> None:
        if ls.started:
            return
        ls.started = True
        ls.later(_register_watchers(ls))
        asked = ls.later(_ask_for_settings(ls))
        await asyncio.wait({asked}, timeout=START_TIMEOUT_S)
        await _start_engine(ls)
        _apply_settings(ls)  # they may have changed meanwhile

    @server.feature(lsp.SHUTDOWN)
    def shutdown(ls: PromptServer, params: None) -> None:
        ls.stop()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(ls: PromptServer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        _follow_folders(ls, params.event.added, params.event.removed)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration_changed(ls: PromptServer, params: lsp.DidChangeConfigurationParams) -> None:
        if _can_ask_for_settings(ls):
            await _ask_for_settings(ls)
        elif isinstance(pushed := _plain(params.settings), dict) and "promptls" in pushed:
            ls.configuration.push(pushed["promptls"])
            _apply_settings(ls)

    @server.feature(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def progress_cancelled(ls: PromptServer, params: lsp.WorkDoneProgressCancelParams) -> None:
        if ls.bar.is_shown(params.token) and ls.engine is not None:
            ls.engine.indexer.pause()


def _can_ask_for_settings(ls: PromptServer) -> bool:
    workspace = ls.client_capabilities.workspace
    return workspace is not None and bool(workspace.configuration)


async def _ask_for_settings(ls: PromptServer) -> None:
    """Have the client tell the workspace's settings, and use them."""

    async def question() -> Any:
        item = lsp.ConfigurationItem(section="promptls")
        got = await ls.workspace_configuration_async(lsp.ConfigurationParams([item]))
        return _plain(got[0]) if got else None

    if _can_ask_for_settings(ls):
        await ls.configuration.ask(question)
        _apply_settings(ls)


def _apply_settings(ls: PromptServer) -> None:
    """Use the settings as they are now."""
    for problem in ls.configuration.news():
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, problem))
    _sort_documents(ls)
    if ls.engine is not None:
        ls.engine.apply(ls.settings)
        ls.ground = ls.engine.workspace
    _look_soon(ls)


def _sort_documents(ls: PromptServer) -> None:
    """Which documents are prompts is a matter of settings, too."""
    opted = ls.settings.documents.languages
    for document in ls.workspace.text_documents.values():
        now = is_prompt(document.uri, document.language_id or "", opted)
        if now != (ls.documents.get(document.uri) is not None):
            ls.documents.put(_prompt_document(document), opted)
            if not now:
                _let_go(ls, document.uri)


def _let_go(ls: PromptServer, uri: str) -> None:
    """Nothing is shown of a document any more."""
    if ls.desk is not None:
        ls.desk.forget(uri)
    if ls.looked.pop(uri, None):
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _follow_folders(
    ls: PromptServer, added: Iterable[lsp.WorkspaceFolder], removed: Iterable[lsp.WorkspaceFolder]
) -> None:
    """Workspace folders come and go; one that is in both has another name now."""
    for folder in removed:
        ls.folders.pop(files.from_uri(folder.uri) or "", None)
    for folder in added:
        path = files.from_uri(folder.uri)
        if path is not None:
            ls.folders[path] = Root(path, folder.name or path.rsplit("/", 1)[-1] or path, folder.uri)
    ls.ground.set_roots(ls.folders.values())


async def _start_engine(ls: PromptServer) -> None:
    """Start what answers; where that cannot be done requests are told why, until it can be."""
    assert ls.starting is not None and ls.loop is not None
    loop, starting = ls.loop, ls.starting

    def build() -> Engine:
        from promptls.api import index, prompt  # noqa: F401  (before the first request comes)
        from promptls.engine import Engine
        from promptls.lsp.session import Desk

        send = (lambda params: _ask_editor(ls, loop, params)) if _offers(ls, "complete") else None
        encoding = str(ls.workspace.position_encoding or "utf-16")
        engine = Engine(ls.settings, ls.ground, lambda: _soon(loop, lambda: _tell_status(ls)), send, encoding)
        ls.desk = Desk(engine, ls.documents)
        return engine

    while True:
        try:
            engine = await loop.run_in_executor(ls.requests, build)
            engine.start()
            break
        except Exception as error:
            if ls.protocol._shutdown:
                return
            log.exception("promptls cannot start")
            if not starting.done():
                starting.set_exception(NotStarted(_not_started(error)))
                ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, _not_started(error)))
        await asyncio.sleep(RETRY_S)
    if starting.done():
        starting = ls.starting = loop.create_future()
    starting.set_result(engine)


class NotStarted(Exception):
    """What answers could not be started; the text says why and what to do."""


def _not_started(error: Exception) -> str:
    why = str(error).rstrip(".") or type(error).__name__
    return f"promptls cannot start: {why}. It tries again by itself; `promptls doctor` tells what is wrong and how to mend it."


def _offers(ls: PromptServer, request: str) -> bool:
    """Whether the client answers this request of ours: `capabilities.experimental.promptls.<request>`."""
    experimental = _plain(ls.client_capabilities.experimental)
    ours = experimental.get("promptls") if isinstance(experimental, dict) else None
    return bool(ours.get(request)) if isinstance(ours, dict) else False


def _ask_editor(ls: PromptServer, loop: asyncio.AbstractEventLoop, params: Json) -> Future[Any]:
    """Send `promptls/complete` from any thread; the future's result is plain JSON."""

    async def ask() -> Any:
        return _plain(await ls.protocol.send_request_async("promptls/complete", params))

    return asyncio.run_coroutine_threadsafe(ask(), loop)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass  # the loop has ended; nobody is left to tell


async def _register_watchers(ls: PromptServer) -> None:
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers=[lsp.FileSystemWatcher(glob_pattern="**/*")])
    registration = lsp.Registration("promptls-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    try:
        await ls.client_register_capability_async(lsp.RegistrationParams([registration]))
    except JsonRpcException as error:
        log.info("the client does not watch files: %s", error)


def _plain(value: Any) -> Any:
    """JSON again from what pygls made of it."""
    if hasattr(value, "_asdict"):
        return {k: _plain(v) for k, v in value._asdict().items()}
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


# ---- documents: plain functions, they only record


def _documents(server: PromptServer) -> None:
    def put(ls: PromptServer, uri: str, edited: bool) -> None:
        document = _prompt_document(ls.workspace.get_text_document(uri))
        ls.documents.put(document, ls.settings.documents.languages)
        _look_soon(ls)
        path = files.from_uri(uri)
        if path is not None:
            ls.ground.put_document(path, document.text, document.version, edited)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: PromptServer, params: lsp.DidOpenTextDocumentParams) -> None:
        path = files.from_uri(params.text_document.uri)
        on_disk = files.stat(path) is not None if path else False
        put(ls, params.text_document.uri, edited=not on_disk)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: PromptServer, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if unquote(uri) not in ls.workspace.text_documents:
            log.warning("a change of %s, which is not open, is passed over", uri)
            return
        put(ls, uri, edited=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: PromptServer, params: lsp.DidSaveTextDocumentParams) -> None:
        if path := files.from_uri(params.text_document.uri):
            ls.ground.saved(path)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: PromptServer, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.documents.drop(uri)
        _let_go(ls, uri)
        if path := files.from_uri(uri):
            ls.ground.close_document(path)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(ls: PromptServer, params: lsp.DidChangeWatchedFilesParams) -> None:
        ls.ground.touch([p for p in (files.from_uri(c.uri) for c in params.changes) if p])


def _prompt_document(document: TextDocument) -> PromptDocument:
    return PromptDocument(document.uri, document.language_id or "", document.version or 0, document.source)


# ---- requests


def _endpoint(server: PromptServer, method: str, kind: type[protocol.Params], run: Callable[..., Json]) -> None:
    """Register a request and its executeCommand twin."""

    async def request(ls: PromptServer, params: Any) -> Any:
        return await _answer(ls, method, kind, run, params)

    async def command(ls: PromptServer, *arguments: Any) -> Any:
        return await _answer(ls, method, kind, run, arguments[0] if arguments else None)

    server.feature(method)(request)
    server.command(method.replace("/", "."))(command)


def _feature(
    server: PromptServer, method: str, kind: type[protocol.Params], run: Callable[..., Any], options: Any
) -> None:
    """Register a feature of prompt documents."""

    async def request(ls: PromptServer, params: Any) -> Any:
        return await _answer(ls, method, kind, run, params)

    server.feature(method, options)(request)


async def _answer(
    ls: PromptServer, method: str, kind: type[protocol.Params], run: Callable[..., Any], params: Any
) -> Any:
    """Decode, run on a thread, encode: exactly one answer, with one clean sentence when it is an error."""
    token = CancelToken()
    ls.tokens.add(token)
    try:
        decoded = protocol.decode(kind, params)
        assert ls.starting is not None
        subject: Any = await asyncio.shield(ls.starting)
        await ls.configuration.settled()
        if method in LANGUAGE:
            subject = ls.desk
            document = ls.documents.get(getattr(getattr(decoded, "text_document", None), "uri", ""))
            if document is not None and ls.desk is not None:
                ls.desk.hear(document.uri, await _told(ls, document.text, protocol.Context()))
        elif isinstance(decoded, protocol.BuildPromptParams | protocol.ResolveMentionsParams):
            decoded = structs.replace(decoded, context=await _told(ls, decoded.message, decoded.context))
        return await asyncio.get_running_loop().run_in_executor(ls.requests, run, subject, decoded, token)
    except InvalidParams as error:
        data = {"field": error.field, "valid": list(error.valid)}
        raise JsonRpcInvalidParams(str(error), data=data) from None
    except NotStarted as error:
        raise JsonRpcInternalError(str(error)) from None
    except Cancelled:
        raise JsonRpcException("The request was cancelled.", -32800) from None
    except asyncio.CancelledError:
        token.cancel()
        raise
    except Exception as error:
        log.exception("%s failed", method)
        if files.exhausted(error):
            raise JsonRpcInternalError(f"{method} cannot be answered just now: {error.strerror}.") from None
        raise JsonRpcInternalError(f"{method} failed unexpectedly; the log has the details: {_log_name()}.") from None
    finally:
        ls.tokens.discard(token)


async def _told(ls: PromptServer, message: str, context: protocol.Context) -> protocol.Context:
    """The context with what the message's mentions need and the client has not sent, if it can be asked."""
    if not _offers(ls, "clientContext"):
        return context
    from promptls.mentions.registry import needed

    missing = [name for name in needed(message) if not getattr(context, protocol.attribute(name))]
    if not missing:
        return context
    known = ls.told.get(tuple(missing))
    if known is None or time.monotonic() - known[0] > TOLD_S:
        asked = ls.protocol.send_request_async("promptls/clientContext", {"kinds": missing})
        try:
            answer = _plain(await asyncio.wait_for(asked, TELL_TIMEOUT_S))
            known = (time.monotonic(), protocol.decode(protocol.Context, answer))
        except (JsonRpcException, InvalidParams, asyncio.TimeoutError) as error:
            log.info("the client tells nothing of %s: %s", ", ".join(missing), error)
            known = (time.monotonic(), protocol.Context())
        ls.told[tuple(missing)] = known
    fields = {protocol.attribute(name): getattr(known[1], protocol.attribute(name)) for name in missing}
    return structs.replace(context, **fields)


def _log_name() -> str:
    return f"{log_file().name} in promptls' log folder (promptls doctor tells where)"


# ---- what is told of prompt documents unasked


def _look_soon(ls: PromptServer) -> None:
    """Look at the open prompt documents when nothing has happened for a moment."""
    if ls.loop is None or not ls.documents.all():
        return
    if ls.looking is not None:
        ls.looking.cancel()
    ls.looking = ls.loop.call_later(LOOK_DELAY_S, lambda: asyncio.ensure_future(_look(ls)))


async def _look(ls: PromptServer) -> None:
    """Publish the diagnostics of all open prompt documents that have changed."""
    ls.looking = None
    if ls.engine is None or ls.desk is None or ls.loop is None or ls.protocol._shutdown:
        return
    from promptls.lsp.features.diagnostics import diagnostics

    desk, changed = ls.desk, False
    for document in ls.documents.all():
        try:
            desk.hear(document.uri, await _told(ls, document.text, protocol.Context()))
            reading = await ls.loop.run_in_executor(ls.requests, desk.read, document.uri, CancelToken())
        except RuntimeError:
            return  # shutting down
        except Exception:
            log.exception("%s cannot be looked at", document.uri)
            continue
        if reading is None or ls.documents.get(document.uri) != document:
            continue
        found = diagnostics(reading)
        told = (document.version, found)
        if ls.looked.get(document.uri) != told:
            changed = changed or ls.looked.get(document.uri, (None, None))[0] == document.version
            ls.looked[document.uri] = told
            params = {"uri": document.uri, "version": document.version, "diagnostics": found}
            ls.text_document_publish_diagnostics(ls.protocol._converter.structure(params, lsp.PublishDiagnosticsParams))
    if changed:
        await _refresh(ls)


async def _refresh(ls: PromptServer) -> None:
    """Have the client ask again for what it shows beside a text that has not changed itself."""
    workspace = ls.client_capabilities.workspace
    for kind, method in (("code_lens", "codeLens"), ("inlay_hint", "inlayHint"), ("semantic_tokens", "semanticTokens")):
        offered = getattr(workspace, kind, None)
        if offered is not None and offered.refresh_support:
            try:
                await ls.protocol.send_request_async(f"workspace/{method}/refresh", None)
            except JsonRpcException as error:
                log.info("the client does not refresh: %s", error)


# ---- commands of lenses and actions, for clients that have none of their own


def _commands(server: PromptServer) -> None:
    @server.command(OPEN)
    async def open_prompt(ls: PromptServer, *arguments: Any) -> Json:
        return await _show(ls, arguments[0] if arguments else None)

    @server.command(COPY)
    async def copy_prompt(ls: PromptServer, *arguments: Any) -> Json:
        return await _show(ls, arguments[0] if arguments else None)


async def _show(ls: PromptServer, argument: Any) -> Json:
    """Build the prompt of a document, write it to a file and have the client open that."""
    uri = argument.get("uri") if isinstance(argument, dict) else None
    prompts = ls.documents.all()
    document = ls.documents.get(uri) if isinstance(uri, str) else prompts[-1] if prompts else None
    if document is None:
        raise JsonRpcInvalidParams("uri: it must name an open prompt document.", data={"field": "uri", "valid": []})
    context = protocol.encode(ls.desk.context(document.uri)) if ls.desk is not None else {}
    params = {"message": document.text, "document": document.uri, "context": context}
    built = await _answer(ls, "promptls/buildPrompt", *ENDPOINTS["promptls/buildPrompt"], params)
    from promptls.lsp.export import write_built

    assert ls.loop is not None
    file = await ls.loop.run_in_executor(ls.requests, write_built, ls.settings, document.uri, built["prompt"])
    window = ls.client_capabilities.window
    shown = False
    if window is not None and window.show_document is not None and window.show_document.support:
        try:
            result = await ls.window_show_document_async(lsp.ShowDocumentParams(file.as_uri(), take_focus=True))
            shown = result.success
        except JsonRpcException as error:
            log.info("the client does not show the prompt: %s", error)
    if not shown:
        said = f"The prompt ({built['tokens']['used']:,} tokens) is in {file}."
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, said))
    return {"uri": file.as_uri(), "tokens": built["tokens"], "shown": shown}


# ---- status and progress


def _tell_status(ls: PromptServer) -> None:
    """Tell the client soon, a new state at once; called on the loop after every step of the indexer."""
    if ls.loop is None or ls.engine is None:
        return
    new = ls.engine.indexer.phase != ls.status_phase
    delay = STATUS_DELAY_S if new else max(STATUS_DELAY_S, 20 * ls.status_cost)
    if ls.status_due is not None:
        if ls.status_due.when() <= ls.loop.time() + delay:
            return
        ls.status_due.cancel()
    ls.status_due = ls.loop.call_later(delay, lambda: asyncio.ensure_future(_send_status(ls)))


async def _send_status(ls: PromptServer) -> None:
    ls.status_due = None
    if ls.engine is None or ls.protocol._shutdown or ls.loop is None:
        return
    start = time.perf_counter()
    ls.status_phase = ls.engine.indexer.phase
    try:
        status: Json = await ls.loop.run_in_executor(
            ls.requests, ENDPOINTS["promptls/status"][1], ls.engine, protocol.NoParams(), CancelToken()
        )
    except RuntimeError:
        return  # shutting down
    ls.status_cost = time.perf_counter() - start
    if status == {**ls.last_status, "memoryBytes": status["memoryBytes"]}:
        return
    ls.last_status = status
    ls.protocol.notify("promptls/statusChanged", status)
    _look_soon(ls)
    await ls.bar.show(status)


async def _serve(server: PromptServer) -> bool:
    """Serve until the client leaves; whether it was still listening."""
    closed = asyncio.Event()
    server.protocol.set_writer(Output(sys.stdout.buffer, closed))
    listening = asyncio.ensure_future(server.listen(sys.stdin.buffer))
    deaf = asyncio.ensure_future(closed.wait())
    await asyncio.wait([listening, deaf], return_when=asyncio.FIRST_COMPLETED)
    if not listening.done():
        return False
    deaf.cancel()
    listening.result()
    return True


def serve_stdio() -> int:
    """Serve over stdin and stdout until the client leaves; the exit code."""
    server = create_server()
    try:
        if not asyncio.run(_serve(server)):
            log.error("Nobody reads the answers any more; the server ends.")
            server.stop()
            logging.shutdown()
            os._exit(1)  # a thread waits for what the client says next, and would keep us for ever
    except BrokenPipeError:
        log.error("The connection to the client is lost; the server ends.")
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]
        server.stop()
    return 0 if server.protocol._shutdown and not server.lost else 1


def serve_tcp(host: str, port: int) -> int:
    """Serve one client over TCP, for debugging."""
    server = create_server()
    try:
        server.start_tcp(host, port)
    finally:
        server.stop()
    return 0

"""One workspace, ready to answer: the owners of all state that requests look at.

The same for the language server and the command line.  What is asked is in `requests`; this holds what
lives longer than a request, and gives each request its snapshot and its surroundings.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from promptls.api import params
from promptls.api.params import Json
from promptls.documents import is_prompt
from promptls.git import History
from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import Resolvers
from promptls.graph.nodes import ProjectHeader
from promptls.index import files
from promptls.index.config import config_of
from promptls.index.indexer import Indexer
from promptls.index.scan.root_state import survey as survey_root
from promptls.index.search.analyzer import terms
from promptls.index.snapshot import Snapshot
from promptls.index.workers.memory import settle
from promptls.index.workspace import Workspace
from promptls.knowledge.memory import Memory
from promptls.knowledge.project import Projects, header_of
from promptls.mentions.anchors import Anchors
from promptls.mentions.completion.index import warm
from promptls.mentions.context import Around, Client, Finding, Request
from promptls.mentions.resolve import asks_for_places, names_wanted
from promptls.model import CancelToken
from promptls.prompt.instructions import templates
from promptls.prompt.language_model import LanguageModel, connect
from promptls.prompt.recipes import Collection, built_in, collect, in_folder, in_workspace
from promptls.prompt.services import Surroundings
from promptls.retrieval import Strategy
from promptls.retrieval.query_expansion import Companions
from promptls.settings import Settings, cache_folder, config_file, user_settings

Send = Callable[[Json], "Future[Any]"]
RECONCILE_S = 2.0
"""How old the last look at the disk may be when a prompt is built."""
MOST_TERMS = 16
"""Words of a message that files which wait are looked through for."""
CALM_S = 0.15
"""How long nothing has changed before what can wait follows: between two keystrokes it would only be in the way."""


class Engine:
    """`start` before the first request, `close` at the end."""

    def __init__(
        self,
        settings: Settings,
        workspace: Workspace,
        on_change: Callable[[], None] = lambda: None,
        send: Send | None = None,
        encoding: str = "utf-16",
    ) -> None:
        self.settings = settings
        self.encoding = encoding  # of positions, as client and server have agreed
        self.workspace = workspace
        self._tell = on_change
        self._send = send  # to the editor's language model, None where there is none
        self._following = threading.Lock()
        self._closed = threading.Event()
        self._changed_at = 0.0  # time.monotonic() of the last step of the indexer
        self._awake = False  # whether the worker that users wait for was started
        self._settled = False  # whether the index has been complete once
        self.indexer = Indexer(config_of(settings), workspace, self._changed)
        self._idle = ThreadPoolExecutor(1, "follow")
        self.strategy = Strategy()
        self.companions = Companions()
        self.memory = Memory()
        self.projects = Projects()
        self.history = History()
        self.anchors = Anchors(cache_folder(settings) / "anchors")
        self.model = connect(settings.language_model, os.environ, send)
        self.graph = Graph(Resolvers().at)

    def _changed(self) -> None:
        """After each step of the indexer, on its thread: tell, and have followed what is better done before a request.

        At first not before everything is stored, which would otherwise wait for it.
        """
        self._tell()
        self._changed_at = time.monotonic()
        done = self.indexer.searchable if self._settled else self.indexer.stored
        work = self._follow if done else self._follow_projects if self.projects.behind else None
        if work is not None and not self._following.locked():
            try:
                self._idle.submit(work)
            except RuntimeError:
                pass  # closing

    def _follow_projects(self) -> None:
        """While files are still read: what somebody has asked for."""
        if self.projects.behind:
            self.projects.follow(self.indexer.sources(self.indexer.view()))

    def _follow(self) -> None:
        if self._following.acquire(blocking=False):
            try:
                while (left := self._changed_at + CALM_S - time.monotonic()) > 0:
                    if self._closed.wait(left):
                        return
                snapshot = self.indexer.view()
                if not self._awake:
                    self._awake = True
                    self.indexer.awaken()
                self.companions.follow(snapshot)
                warm(snapshot)
                if self._settled:
                    self.projects.follow(self.indexer.sources(snapshot))
                elif self.indexer.stored:
                    self._settled = True
                    self.projects.follow(self.indexer.sources(snapshot))
                    settle()
            finally:
                self._following.release()

    def start(self) -> None:
        """Begin to index."""
        self.indexer.start()

    def surroundings(self) -> Surroundings:
        """What a prompt is made from beside the message and the snapshot."""
        return Surroundings(
            index=self.indexer,
            graph=self.graph_of,
            companions=self.companions,
            memory=self.memory,
            projects=self.projects,
            history=self.history,
            templates=templates(config_file().parent / "instructions"),
            model=self.model,
            rules_tokens=self.settings.sections.rules_tokens,
            strategy=self.strategy,
            complete=self.indexer.standing().complete >= 1,
        )

    def recipes(self, request: Request) -> Collection:
        """The recipes of the user, ours, and those of the workspace."""
        own = in_folder(config_file().parent / "recipes")
        return collect(own, built_in(), in_workspace(request.sources))

    def graph_of(self, request: Request) -> GraphView:
        """The knowledge graph of a request's snapshot."""
        return self.graph_at(request.snapshot)

    def graph_at(self, snapshot: Snapshot) -> GraphView:
        """The knowledge graph of a snapshot."""
        return self.graph.at(snapshot, self.settings.graph.layers)

    def header(self, snapshot: Snapshot) -> ProjectHeader:
        """What is said of the workspace as a whole."""
        facts = self.projects.at(self.indexer.sources(snapshot), self.indexer.standing().complete >= 1)
        return header_of(facts[0]) if len(facts) == 1 else ProjectHeader(", ".join(r.name for r in snapshot.roots))

    def close(self) -> None:
        """Stop everything."""
        self._closed.set()
        self.indexer.close()
        self.history.close()
        self._let_go_of_model()
        self._idle.shutdown(wait=False, cancel_futures=True)

    def apply(self, settings: Settings) -> None:
        """Use other settings from now on; what the index depends on needs a new index."""
        if config_of(settings) != self.indexer.config:
            old = self.indexer
            self.indexer = Indexer(config_of(settings), old.workspace.renewed(), self._changed)
            self.workspace = self.indexer.workspace
            old.close()
            self.indexer.start()
        if settings.language_model != self.settings.language_model:
            self._let_go_of_model()
            self.model = connect(settings.language_model, os.environ, self._send)
        self.settings = settings

    def _let_go_of_model(self) -> None:
        if isinstance(self.model, LanguageModel):
            self.model.close()

    def view(self, token: CancelToken, reconcile_s: float = RECONCILE_S) -> Snapshot:
        """The workspace as of now: every keystroke, and what has changed on disk.

        Clients need not watch files: the roots are looked at again when the last look is `reconcile_s` old.
        """
        self.indexer.reconcile(reconcile_s)
        return self.indexer.view(token)

    def view_for(self, message: str, token: CancelToken) -> Snapshot:
        """The same; while files wait to be read, those that a message asks for are read before the others: what its
        mentions name, and what holds most of its words."""
        snapshot = self.view(token)
        if not self.indexer.reading:
            return snapshot
        if asks_for_places(message):
            self.indexer.wait_listed(token)
            wanted = names_wanted(message, self.indexer.view(token))
            if wanted:
                self.indexer.read_ahead(wanted, token)
        return self.indexer.read_likely(tuple(dict.fromkeys(terms(message)))[:MOST_TERMS], token)

    def request(
        self, context: params.Context, snapshot: Snapshot, token: CancelToken, document: str | None = None
    ) -> Request:
        """What one message's mentions may look at; `document` is the URI of the prompt document it stands in."""
        selection = None
        if context.selection is not None and (path := files.from_uri(context.selection.uri)):
            selection = (path, context.selection.range.span)
        opened = _paths(context.open_documents)
        active = _paths(filter(None, (context.active_document,)))
        client = Client(
            active=next(iter(active), ""),
            selection=selection,
            open=tuple(dict.fromkeys([*opened, *(d for d in snapshot.documents if not is_prompt(d))])),
            visible=tuple(_paths(context.visible_documents)),
            diagnostics=tuple(_findings(context)),
            quickfix=tuple((p, at.range.span) for at in context.quickfix if (p := files.from_uri(at.uri))),
            terminal=context.terminal or "",
            clipboard=context.clipboard or "",
            history=tuple((turn.role, turn.content) for turn in context.history),
        )
        sources = self.indexer.sources(snapshot, self.settings.secrets.allow_files)
        around = Around(
            index=self.indexer,
            graph=lambda: self.graph_at(snapshot),
            memory=self.memory,
            strategy=self.strategy,
            edits=self.workspace.edits,
            matches=self.indexer.matches,
            anchors=self.anchors.of(document) if document else None,
            partial=lambda: self.indexer.partial(snapshot),
            waiting=(lambda start: self.indexer.names_waiting(start, snapshot)) if self.indexer.reading else None,
            layers=self.settings.graph.layers,
        )
        own = files.from_uri(document) if document else None
        return Request(sources, client, token, around, document=own or "")


def _paths(uris: Iterable[str]) -> list[str]:
    """The files of URIs.  A prompt is never meant: what is open around a question is the code."""
    return [path for uri in uris if not is_prompt(uri) and (path := files.from_uri(uri))]


def _findings(context: params.Context) -> Iterator[Finding]:
    for file in context.diagnostics:
        path = files.from_uri(file.uri)
        for one in file.diagnostics if path else ():
            code = one.code.get("value", "") if isinstance(one.code, dict) else one.code
            yield Finding(path or "", one.range.span, one.message, one.severity or 0, str(code or ""), one.source or "")


def survey(root: str) -> Json:
    """What the index on disk holds for a folder, without changing anything."""
    config = config_of(user_settings()[0])
    found = survey_root(root, config)
    return {
        "path": root,
        "files": found.files,
        "upToDate": found.up_to_date,
        "stale": found.files - found.up_to_date,
        "bytes": found.bytes,
        "folder": found.folder,
    }

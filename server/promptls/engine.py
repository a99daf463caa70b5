"""Composition root: builds the long-lived services of one workspace and keeps them up to date.

The language server and the command line use the same engine. The functions that serve requests are in `promptls.api`.
"""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from msgspec import structs

from promptls.git.history_cache import HistoryCache
from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import ImportResolvers
from promptls.index import (
    CHANGES_TIMEOUT_S,
    IndexClient,
    Indexer,
    Snapshot,
    Workspace,
    document_path,
    index_config,
    inspect_cache,
    store_identity,
    tokenize,
    tune_for_latency,
)
from promptls.knowledge.memory_store import MemoryStore
from promptls.knowledge.project.facts import ProjectHeader, project_header
from promptls.knowledge.project.project_index import ProjectIndex
from promptls.mentions.anchors import DocumentAnchors
from promptls.mentions.completion.index import CompletionIndex
from promptls.mentions.context import ClientContext, ResolveContext, Services
from promptls.mentions.resolve import has_location_mentions, undefined_symbol_names
from promptls.mentions.syntax.grammar import MessageSyntax
from promptls.model import CancelToken, Problem
from promptls.model.files import is_prompt_document
from promptls.prompt.language_model import LanguageModel, connect_language_model
from promptls.prompt.read_code import Received
from promptls.prompt.recipes import (
    RecipeCollection,
    built_in_recipes,
    collect_recipes,
    recipes_in_folder,
    recipes_in_workspace,
)
from promptls.prompt.rendering.fences import boundary_key
from promptls.retrieval.query_expansion import Cooccurrence
from promptls.retrieval.retrieve import RetrievalStrategy
from promptls.retrieval.team_source import TeamConnection
from promptls.settings import Settings, cache_directory, config_file, user_settings
from promptls.util.entry_points import service

SendComplete = Callable[[dict[str, Any]], "Future[Any]"]
"""Sends `promptls/complete` to the client; the future's result is its response."""

RECONCILE_MAX_AGE_S = 2.0
"""Maximum age of the last check of the disk for a request, in seconds; clients need not watch files."""
RECONCILE_PATIENCE_S = 0.15
"""Seconds that a prompt without mentions waits for changed files; they only could be part of what is retrieved."""
GRAPH_PATIENCE_S = 0.008
"""Seconds that a read waits for the knowledge graph; a read takes less than 20 ms in all."""
MAX_PRIORITIZED_TERMS = 16
"""Maximum number of terms of a message by which unread files are prioritized."""
MAX_TERMS_CHARACTERS = 20_000
"""Maximum number of characters of a message that are searched for such terms."""
IDLE_DELAY_S = 0.15
"""Time without changes before derived data is updated, in seconds: longer than between two keystrokes."""


class Engine:
    """The services of one workspace; call `start` before the first request and `close` at the end."""

    def __init__(
        self,
        settings: Settings,
        workspace: Workspace,
        on_change: Callable[[], None] = lambda: None,
        send_complete: SendComplete | None = None,
        encoding: str = "utf-16",
    ) -> None:
        """Build the services.

        `on_change` is called after each step of the indexer, on its thread. `send_complete` is the access to the
        editor's language model, and `encoding` the negotiated LSP position encoding.
        """
        self.settings = settings
        self.encoding = encoding
        self.workspace = workspace
        self._on_change = on_change
        self._send_complete = send_complete
        self._update_lock = threading.Lock()
        self._update_executor = ThreadPoolExecutor(1, "update")
        self._switch_executor = ThreadPoolExecutor(1, "switch")  # closes what `apply` replaces
        self._closed = threading.Event()
        self._sees_all_editors = False
        self._changed_at = 0.0  # time.monotonic() of the last indexer step
        self._worker_started = False  # the interactive worker
        self._first_index_done = False
        self.indexer = Indexer(index_config(settings), workspace, self._on_indexer_step)
        self._anchors: dict[str, DocumentAnchors] = {}  # by the URI of the prompt document
        self.language_model = connect_language_model(settings.language_model, os.environ, send_complete)
        self._graph = Graph(ImportResolvers().at)
        self._graph_executor = ThreadPoolExecutor(1, "graph")
        self._graph_update: Future[GraphView] | None = None
        self.received = Received()
        self.team = self._connect_team(settings)
        self.services = Services(
            index=self.index,
            graph=self.graph_of,
            memory=MemoryStore(),
            edits=workspace.edit_history,
            find_pattern=self.index.structural_search,
            strategy=RetrievalStrategy(),
            layers=settings.graph.layers,
            completion_index=CompletionIndex(),
            cooccurrence=Cooccurrence(),
            projects=ProjectIndex(),
            git_history=HistoryCache(),
            team=self.team,
        )

    # ---- life cycle

    def start(self) -> None:
        """Start indexing."""
        self.indexer.start()

    def close(self) -> None:
        """Stop all threads and processes."""
        self._closed.set()
        self.indexer.close()
        self.services.git_history.close()
        _close_services(self.team, self.language_model)
        self._switch_executor.shutdown()
        self._update_executor.shutdown(wait=False, cancel_futures=True)
        self._graph_executor.shutdown(wait=False, cancel_futures=True)

    def apply(self, settings: Settings) -> None:
        """Apply changed settings; a change of an index setting builds a new indexer.

        Returns at once: the old indexer finishes its running write on another thread before the new one starts.
        """
        if self._closed.is_set():
            return
        if index_config(settings) != self.indexer.config:
            old = self.indexer
            self.indexer = Indexer(index_config(settings), old.workspace.fork(), self._on_indexer_step)
            self.workspace = self.indexer.workspace
            self._switch_executor.submit(_switch_indexers, old, self.indexer)
        if settings.language_model != self.settings.language_model:
            self._switch_executor.submit(_close_services, None, self.language_model)
            self.language_model = connect_language_model(settings.language_model, os.environ, self._send_complete)
        if settings.team != self.settings.team or settings.embedding != self.settings.embedding:
            self._switch_executor.submit(_close_services, self.team, None)
            self.team = self._connect_team(settings)
        self.settings = settings
        self.services = structs.replace(
            self.services,
            team=self.team,
            index=self.index,
            find_pattern=self.index.structural_search,
            edits=self.workspace.edit_history,
            layers=settings.graph.layers,
        )

    @staticmethod
    def _connect_team(settings: Settings) -> TeamConnection | None:
        """Return the client of the team index of the settings, None without one."""
        connect = service("team") if settings.team.index else None
        config = index_config(settings)
        return connect(settings.team, lambda size: store_identity(config, size)) if connect is not None else None

    # ---- snapshots and contexts for requests

    @property
    def index(self) -> IndexClient:
        """Access to the current index; another one after `apply` if an index setting has changed."""
        return self.indexer.client_of_all_editors if self._sees_all_editors else self.indexer.client

    def model_for_answers(self, timeout_s: float) -> LanguageModel | Problem | None:
        """Connect to the configured language model with another time limit; the caller closes it."""
        settings = structs.replace(self.settings.language_model, timeout_s=timeout_s)
        return connect_language_model(settings, os.environ, self._send_complete)

    @property
    def unsaved(self) -> frozenset[str]:
        """Paths of the documents that are unsaved in the editor, or in any editor."""
        return self.workspace.unsaved | (self.workspace.differing if self._sees_all_editors else frozenset())

    def seen_by_others(self) -> Engine:
        """Return the engine for agents and the shell, who see the unsaved text of other editors with this workspace."""
        view = copy.copy(self)
        view._sees_all_editors = True
        view.services = structs.replace(self.services, index=view.index, find_pattern=view.index.structural_search)
        return view

    def snapshot(self, token: CancelToken, max_age_s: float = RECONCILE_MAX_AGE_S) -> Snapshot:
        """Return the current snapshot with every unsaved edit; the last check of the disk is at most `max_age_s` old."""
        self.index.reconcile(max_age_s)
        return self.index.snapshot(token)

    def listed_snapshot(self, token: CancelToken, max_age_s: float = RECONCILE_MAX_AGE_S) -> Snapshot:
        """Return the current snapshot, after waiting a short time for the first list of files."""
        self.index.wait_until_listed(token)
        return self.snapshot(token, max_age_s)

    def snapshot_for_message(self, message: MessageSyntax, token: CancelToken) -> Snapshot:
        """Return the current snapshot, after waiting for changed files for a limited time.

        During the first scan, files that the message needs are read first.
        """
        self.index.reconcile(RECONCILE_MAX_AGE_S, cheaply=True)
        needs_names = has_location_mentions(message.mentions)
        self.index.wait_for_changes(token, CHANGES_TIMEOUT_S if needs_names else RECONCILE_PATIENCE_S)
        snapshot = self.index.snapshot(token)
        if not self.index.is_reading:
            return snapshot
        if needs_names:
            self.index.wait_until_listed(token)
            names = undefined_symbol_names(message.mentions, self.index.snapshot(token))
            if names:
                self.index.prioritize_names(names, token)
        return self.index.prioritize_terms(
            tuple(dict.fromkeys(tokenize(message.text[:MAX_TERMS_CHARACTERS])))[:MAX_PRIORITIZED_TERMS], token
        )

    def resolve_context(
        self, client: ClientContext, snapshot: Snapshot, token: CancelToken, document: str | None = None
    ) -> ResolveContext:
        """Return the context that mentions of one message are resolved in; `document` is the URI of its prompt document.

        Prompt documents are removed from the client's documents, because mentions such as `@open` mean code.
        """
        selected = client.selection
        client = structs.replace(
            client,
            selection=None if selected is not None and self._is_prompt(selected[0], snapshot) else selected,
            active_document="" if self._is_prompt(client.active_document, snapshot) else client.active_document,
            open_documents=tuple(path for path in client.open_documents if not self._is_prompt(path, snapshot)),
            visible_documents=tuple(path for path in client.visible_documents if not self._is_prompt(path, snapshot)),
        )
        has_unread_changes = self.index.has_unread_changes
        pending_symbols = None
        if self.index.is_reading:
            pending_symbols = lambda prefix: self.index.prescanned_names(prefix, snapshot)  # noqa: E731
        return ResolveContext(
            self.index.source_reader(snapshot, self.settings.secrets.allow_files),
            client,
            token,
            self.services,
            document=document_path(document, [root.path for root in snapshot.roots]) if document else "",
            anchors=self._anchors.setdefault(document, DocumentAnchors()) if document else None,
            index_complete=self.index_complete,
            is_partial=lambda: has_unread_changes or self.index.is_partial(snapshot),
            pending_symbols=pending_symbols,
        )

    def _is_prompt(self, path: str, snapshot: Snapshot) -> bool:
        """Return whether a path is a prompt document, by the language ID if it is open and by its name otherwise."""
        document = snapshot.documents.get(path)
        language = document.language if document is not None else ""
        return is_prompt_document(path, language, self.settings.documents.languages)

    @property
    def index_complete(self) -> bool:
        """True once every file of the workspace is indexed."""
        return self.index.state().progress >= 1

    def graph_of(self, snapshot: Snapshot) -> GraphView:
        """Return the knowledge graph of a snapshot."""
        return self._graph.at(snapshot, self.settings.graph.layers)

    def graph_if_ready(self, snapshot: Snapshot) -> GraphView | None:
        """Return the knowledge graph of a snapshot, None while it is built in the background.

        A change of a few files takes less than `GRAPH_PATIENCE_S`; the first graph of a large workspace takes seconds.
        """
        latest = self._graph.latest(snapshot, self.settings.graph.layers)
        update = self._graph_update
        if latest is not None or (update is not None and not update.done()):
            return latest
        update = self._graph_update = self._graph_executor.submit(self.graph_of, snapshot)
        try:
            return update.result(GRAPH_PATIENCE_S)
        except FutureTimeout:
            return None

    def project_header(self, snapshot: Snapshot) -> ProjectHeader:
        """Return name and description of the workspace; with several projects only the names of the roots."""
        facts = self.services.projects.get(self.index.source_reader(snapshot), self.index_complete)
        return project_header(facts[0]) if len(facts) == 1 else ProjectHeader(", ".join(r.name for r in snapshot.roots))

    def recipes(self, context: ResolveContext) -> RecipeCollection:
        """Return the recipes of the user, the built-in ones and those of the workspace."""
        own = recipes_in_folder(config_file().parent / "recipes")
        return collect_recipes(own, built_in_recipes(), recipes_in_workspace(context.sources))

    def boundary_key(self) -> bytes:
        """Return the key of the boundaries of this workspace's prompts."""
        roots = "\n".join(sorted(root.path for root in self.workspace.roots))
        return boundary_key(cache_directory(self.settings), roots, time.time())

    # ---- derived data, updated in the background before a request needs it

    def _on_indexer_step(self) -> None:
        """Report the step and schedule updates; the first ones wait until the index is stored, so as not to delay it."""
        self._on_change()
        self._changed_at = time.monotonic()
        indexed = self.index.searchable if self._first_index_done else self.index.stored
        projects_behind = self.services.projects.is_outdated
        update = self._update_derived if indexed else self._update_projects if projects_behind else None
        if update is not None and not self._update_lock.locked():
            try:
                self._update_executor.submit(update)
            except RuntimeError:
                pass  # the engine is closing

    def _update_projects(self) -> None:
        """Update the project facts that a request has asked for while files are still being read."""
        if self.services.projects.is_outdated:
            self.services.projects.follow(self.index.source_reader(self.index.snapshot()))

    def _update_derived(self) -> None:
        """Update everything derived from the snapshot once the workspace has been unchanged for `IDLE_DELAY_S`."""
        if self._update_lock.acquire(blocking=False):
            try:
                while (remaining := self._changed_at + IDLE_DELAY_S - time.monotonic()) > 0:
                    if self._closed.wait(remaining):
                        return
                snapshot = self.index.snapshot()
                if not self._worker_started:
                    self._worker_started = True
                    self.index.start_worker()
                self.services.cooccurrence.follow(snapshot)
                self.services.completion_index.build(snapshot)
                if self._first_index_done:
                    self.services.projects.follow(self.index.source_reader(snapshot))
                elif self.index.stored:
                    self._first_index_done = True
                    self.services.projects.follow(self.index.source_reader(snapshot))
                    tune_for_latency()
            finally:
                self._update_lock.release()


def _switch_indexers(old: Indexer, new: Indexer) -> None:
    """Close an indexer and start the next one, which uses the same files of the cache."""
    try:
        old.close()
    finally:
        new.start()


def _close_services(team: TeamConnection | None, language_model: object) -> None:
    """Stop the reader of a team index and the transport of a language model."""
    if team is not None:
        team.close()
    if isinstance(language_model, LanguageModel):
        language_model.close()


def inspect_index(root: str) -> dict[str, Any]:
    """Return what the index on disk contains for a folder, without changing it."""
    stats = inspect_cache(root, index_config(user_settings()[0]))
    return {
        "path": root,
        "files": stats.files,
        "upToDate": stats.up_to_date,
        "stale": stats.files - stats.up_to_date,
        "bytes": stats.bytes,
        "folder": stats.folder,
        "ignoreFiles": list(stats.ignore_files),
    }

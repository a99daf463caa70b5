"""Indexer: the thread, executors and worker processes that keep the index up to date with the workspace.

One thread runs the state machine (`machine`) whenever the workspace has changed or an event has arrived.  Worker
processes parse and embed; walks and the storage have a thread each.  This module does not depend on LSP, mentions or
prompts.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from promptls.index.configuration import IndexConfig
from promptls.index.embedding.embedder import model_identity
from promptls.index.index_client import IndexClient, ProgressRate, RequestPriority
from promptls.index.machine import IndexMachine
from promptls.index.workers.pool import WorkerPool, worker_configuration
from promptls.index.workers.query_jobs import QueryEmbedder
from promptls.index.workspace import Workspace
from promptls.settings import BUNDLED, make_own_folder
from promptls.util.private_files import private_umask

log = logging.getLogger(__name__)

MAX_IDLE_S = 120.0
"""Maximum seconds between two steps of the state machine, for cleanup."""
CLOSE_TIMEOUT_S = 5.0
"""Seconds that `Indexer.close` waits for the running step; a step may wait for a worker that was killed."""


class Indexer:
    """Owner of the index of a workspace.  Call `start` first and `close` last; requests use the `client`.

    Public methods may be called from any thread.
    """

    def __init__(
        self, config: IndexConfig, workspace: Workspace | None = None, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        if config.cache_folder:
            private_umask()  # LanceDB has no option for the mode of its files
            with suppress(OSError):  # reported when the index is stored
                make_own_folder(Path(config.cache_folder))
        self.workspace = workspace or Workspace()
        self._on_change = on_change
        pool = WorkerPool(worker_configuration(config), config.workers)
        walker, storage = ThreadPoolExecutor(1, "index-walk"), ThreadPoolExecutor(1, "index-store")
        self.machine = IndexMachine(config, self.workspace, pool, walker, storage)
        self._query_embedder = QueryEmbedder(pool)
        self._priority = RequestPriority()
        parts = self.machine, self._query_embedder, self._priority, ProgressRate()
        self.client = IndexClient(*parts)
        self.client_of_all_editors = IndexClient(*parts, of_all_editors=True)
        self._thread = threading.Thread(target=self._run, daemon=True, name="indexer")
        self._lock = threading.Lock()  # of the life cycle
        self._closed = False

    def start(self) -> None:
        """Start the thread, unless the indexer is closed; workers and stores start with the first root.

        Reads the files of the embedding model, unless it is the bundled one.
        """
        if self.config.embedding.model != BUNDLED:
            self.machine.fix_model(model_identity(self.config.embedding))
        with self._lock:
            if not self._closed:
                self._thread.start()

    def close(self) -> None:
        """Stop all threads and processes; what is not written is computed again at the next start."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.machine.closed.cancel()
            self.workspace.close()
            self.machine.pool.close()
            if self._thread.is_alive():
                self._thread.join(CLOSE_TIMEOUT_S)
            self.machine.close()

    def pause(self) -> None:
        """Stop bulk work until `resume`; open documents and single files are still updated."""
        self.machine.post(lambda: self.machine.pause(True))

    def resume(self) -> None:
        """Resume bulk work at the next walk."""
        self.machine.post(lambda: self.machine.pause(False))

    def _run(self) -> None:
        machine = self.machine
        while (changes := self.workspace.take_changes(timeout=self._next_wakeup())) is not None:
            try:
                machine.step(changes, lambda: self._priority.yield_to_requests(machine.is_urgent))
                self._query_embedder.retry(self.workspace.wake)
            except Exception:
                if machine.closed.cancelled:
                    return
                log.exception("the indexer failed on a change and continues")
            machine.notify()
            self.client.state()  # measures the speed
            self._on_change()

    def _next_wakeup(self) -> float:
        """Return the seconds until the machine has to run without a change."""
        query_delay_s = self._query_embedder.backoff.remaining_s if self._query_embedder.needs_retry else MAX_IDLE_S
        return self.machine.next_wakeup(min(query_delay_s, MAX_IDLE_S))

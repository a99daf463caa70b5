"""Lifecycle of the stores and manifests of all roots: open, retry after failures, rebuild after damage.

The walk thread opens manifests and the writer thread opens stores. The indexer's thread takes over the results. A root
whose cache cannot be opened is indexed in memory only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from promptls.index.config import IndexConfig, outline_fingerprint
from promptls.index.embedding.embedder import declared_dimension, model_identity
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.root_state import RootState
from promptls.index.search.analyzer import ANALYZER_VERSION
from promptls.index.search.row_batch import RowBatch, Segment, StoreIdentity
from promptls.index.store import cache_dir
from promptls.index.store.lance_table import short_error
from promptls.index.store.manifest import Manifest
from promptls.index.store.row_store import RowStore, open_store
from promptls.index.syntax.chunks import CHUNKER_VERSION
from promptls.index.workers.pool import WorkerPool
from promptls.index.writer import IndexWriter
from promptls.model import CancelToken, FileEntry, Root
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)


class StoreLifecycle:
    """Opens, rebuilds and cleans up the stores and manifests of all roots. For the indexer's thread, except where noted."""

    def __init__(
        self,
        config: IndexConfig,
        model: str,
        roots: Mapping[str, RootState],
        pool: WorkerPool,
        publisher: Publisher,
        writer: IndexWriter,
        closed: CancelToken,
        post: Callable[[Callable[[], None]], None],
        on_opened: Callable[[RootState], None],
        on_retried: Callable[[Sequence[RootState]], None],
    ) -> None:
        """Create the lifecycle of the stores.

        Args:
            config: Configuration of the index.
            model: Identity of the embedding model, "" if unknown.
            roots: Roots by path.
            pool: Worker pool, asked for the dimension of a model that does not declare it.
            publisher: Receives the rows of opened stores.
            writer: Its thread opens stores.
            closed: Set when the indexer is closed.
            post: Runs a function on the indexer's thread.
            on_opened: Called on the indexer's thread when a store was opened, or could not be.
            on_retried: Called on the writer thread after a retry, with the roots.
        """
        self._config = config
        self._model = model
        self._roots = roots
        self._pool = pool
        self._publisher = publisher
        self._writer = writer
        self._closed = closed
        self._post = post
        self._on_opened = on_opened
        self._on_retried = on_retried
        self.dimension: int | None = None  # of the vectors, None while unknown
        self.retrying = False  # whether a retry, or the indexing that follows it, is in progress
        self._opening = False  # whether the writer thread is busy with a retry
        self.backoff = Backoff()
        self._collect_at = 0.0  # time.monotonic() from which `collect_garbage` runs again

    def _identity(self) -> StoreIdentity:
        if self.dimension is None:
            declared = declared_dimension(self._config.embedding)
            self.dimension = declared or self._pool.submit_interactive(jobs.probe_dimension).result()
        self._model = self._model or model_identity(self._config.embedding)
        return StoreIdentity(self._model, self.dimension, CHUNKER_VERSION, ANALYZER_VERSION)

    def _index_directory(self, root: Root) -> Path:
        return cache_dir.index_directory(Path(self._config.cache_folder), root, self._identity())

    def _open_manifest(self, root: Root) -> Manifest:
        return Manifest(self._index_directory(root) / "files.sqlite", outline_fingerprint(self._config))

    # ---- opening

    def load_manifest(self, state: RootState) -> dict[str, FileEntry]:
        """Open the manifest of a new root and return its entries. Walk thread."""
        try:
            state.manifest = self._open_manifest(state.root)
            return state.manifest.load(state.root.path)
        except Exception as error:
            log.warning("Cannot load the manifest of %s: %s", state.root.path, error)
            problem = f"Cannot write the cache ({short_error(error)}); the index is in memory only."
            state.set_problem("records", problem)
            return {}

    def open_store(self, state: RootState) -> None:
        """Open the store of a new root, on the writer thread."""
        self._writer.submit(lambda: self._open_store(state))

    def _open_store(self, state: RootState) -> None:
        """Writer thread."""
        store: RowStore | None = None
        rows: Sequence[Segment | RowBatch] = ()
        pending: list[RowBatch] = []
        try:
            if self._identity().dimension:
                store, rows = open_store(self._index_directory(state.root) / "rows", self._identity())
                pending = store.load_pending()
            state.set_problem("rows")
        except Exception as error:
            log.warning("Cannot open the store of %s: %s", state.root.path, error)
            state.set_problem("rows", f"Cannot open the index ({short_error(error)}); the index is in memory only.")
        self._post(lambda: self._take_over(state, store, rows, pending))

    def _take_over(
        self,
        state: RootState,
        store: RowStore | None,
        rows: Sequence[Segment | RowBatch],
        pending: Sequence[RowBatch],
    ) -> None:
        state.store = store
        for part in rows:
            self._publisher.load_rows(part)
        if store is not None:
            store.keys = self._publisher.intern_keys(store.keys)
            self._writer.retry()
        for batch in pending:
            self._publisher.load_unstored(batch)
        if state.store_ready.done():  # an earlier attempt failed
            state.store_ready = Future()
        state.store_ready.set_result(store)
        self._on_opened(state)

    # ---- retries

    def retry_failed(self) -> None:
        """Retry what could not be opened, with exponential back-off."""
        states = list(self._roots.values())
        failed = [state for state in states if state.needs_retry]
        if self.retrying:
            if self._opening or not all(state.complete for state in states):
                return
            self.retrying = False
            self.backoff.record(failed=bool(failed))
        if not failed:
            self.backoff.record(failed=False)
        elif not self.backoff.remaining_s:
            self.retrying = self._opening = True
            self._writer.submit(lambda: self._retry(failed))

    def _retry(self, failed: Sequence[RootState]) -> None:
        """Writer thread."""
        try:
            states = [state for state in failed if self._reopen(state)]
            self._on_retried(states)
        finally:
            self._post(self._retry_finished)

    def _reopen(self, state: RootState) -> bool:
        """Open the missing manifest or store of a root; return False for a removed root. Writer thread."""
        if self._closed.cancelled or self._roots.get(state.root.path) is not state:
            return False
        if state.manifest is None:
            try:
                state.manifest = self._open_manifest(state.root)
                state.set_problem("records")
            except Exception as error:
                log.info("Cannot open the manifest of %s: %s", state.root.path, error)
        if state.store is None and "rows" in state.problems:
            self._open_store(state)
        return True

    def _retry_finished(self) -> None:
        self._opening = False

    # ---- rebuilding

    def purge(self, state: RootState) -> None:
        """Rebuild the store of a root, so that it has no rows of files that a policy excludes."""
        if state.store is not None:
            self._replace(state.store)
        elif not state.store_ready.done():
            state.store_ready.add_done_callback(lambda _: self._post(lambda: self.purge(state)))

    def replace_damaged(self, store: RowStore, error: BaseException) -> None:
        """Rebuild a store that could not be read. Thread-safe."""
        log.warning("The store in %s is damaged: %s", store.folder, error)
        self._post(lambda: self._replace(store))

    def _replace(self, store: RowStore) -> None:
        state = next((s for s in self._roots.values() if s.store is store), None)
        if state is None:
            return  # the store was replaced before
        state.store, state.store_ready = None, Future()
        self._publisher.mark_lost(store.keys)

        def rebuild() -> None:
            store.remove()
            self._open_store(state)

        self._writer.submit(rebuild)

    # ---- cache directory

    def collect_garbage(self) -> None:
        """Remove unused indexes from the cache directory, once indexing is complete and then periodically."""
        states = list(self._roots.values())
        if states and time.monotonic() >= self._collect_at and all(s.complete for s in states):
            self._collect_at = time.monotonic() + cache_dir.EVICTION_INTERVAL_S
            roots = [state.root for state in states if state.manifest is not None]
            self._writer.submit(
                lambda: cache_dir.evict_unused(
                    Path(self._config.cache_folder), [self._index_directory(root) for root in roots]
                )
            )

    def schedule_collection(self) -> None:
        """Run `collect_garbage` at the next opportunity, because the roots have changed."""
        self._collect_at = 0.0

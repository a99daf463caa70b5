"""What the roots have on disk: opened when they come, again when that has failed, made anew when it is damaged.

Manifests are opened by the thread that walks, stores by the one that writes; what comes of it is taken in by the
indexer's.  What cannot be opened costs a sentence, never the index: it lives in memory then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from promptls.index.config import IndexConfig, made_with
from promptls.index.embedding.embedder import declared_dimension, model_identity
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.root_state import RootState
from promptls.index.search.analyzer import TERMS_VERSION
from promptls.index.search.row_batch import Rows
from promptls.index.store import cache_dir
from promptls.index.store.checkpoint import Part
from promptls.index.store.lance_table import Identity, reason
from promptls.index.store.manifest import Manifest
from promptls.index.store.row_store import Store, open_store
from promptls.index.store.writer import Writer
from promptls.index.syntax.chunks import CHUNKER_VERSION
from promptls.index.workers.pool import Pool
from promptls.model import CancelToken, FileEntry, Root
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)


class Opening:
    """`opened` is called on the indexer's thread when a store has been taken in (or there is none to be had), and
    `again` on the writer's when what was lacking has been tried, with the roots that it was tried for."""

    def __init__(
        self,
        config: IndexConfig,
        model: str,
        roots: Mapping[str, RootState],
        pool: Pool,
        publisher: Publisher,
        writer: Writer,
        closed: CancelToken,
        post: Callable[[Callable[[], None]], None],
        opened: Callable[[RootState], None],
        again: Callable[[Sequence[RootState]], None],
    ) -> None:
        self._config = config
        self._model = model  # its identity, "" while it is not known
        self._roots = roots
        self._pool = pool
        self._publisher = publisher
        self._writer = writer
        self._closed = closed
        self._post = post
        self._opened = opened
        self._again = again
        self.dimension: int | None = None  # None while it is not known
        self.trying = False  # whether what is lacking is opened, or the work that this brings goes on
        self._busy = False  # whether the writer's thread is opening it
        self.pause = Backoff()  # until it is tried again
        self._tend_at = 0.0  # time.monotonic() from which the cache is to be tended

    def _identity(self) -> Identity:
        if self.dimension is None:
            declared = declared_dimension(self._config.embedding)
            self.dimension = declared or self._pool.interactive(jobs.dimension).result()
        self._model = self._model or model_identity(self._config.embedding)
        return Identity(self._model, self.dimension, CHUNKER_VERSION, TERMS_VERSION)

    def _folder(self, root: Root) -> Path:
        return cache_dir.index_folder(Path(self._config.cache), root, self._identity())

    def _manifest(self, root: Root) -> Manifest:
        return Manifest(self._folder(root) / "files.sqlite", made_with(self._config))

    # ---- opening

    def recall(self, state: RootState) -> dict[str, FileEntry]:
        """What is known of the files of a new root (walk thread)."""
        try:
            state.manifest = self._manifest(state.root)
            return state.manifest.load(state.root.path)
        except Exception as error:
            log.warning("nothing is recalled of %s: %s", state.root.path, error)
            state.trouble("records", f"The cache cannot be written ({reason(error)}); the index lives in memory only.")
            return {}

    def open(self, state: RootState) -> None:
        """Have the store of a new root opened."""
        self._writer.submit(lambda: self._open_store(state))

    def _open_store(self, state: RootState) -> None:
        """Writer thread."""
        store: Store | None = None
        contents: Sequence[Part | Rows] = ()
        waiting: list[Rows] = []
        try:
            if self._identity().dimension:
                store, contents = open_store(self._folder(state.root) / "rows", self._identity())
                waiting = store.waiting()
            state.trouble("rows")
        except Exception as error:
            log.warning("no store for %s: %s", state.root.path, error)
            state.trouble("rows", f"The store cannot be opened ({reason(error)}); the index lives in memory only.")
        self._post(lambda: self._take_in(state, store, contents, waiting))

    def _take_in(
        self, state: RootState, store: Store | None, contents: Sequence[Part | Rows], waiting: Sequence[Rows]
    ) -> None:
        state.store = store
        for part in contents:
            self._publisher.take_in(part)
        if store is not None:
            store.keys = self._publisher.own(store.keys)
            self._writer.retry()
        for part in waiting:
            self._publisher.take_over(part)
        if state.store_ready.done():  # it could not be opened at first
            state.store_ready = Future()
        state.store_ready.set_result(store)
        self._opened(state)

    # ---- again

    def try_again(self) -> None:
        """Open what could not be opened, from time to time: a full disk has room again some day."""
        states = list(self._roots.values())
        lacking = [state for state in states if state.lacking]
        if self.trying:
            if self._busy or not all(state.complete for state in states):
                return
            self.trying = False
            self.pause.record(failed=bool(lacking))
        if not lacking:
            self.pause.record(failed=False)
        elif not self.pause.remaining_s:
            self.trying = self._busy = True
            self._writer.submit(lambda: self._open_lacking(lacking))

    def _open_lacking(self, lacking: Sequence[RootState]) -> None:
        """Writer thread."""
        try:
            states = [state for state in lacking if self._open_again(state)]
            self._again(states)
        finally:
            self._post(self._tried)

    def _open_again(self, state: RootState) -> bool:
        """Open what a root lacks, unless nobody wants it any more."""
        if self._closed.cancelled or self._roots.get(state.root.path) is not state:
            return False
        if state.manifest is None:
            try:
                state.manifest = self._manifest(state.root)
                state.trouble("records")
            except Exception as error:
                log.info("still no manifest for %s: %s", state.root.path, error)
        if state.store is None and "rows" in state.troubles:
            self._open_store(state)
        return True

    def _tried(self) -> None:
        self._busy = False

    # ---- anew

    def purge(self, state: RootState) -> None:
        """Forget the rows of files that the user's policy has taken away: make the store anew from what is left."""
        if state.store is not None:
            self._replace(state.store)
        elif not state.store_ready.done():
            state.store_ready.add_done_callback(lambda _: self._post(lambda: self.purge(state)))

    def damaged(self, store: Store, error: BaseException) -> None:
        """A store could not be read: have it made anew.  Any thread."""
        log.warning("the store in %s is damaged: %s", store.folder, error)
        self._post(lambda: self._replace(store))

    def _replace(self, store: Store) -> None:
        state = next((s for s in self._roots.values() if s.store is store), None)
        if state is None:
            return  # somebody else has said so
        state.store, state.store_ready = None, Future()
        self._publisher.lost(store.keys)

        def rebuild() -> None:
            store.remove()
            self._open_store(state)

        self._writer.submit(rebuild)

    # ---- the cache

    def tend(self) -> None:
        """Have the cache tended once all is made, and again from time to time."""
        states = list(self._roots.values())
        if states and time.monotonic() >= self._tend_at and all(s.complete for s in states):
            self._tend_at = time.monotonic() + cache_dir.TEND_EVERY_S
            roots = [state.root for state in states if state.manifest is not None]
            self._writer.submit(
                lambda: cache_dir.tend(Path(self._config.cache), [self._folder(root) for root in roots])
            )

    def tend_soon(self) -> None:
        """The roots are others now."""
        self._tend_at = 0.0

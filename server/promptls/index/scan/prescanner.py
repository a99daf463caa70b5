"""Prescan scheduler: prescans files that wait to be outlined, and selects those that a question needs first.

Workers prescan files before they outline any.  The indexer's thread merges the results.  Any thread may query them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from functools import partial

from promptls.index.files.read import FileLimits
from promptls.index.prescan import MAX_DEFINING_FILES, PrescanBatch, PrescanIndex, find_definitions
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.root_state import RootState
from promptls.index.snapshot import Snapshot
from promptls.index.workers.pool import WorkerPool
from promptls.model import CancelToken

FALLBACK_TIMEOUT_S = 1.0
"""Maximum seconds for the search in files that are not prescanned."""
MAX_PRIORITIZED_FILES, MAX_PRIORITIZED_BYTES = 3, 40_000
"""Maximum number of files that are read first for the words of a question, and their maximum total size in bytes."""


class Prescanner:
    """Prescan of waiting files, and queries on its results."""

    def __init__(
        self,
        publisher: Publisher,
        pool: WorkerPool,
        limits: FileLimits,
        post: Callable[[Callable[[], None]], None],
        executor: Executor,
    ) -> None:
        self._publisher = publisher
        self._pool = pool
        self._limits = limits
        self._post = post  # runs a function on the indexer's thread
        self._executor = executor  # runs work that would block the indexer's thread
        self._index = PrescanIndex()
        self._running = 0  # running batches, including the final build of the index

    # ---- the indexer's thread

    def start(self, state: RootState, paths: Sequence[str]) -> None:
        """Prescan the files that are not known yet; files on which a worker fails are known once they are outlined."""
        unknown = [path for path in paths if path not in self._index]
        state.unprescanned.update(unknown)
        snapshot = self._publisher.snapshot
        waiting = [path for path in unknown if _is_waiting(path, snapshot)]
        if len(waiting) < jobs.PRESCAN_MIN_FILES:
            return
        for batch in jobs.split_batches(waiting, snapshot, jobs.PRESCAN_FILES, jobs.PRESCAN_BYTES):
            self._running += 1
            future = self._pool.submit_bulk(jobs.prescan_job(state.root, batch))
            future.add_done_callback(partial(self._report, state, batch))

    def _report(self, state: RootState, paths: tuple[str, ...], future: Future[PrescanBatch]) -> None:
        """Post the result of a batch (worker thread)."""
        failed = future.cancelled() or future.exception() is not None
        self._post(partial(self._merge, state, paths, None if failed else future.result()))

    def _merge(self, state: RootState, paths: tuple[str, ...], batch: PrescanBatch | None) -> None:
        """Merge a batch, and build the index before the first query once all batches are merged."""
        if state.unread and batch is not None and self._index.merge(batch):
            state.unprescanned.difference_update(paths)
        if self._running == 1 and state.unread:
            self._executor.submit(self._prepare)
        else:
            self._finish()

    def _finish(self) -> None:
        self._running -= 1

    def _prepare(self) -> None:
        try:
            self._index.prepare()
        finally:
            self._post(self._finish)

    def clear(self) -> None:
        """Drop all results: no file is waiting."""
        self._index.clear()

    # ---- any thread

    def files_defining(self, names: Collection[str], token: CancelToken | None) -> list[str]:
        """Return up to `MAX_DEFINING_FILES` waiting files that probably define one of the names.

        Raises:
            Cancelled: The request was cancelled.
        """
        snapshot = self._publisher.snapshot
        paths = [path for path in self._index.files_defining(names) if _is_waiting(path, snapshot)][:MAX_DEFINING_FILES]
        unknown = [p for p, e in snapshot.files.items() if not e.scanned and p not in self._index]
        if len(paths) < MAX_DEFINING_FILES and unknown:
            paths += find_definitions(
                names,
                unknown,
                self._limits,
                time.monotonic() + FALLBACK_TIMEOUT_S,
                token,
                [r.path for r in snapshot.roots],
            )
        return paths

    def files_matching(self, terms: Sequence[str]) -> list[str]:
        """Return the few waiting files that match the search terms best; none while the prescan is running."""
        if self._running:
            return []
        snapshot = self._publisher.snapshot
        remaining_bytes, paths = MAX_PRIORITIZED_BYTES, list[str]()
        for path in self._index.search(terms, lambda path: _is_waiting(path, snapshot), 3 * MAX_PRIORITIZED_FILES):
            if (size := snapshot.files[path].size) <= remaining_bytes and len(paths) < MAX_PRIORITIZED_FILES:
                paths.append(path)
                remaining_bytes -= size
        return paths

    def names_starting_with(self, prefix: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """Yield (name, path) of prescanned definitions in unread files, for names that start with `prefix`."""
        return ((name, path) for name, path in self._index.names_starting_with(prefix) if _is_waiting(path, snapshot))


def _is_waiting(path: str, snapshot: Snapshot) -> bool:
    """Return whether a file is listed but not read yet."""
    entry = snapshot.files.get(path)
    return entry is not None and not entry.scanned

"""Queue of files for the workers: outlines, embeddings, and the publication of their results.

Runs on the indexer's thread.  Results of the workers return to this thread as events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future

from promptls.index.config import IndexConfig
from promptls.index.files.read import file_stat
from promptls.index.progress import IndexProgress
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.jobs import EmbeddingResult, OutlineResult, RowLookup
from promptls.index.scan.prescanner import Prescanner
from promptls.index.scan.root_state import RootState
from promptls.index.search.row_batch import RowBatch
from promptls.index.status import error_reason
from promptls.index.workers.pool import WorkerPool
from promptls.index.workspace import Workspace
from promptls.index.writer import IndexWriter
from promptls.model import FileEntry

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Number of failures after which a file keeps its plain-text outline.  Each failure includes the attempts of a job."""
INTERACTIVE_FILES = 8
"""Maximum number of changed files that the interactive worker outlines, ahead of bulk work."""


class FileQueue:
    """Hands files to the workers and publishes the results."""

    def __init__(
        self,
        config: IndexConfig,
        workspace: Workspace,
        roots: Mapping[str, RootState],
        publisher: Publisher,
        pool: WorkerPool,
        prescanner: Prescanner,
        writer: IndexWriter,
        progress: IndexProgress,
        post: Callable[[Callable[[], None]], None],
        dimension: Callable[[], int | None],
    ) -> None:
        self._config = config
        self._workspace = workspace
        self._roots = roots
        self._publisher = publisher
        self._pool = pool
        self._prescanner = prescanner
        self._writer = writer
        self._progress = progress
        self._post = post
        self._dimension = dimension

    def add(self, state: RootState, paths: Iterable[str], embed_immediately: bool = False) -> None:
        """Queue files; each batch reports outlines, then rows, then its end.

        Embedding is deferred until all files are outlined, except for a few files, and for files queued `again`.
        """
        files = list(dict.fromkeys(paths))
        if self._progress.paused and len(files) > INTERACTIVE_FILES:
            return
        state.dropped.difference_update(files)
        for path in files:
            state.job_started(path)
        few = len(files) <= INTERACTIVE_FILES and state.store_ready.done()
        submit = self._pool.submit_interactive if few else self._pool.submit_bulk
        lookup = RowLookup(self._publisher.is_finished, state.store_ready)
        self._prescanner.start(state, files)

        def report(result: OutlineResult | EmbeddingResult) -> None:
            self._post(lambda: self._apply_result(state, result))

        for batch in jobs.split_batches(files, self._publisher.snapshot):
            state.outline_batches += 1
            state.unread += len(batch)
            future = submit(
                jobs.outline_job(state.root, batch, lookup, report, defer_embedding=not (few or embed_immediately))
            )
            future.add_done_callback(lambda f, b=batch: self._post(lambda: self._batch_finished(state, b, f)))  # type: ignore[misc]

    def add_stale(self, state: RootState, paths: Iterable[str]) -> None:
        """Queue files that a walk found stale, except those that a queued job is going to read."""
        files, unqueued = self._publisher.snapshot.files, []
        for path in paths:
            entry = files.get(path)
            if path in state.pending and entry is not None and not entry.encoded_outline and not entry.skip_reason:
                state.dropped.discard(path)  # it may have been deleted for a moment
            else:
                unqueued.append(path)
        self.add(state, unqueued)

    def add_without_rows(self, state: RootState) -> None:
        """Queue the files whose rows are missing, after a store was damaged or cleaned up."""
        if not self._dimension():
            return
        files = self._publisher.snapshot.files
        missing = [
            path
            for path in sorted(self._publisher.chunk_index.incomplete_files())
            if path in files
            and files[path].root == state.root.path
            and path not in state.pending
            and path not in self._workspace.documents
        ]
        self.add(state, missing)

    def _apply_result(self, state: RootState, result: OutlineResult | EmbeddingResult) -> None:
        if self._roots.get(state.root.path) is not state:
            return
        if isinstance(result, EmbeddingResult):
            self._publisher.publish({}, result.rows, result.unembeddable)
            return
        changes: dict[str, FileEntry | None] = {}
        modified: list[str] = []
        for scan in result.scans:
            if scan.path in self._workspace.documents or scan.path in state.dropped:
                continue
            if self._publisher.snapshot.root_of(scan.path) != state.root:  # it belongs to a nested root now
                continue
            stat, known = file_stat(scan.path), self._publisher.snapshot.files.get(scan.path)
            if stat is not None and stat != (scan.size, scan.mtime_ns):  # modified since it was read
                modified.append(scan.path)
                if known is not None and stat == (known.size, known.mtime_ns):
                    continue
            entry = None if stat is None else jobs.file_entry(scan, state.root, state.name_of(scan.path))
            changes[scan.path] = state.unsaved_records[state.name_of(scan.path)] = entry
        if modified:
            self._workspace.touch(modified)
        if None in changes.values() and (problem := jobs.missing_root_problem(state.root)):
            state.set_problem("folder", problem)
        for path, changed in changes.items():
            is_skipped = changed is not None and bool(changed.skip_reason)
            if result.problem and (is_skipped or state.attempts.get(path, 0) < MAX_ATTEMPTS):
                state.record_failures([path], result.problem)
                state.unsaved_records[state.name_of(path)] = None  # the next start tries again
            else:
                state.attempts.pop(path, None)
        self._publisher.publish(changes, result.rows)
        if result.channel is not None and result.rows.keys:
            self._defer_embedding(state, result)

    def _batch_finished(self, state: RootState, batch: tuple[str, ...], future: Future[None]) -> None:
        state.outline_batches -= 1
        state.unread -= len(batch)
        state.was_read = state.was_read or (state.walked and not state.unread)
        state.unprescanned.difference_update(batch)
        for path in batch:
            state.job_finished(path)
        if not self._progress.is_reading:
            self._prescanner.clear()
        if not future.cancelled() and (error := future.exception()) is not None:
            log.error("a batch of %d files failed: %s", len(batch), error)
            state.record_failures(batch, error_reason(error))
        if state.outline_batches == self._config.workers and state.store is not None and not state.store.keys:
            self._writer.submit(state.store.start_process)  # the last batches are running; the first rows follow

    def _defer_embedding(self, state: RootState, result: OutlineResult) -> None:
        """Embed rows in the worker that keeps their texts, after all files are outlined."""
        paths = tuple(scan.path for scan in result.scans)
        for path in paths:
            state.job_started(path)
        lookup = RowLookup(self._publisher.is_finished, state.store_ready)

        def report(embedded: OutlineResult | EmbeddingResult) -> None:
            self._post(lambda: self._apply_result(state, embedded))

        job = jobs.embedding_job(result.rows, lookup, report)
        assert result.channel is not None
        future = self._pool.submit_deferred(result.channel, job, len(result.rows))
        future.add_done_callback(lambda _: self._post(lambda: self._embedding_finished(state, paths, result.rows)))

    def _embedding_finished(self, state: RootState, paths: tuple[str, ...], rows: RowBatch) -> None:
        """Queue the files again if the worker has lost one of their texts, this time without deferring."""
        for path in paths:
            state.job_finished(path)
        if self._roots.get(state.root.path) is state and not all(map(self._publisher.has_row, rows.keys)):
            files, documents = self._publisher.snapshot.files, self._workspace.documents
            self.add(state, [path for path in paths if path in files and path not in documents], embed_immediately=True)

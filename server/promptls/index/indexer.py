"""Indexer: the loop that keeps the index up to date with the workspace.

The loop takes changes, outlines files, publishes, embeds new chunks, and stores the results.  One thread runs the loop
and is the only one that publishes.  Worker processes parse and embed, and walks and writes have a thread each.  Their
results return as events in an inbox.  Open documents are handled first, and never wait for a scan.  This module does
not depend on LSP, mentions or prompts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from promptls.index.client import IndexClient
from promptls.index.config import IndexConfig
from promptls.index.embedding.embedder import model_identity
from promptls.index.file_queue import FileQueue
from promptls.index.files.walk import FileInfo, record_stats
from promptls.index.progress import IndexProgress
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.open_documents import DocumentIndexer
from promptls.index.scan.prescanner import Prescanner
from promptls.index.scan.priority import RequestPriority
from promptls.index.scan.root_state import RootState
from promptls.index.status import error_reason
from promptls.index.store_lifecycle import StoreLifecycle
from promptls.index.workers.pool import WorkerPool, worker_configuration
from promptls.index.workers.queries import QueryEmbedder
from promptls.index.workers.reranker import Reranker
from promptls.index.workspace import ChangeSet, Workspace
from promptls.index.writer import IndexWriter, unwritten_rows
from promptls.model import Cancelled, CancelToken, FileEntry, Root
from promptls.settings import BUNDLED
from promptls.util.own_folder import make_own_folder

log = logging.getLogger(__name__)

MAX_IDLE_S = 120.0
"""Maximum seconds between two runs of the loop, for cleanup."""


class Indexer:
    """Owner of the index loop.  Call `start` first and `close` last; requests use the `client`.

    Public methods may be called from any thread.
    """

    def __init__(
        self, config: IndexConfig, workspace: Workspace | None = None, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        if config.cache_folder:
            with suppress(OSError):  # reported when the index is stored
                make_own_folder(Path(config.cache_folder))
        self.workspace = workspace or Workspace()
        self._on_change = on_change
        # The model is fixed for the lifetime of the index, even if its files change.
        model = model_identity(config.embedding) if config.embedding.model != BUNDLED else ""
        self._closed = CancelToken()
        self._pool = WorkerPool(worker_configuration(config, model), config.workers)
        self._query_embedder = QueryEmbedder(self._pool)
        self._reranker = Reranker(config.reranker)
        self._roots: dict[str, RootState] = {}
        self._publisher = Publisher()
        self._priority = RequestPriority()
        self._document_indexer = DocumentIndexer(
            self._publisher, self._pool, self.workspace, config.limits, self._root_state
        )
        self._walker = ThreadPoolExecutor(1, "index-walk")
        self._prescanner = Prescanner(self._publisher, self._pool, config.limits, self._post, self._walker)
        self._writer = IndexWriter(
            lambda *keys: self._post(lambda: self._rows_written(*keys)),
            lambda *damage: self._stores.replace_damaged(*damage),
        )
        self._progress = IndexProgress(self.workspace, self._roots, self._publisher, self._writer, self._closed)
        self._stores = StoreLifecycle(
            config, model, self._roots, self._pool, self._publisher, self._writer, self._closed, self._post,
            self._store_opened, self._retry_roots,
        )  # fmt: skip
        self._queue = FileQueue(
            config, self.workspace, self._roots, self._publisher, self._pool, self._prescanner, self._writer,
            self._progress, self._post, lambda: self._stores.dimension,
        )  # fmt: skip
        self.client = IndexClient(
            config, self.workspace, self._publisher, self._pool, self._progress, self._prescanner, self._priority,
            self._query_embedder, self._reranker, self._document_indexer.outline_now, lambda: self._stores.dimension,
        )  # fmt: skip
        self._missing_vectors = 0  # number of chunks without a vector at the last retry
        self._missing_vectors_reason = ""
        self._thread = threading.Thread(target=self._run, daemon=True, name="indexer")

    def start(self) -> None:
        """Start the loop; workers and stores start with the first root."""
        self._thread.start()
        self._reranker.start()

    def close(self) -> None:
        """Stop all threads and processes; data that is not written is computed again at the next start."""
        self._closed.cancel()
        for state, batches in unwritten_rows(self._publisher, list(self._roots.values()), self.workspace.unsaved):
            if state.store is not None:
                state.store.save_pending(batches)
        self.workspace.close()
        self._pool.close()
        self._reranker.close()
        self._writer.close()
        self._walker.shutdown(wait=False, cancel_futures=True)
        self._progress.notify()
        for state in list(self._roots.values()):
            if state.manifest is not None:
                state.manifest.close()
            if state.store is not None:
                state.store.close()

    def pause(self) -> None:
        """Stop bulk work until `resume`; open documents and single files are still updated.  Any thread."""
        self._post(self._pause)

    def resume(self) -> None:
        """Resume bulk work at the next walk.  Any thread."""
        self._post(self._resume)

    # ---- the loop

    def _run(self) -> None:
        while (changes := self.workspace.take_changes(timeout=self._next_wakeup())) is not None:
            try:
                self._apply(changes)
            except Exception:
                if self._closed.cancelled:
                    return
                log.exception("the indexer failed on a change and continues")
            self._progress.notify()
            self._on_change()

    def _next_wakeup(self) -> float:
        """Return the seconds until the loop has to run without a change."""
        delays = [self._writer.backoff.remaining_s] if self._writer.is_backing_off else []
        if self._publisher.unstored and (delay := self._writer.batch_delay_s):
            delays.append(delay)
        now = time.monotonic()
        delays += [max(0.0, state.next_walk_at - now) for state in self._roots.values() if state.next_walk_at]
        if not self._stores.retrying and any(state.needs_retry for state in self._roots.values()):
            delays.append(self._stores.backoff.remaining_s)
        if self._query_embedder.needs_retry:
            delays.append(self._query_embedder.backoff.remaining_s)
        return min([*delays, MAX_IDLE_S])

    def _apply(self, changes: ChangeSet) -> None:
        self._follow_roots(changes.roots)
        self._document_indexer.apply(changes)
        self._progress.document_sequence = max(self._progress.document_sequence, changes.sequence)
        self._progress.notify()
        if changes.changed_paths:
            self._check_paths(changes.changed_paths)
        now = time.monotonic()
        due = {state.root.path for state in self._roots.values() if 0 < state.next_walk_at <= now}
        for root in {*changes.rescan, *due}:
            if (state := self._roots.get(root)) is not None:
                state.next_walk_at = 0.0
                state.pending_walks += 1
                state.walk_requested = state.walk_requested or root in changes.rescan
                self._walker.submit(self._walk, state, root in changes.reindex)
        if changes.reindex:
            self._writer.retry()
            self._stores.backoff.reset()
        self._progress.applied_sequence = max(self._progress.applied_sequence, changes.sequence)
        if not self._handle_events():
            return
        self._writer.flush(self._publisher, self._roots.values(), self.workspace.unsaved)
        self._writer.schedule_cleanup(state.store for state in self._roots.values() if state.store is not None)
        self._stores.collect_garbage()
        self._report_missing_vectors()
        self._stores.retry_failed()
        self._query_embedder.retry(self.workspace.wake)

    def _handle_events(self) -> bool:
        """Handle all events in the inbox; return False if the indexer was closed meanwhile."""
        inbox = self._progress.inbox
        while inbox:  # an event is removed after it was handled, so that `searchable` does not ignore it
            self._priority.yield_to_requests(self._is_urgent)
            try:
                inbox[0]()
            except Exception:  # the other events are independent of this one
                if self._closed.cancelled:
                    return False
                log.exception("the indexer failed on an event and continues")
            finally:
                inbox.popleft()
            self._progress.notify()
        return True

    def _is_urgent(self) -> bool:
        """Return whether a request may wait for the next event: a new change, or only events left to be complete."""
        is_changed = self.workspace.sequence > self._progress.document_sequence
        return is_changed or self._closed.cancelled or not any(state.pending for state in self._roots.values())

    def _pause(self) -> None:
        self._progress.paused = any(state.pending for state in self._roots.values())
        if self._progress.paused:
            self._pool.cancel_bulk()

    def _resume(self) -> None:
        self._progress.paused = False

    def _post(self, event: Callable[[], None]) -> None:
        """Run a function on the indexer's thread.  Any thread."""
        self._progress.inbox.append(event)
        self.workspace.wake()

    def _root_state(self, path: str) -> RootState | None:
        root = self._publisher.snapshot.root_of(path)
        return self._roots.get(root.path) if root else None

    # ---- roots

    def _follow_roots(self, roots: tuple[Root, ...]) -> None:
        """Open added roots, and drop removed ones."""
        snapshot = self._publisher.snapshot
        if roots == snapshot.roots:
            return
        before = set(self._roots)
        self._stores.schedule_collection()
        self._publisher.snapshot = replace(snapshot, roots=roots)
        for path in before - {root.path for root in roots}:
            state = self._roots.pop(path)
            self._publisher.publish({p: None for p, e in snapshot.files.items() if e.root == path})
            if state.store is not None:
                self._publisher.mark_lost(state.store.keys)
                self._writer.submit(state.store.close)
            if state.manifest is not None:
                self._writer.submit(state.manifest.close)
        for remaining in self._roots.values():
            self._queue.add_without_rows(remaining)  # chunks shared with a removed root
        for root in roots:
            if root.path in before:
                self._roots[root.path].root = root  # its name may have changed
            else:
                self._roots[root.path] = state = RootState(root)
                self._walker.submit(self._open_root, state)
                self._stores.open_store(state)
        paths = before | {root.path for root in roots}
        if before and any(b.startswith(a.rstrip("/") + "/") for a in paths for b in paths - {a}):
            self.workspace.rescan(before)  # files move between a nested root and the root around it

    def _open_root(self, state: RootState) -> None:
        """Load the manifest of a new root, and walk the root (walk thread)."""
        self._walk_and_post(state, self._stores.load_manifest(state))

    def _walk(self, state: RootState, reindex: bool) -> None:
        """Walk a root again (walk thread)."""
        files = self._publisher.snapshot.files
        entries = {path: entry for path, entry in files.items() if entry.root == state.root.path}
        self._walk_and_post(state, entries, live=True, reindex=reindex)

    def _walk_and_post(
        self, state: RootState, recalled: Mapping[str, FileEntry], live: bool = False, reindex: bool = False
    ) -> None:
        state.folder_stats = None
        began, began_ns = time.monotonic(), time.time_ns()
        try:
            listed, state.linked_folders = jobs.list_root_files(state.root, self.config.limits, self._closed)
            if listed:
                state.identity = jobs.folder_identity(state.root.path)
            state.set_problem("folder", "" if listed else jobs.empty_root_problem(state.root, state.identity))
            state.set_problem("limit", jobs.file_limit_problem(state.root, len(listed), self.config.limits))
        except Cancelled:
            return
        except Exception as error:
            log.exception("cannot walk %s", state.root.path)
            state.set_problem("folder", f"Cannot list the folder ({error_reason(error)}); will retry.")
            self._post(state.walk_finished)  # unlisted files do not count as deleted
            return
        state.walk_seconds = time.monotonic() - began
        self._post(lambda: self._apply_walk(state, listed, recalled, live, reindex))
        try:
            state.folder_stats = record_stats(state.root.path, listed, self.config.limits, began_ns)
        except OSError as error:
            log.info("the next check of %s needs a walk: %s", state.root.path, error)

    def _apply_walk(
        self,
        state: RootState,
        listed: list[FileInfo],
        recalled: Mapping[str, FileEntry],
        live: bool,
        reindex: bool,
    ) -> None:
        """Compare the result of a walk with the known files, and queue the difference."""
        if self._roots.get(state.root.path) is not state:
            return
        try:
            files = {file.path: file for file in listed if self._root_state(file.path) is state}
            changes, stale, unconfirmed = jobs.compare_walk(
                files, recalled, self._publisher.snapshot, state.root, state.pending, live, reindex
            )
            gone = {e.name for path, e in recalled.items() if path not in files and (not live or path in changes)}
            if any(self.config.limits.policy.exclusion_reason(name) for name in gone):
                self._stores.purge(state)
            state.unsaved_records |= dict.fromkeys(gone)
            self._publisher.publish(changes)
            state.drop_pending(path for path, entry in changes.items() if entry is None)
            self._document_indexer.recheck_ignored(state)
            if state.retry_failed:
                retried = {*state.failed, *self._files_without_vectors(state)}
                stale = [*stale, *(path for path in retried if path in files)]
                state.retry_failed = False
                state.failed.clear()
                state.set_problem("files")
            self._queue.add_stale(state, stale)
            self._check_files(state, {*unconfirmed, *state.unwalked_changes})
            state.unwalked_changes.clear()
            if state.store is not None:
                self._queue.add_without_rows(state)
        finally:
            state.walk_finished()

    def _check_paths(self, paths: Collection[str]) -> None:
        """Drop deleted and ignored files, and queue the others, of paths that may have changed on disk."""
        rule_files = [path.removesuffix(".git/info/exclude") for path in paths if jobs.affects_ignore_rules(path)]
        rule_folders = {path.rpartition("/")[0] + "/" for path in rule_files}
        for state in list(self._roots.values()):
            touched = [path for path in paths if self._root_state(path) is state]
            is_below_rules = any(state.root.path.startswith(folder) for folder in rule_folders)
            if is_below_rules or any(jobs.may_change_rules(path, self.workspace.documents) for path in touched):
                self.workspace.rescan([state.root.path])
            if not state.walked:
                state.unwalked_changes.update(touched)
            self._check_files(state, touched)

    def _check_files(self, state: RootState, paths: Iterable[str]) -> None:
        """Drop the deleted and ignored files of a root, and queue the others; open documents are left unchanged."""
        closed = [path for path in paths if path not in self.workspace.documents]
        if not closed:
            return
        try:
            present, gone = jobs.partition_changes(state.root, closed, self._publisher.snapshot, self.config.limits)
        except OSError as error:
            state.set_problem("folder", f"Cannot check changed files ({error_reason(error)}); will retry.")
            return  # the next walk finds them
        state.drop_pending(gone)
        indexed = [path for path in gone if path in self._publisher.snapshot.files]
        if indexed:
            if problem := jobs.missing_root_problem(state.root):
                state.set_problem("folder", problem)
            self._publisher.publish(dict.fromkeys(indexed))
            state.unsaved_records |= dict.fromkeys(state.name_of(path) for path in indexed)
        self._queue.add(state, present)

    # ---- stores and retries

    def _store_opened(self, state: RootState) -> None:
        if state.walked:
            self._queue.add_without_rows(state)

    def _rows_written(self, stored: list[bytes], removed: list[bytes]) -> None:
        self._writer.writing = False
        self._publisher.mark_lost(removed)
        self._publisher.mark_stored(stored)
        for state in self._roots.values() if removed else ():
            self._queue.add_without_rows(state)  # chunks that came back while their rows were removed

    def _retry_roots(self, states: Sequence[RootState]) -> None:
        """Schedule failed files and documents again (writer thread)."""
        for state in states:
            state.retry_failed = bool(state.failed) or "vectors" in state.problems
        if states:
            self.workspace.mark_dirty(self._document_indexer.documents_to_retry())
        roots = [state.root.path for state in states if state.retry_failed or "folder" in state.problems]
        if roots:
            self.workspace.rescan(roots)

    def _files_without_vectors(self, state: RootState) -> list[str]:
        """Return files with chunks that have no vector: one as a probe, then all once the number decreases."""
        count, paths = self._publisher.chunk_index.without_vector()
        files = [p for p in sorted(paths) if self._root_state(p) is state and p not in self.workspace.documents]
        is_decreasing, self._missing_vectors = count < self._missing_vectors, count
        return files if is_decreasing else files[:1]

    def _report_missing_vectors(self) -> None:
        """Report chunks without a vector, and retry at once if their number decreases."""
        count = self._publisher.chunk_index.without_vector()[0] if self._stores.dimension else 0
        self._missing_vectors_reason = self._pool.problem or self._missing_vectors_reason if count else ""
        reason = self._missing_vectors_reason or "the model is temporarily unavailable."
        noun = "chunk has" if count == 1 else "chunks have"
        problem = f"{count:,} {noun} no embedding (keyword search only): {reason}" if count else ""
        for state in self._roots.values():
            state.set_problem("vectors", problem)
        if 0 < count < self._missing_vectors:
            self._stores.backoff.reset()

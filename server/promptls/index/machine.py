"""State machine of the index: takes changes and events, and keeps roots, files, stores and the snapshot up to date.

Events are functions.  `step` applies the changes of the workspace and handles the events that have arrived.  Whatever
blocks is submitted: walks and writes to an executor each, parsing and embedding to the worker pool.  Their results
return as events through `post`.  The machine has no thread of its own: one thread at a time may call `step`, and only
this thread changes the state of a root and publishes.  Any thread may read the conditions and wait for them.

- Files: a walk lists the files of a root.  New and modified ones are queued in batches: outlines first, then vectors.
- Open documents are handled first, and never wait for a scan.  Which files are open is decided by the snapshot, never
  by the workspace, which may be ahead of the machine.
- Stores and manifests are opened by the executors.  A root whose cache cannot be opened is indexed in memory only.
  Failures are retried with an exponential back-off.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from promptls.index.configuration import IndexConfig, outline_fingerprint
from promptls.index.embedding.embedder import declared_dimension, model_identity
from promptls.index.files.read import file_stat
from promptls.index.files.walk import FolderStats, record_stats
from promptls.index.index_status import error_reason
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.jobs import EmbeddingResult, OutlineResult, RootWalk, RowLookup
from promptls.index.scan.open_documents import DocumentIndexer
from promptls.index.scan.prescanner import Prescanner
from promptls.index.scan.root_state import RootState
from promptls.index.search.analyzer import ANALYZER_VERSION
from promptls.index.search.row_batch import RowBatch, Segment, StoreIdentity
from promptls.index.snapshot import Snapshot
from promptls.index.store import cache_dir
from promptls.index.store.file_manifest import KnownOutlines, Manifest
from promptls.index.store.lance_table import short_error
from promptls.index.store.row_store import RowStore, open_store
from promptls.index.syntax.chunks import CHUNKER_VERSION
from promptls.index.workers.pool import WorkerPool
from promptls.index.workspace import ChangeSet, Workspace
from promptls.index.writer import IndexWriter, WriteResult, unwritten_rows
from promptls.model import Cancelled, CancelToken, FileEntry, Root
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Number of failures after which a file keeps its plain-text outline.  Each failure includes the attempts of a job."""
INTERACTIVE_FILES = 8
"""Maximum number of changed files that the interactive worker outlines, ahead of bulk work."""
_POLL_S = 0.05
"""Seconds between two checks of a condition and of cancellation."""


Event = Callable[[], None]
"""A function that the next step calls, such as one that takes the result of a job."""


class IndexMachine:
    """Owner of the index of a workspace.  Methods are for the thread that calls `step`, except where noted."""

    def __init__(
        self, config: IndexConfig, workspace: Workspace, pool: WorkerPool, walker: Executor, storage: Executor
    ) -> None:
        """Create an index without roots.

        Args:
            config: Configuration of the index.
            workspace: Roots and open documents.
            pool: Worker processes.
            walker: Runs walks, one at a time.
            storage: Runs reads and writes of the cache, one at a time.
        """
        self.config = config
        self.workspace = workspace
        self.pool = pool
        self.publisher = Publisher()
        self.closed = CancelToken()
        self.paused = False
        self.dimension: int | None = None  # of the vectors, None while unknown; set by the storage executor
        self.document_sequence = 0  # of the last change whose open documents are in the snapshot
        self.applied_sequence = 0  # of the last change that is applied or queued completely
        self.roots: dict[str, RootState] = {}
        self.store_backoff = Backoff()
        self.writer = IndexWriter(
            storage,
            lambda result: self.post(partial(self._rows_written, result)),
            lambda store, error: self.post(partial(self._replace_store, store, f"is damaged: {error}")),
        )
        self.prescanner = Prescanner(self.publisher, pool, config.limits, self.post, walker)
        self.documents = DocumentIndexer(self.publisher, pool, workspace, config.limits, self.root_state)
        self._walker = walker
        self._storage = storage
        self._model = ""  # identity of the embedding model, "" while unknown
        self._inbox: deque[Event] = deque()
        self._condition = threading.Condition()
        self._retrying = False  # whether a retry, or the indexing that follows it, is in progress
        self._opening = False  # whether the storage executor is busy with a retry
        self._collect_at = 0.0  # time.monotonic() from which the cache directory is cleaned up again
        self._missing_vectors = 0  # number of chunks without a vector at the last retry
        self._missing_vectors_reason = ""

    def fix_model(self, identity: str) -> None:
        """Fix the model for the lifetime of the index, even if its files change.  Call before the first step."""
        self._model = identity
        self.pool.fix_model(identity)

    def post(self, event: Event) -> None:
        """Add an event for the next step.  Any thread."""
        self._inbox.append(event)
        self.workspace.wake()

    def close(self) -> None:
        """Stop walks, keep what was read for the next start, and close the stores."""
        self.closed.cancel()
        states = list(self.roots.values())
        for state, batches in unwritten_rows(self.publisher, states, self.workspace.unsaved):
            if state.store is not None:
                state.store.save_pending(batches)
        self.pool.close()
        self.writer.close(states, self.publisher.snapshot)
        self._walker.shutdown(wait=False, cancel_futures=True)
        self.notify()
        opened = [argument for event in self._inbox if isinstance(event, partial) for argument in event.args]
        for resource in (*(s.manifest for s in states), *(s.store for s in states), *opened):
            if isinstance(resource, Manifest | RowStore):
                resource.close()

    # ---- steps

    def step(self, changes: ChangeSet, before_event: Callable[[], None] = lambda: None) -> None:
        """Apply changes of the workspace, and handle the events that have arrived.

        Args:
            changes: What has changed.
            before_event: Called before each event.
        """
        self._follow_roots(changes.roots)
        self.documents.apply(changes)
        self.document_sequence = max(self.document_sequence, changes.sequence)
        self.notify()
        if changes.changed_paths:
            self._check_paths(changes.changed_paths)
        now = time.monotonic()
        due = {state.root.path for state in self.roots.values() if 0 < state.next_walk_at <= now}
        for root in {*changes.rescan, *due}:
            if (state := self.roots.get(root)) is not None:
                state.walk_started(requested=root in changes.rescan)
                self._walker.submit(self._walk, state, state.identity, root in changes.reindex)
        if changes.reindex:
            self.writer.retry()
            self.store_backoff.reset()
        self.applied_sequence = max(self.applied_sequence, changes.sequence)
        while self._inbox:  # an event is removed after it was handled, so that `searchable` does not ignore it
            before_event()
            try:
                self._inbox[0]()
            except Exception:  # the other events are independent of this one
                if self.closed.cancelled:
                    return
                log.exception("the indexer failed on an event and continues")
            finally:
                self._inbox.popleft()
            self.notify()
        self.writer.flush(self.publisher, self.roots.values(), self.workspace.unsaved)
        self.writer.schedule_cleanup(state.store for state in self.roots.values() if state.store is not None)
        self._collect_garbage()
        self._report_missing_vectors()
        self._retry_failed()

    def next_wakeup(self, max_idle_s: float) -> float:
        """Return the seconds until the next step is due without a change, `max_idle_s` at most."""
        delays = [max_idle_s]
        if self.writer.is_backing_off:
            delays.append(self.writer.backoff.remaining_s)
        if self.publisher.unstored and (delay := self.writer.batch_delay_s):
            delays.append(delay)
        now = time.monotonic()
        delays += [max(0.0, state.next_walk_at - now) for state in self.roots.values() if state.next_walk_at]
        if not self._retrying and any(state.needs_retry for state in self.roots.values()):
            delays.append(self.store_backoff.remaining_s)
        return min(delays)

    def is_urgent(self) -> bool:
        """Return whether a request may wait for the next event: a new change, or only events left to be complete."""
        is_changed = self.workspace.sequence > self.document_sequence
        return is_changed or self.closed.cancelled or not any(state.pending for state in self.roots.values())

    def root_state(self, path: str) -> RootState | None:
        """Return the state of the innermost root that contains a path.  Any thread."""
        root = self.publisher.snapshot.root_of(path)
        return self.roots.get(root.path) if root else None

    def pause(self, paused: bool) -> None:
        """Stop bulk work if there is any, or let it go on at the next walk."""
        self.paused = paused and any(state.pending for state in self.roots.values())
        if self.paused:
            self.pool.cancel_bulk()

    # ---- roots and walks

    def _follow_roots(self, roots: tuple[Root, ...]) -> None:
        """Open added roots, and drop removed ones."""
        snapshot = self.publisher.snapshot
        if roots == snapshot.roots:
            return
        before = set(self.roots)
        self._collect_at = 0.0
        listed = snapshot.listed.intersection(root.path for root in roots)
        self.publisher.snapshot = replace(snapshot, roots=roots, listed=listed)
        for path in before - {root.path for root in roots}:
            state = self.roots.pop(path)
            self.publisher.publish({p: None for p, e in snapshot.files.items() if e.root == path})
            if state.store is not None:
                self.publisher.mark_lost(state.store.keys)
                self._storage.submit(state.store.close)
            if state.manifest is not None:
                self._storage.submit(state.manifest.close)
        for remaining in self.roots.values():
            self._add_without_rows(remaining)  # chunks shared with a removed root
        for root in roots:
            if root.path in before:
                self.roots[root.path].root = root  # its name may have changed
            else:
                folder = cache_dir.root_directory(Path(self.config.cache_folder), root)
                self.roots[root.path] = state = RootState(root, folder)
                self._walker.submit(self._open_root, state)
                self._storage.submit(self._open_store, state)
        paths = before | {root.path for root in roots}
        if before and any(b.startswith(a.rstrip("/") + "/") for a in paths for b in paths - {a}):
            self.workspace.rescan(before)  # files move between a nested root and the root around it

    def _open_root(self, state: RootState) -> None:
        """Load the manifest of a new root, and walk the root (walk executor)."""
        entries: dict[str, FileEntry] = {}
        try:
            manifest = self._open_manifest(state)
            entries, known = manifest.load(), manifest.load_others()
            self.post(partial(self._take_manifest, state, manifest, known))
        except Exception as error:
            log.warning("Cannot load the manifest of %s: %s", state.root.path, error)
            problem = f"Cannot write the cache ({short_error(error)}); the index is in memory only."
            self.post(partial(self._take_manifest, state, None, {}, problem))
        self._walk_and_post(state, None, entries)

    def _walk(self, state: RootState, identity: jobs.FolderIdentity | None, reindex: bool) -> None:
        """Walk a root again (walk executor)."""
        files = self.publisher.snapshot.files
        entries = {path: entry for path, entry in files.items() if entry.root == state.root.path}
        self._walk_and_post(state, identity, entries, live=True, reindex=reindex)

    def _walk_and_post(
        self,
        state: RootState,
        identity: jobs.FolderIdentity | None,
        recalled: Mapping[str, FileEntry],
        live: bool = False,
        reindex: bool = False,
    ) -> None:
        began_ns = time.time_ns()
        try:
            is_new = not live and not recalled
            walk = jobs.walk_root(state.root, self.config.limits, self.closed, identity, is_new)
        except Cancelled:
            return
        except Exception as error:
            log.exception("cannot walk %s", state.root.path)
            self.post(partial(self._walk_failed, state, f"Cannot list the folder ({error_reason(error)}); will retry."))
            return
        self.post(partial(self._apply_walk, state, walk, recalled, live, reindex))
        try:
            stats = record_stats(state.root.path, walk.files, self.config.limits, began_ns)
            self.post(partial(self._take_stats, state, stats))
        except OSError as error:
            log.info("the next check of %s needs a walk: %s", state.root.path, error)

    def _walk_failed(self, state: RootState, problem: str) -> None:
        state.set_problem("folder", problem)
        self._walk_finished(state)  # unlisted files do not count as deleted

    def _take_stats(self, state: RootState, stats: FolderStats) -> None:
        if not state.pending_walks:
            state.folder_stats = stats

    def _apply_walk(
        self, state: RootState, walk: RootWalk, recalled: Mapping[str, FileEntry], live: bool, reindex: bool
    ) -> None:
        """Compare the result of a walk with the known files, and queue the difference.

        Args:
            state: The root.
            walk: Result of the walk.
            recalled: Entries before the walk.
            live: Whether these are entries of the snapshot, not of the manifest.
            reindex: Whether all files are outlined again.
        """
        if self.roots.get(state.root.path) is not state:
            return
        try:
            state.identity = walk.identity or state.identity
            state.linked_folders, state.undecodable_names = walk.linked_folders, walk.undecodable_names
            state.ignore_files = walk.ignore_files
            state.walk_seconds = walk.seconds
            state.set_problem("folder", walk.folder_problem)
            state.set_problem("limit", walk.limit_problem)
            files = {file.path: file for file in walk.files if self.root_state(file.path) is state}
            changes, stale, unconfirmed = jobs.compare_walk(
                files, recalled, self.publisher.snapshot, state.root, state.pending, live, reindex, state.touched
            )
            gone = {e.name for path, e in recalled.items() if path not in files and (not live or path in changes)}
            if any(self.config.limits.policy.exclusion_reason(name) for name in gone):
                self._purge(state)
            state.unsaved_records |= dict.fromkeys(gone)
            self.publisher.publish(changes)
            state.drop_pending(path for path, entry in changes.items() if entry is None)
            self.documents.recheck_ignored(state)
            if state.retry_failed:
                retried = {*state.failed, *self._files_without_vectors(state)}
                stale = [*stale, *(path for path in retried if path in files)]
                state.retry_failed = False
                state.failed.clear()
                state.set_problem("files")
            self._add_stale(state, stale, walk.recent)
            # The entries of a manifest replace what changes before the first walk have indexed.
            self._check_files(state, {*unconfirmed, *(() if live else state.touched)})
            if state.store is not None:
                self._add_without_rows(state)
        finally:
            self._walk_finished(state)

    def _walk_finished(self, state: RootState) -> None:
        state.walk_finished()
        snapshot, path = self.publisher.snapshot, state.root.path
        if path not in snapshot.listed and self.roots.get(path) is state:
            self.publisher.snapshot = replace(snapshot, listed=snapshot.listed | {path})

    # ---- changed files

    def _check_paths(self, paths: Collection[str]) -> None:
        """Drop deleted and ignored files, and queue the others, of paths that may have changed on disk."""
        rule_files = [path.removesuffix(".git/info/exclude") for path in paths if jobs.affects_ignore_rules(path)]
        rule_folders = {path.rpartition("/")[0] + "/" for path in rule_files}
        documents = self.publisher.snapshot.documents
        for state in list(self.roots.values()):
            touched = [path for path in paths if self.root_state(path) is state]
            is_below_rules = any(state.root.path.startswith(folder) for folder in rule_folders)
            if is_below_rules or any(jobs.may_change_rules(path, documents) for path in touched):
                self.workspace.rescan([state.root.path])
            if state.pending_walks:
                state.touched.update(touched)
            self._check_files(state, touched)

    def _check_files(self, state: RootState, paths: Iterable[str]) -> None:
        """Drop the deleted and ignored files of a root, and queue the others; open documents are left unchanged."""
        closed = [path for path in paths if path not in self.publisher.snapshot.documents]
        if not closed:
            return
        try:
            present, gone = jobs.partition_changes(state.root, closed, self.publisher.snapshot, self.config.limits)
        except OSError as error:
            state.set_problem("folder", f"Cannot check changed files ({error_reason(error)}); will retry.")
            return  # the next walk finds them
        state.drop_pending(gone)
        indexed = [path for path in gone if path in self.publisher.snapshot.files]
        if indexed:
            if problem := jobs.missing_root_problem(state.root):
                state.set_problem("folder", problem)
            self.publisher.publish(dict.fromkeys(indexed))
            state.unsaved_records |= dict.fromkeys(state.name_of(path) for path in indexed)
        self._add(state, present)

    # ---- queue of files for the workers

    def _add(self, state: RootState, paths: Iterable[str], embed_immediately: bool = False) -> None:
        """Queue files; each batch reports outlines, then rows, then its end.

        Embedding is deferred, so that symbols and terms come first, except for a few files, and for files that are
        queued again because a worker has lost their texts.
        """
        files = list(dict.fromkeys(paths))
        if self.paused and len(files) > INTERACTIVE_FILES:
            return
        state.dropped.difference_update(files)
        for path in files:
            state.job_started(path)
        few = len(files) <= INTERACTIVE_FILES and state.store_ready.done()
        submit = self.pool.submit_interactive if few else self.pool.submit_bulk
        lookup = RowLookup(self.publisher.is_finished, state.store_ready)
        known = state.known_outlines
        self.prescanner.start(state, [path for path in files if path not in known])
        for batch in jobs.split_batches(files, self.publisher.snapshot):
            state.outline_batches += 1
            state.unread += len(batch)
            future = submit(
                jobs.outline_job(
                    state.root, batch, lookup, partial(self._report, state), not (few or embed_immediately), known
                )
            )
            future.add_done_callback(partial(self._report_end, state, batch))

    def _report(self, state: RootState, result: OutlineResult | EmbeddingResult) -> None:
        """Post the result of a job (worker thread)."""
        self.post(partial(self._publish_result, state, result))

    def _report_end(self, state: RootState, batch: tuple[str, ...], future: Future[None]) -> None:
        """Post the end of a job (worker thread)."""
        error = None if future.cancelled() else future.exception()
        self.post(partial(self._batch_finished, state, batch, error))

    def _add_stale(self, state: RootState, paths: Iterable[str], recent: Collection[str]) -> None:
        """Queue files that a walk found stale, except those that a queued job is going to read.

        Files beside open documents come first, then those of recent commits, then those that were changed last: the
        first questions are about them.
        """
        files, unqueued = self.publisher.snapshot.files, []
        for path in paths:
            entry = files.get(path)
            if path in state.pending and entry is not None and not entry.encoded_outline and not entry.skip_reason:
                state.dropped.discard(path)  # it may have been deleted for a moment
            else:
                unqueued.append(path)
        open_folders = {path.rpartition("/")[0] for path in self.workspace.all_documents}

        def order(path: str) -> tuple[bool, bool, int]:
            entry = files.get(path)
            changed_ns = entry.mtime_ns if entry is not None else 0
            return path.rpartition("/")[0] not in open_folders, path not in recent, -changed_ns

        self._add(state, sorted(unqueued, key=order))

    def _add_without_rows(self, state: RootState) -> None:
        """Queue the files whose rows are missing, after a store was damaged or cleaned up."""
        if not self.dimension:
            return
        snapshot = self.publisher.snapshot
        missing = [
            path
            for path in sorted(self.publisher.chunk_index.incomplete_files())
            if path in snapshot.files
            and snapshot.files[path].root == state.root.path
            and path not in state.pending
            and path not in snapshot.documents
        ]
        self._add(state, missing)

    def _publish_result(self, state: RootState, result: OutlineResult | EmbeddingResult) -> None:
        if self.roots.get(state.root.path) is not state:
            return
        if isinstance(result, EmbeddingResult):
            self.publisher.publish({}, result.rows, result.unembeddable)
            return
        changes: dict[str, FileEntry | None] = {}
        modified: list[str] = []
        for scan in result.scans:
            if scan.path in self.publisher.snapshot.documents or scan.path in state.dropped:
                continue
            if self.publisher.snapshot.root_of(scan.path) != state.root:  # it belongs to a nested root now
                continue
            stat, known = file_stat(scan.path), self.publisher.snapshot.files.get(scan.path)
            if stat is not None and stat != (scan.size, scan.mtime_ns):  # modified since it was read
                modified.append(scan.path)
                if known is not None and stat == (known.size, known.mtime_ns):
                    continue
            if known is None or known.root != state.root.path:
                known = FileEntry(scan.path, state.root.path, state.name_of(scan.path))
            entry = replace(
                known,  # whose path and name are in memory once
                size=scan.size,
                mtime_ns=scan.mtime_ns,
                content_hash=scan.content_hash,
                version=None,
                encoded_outline=scan.encoded_outline,
                skip_reason=scan.skip_reason,
            )
            changes[entry.path] = state.unsaved_records[entry.name] = None if stat is None else entry
        if modified:
            self.workspace.touch(modified)
        if None in changes.values() and (problem := jobs.missing_root_problem(state.root)):
            state.set_problem("folder", problem)
        for path, changed in changes.items():
            is_skipped = changed is not None and bool(changed.skip_reason)
            if result.problem and (is_skipped or state.attempts.get(path, 0) < MAX_ATTEMPTS):
                state.record_failures([path], result.problem)
                state.unsaved_records[state.name_of(path)] = None  # the next start tries again
            else:
                state.attempts.pop(path, None)
        self.publisher.publish(changes, result.rows)
        if result.channel is not None and result.rows.keys:
            self._defer_embedding(state, result)

    def _batch_finished(self, state: RootState, batch: tuple[str, ...], error: BaseException | None) -> None:
        state.outline_batches -= 1
        state.unread -= len(batch)
        state.was_read = state.was_read or (state.walked and not state.unread)
        state.unprescanned.difference_update(batch)
        for path in batch:
            state.job_finished(path)
        if not state.unread:
            state.known_outlines = {}
        if not self.is_reading:
            self.prescanner.clear()
        if error is not None:
            log.error("a batch of %d files failed: %s", len(batch), error)
            state.record_failures(batch, error_reason(error))
        if state.outline_batches == self.config.workers and state.store is not None and not state.store.keys:
            self._storage.submit(state.store.start_process)  # the last batches are running; the first rows follow

    def _defer_embedding(self, state: RootState, result: OutlineResult) -> None:
        """Embed rows later, in the worker that keeps their texts."""
        paths = tuple(scan.path for scan in result.scans)
        for path in paths:
            state.job_started(path)
        lookup = RowLookup(self.publisher.is_finished, state.store_ready)
        assert result.channel is not None
        future = self.pool.submit_deferred(
            result.channel,
            lambda channel: self._report(state, jobs.embed_rows(channel, result.rows, lookup)),
            len(result.rows),
            state.store_ready.done,
        )
        finished = partial(self._embedding_finished, state, paths, result.rows)
        future.add_done_callback(lambda _: self.post(finished))

    def _embedding_finished(self, state: RootState, paths: tuple[str, ...], rows: RowBatch) -> None:
        """Queue the files again if the worker has lost one of their texts, this time without deferring."""
        for path in paths:
            state.job_finished(path)
        if self.roots.get(state.root.path) is state and not all(map(self.publisher.has_row, rows.keys)):
            snapshot = self.publisher.snapshot
            lost = [path for path in paths if path in snapshot.files and path not in snapshot.documents]
            self._add(state, lost, embed_immediately=True)

    # ---- stores and manifests

    def _identity(self) -> StoreIdentity:
        """Return the identity of the stores; asks a worker for the dimension of a model that does not declare it."""
        if self.dimension is None:
            declared = declared_dimension(self.config.embedding)
            self.dimension = declared or self.pool.submit_interactive(jobs.probe_dimension).result()
        self._model = self._model or model_identity(self.config.embedding)
        return StoreIdentity(self._model, self.dimension, CHUNKER_VERSION, ANALYZER_VERSION)

    def _index_directory(self, state: RootState) -> Path:
        return cache_dir.index_directory(state.cache_folder, self._identity())

    def _open_manifest(self, state: RootState) -> Manifest:
        file = self._index_directory(state) / "files.sqlite"
        return Manifest(file, state.root.path, outline_fingerprint(self.config))

    def _take_manifest(
        self, state: RootState, manifest: Manifest | None, known: KnownOutlines, problem: str = ""
    ) -> None:
        if manifest is not None and self.roots.get(state.root.path) is not state:
            manifest.close()
            return
        state.manifest = manifest or state.manifest
        state.known_outlines = known
        state.set_problem("records", problem)

    def _open_store(self, state: RootState) -> None:
        """Open the store of a root (storage executor)."""
        try:
            store: RowStore | None = None
            rows: Sequence[Segment | RowBatch] = ()
            if self._identity().dimension:
                store, rows = open_store(self._index_directory(state) / "rows", self._identity())
            pending = store.load_pending() if store is not None else ()
            self.post(partial(self._take_store, state, store, rows, pending))
        except Exception as error:
            log.warning("Cannot open the store of %s: %s", state.root.path, error)
            problem = f"Cannot open the index ({short_error(error)}); the index is in memory only."
            self.post(partial(self._take_store, state, None, problem=problem))

    def _take_store(
        self,
        state: RootState,
        store: RowStore | None,
        rows: Sequence[Segment | RowBatch] = (),
        pending: Sequence[RowBatch] = (),
        problem: str = "",
    ) -> None:
        if self.roots.get(state.root.path) is not state:
            if store is not None:
                store.close()
            if not state.store_ready.done():
                state.store_ready.set_result(None)  # jobs wait for it
            return
        state.set_problem("rows", problem)
        state.store = store
        for part in rows:
            self.publisher.load_rows(part)
        if store is not None:
            store.keys = set(self.publisher.intern_keys(store.keys))
            self.writer.retry()
        for batch in pending:
            self.publisher.load_unstored(batch)
        if state.store_ready.done():  # an earlier attempt failed
            state.store_ready = Future()
        state.store_ready.set_result(store)
        if state.walked:
            self._add_without_rows(state)

    def _purge(self, state: RootState) -> None:
        """Rebuild the store of a root, so that it has no rows of files that a policy excludes."""
        if state.store is not None:
            self._replace_store(state.store, "may have rows of excluded files")
        elif not state.store_ready.done():
            state.store_ready.add_done_callback(lambda _: self.post(partial(self._purge, state)))

    def _replace_store(self, store: RowStore, reason: str) -> None:
        state = next((s for s in self.roots.values() if s.store is store), None)
        if state is None:
            return  # the store was replaced before
        log.warning("Rebuilding the store in %s: it %s", store.folder, reason)
        state.store, state.store_ready = None, Future()
        self.publisher.mark_lost(store.keys)
        self._storage.submit(store.remove)
        self._storage.submit(self._open_store, state)

    def _rows_written(self, result: WriteResult) -> None:
        self.writer.finish(result)
        self.publisher.mark_lost(result.deleted_keys)
        self.publisher.mark_stored(result.stored_keys)
        for state in self.roots.values() if result.deleted_keys else ():
            self._add_without_rows(state)  # chunks that came back while their rows were removed

    def _collect_garbage(self) -> None:
        """Remove unused indexes from the cache directory, once indexing is complete and then periodically."""
        states = list(self.roots.values())
        if states and time.monotonic() >= self._collect_at and all(s.complete for s in states):
            self._collect_at = time.monotonic() + cache_dir.EVICTION_INTERVAL_S
            used = [state for state in states if state.manifest is not None]
            self._storage.submit(
                lambda: cache_dir.evict_unused(
                    Path(self.config.cache_folder), [self._index_directory(state) for state in used]
                )
            )

    # ---- retries

    def _retry_failed(self) -> None:
        """Retry what could not be opened or read, with an exponential back-off."""
        states = list(self.roots.values())
        failed = [state for state in states if state.needs_retry]
        if self._retrying:
            if self._opening or not all(state.complete for state in states):
                return
            self._retrying = False
            self.store_backoff.record(failed=bool(failed))
        if not failed:
            self.store_backoff.record(failed=False)
        elif not self.store_backoff.remaining_s:
            self._retrying = self._opening = True
            missing = [(s, s.manifest is None, s.store is None and "rows" in s.problems) for s in failed]
            self._storage.submit(self._reopen, missing)

    def _reopen(self, missing: Sequence[tuple[RootState, bool, bool]]) -> None:
        """Open the missing manifests and stores of roots (storage executor)."""
        for state, needs_manifest, needs_store in missing:
            if needs_manifest:
                try:
                    self.post(partial(self._take_manifest, state, self._open_manifest(state), {}))
                except Exception as error:
                    log.info("Cannot open the manifest of %s: %s", state.root.path, error)
            if needs_store:
                self._open_store(state)
        self.post(partial(self._retry_roots, [state for state, _, _ in missing]))

    def _retry_roots(self, states: Sequence[RootState]) -> None:
        """Schedule failed files and documents again."""
        self._opening = False
        states = [state for state in states if self.roots.get(state.root.path) is state]
        for state in states:
            state.retry_failed = bool(state.failed) or "vectors" in state.problems
        if states:
            self.workspace.mark_dirty(self.documents.documents_to_retry())
        roots = [state.root.path for state in states if state.retry_failed or "folder" in state.problems]
        if roots:
            self.workspace.rescan(roots)

    def _files_without_vectors(self, state: RootState) -> list[str]:
        """Return files with chunks that have no vector: one as a probe, then all once the number decreases."""
        count, paths = self.publisher.chunk_index.without_vector()
        documents = self.publisher.snapshot.documents
        files = [p for p in sorted(paths) if self.root_state(p) is state and p not in documents]
        is_decreasing, self._missing_vectors = count < self._missing_vectors, count
        return files if is_decreasing else files[:1]

    def _report_missing_vectors(self) -> None:
        """Report chunks without a vector, and retry at once if their number decreases."""
        count = self.publisher.chunk_index.without_vector()[0] if self.dimension else 0
        self._missing_vectors_reason = self.pool.problem or self._missing_vectors_reason if count else ""
        reason = self._missing_vectors_reason or "the model is temporarily unavailable."
        noun = "chunk has" if count == 1 else "chunks have"
        problem = f"{count:,} {noun} no embedding (keyword search only): {reason}" if count else ""
        for state in self.roots.values():
            state.set_problem("vectors", problem)
        if 0 < count < self._missing_vectors:
            self.store_backoff.reset()

    # ---- conditions (any thread)

    def notify(self) -> None:
        """Wake the threads that wait for a condition."""
        with self._condition:
            self._condition.notify_all()

    def wait(self, condition: Callable[[], bool], token: CancelToken | None, timeout_s: float) -> bool:
        """Wait for a condition; return False after `timeout_s` seconds, or if the index is closed."""
        deadline = time.monotonic() + timeout_s
        with self._condition:
            while not condition():
                if token is not None:
                    token.check()
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0 or self.closed.cancelled:
                    return False
                self._condition.wait(min(remaining_s, _POLL_S))
        return True

    def root_states(self) -> list[RootState]:
        """Return the states of the roots that the machine has taken over."""
        return list(self.roots.values())

    def is_listed(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot has the files of every root."""
        return all(root.path in snapshot.listed for root in self.workspace.roots)

    @property
    def searchable(self) -> bool:
        """True if every known file has its symbols, terms and vectors."""
        return self._is_up_to_date and not self._inbox and all(state.complete for state in self.root_states())

    @property
    def usable(self) -> bool:
        """True if every known file has its symbols and terms, or is prescanned, so that a question can select it."""
        states = self.root_states()
        return self._is_up_to_date and all(s.walked and not s.pending_walks and not s.unprescanned for s in states)

    @property
    def is_reading(self) -> bool:
        """True if files of the workspace wait to be listed or read."""
        states = self.root_states()
        incomplete = len(states) < len(self.workspace.roots) or any(not s.walked or s.unread for s in states)
        return incomplete or self.paused

    @property
    def has_unread_changes(self) -> bool:
        """True if changed files wait to be read; files of a first scan do not count, nor those of a paused one."""
        states = self.root_states()
        if self.paused or len(states) < len(self.workspace.roots) or any(not state.was_read for state in states):
            return False
        return not self._is_up_to_date or any(state.has_unread_changes for state in states)

    @property
    def written(self) -> bool:
        """True if nothing is left to write, or writing has failed and is backing off."""
        states = self.root_states()
        return self.writer.is_backing_off or (
            not self.writer.writing
            and not any(state.unsaved_records and state.manifest is not None for state in states)
            and not self.writer.due_rows(self.publisher, states, self.workspace.unsaved)
        )

    @property
    def stored(self) -> bool:
        """True if everything is searchable and written."""
        return self.searchable and self.written

    @property
    def _is_up_to_date(self) -> bool:
        """True if all changes and roots of the workspace are taken over."""
        return self.applied_sequence >= self.workspace.sequence and len(self.roots) == len(self.workspace.roots)

"""Client of the index: snapshots, readers, waiting, search by workers, and status, for requests on any thread.

Nothing here changes the index.  A client can ask the indexer to read certain files first, or to check for changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.index_status import IndexState, IndexStatus, Phase
from promptls.index.machine import IndexMachine
from promptls.index.scan import jobs
from promptls.index.scan.root_state import DiskCheck, RootState, root_status
from promptls.index.search.analyzer import tokenize
from promptls.index.search.reader import IndexReader
from promptls.index.snapshot import Snapshot, SourceReader, with_files
from promptls.index.syntax.structural_search import parse_pattern
from promptls.index.workers.query_jobs import PatternMatches, QueryEmbedder, structural_search
from promptls.model import CancelToken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SNAPSHOT_TIMEOUT_S = 10.0
"""Seconds that a request waits for open documents to be indexed; then it uses their text with older outlines."""
LISTING_TIMEOUT_S, NAMES_TIMEOUT_S = 1.0, 1.0
"""Seconds that a request waits for the list of files, and for the files that probably define a name."""
CHANGES_TIMEOUT_S = 0.5
"""Seconds that a request with mentions waits for changed files: enough for a checkout of a few hundred files."""
REFRESH_TIMEOUT_S = 10.0
"""Seconds that `refresh` waits: longer than an edit of a thousand files takes, shorter than a client's patience."""
CHECK_PAUSE_FACTORS, MANY_FILES = (5, 50), 2_000
"""Minimum pause between checks of the disk, as a multiple of the duration of a check, and number of files above which the
second one counts.  A check of 1,000 files takes 2 ms; one of 5,000 files is as long as a third of a prompt."""
TERMS_TIMEOUT_S = 0.04
"""Seconds that a request waits for files that contain the terms of a question."""
MAX_DELAY_S = 0.1
"""Maximum seconds that the indexer waits for one request; a prompt takes about half."""
_URGENCY_POLL_S = 0.005
"""Seconds between two checks whether the indexer has become urgent."""
PAUSED_MESSAGE = "Indexing is paused; promptls/reindex resumes it."


class RequestPriority:
    """Priority of requests over indexing: the indexer defers scan results while a request is computing.  Any thread.

    Because of the GIL, a request that competes with many indexer events would take twice as long.  Urgent events (an
    edit, a file that a request needs) are never deferred, and a request delays the indexer by at most `MAX_DELAY_S`.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._deadlines: list[float] = []  # by running request: time.monotonic() until which the indexer waits

    @contextmanager
    def request_running(self) -> Iterator[None]:
        """Mark a request as running within the `with` block."""
        end = time.monotonic() + MAX_DELAY_S
        with self._condition:
            self._deadlines.append(end)
        try:
            yield
        finally:
            with self._condition:
                self._deadlines.remove(end)
                self._condition.notify_all()

    def yield_to_requests(self, is_urgent: Callable[[], bool]) -> None:
        """Wait for the requests that are running now, unless `is_urgent` returns True."""
        with self._condition:
            running = list(self._deadlines)  # later requests do not prolong the wait
            while any(end in self._deadlines and end > time.monotonic() for end in running) and not is_urgent():
                self._condition.wait(_URGENCY_POLL_S)


class ProgressRate:
    """Average speed of indexing since the index became incomplete.  Any thread may ask; one thread asks regularly."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None  # (time.monotonic(), progress) when it was first incomplete

    def seconds_left(self, progress: float) -> float | None:
        """Return the seconds until the index is complete, None if that is unknown."""
        now, since = time.monotonic(), self._since
        if progress >= 1 or since is None or progress < since[1]:
            self._since = None if progress >= 1 else (now, progress)
            return None
        began, first = since
        return (1 - progress) * (now - began) / (progress - first) if progress > first else None


class _ClientSnapshot(Struct, frozen=True):
    """The snapshot that a client has returned last: analyses of it are reused until it differs."""

    published: Snapshot
    texts: dict[str, str | None]  # of the files that are unsaved in another editor
    snapshot: Snapshot


class IndexClient:
    """Access to the index for requests.  All methods may be called from any thread; a cancelled token raises Cancelled."""

    def __init__(
        self,
        machine: IndexMachine,
        query_embedder: QueryEmbedder,
        priority: RequestPriority,
        rate: ProgressRate,
        of_all_editors: bool = False,
    ) -> None:
        """Create a client; `of_all_editors`: whether snapshots contain the unsaved text of other editors."""
        self._machine = machine
        self._of_all_editors = of_all_editors
        self._config = machine.config
        self._workspace = machine.workspace
        self._publisher = machine.publisher
        self._query_embedder = query_embedder
        self._priority = priority
        self._rate = rate
        self._last_snapshot: _ClientSnapshot | None = None

    # ---- reading

    def reader(self) -> IndexReader:
        """Return a reader of the chunk index, at least as new as any snapshot taken before."""
        return self._publisher.chunk_index.reader()

    def snapshot(self, token: CancelToken | None = None) -> Snapshot:
        """Return a snapshot that includes every document change made before this call."""
        sequence = self._workspace.sequence
        self._machine.wait(lambda: self._machine.document_sequence >= sequence, token, SNAPSHOT_TIMEOUT_S)
        published, last = self._publisher.snapshot, self._last_snapshot
        documents, differing = self._workspace.documents, self._workspace.differing
        if self._of_all_editors:
            documents, differing = self._workspace.all_documents, frozenset()
        snapshot = replace(published, documents=documents)
        texts = {path: SourceReader(snapshot, self._config.limits).text_of(path) for path in differing}
        is_current = last is not None and last.published is published and last.snapshot.documents is documents
        if last is not None and is_current and last.texts == texts:
            return last.snapshot
        # Files that are unsaved in another editor have the text that this editor shows.
        outline = self._machine.documents.outline_now
        entries = [(path, outline(path, text, None) if text is not None else None) for path, text in texts.items()]
        snapshot = with_files(snapshot, entries) if entries else snapshot
        self._last_snapshot = _ClientSnapshot(published, texts, snapshot)
        return snapshot

    def wait_for_changes(self, token: CancelToken | None = None, timeout_s: float = CHANGES_TIMEOUT_S) -> bool:
        """Wait until the files that are reported as changed are read; return False after `timeout_s` seconds."""
        return self._machine.wait(lambda: not self._machine.has_unread_changes, token, timeout_s)

    @property
    def has_unread_changes(self) -> bool:
        """True if files that are reported as changed wait to be read."""
        return self._machine.has_unread_changes

    def source_reader(self, snapshot: Snapshot, allow_secrets: bool = False) -> SourceReader:
        """Return a reader for the texts of a snapshot, which outlines files that have changed on disk."""
        return SourceReader(snapshot, self._config.limits, self._machine.documents.outline_now, allow_secrets)

    def is_partial(self, snapshot: Snapshot) -> bool:
        """Return whether files of the workspace were not listed or not read when a snapshot was taken."""
        return not self._machine.is_listed(snapshot) or not all(entry.scanned for entry in snapshot.files.values())

    # ---- files that a request needs before others

    def prioritize_names(self, names: Collection[str], token: CancelToken | None = None) -> Snapshot:
        """Read the waiting files that probably define one of the names; return a snapshot that contains them.

        Waits for `NAMES_TIMEOUT_S` at most.
        """
        return self._prioritize(self._machine.prescanner.files_defining(names, token), NAMES_TIMEOUT_S, token)

    def prioritize_terms(self, terms: Sequence[str], token: CancelToken | None = None) -> Snapshot:
        """Read the waiting files that match search terms best; return a snapshot that contains them.

        Waits for `TERMS_TIMEOUT_S` at most; files that take longer are available to the next request.
        """
        return self._prioritize(self._machine.prescanner.files_matching(terms), TERMS_TIMEOUT_S, token)

    def _prioritize(self, paths: Sequence[str], timeout_s: float, token: CancelToken | None) -> Snapshot:
        def are_read() -> bool:
            files = self._publisher.snapshot.files
            return all(entry is None or entry.scanned for entry in map(files.get, paths))

        if paths:
            self._workspace.touch(paths)
            self._machine.wait(are_read, token, timeout_s)
        return self.snapshot(token)

    def prescanned_names(self, prefix: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """Yield (name, path) of prescanned definitions in unread files, for names that start with `prefix`."""
        return self._machine.prescanner.names_starting_with(prefix, snapshot)

    def reconcile(self, after_s: float, patience_s: float = 0.15, cheaply: bool = False) -> None:
        """Check for changes on disk that the editor did not report, if the last check is older than `after_s` seconds.

        With `cheaply`, the check is also repeated if the last one is older than `CHECK_PAUSE_FACTORS` times its duration.

        A check is a `stat` of the known files and folders.  A walk follows if the folders have changed, and otherwise
        now and then in the background.  Changes are awaited for up to `patience_s` seconds, and otherwise applied in
        the background.  While files are still being indexed, walks are rarer and nothing is awaited.
        """
        now = time.monotonic()
        known = [s for s in self._machine.root_states() if s.walked and not s.pending_walks]
        factor = CHECK_PAUSE_FACTORS[len(self._publisher.snapshot.files) > MANY_FILES] if cheaply else 0
        due = [s for s in known if now - s.checked_at > _check_interval(s, after_s, factor)]
        patience_s = patience_s if self.searchable else 0.0
        found = [self._check_root(state) for state in due]  # of every root
        if any(found):
            self._machine.wait(lambda: self.searchable, None, patience_s)

    def refresh(self, token: CancelToken | None = None, timeout_s: float = REFRESH_TIMEOUT_S) -> bool:
        """Make everything written to disk before this call searchable; return False after `timeout_s` seconds.

        Clients that do not report changed files call this before each request.
        """
        deadline = time.monotonic() + timeout_s
        checked: set[RootState] = set()
        # A walk or check that runs already may have passed a file before it changed, so only later ones count.
        while self.wait_until_searchable(token, max(0.0, deadline - time.monotonic())):
            unchecked = [state for state in self._machine.root_states() if state not in checked]
            if not unchecked:
                return True
            for state in unchecked:
                if state.complete:  # otherwise another request has found a change since
                    self._check_root(state, all_files=True)
                    checked.add(state)
        return False

    def _check_root(self, state: RootState, all_files: bool = False) -> bool:
        """Check a root for changes on disk, and schedule reading them; return whether there are any."""
        began = time.monotonic()
        state.disk_check = DiskCheck(began, state.disk_check.seconds)  # other requests do not repeat it meanwhile
        modified = (
            jobs.check_staleness(state.root, state.folder_stats, self._publisher.snapshot, all_files)
            if state.complete
            else None
        )
        state.disk_check = DiskCheck(began, time.monotonic() - began)
        if modified is None:
            self._workspace.rescan([state.root.path])
        elif modified:
            self._workspace.touch(modified)
        elif state.is_walk_due(began):
            self._machine.post(lambda: state.schedule_walk(began))
        return modified is None or bool(modified)

    # ---- workers

    def start_worker(self) -> None:
        """Start the interactive worker before the first request needs it."""
        self._machine.pool.submit_interactive(lambda channel: channel.start())

    def query_vector(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a query, None if the model cannot be used."""
        vector = self._query_embedder.vector(text)
        if self._query_embedder.needs_retry:
            self._workspace.wake()  # the indexer has to schedule the retry
        return vector

    def start_shingles(self, shingles: Sequence[str]) -> Callable[[], NDArray[np.float32]]:
        """Start to embed shingles; the result returns float32[n, dimension], no rows if the model is not static or fails."""
        return self._query_embedder.start_shingles(shingles)

    def structural_search(
        self, pattern: str, paths: Sequence[str], token: CancelToken, seconds: float
    ) -> PatternMatches:
        """Search files of the latest snapshot for a structural pattern; only those with its words are parsed."""
        snapshot, reader, candidates = self._publisher.snapshot, self.reader(), paths
        for terms in filter(None, map(tokenize, parse_pattern(pattern).words)):
            with_word = reader.paths_with(terms)
            candidates = [path for path in candidates if path in with_word or path in snapshot.documents]
        candidates = candidates or paths[:1]  # the languages of the result show whether the pattern is valid
        found = structural_search(self._machine.pool, pattern, candidates, snapshot, token, seconds)
        return replace(found, searched=found.searched + len(paths) - len(candidates))

    def foreground(self) -> AbstractContextManager[None]:
        """Return a context manager that defers indexing while a request computes; take the snapshot before."""
        return self._priority.request_running()

    # ---- progress

    def wait_until_listed(self, token: CancelToken | None = None) -> bool:
        """Wait up to `LISTING_TIMEOUT_S` until all files are listed; return False after a timeout."""
        return self._machine.wait(lambda: self._machine.is_listed(self._publisher.snapshot), token, LISTING_TIMEOUT_S)

    def wait_until_searchable(self, token: CancelToken | None = None, timeout_s: float = 3600.0) -> bool:
        """Wait until all known files are searchable; return False after `timeout_s` seconds."""
        return self._machine.wait(lambda: self.searchable, token, timeout_s)

    def wait_until_stored(self, token: CancelToken | None = None, timeout_s: float = 3600.0) -> bool:
        """Wait until all known files are searchable and written to disk; return False after `timeout_s` seconds."""
        return self._machine.wait(lambda: self.stored, token, timeout_s)

    @property
    def searchable(self) -> bool:
        """True if every known file has its symbols, terms and vectors."""
        return self._machine.searchable

    @property
    def stored(self) -> bool:
        """True if everything is searchable and written, or the disk accepts no writes."""
        return self._machine.stored

    @property
    def usable(self) -> bool:
        """True if every known file has its symbols and terms, or is prescanned, so that a question can select it."""
        return self._machine.usable

    @property
    def is_reading(self) -> bool:
        """True if files of the workspace wait to be listed or read."""
        return self._machine.is_reading

    @property
    def progress_flags(self) -> tuple[bool, bool, bool]:
        """(usable, searchable, writing): while it is unchanged, little but counts has changed."""
        return self.usable, self.searchable, self._machine.writer.writing

    def state(self) -> IndexState:
        """Return the current state of the index, without counting its contents."""
        states = self._machine.root_states()
        problems = (
            self._machine.pool.problem,
            *(state.error for state in states),
            PAUSED_MESSAGE if self._machine.paused else "",
            self._query_embedder.problem,
        )
        problem = next(filter(None, problems), "")
        phase: Phase = "indexing" if all(state.walked for state in states) else "scanning"
        if self.searchable and (self._machine.written or problem):
            phase = "degraded" if problem else "ready"
        snapshot = self._publisher.snapshot
        state = IndexState(
            phase,
            snapshot.generation,
            files=len(snapshot.files),
            unread=sum(state.unread for state in states),
            pending=sum(len(state.pending) for state in states),
            problem=problem,
            usable=self.usable,
        )
        return replace(state, seconds_left=self._rate.seconds_left(state.progress))

    def status(self) -> IndexStatus:
        """Return the state of the index with the counts of every root."""
        state = self.state()  # before counting, so that the counts are not older
        publisher = self._publisher
        roots = tuple(root_status(s, publisher.root_counts(s.root.path)) for s in self._machine.root_states())
        return IndexStatus(
            state,
            roots,
            self._config.embedding.model,
            self._machine.dimension or 0,
            self._machine.pool.problem,
            publisher.embedded_chunks,
        )


def _check_interval(state: RootState, after_s: float, factor: int) -> float:
    """Return the minimum seconds between two checks of the disk for changes in a root."""
    if not state.complete:
        return state.backoff_interval(after_s)
    return min(after_s, factor * state.disk_check.seconds) if factor else after_s

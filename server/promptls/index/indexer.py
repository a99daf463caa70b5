"""The loop that keeps the index in step with the workspace: take what is dirty → outline → publish →
embed what is new → store.

One thread runs the loop and is the only one to publish; worker processes parse and embed; walks and writes
have a thread each.  Results come back as events in the inbox.  Open buffers go first and are never behind
a scan.  Knows nothing of LSP, mentions or prompts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from promptls.index import files as disk
from promptls.index.config import IndexConfig
from promptls.index.embedding.embedder import model_identity
from promptls.index.prescan.scheduler import FirstLook
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.jobs import Embedded, Known, Outlined
from promptls.index.scan.open_buffers import Buffers
from promptls.index.scan.priority import Precedence
from promptls.index.scan.root_state import RootState, status_of
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import Rows
from promptls.index.snapshot import Snapshot, Sources
from promptls.index.status import Standing, State, Status, why
from promptls.index.store.recovery import Opening
from promptls.index.store.row_store import Store
from promptls.index.store.writer import Writer, unwritten
from promptls.index.workers.client import PatternMatches, Questions, find_matches
from promptls.index.workers.pool import Pool
from promptls.index.workspace import Dirty, Workspace
from promptls.model import Cancelled, CancelToken, FileEntry, Root
from promptls.settings import BUNDLED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

VIEW_TIMEOUT_S = 10.0
"""How long a request waits for buffers; then it goes on with their texts and older outlines."""
SWEEP_EVERY_S = 120.0
PAUSED = "Indexing was stopped; promptls/reindex goes on with it."
TRIES = 3
"""A file on which workers have died so often, beside the tries of each time, stays as it is known without a grammar."""
LISTING_S, READ_AHEAD_S = 1.0, 1.0
"""Seconds that somebody who asks for a place waits for the list of files, and for those that seem to define it."""
LIKELY_S = 0.04
"""Seconds that a question waits for files that hold its words."""
FEW_FILES = 8
"""Up to so many changed files are outlined ahead of bulk work."""


class Indexer:
    """Start with `start`, end with `close`.  Public methods may be called from any thread."""

    def __init__(
        self, config: IndexConfig, workspace: Workspace | None = None, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        self.workspace = workspace or Workspace()
        self._on_change = on_change
        # One index, one model, whatever becomes of its files.
        model = model_identity(config.embedding) if config.embedding.model != BUNDLED else ""
        self._pool = Pool(config.configure(model), config.workers)
        self._questions = Questions(self._pool)
        self._roots: dict[str, RootState] = {}
        self._publisher = Publisher()
        self._buffers = Buffers(self._publisher, self._pool, self.workspace, config.limits, self._root_state)
        self._writer = Writer(
            lambda *keys: self._post(lambda: self._written(*keys)), lambda *damage: self._opening.damaged(*damage)
        )
        self._closed = CancelToken()
        self._opening = Opening(
            config, model, self._roots, self._pool, self._publisher, self._writer, self._closed, self._post, self._store_opened,
            self._again,
        )  # fmt: skip
        self._walker = ThreadPoolExecutor(1, "index-walk")
        self._first_look = FirstLook(self._publisher, self._pool, config.limits, self._post, self._walker)
        self._precedence = Precedence()
        self._inbox: deque[Callable[[], None]] = deque()
        self._progress = threading.Condition()
        self._sequence = 0  # of the ground state whose buffers the snapshot shows
        self._taken = 0  # of the ground state that all of has been taken in, or is pending
        self._paused = False
        self._bare = 0  # texts without a vector when that was last tried to be mended
        self._why_bare = ""
        self._thread = threading.Thread(target=self._run, daemon=True, name="indexer")

    def start(self) -> None:
        """Start the loop; workers and stores start with the first root."""
        self._thread.start()

    def close(self) -> None:
        """Stop everything; what is not written is derived again at the next start."""
        self._closed.cancel()
        for state, parts in unwritten(self._publisher, list(self._roots.values()), self.workspace.unsaved):
            if state.store is not None:
                state.store.put_off(parts)
        self.workspace.close()
        self._pool.close()
        self._writer.close()
        self._walker.shutdown(wait=False, cancel_futures=True)
        with self._progress:
            self._progress.notify_all()
        for state in list(self._roots.values()):
            if state.manifest is not None:
                state.manifest.close()
            if state.store is not None:
                state.store.close()

    def pause(self) -> None:
        """Stop bulk work until `resume`; open buffers and single files are kept up to date.  Any thread."""
        self._post(self._pause)

    def resume(self) -> None:
        """Go on with bulk work at the next walk.  Any thread."""
        self._post(self._resume)

    # ---- for requests

    def columns(self) -> IndexReader:
        """What a search scans; at least as new as the snapshot taken before."""
        return self._publisher.columns.view()

    def view(self, token: CancelToken | None = None) -> Snapshot:
        """A snapshot that shows every change of a buffer that was applied before this call."""
        wanted = self.workspace.sequence
        self._wait(lambda: self._sequence >= wanted, token, VIEW_TIMEOUT_S)
        return replace(self._publisher.snapshot, documents=self.workspace.documents)

    def wait_listed(self, token: CancelToken | None = None) -> bool:
        """Wait until all files are known by name, for a moment at the most.  Raises Cancelled."""
        return self._wait(lambda: all(s.walked for s in list(self._roots.values())), token, LISTING_S)

    def read_ahead(self, names: Collection[str], token: CancelToken | None = None) -> Snapshot:
        """A view in which those files that seem to define these names are read, though others wait before them.

        Waits for that some seconds at the most.  Raises Cancelled.
        """
        return self._read(self._first_look.defining(names, token), READ_AHEAD_S, token)

    def read_likely(self, terms: Sequence[str], token: CancelToken | None = None) -> Snapshot:
        """A view in which those files that hold most of these search terms are read, though others wait before them.

        Waits for that only a moment: what comes later is there for the next question.  Raises Cancelled.
        """
        return self._read(self._first_look.holding(terms), LIKELY_S, token)

    def _read(self, paths: Sequence[str], seconds: float, token: CancelToken | None) -> Snapshot:
        def are_read() -> bool:
            files = self._publisher.snapshot.files
            return all(entry is None or entry.read for entry in map(files.get, paths))

        if paths:
            self.workspace.touch(paths)
            self._wait(are_read, token, seconds)
        return self.view(token)

    def names_waiting(self, start: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """(name, file) of what files that are not read in a snapshot seem to define, by names that begin so."""
        return self._first_look.named(start, snapshot)

    def sources(self, snapshot: Snapshot, secrets: bool = False) -> Sources:
        """Texts of a snapshot, outlined anew where the disk has moved on."""
        return Sources(snapshot, self.config.limits, self._buffers.outline_now, secrets)

    def stores(self) -> tuple[Store, ...]:
        """The stores that are open, one a root."""
        return tuple(s.store for s in list(self._roots.values()) if s.store is not None)

    def awaken(self) -> None:
        """Have the worker started that a user waits for, before one does."""
        self._pool.interactive(lambda channel: channel.start())

    def query_vector(self, text: str) -> NDArray[np.float32] | None:
        """The vector of a question, None when the model cannot be used."""
        vector = self._questions.vector(text)
        if self._questions.waiting:
            self.workspace.nudge()  # or the next try would wait for whatever happens next
        return vector

    def matches(self, pattern: str, paths: Sequence[str], token: CancelToken, seconds: float) -> PatternMatches:
        """Where a structural pattern matches in these files of the latest snapshot; see `find_matches`."""
        return find_matches(self._pool, pattern, paths, self._publisher.snapshot.documents, token, seconds)

    def reconcile(self, after_s: float, patience_s: float = 0.15) -> None:
        """Look for changes on disk that nobody has told us of, if the last look is older than `after_s`.

        A look is a stat of what is known; a walk follows if that has changed, and otherwise now and then when nobody
        waits for it.  Waits for what is found as long as that is quick; a larger change is taken in in the background.
        While there is much to take in anyway nobody waits, and walks are rarer.
        """
        now = time.monotonic()
        known = [s for s in list(self._roots.values()) if s.walked and not s.walks]
        late = [s for s in known if now - s.looked_at > (after_s if s.complete else s.rarely(after_s))]
        patience_s = patience_s if self.searchable else 0.0
        found = False
        for state in late:
            state.looked_at = now
            looked = jobs.look(state.root, state.seen, self._publisher.snapshot) if state.complete else None
            if looked is None:
                self.workspace.rescan([state.root.path])
            elif looked:
                self.workspace.touch(looked)
            else:
                state.walk_later(now)
                self.workspace.nudge()
                continue
            found = True
        if found:
            self._wait(lambda: self.searchable, None, patience_s)

    def undisturbed(self) -> AbstractContextManager[None]:
        """While this is held, what a scan brings is taken in a little later; for requests that have their view."""
        return self._precedence.taken()

    def wait_ready(self, token: CancelToken | None = None, timeout_s: float = 3600.0) -> bool:
        """Wait until everything known is searchable; False when that took longer than `timeout_s`."""
        return self._wait(lambda: self.searchable, token, timeout_s)

    def wait_stored(self, token: CancelToken | None = None, timeout_s: float = 3600.0) -> bool:
        """Wait until everything known is on disk too."""
        return self._wait(lambda: self.stored, token, timeout_s)

    @property
    def searchable(self) -> bool:
        """Whether every known file has its symbols, keywords and vectors in place."""
        states = list(self._roots.values())
        return (
            self._taken >= self.workspace.sequence
            and not self._inbox
            and len(states) == len(self.workspace.roots)
            and all(s.complete for s in states)
        )

    @property
    def stored(self) -> bool:
        """Whether all of that is on disk too, or has to wait for a disk that takes nothing."""
        return self.searchable and self._stored

    @property
    def phase(self) -> tuple[bool, bool, bool]:
        """(usable, searchable, being written): while it is the same, hardly anything but counts has changed."""
        return self.usable, self.searchable, self._writer.writing

    @property
    def usable(self) -> bool:
        """Whether every known file has its symbols and keywords in place, or is known well enough to be read before
        others for a question that needs it."""
        states = list(self._roots.values())
        return (
            self._taken >= self.workspace.sequence
            and len(states) == len(self.workspace.roots)
            and all(s.walked and not s.walks and not s.unknown for s in states)
        )

    @property
    def reading(self) -> bool:
        """Whether files of the workspace wait to be listed or read."""
        states = list(self._roots.values())
        waits = len(states) < len(self.workspace.roots) or any(not s.walked or s.unread for s in states)
        return waits or self._paused

    def partial(self, snapshot: Snapshot) -> bool:
        """Whether files of the workspace were not listed or not read when a snapshot was taken."""
        listed = all(s.walked for s in list(self._roots.values()))
        return not listed or not all(entry.read for entry in snapshot.files.values())

    @property
    def _stored(self) -> bool:
        states = list(self._roots.values())
        return self._writer.pausing or (
            not self._writer.writing
            and not any(s.records and s.manifest is not None for s in states)
            and not self._writer.due(self._publisher, states, self.workspace.unsaved)
        )

    def standing(self) -> Standing:
        """How far the index is."""
        states = list(self._roots.values())
        troubles = (
            self._pool.problem,
            *(s.error for s in states),
            PAUSED if self._paused else "",
            self._questions.problem,
        )
        trouble = next(filter(None, troubles), "")
        state: State = "indexing" if all(s.walked for s in states) else "scanning"
        if self.searchable and (self._stored or trouble):
            state = "degraded" if trouble else "ready"
        known = self._publisher.snapshot
        return Standing(
            state,
            known.generation,
            files=len(known.files),
            unread=sum(s.unread for s in states),
            pending=sum(len(s.pending) for s in states),
            trouble=trouble,
            usable=self.usable,
        )

    def status(self) -> Status:
        """Where the index stands, with everything counted."""
        standing = self.standing()  # first: what is counted later cannot be older than what it says
        roots = tuple(status_of(s, self._publisher.tally(s.root.path)) for s in list(self._roots.values()))
        model, problem = self.config.embedding.model, self._pool.problem
        return Status(standing, roots, model, self._opening.dimension or 0, problem, self._publisher.embedded)

    def _wait(self, ready: Callable[[], bool], token: CancelToken | None, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        with self._progress:
            while not ready():
                if token is not None:
                    token.check()
                left = deadline - time.monotonic()
                if left <= 0 or self._closed.cancelled:
                    return False
                self._progress.wait(min(left, 0.05))
        return True

    # ---- the loop

    def _run(self) -> None:
        while (dirty := self.workspace.take(timeout=self._rest())) is not None:
            try:
                self._step(dirty)
            except Exception:
                if self._closed.cancelled:
                    return
                log.exception("the indexer failed on a change and goes on")
            self._tell()
            self._on_change()

    def _rest(self) -> float:
        """Seconds until something is to be looked at though nothing has changed."""
        pauses = [self._writer.pause.remaining_s] if self._writer.pausing else []
        if self._publisher.fresh and (patience := self._writer.patience):
            pauses.append(patience)
        now = time.monotonic()
        pauses += [max(0.0, state.walk_at - now) for state in self._roots.values() if state.walk_at]
        if not self._opening.trying and any(state.lacking for state in self._roots.values()):
            pauses.append(self._opening.pause.remaining_s)
        if self._questions.waiting:
            pauses.append(self._questions.pause.remaining_s)
        return min([*pauses, SWEEP_EVERY_S])

    def _step(self, dirty: Dirty) -> None:
        self._follow_roots(dirty.roots)
        self._buffers.follow(dirty)
        self._sequence = max(self._sequence, dirty.sequence)
        self._tell()
        if dirty.paths:
            self._look_at(dirty.paths)
        now = time.monotonic()
        due = {state.root.path for state in self._roots.values() if 0 < state.walk_at <= now}
        for root in {*dirty.rescan, *due}:
            if (state := self._roots.get(root)) is not None:
                state.walk_at = 0.0
                state.walks += 1
                self._walker.submit(self._walk, state, root in dirty.full)
        if dirty.full:
            self._writer.retry()
            self._opening.pause.end()
        self._taken = max(self._taken, dirty.sequence)
        while self._inbox:  # an event stays there until it is over: nobody sees half of it as complete
            self._precedence.give(self._needed)
            try:
                self._inbox[0]()
            except Exception:  # the others have come for something else
                if self._closed.cancelled:
                    return
                log.exception("the indexer failed on an event and goes on")
            finally:
                self._inbox.popleft()
            self._tell()
        self._writer.flush(self._publisher, self._roots.values(), self.workspace.unsaved)
        self._writer.sweep(self.stores())
        self._opening.tend()
        self._tell_bare()
        self._opening.try_again()
        self._questions.again(self.workspace.nudge)

    def _needed(self) -> bool:
        """Whether somebody may wait for the next event: something has changed that is not taken in yet, or nothing but
        events is between the index and being complete."""
        changed = self.workspace.sequence > self._sequence
        return changed or self._closed.cancelled or not any(state.pending for state in self._roots.values())

    def _pause(self) -> None:
        self._paused = any(state.pending for state in self._roots.values())
        if self._paused:
            self._pool.drop_bulk()

    def _resume(self) -> None:
        self._paused = False

    def _tell(self) -> None:
        with self._progress:
            self._progress.notify_all()

    def _post(self, event: Callable[[], None]) -> None:
        self._inbox.append(event)
        self.workspace.nudge()

    def _root_state(self, path: str) -> RootState | None:
        root = self._publisher.snapshot.root_of(path)
        return self._roots.get(root.path) if root else None

    # ---- roots

    def _follow_roots(self, roots: tuple[Root, ...]) -> None:
        snapshot = self._publisher.snapshot
        if roots == snapshot.roots:
            return
        before = set(self._roots)
        self._opening.tend_soon()
        self._publisher.snapshot = replace(snapshot, roots=roots)
        for path in before - {r.path for r in roots}:
            state = self._roots.pop(path)
            self._publisher.publish({p: None for p, e in snapshot.files.items() if e.root == path})
            if state.store is not None:
                self._publisher.lost(state.store.keys)
                self._writer.submit(state.store.close)
            if state.manifest is not None:
                self._writer.submit(state.manifest.close)
        for left in self._roots.values():
            self._queue_lost(left)  # what they share with a root that is gone
        for root in roots:
            if root.path in before:
                self._roots[root.path].root = root  # it may have another name
            else:
                self._roots[root.path] = state = RootState(root)
                self._walker.submit(self._open_root, state)
                self._opening.open(state)
        every = before | {root.path for root in roots}
        if before and any(b.startswith(a.rstrip("/") + "/") for a in every for b in every - {a}):
            self.workspace.rescan(before)  # a nested root takes files from the one around it, or gives them back

    def _open_root(self, state: RootState) -> None:
        """Walk a new root and recall what is known of its files (walk thread)."""
        self._walk_and_post(state, self._opening.recall(state))

    def _walk(self, state: RootState, full: bool) -> None:
        files = self._publisher.snapshot.files
        mine = {p: e for p, e in files.items() if e.root == state.root.path}
        self._walk_and_post(state, mine, live=True, full=full)

    def _walk_and_post(
        self, state: RootState, recalled: Mapping[str, FileEntry], live: bool = False, full: bool = False
    ) -> None:
        state.seen = None
        began, began_ns = time.monotonic(), time.time_ns()
        try:
            found = jobs.walk(state.root, self.config.limits, self._closed)
            state.trouble("folder", jobs.nothing_found(state.root) if not found else "")
            state.trouble("limit", jobs.cut_short(state.root, len(found), self.config.limits))
        except Cancelled:
            return
        except Exception as error:
            log.exception("cannot walk %s", state.root.path)
            state.trouble("folder", f"The folder cannot be listed ({why(error)}); it is tried again from time to time.")
            self._post(state.walk_finished)  # what is not seen is not gone
            return
        state.walk_took = time.monotonic() - began
        self._post(lambda: self._walked(state, found, recalled, live, full))
        try:
            state.seen = disk.remember(state.root.path, found, self.config.limits, began_ns)
        except OSError as error:
            log.info("the next look at %s will be a walk: %s", state.root.path, error)

    def _store_opened(self, state: RootState) -> None:
        if state.walked:
            self._queue_lost(state)

    def _again(self, states: Sequence[RootState]) -> None:
        """Have files looked at again of which something was lacking (writer thread)."""
        for state in states:
            state.again = bool(state.failed) or "vectors" in state.troubles
        if states:
            self.workspace.again(self._buffers.again())
        again = [s.root.path for s in states if s.again or "folder" in s.troubles]
        if again:
            self.workspace.rescan(again)

    def _walked(
        self, state: RootState, found: list[disk.Found], recalled: Mapping[str, FileEntry], live: bool, full: bool
    ) -> None:
        """Compare what a walk found with what is known; queue the difference."""
        if self._roots.get(state.root.path) is not state:
            return
        try:
            mine = {f.path: f for f in found if self._root_state(f.path) is state}
            changes, stale = jobs.compare(mine, recalled, self._publisher.snapshot, state.root, live, full)
            gone = {e.name for path, e in recalled.items() if path not in mine and (not live or path in changes)}
            if any(self.config.limits.policy.refusal(name) for name in gone):
                self._opening.purge(state)
            state.records |= dict.fromkeys(gone)
            self._publisher.publish(changes)
            state.drop(path for path, entry in changes.items() if entry is None)
            self._buffers.judge_again(state)
            if state.again:
                stale = [*stale, *(path for path in {*state.failed, *self._bare_files(state)} if path in mine)]
                state.again = False
                state.failed.clear()
                state.trouble("files")
            self._queue(state, self._not_waiting(state, stale))
            if state.store is not None:
                self._queue_lost(state)
        finally:
            state.walk_finished()

    def _not_waiting(self, state: RootState, stale: Iterable[str]) -> list[str]:
        """Those of these files that no worker is to read anyway."""
        files, out = self._publisher.snapshot.files, []
        for path in stale:
            entry = files.get(path)
            if path in state.pending and entry is not None and not entry.outlined and not entry.skipped:
                state.dropped.discard(path)  # it may have been away for a moment
            else:
                out.append(path)
        return out

    def _bare_files(self, state: RootState) -> list[str]:
        """Files with texts that lack a vector: one to see whether the model can be used by now, then all of them."""
        count, paths = self._publisher.columns.bare()
        mine = [p for p in sorted(paths) if self._root_state(p) is state and p not in self.workspace.documents]
        better, self._bare = count < self._bare, count
        return mine if better else mine[:1]

    def _tell_bare(self) -> None:
        """Say so if texts lack a vector though there are vectors, and go on at once where that is getting better."""
        count = self._publisher.columns.bare()[0] if self._opening.dimension else 0
        self._why_bare = self._pool.problem or self._why_bare if count else ""
        said = f"{count:,} passages are found by words only: {self._why_bare or 'the model cannot be used just now.'}"
        for state in self._roots.values():
            state.trouble("vectors", said if count else "")
        if 0 < count < self._bare:
            self._opening.pause.end()

    def _queue_lost(self, state: RootState) -> None:
        """Files whose rows are nowhere (a damaged or swept store) are embedded again."""
        files = self._publisher.snapshot.files
        lost = [
            path
            for path in sorted(self._publisher.columns.unmade())
            if path in files
            and files[path].root == state.root.path
            and path not in state.pending
            and path not in self.workspace.documents
        ]
        if self._opening.dimension:
            self._queue(state, lost)

    # ---- files on disk

    def _look_at(self, paths: Iterable[str]) -> None:
        """Files that may have changed on disk: sort them into gone, ignored and to be outlined."""
        for state in list(self._roots.values()):
            touched = [p for p in paths if self._root_state(p) is state]
            if any(jobs.changes_rules(p) or disk.is_folder(p) for p in touched):  # rules count as they are on disk
                self.workspace.rescan([state.root.path])
            mine = [p for p in touched if p not in self.workspace.documents]
            if not mine:
                continue
            try:
                present, gone = jobs.sort_out(state.root, mine, self._publisher.snapshot, self.config.limits)
            except OSError as error:
                state.trouble(
                    "folder", f"Changes cannot be looked at ({why(error)}); it is tried again from time to time."
                )
                continue  # the next walk finds them
            if gone:
                self._publisher.publish(dict.fromkeys(gone))
                state.drop(gone)
                state.records |= dict.fromkeys(state.name_of(path) for path in gone)
            self._queue(state, present)

    def _queue(self, state: RootState, paths: Iterable[str], again: bool = False) -> None:
        """Hand files to the workers; each batch reports outlines, then rows, then that it is done.

        Vectors come when all outlines are there; at once for a few files, and for those done `again`.
        """
        wanted = list(dict.fromkeys(paths))
        if self._paused and len(wanted) > FEW_FILES:
            return
        state.dropped.difference_update(wanted)
        for path in wanted:
            state.job_begins(path)
        few = len(wanted) <= FEW_FILES and state.store_ready.done()
        submit = self._pool.interactive if few else self._pool.bulk
        known = Known(self._publisher.seen, state.store_ready)
        self._first_look.begin(state, wanted)

        def report(event: Outlined | Embedded) -> None:
            self._post(lambda: self._report(state, event))

        for batch in jobs.batches(wanted, self._publisher.snapshot):
            state.outlining += 1
            state.unread += len(batch)
            future = submit(jobs.job(batch, known, report, later=not (few or again)))
            future.add_done_callback(lambda f, b=batch: self._post(lambda: self._finished(state, b, f)))  # type: ignore[misc]

    def _embed_later(self, state: RootState, event: Outlined) -> None:
        """Have the worker that holds the texts make their vectors, when all files are outlined."""
        paths = tuple(scan.path for scan in event.scans)
        for path in paths:
            state.job_begins(path)
        known = Known(self._publisher.seen, state.store_ready)
        report = lambda done: self._post(lambda: self._report(state, done))  # noqa: E731
        job = jobs.embedding_job(event.rows, known, report)
        assert event.channel is not None
        future = self._pool.later(event.channel, job, len(event.rows))
        future.add_done_callback(lambda f: self._post(lambda: self._embedded(state, paths, event.rows, f)))

    def _embedded(self, state: RootState, paths: tuple[str, ...], rows: Rows, future: Future[None]) -> None:
        """Files of which the worker has lost a text meanwhile are begun anew, at one go."""
        for path in paths:
            state.job_finished(path)
        if self._roots.get(state.root.path) is state and not all(map(self._publisher.known, rows.keys)):
            files, documents = self._publisher.snapshot.files, self.workspace.documents
            self._queue(state, [p for p in paths if p in files and p not in documents], again=True)

    def _report(self, state: RootState, event: Outlined | Embedded) -> None:
        if self._roots.get(state.root.path) is not state:
            return
        if isinstance(event, Embedded):
            self._publisher.publish({}, event.rows, event.without)
            return
        changes: dict[str, FileEntry | None] = {}
        later: list[str] = []
        for scan in event.scans:
            if scan.path in self.workspace.documents or scan.path in state.dropped:
                continue
            now, known = disk.stat(scan.path), self._publisher.snapshot.files.get(scan.path)
            if now is not None and now != (scan.size, scan.mtime_ns):  # it has changed since it was read
                later.append(scan.path)
                if known is not None and now == (known.size, known.mtime_ns):
                    continue
            entry = None if now is None else jobs.entry_of(scan, state.root, state.name_of(scan.path))
            changes[scan.path] = state.records[state.name_of(scan.path)] = entry
        if later:
            self.workspace.touch(later)
        for path, changed in changes.items():
            named_only = changed is not None and bool(changed.skipped)
            if event.problem and (named_only or state.tries.get(path, 0) < TRIES):
                state.files_failed([path], event.problem)
                state.records[state.name_of(path)] = None  # the next start tries again
            else:
                state.tries.pop(path, None)
        self._publisher.publish(changes, event.rows)
        if event.channel is not None and event.rows.keys:
            self._embed_later(state, event)

    def _finished(self, state: RootState, batch: tuple[str, ...], future: Future[None]) -> None:
        state.outlining -= 1
        state.unread -= len(batch)
        state.unknown.difference_update(batch)
        for path in batch:
            state.job_finished(path)
        if not self.reading:
            self._first_look.end()
        if not future.cancelled() and (error := future.exception()) is not None:
            log.error("a batch of %d files failed: %s", len(batch), error)
            state.files_failed(batch, why(error))
        if state.outlining == self.config.workers and state.store is not None and not state.store.keys:
            self._writer.submit(state.store.awaken)  # the last files are in work, and the first rows follow

    def _written(self, stored: list[bytes], swept: list[bytes]) -> None:
        self._writer.writing = False
        self._publisher.lost(swept)
        self._publisher.stored(stored)
        for state in self._roots.values() if swept else ():
            self._queue_lost(state)  # texts that came back while they were swept

"""Writing rows and records, in few large writes, on one thread of its own.

Rows go first, so that a record never promises rows that are not there; the image, a copy for the next start, goes
last, and nobody waits for it.  What belongs to unsaved text only is not written.  `flush` is called by the indexer's thread after every step; it decides whether a write is due.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from promptls.index.publisher import Publisher
from promptls.index.scan.root_state import RootState
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import Rows
from promptls.index.snapshot import Snapshot
from promptls.index.store.lance_table import VERSIONS_KEPT, reason
from promptls.index.store.row_store import Store, StoreFailed
from promptls.index.workers.memory import trim
from promptls.model import FileEntry
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

FLUSH_ROWS, FLUSH_SHARE, MOST_ROWS = 2_000, 16, 8_000
"""Rows gathered before they are written while a scan runs, at least and at most; between these, one for so many that
are stored.  LanceDB wants few, large writes: what a scan has written in many small ones is soon joined, and lies there
twice until the old ones may go."""

FEW_ROWS, LAZY_S = 200, 30.0
"""Fewer rows than this are not written within so many seconds after others: each write wakes a process."""

SWEEP_S = VERSIONS_KEPT.total_seconds() + 30
"""After the last write; then nothing is written until something changes."""

Batch = list[tuple[RootState, list[Rows]]]
Records = list[tuple[RootState, dict[str, FileEntry | None]]]
Shown = list[tuple[Store, Sequence[bytes], bytes]]
"""What `Store.show` is to be given: (store, keys, version)."""


class Writer:
    """`written` is called on the writer thread after each write, with the keys that are in a store now and those that
    no longer are; `damaged` when a store cannot even be read."""

    def __init__(
        self, written: Callable[[list[bytes], list[bytes]], None], damaged: Callable[[Store, BaseException], None]
    ) -> None:
        self._written = written
        self._damaged = damaged
        self._thread = ThreadPoolExecutor(1, "index-store")
        self.writing = False
        self.pause = Backoff()
        self._unkept: Records = []  # of a write that failed
        self._lazy_until = 0.0  # time.monotonic() until which a few rows wait for more
        self._stale_since = 0.0  # time.monotonic() of the last write whose old versions are still there

    def submit(self, work: Callable[[], object]) -> None:
        """Run something on the writer thread, between writes."""
        self._thread.submit(work)

    def sweep(self, stores: Iterable[Store]) -> None:
        """Have versions removed that nobody can be reading any more, if there are any; call it now and then."""
        if self._stale_since and not self.writing and time.monotonic() - self._stale_since > SWEEP_S:
            self._stale_since = 0.0
            for store in stores:
                self._thread.submit(_drop_old_versions, store)

    def retry(self) -> None:
        """Forget that writes have failed: the user asks for it."""
        self.pause.end()
        self._lazy_until = 0.0

    def close(self) -> None:
        """Finish the write that runs, drop those that wait."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def flush(self, publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> None:
        """Begin a write if there is enough to write, or something and nothing else is going on."""
        if self.writing or self.pausing:
            return
        mine = list(states)
        while self._unkept:
            again, old = self._unkept.pop()
            again.records = {**old, **again.records}
        idle = all(s.complete for s in mine)
        if not idle and sum(map(len, publisher.fresh)) < self._enough(mine):
            return
        rows = self.due(publisher, mine, unsaved)
        if idle and not rows:
            for state in mine:
                if state.store is not None and "rows" in state.troubles and not unwritten(publisher, [state], unsaved):
                    state.trouble("rows")  # what could not be written is not there any more
        records = [(s, s.records) for s in mine if s.records and s.manifest is not None]
        behind = idle and any(s.store is not None and s.store.behind for s in mine)
        if not rows and not records and not behind:
            return
        for state, _ in records:
            state.records = {}
        self.writing = True
        self._thread.submit(self._write, mine, rows, records, publisher.columns.view(), publisher.snapshot, idle)

    @property
    def pausing(self) -> bool:
        """Whether the last write failed and the next one has to wait."""
        return self.pause.remaining_s > 0

    @property
    def patience(self) -> float:
        """Seconds for which a few rows still wait for more; 0 if they are due."""
        return max(0.0, self._lazy_until - time.monotonic())

    def _enough(self, states: Iterable[RootState]) -> int:
        stored = sum(len(state.store.keys) for state in states if state.store is not None)
        return min(max(FLUSH_ROWS, stored // FLUSH_SHARE), MOST_ROWS)

    def due(self, publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> Batch:
        """What is to be written now: a few rows of edits wait for more of them."""
        few = sum(map(len, publisher.fresh)) < FEW_ROWS
        if few and self.patience:
            return []
        return unwritten(publisher, states, unsaved)

    def _write(
        self, states: list[RootState], rows: Batch, records: Records, view: IndexReader, snapshot: Snapshot, idle: bool
    ) -> None:
        keys: list[bytes] = []
        swept: list[bytes] = []
        shown: Shown = []
        failed = True
        try:
            failed = not self._written_all(states, rows, records, view, snapshot, idle, keys, swept, shown)
        except Exception:
            log.exception("what was to be written is written later")
        self._stale_since = time.monotonic()
        if rows:
            self._lazy_until = time.monotonic() + LAZY_S if idle and not failed else 0.0
        self.pause.record(failed)
        self._written(keys, swept)
        for store, new, before in shown:
            store.show(view, new, before)
        if idle:
            trim()

    def _written_all(
        self,
        states: list[RootState],
        rows: Batch,
        records: Records,
        view: IndexReader,
        snapshot: Snapshot,
        idle: bool,
        keys: list[bytes],
        swept: list[bytes],
        shown: Shown,
    ) -> bool:
        """Write, and tell whether all went well.

        Notes in `keys` and `swept` whose rows there are and are no longer, in `shown` which images are to follow.
        """
        failed = False
        for state in states:
            if state.store is not None and state.store.gone:
                self._damaged(state.store, StoreFailed("somebody has deleted it"))
        for state, new in rows:
            try:
                assert state.store is not None
                before = state.store.version
                state.store.add(new)
                added = [key for part in new for key in part.keys]
                keys += added
                swept += state.store.tidy(view.count, view.living)
                if idle:
                    state.store.behind = False  # whatever becomes of it: not tried again before the next write
                    shown.append((state.store, added, before))
                state.trouble("rows")
            except Exception as error:
                assert state.store is not None
                failed = True
                log.warning("rows of %s were not written: %s", state.root.path, error)
                said = f"The store cannot be written ({reason(error)}); it is tried again from time to time."
                state.trouble("rows", said)
                if isinstance(error, StoreFailed) and error.damaged:
                    self._damaged(state.store, error)
        for state in states if idle and not failed else ():
            if state.store is not None and state.store.behind:  # what a scan wrote before it was done
                state.store.behind = False
                shown.append((state.store, (), b""))
        for state, changed in records:
            try:
                _record(state, changed, snapshot)
                state.trouble("records")
            except Exception as error:
                failed = True
                log.warning("records of %s were not written: %s", state.root.path, error)
                state.trouble(
                    "records", f"The cache cannot be written ({reason(error)}); it is tried again from time to time."
                )
                self._unkept.append((state, changed))
        return not failed


def _record(state: RootState, changed: Mapping[str, FileEntry | None], snapshot: Snapshot) -> None:
    """Write records; all of them, if the file that held the others is gone."""
    assert state.manifest is not None
    kept = [e for e in changed.values() if e is not None]
    if not state.manifest.save(kept, [name for name, e in changed.items() if e is None]):
        known = (e for e in snapshot.files.values() if e.root == state.root.path and e.version is None)
        others = [e for e in known if e.name not in changed and (e.outline is not None or e.skipped)]
        state.manifest.save(kept + others)


def _drop_old_versions(store: Store) -> None:
    try:
        store.drop_old_versions()
    except Exception as error:
        log.warning("old versions of %s are still there: %s", store.folder, error)


def unwritten(publisher: Publisher, states: Iterable[RootState], unsaved: frozenset[str]) -> Batch:
    """Fresh rows that belong on disk, by root: those of texts that stand in more than unsaved buffers."""
    if not publisher.fresh:
        return []
    by_root = {s.root.path: s for s in states if s.store is not None}
    view, files = publisher.columns.view(), publisher.snapshot.files
    out: dict[str, tuple[RootState, list[Rows]]] = {}
    for part in publisher.fresh:
        mine: dict[str, set[bytes]] = {}
        for key in part.keys:
            for path, _ in view.places(view.row(key)):
                entry = files.get(path)
                if entry is not None and entry.root in by_root and path not in unsaved:
                    mine.setdefault(entry.root, set()).add(key)
                    break
        for root, keys in mine.items():
            out.setdefault(root, (by_root[root], []))[1].append(part.only(keys))
    return list(out.values())

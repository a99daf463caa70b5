"""The first look at files that wait to be read, and which of them are to be read before others for a question.

Workers have it before they outline anything; the indexer's thread takes in what they have seen.  Questions may come from
any thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future

from promptls.index import files
from promptls.index.prescan import fallback
from promptls.index.prescan.lexer import Skims
from promptls.index.prescan.term_index import Skimmed
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.root_state import RootState
from promptls.index.snapshot import Snapshot
from promptls.index.workers.pool import Pool
from promptls.model import CancelToken

LOOK_AHEAD_S = 1.0
"""Seconds for which files that no worker has looked at are looked through for a name."""
LIKELY, LIKELY_BYTES = 3, 40_000
"""Files that are read for the words of a question, and bytes of them together."""


class FirstLook:
    """The owner of what is known of files that wait."""

    def __init__(
        self,
        publisher: Publisher,
        pool: Pool,
        limits: files.Limits,
        post: Callable[[Callable[[], None]], None],
        beside: Executor,
    ) -> None:
        self._publisher = publisher
        self._pool = pool
        self._limits = limits
        self._post = post  # has something done on the indexer's thread
        self._beside = beside  # for what would keep that thread
        self._skimmed = Skimmed()
        self._begun = 0  # batches that workers look at, and putting together what they have seen

    # ---- the indexer's thread

    def begin(self, state: RootState, wanted: Sequence[str]) -> None:
        """Have a look at those of these files that nobody knows; what a worker fails on is known when it is read."""
        fresh = [path for path in wanted if path not in self._skimmed]
        state.unknown.update(fresh)
        snapshot = self._publisher.snapshot
        waiting = [path for path in fresh if _waits(path, snapshot)]
        if len(waiting) < jobs.SKIM_LEAST:
            return
        for batch in jobs.batches(waiting, snapshot, jobs.SKIM_FILES, jobs.SKIM_BYTES):
            self._begun += 1
            future = self._pool.bulk(jobs.skimming_job(batch))
            future.add_done_callback(lambda f, b=batch: self._post(lambda: self._seen(state, b, f)))  # type: ignore[misc]

    def _seen(self, state: RootState, batch: tuple[str, ...], future: Future[Skims]) -> None:
        made = state.unread and not future.cancelled() and future.exception() is None
        if made and self._skimmed.take(future.result()):
            state.unknown.difference_update(batch)
        if self._begun == 1 and state.unread:
            self._beside.submit(self._prepare)
        else:
            self._begun -= 1

    def _prepare(self) -> None:
        """Put together what workers have seen, before somebody asks for it."""

        def done() -> None:
            self._begun -= 1

        try:
            self._skimmed.prepare()
        finally:
            self._post(done)

    def end(self) -> None:
        """No file waits any more."""
        self._skimmed.clear()

    # ---- any thread

    def defining(self, names: Collection[str], token: CancelToken | None) -> list[str]:
        """The files that wait and seem to define one of these names, at most `ahead.MOST`.  Raises Cancelled."""
        snapshot = self._publisher.snapshot
        found = [path for path in self._skimmed.defining(names) if _waits(path, snapshot)][: fallback.MOST]
        unknown = [p for p, e in snapshot.files.items() if not e.read and p not in self._skimmed]
        if len(found) < fallback.MOST and unknown:
            found += fallback.defining(names, unknown, self._limits, time.monotonic() + LOOK_AHEAD_S, token)
        return found

    def holding(self, terms: Sequence[str]) -> list[str]:
        """The files that wait and hold most of these search terms, as many as are soon read; none while workers look."""
        if self._begun:
            return []
        snapshot = self._publisher.snapshot
        room, found = LIKELY_BYTES, list[str]()
        for path in self._skimmed.holding(terms, lambda path: _waits(path, snapshot), 3 * LIKELY):
            if (size := snapshot.files[path].size) <= room and len(found) < LIKELY:
                found.append(path)
                room -= size
        return found

    def named(self, start: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """(name, file) of what files that are not read in a snapshot seem to define, by names that begin so."""
        return ((name, path) for name, path in self._skimmed.named(start) if _waits(path, snapshot))


def _waits(path: str, snapshot: Snapshot) -> bool:
    """Whether a file of the workspace was never read."""
    entry = snapshot.files.get(path)
    return entry is not None and not entry.read

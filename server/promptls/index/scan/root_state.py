"""State of the index for one workspace folder, and a report on its cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from promptls.index.configuration import IndexConfig, outline_fingerprint
from promptls.index.files.walk import FolderStats, other_ignore_files, walk_files
from promptls.index.index_status import RootStatus
from promptls.index.publisher import RootCounts
from promptls.index.store.cache_dir import root_directory
from promptls.index.store.file_manifest import KnownOutlines, Manifest
from promptls.index.store.row_store import RowStore
from promptls.model import FileEntry, Root

log = logging.getLogger(__name__)

WALK_INTERVAL_S, WALK_DELAY_S = 10.0, 0.5
"""Seconds after which a walk is repeated as a precaution, and its delay, so that running requests go first."""
INDEXING_INTERVAL_FACTOR = 10
"""Factor by which walks are rarer while files of the root are still being indexed."""
MIN_WALK_PAUSE_FACTOR = 20
"""Minimum pause between walks, as a multiple of the duration of a walk: at most a twentieth of one core is used."""


class DiskCheck(NamedTuple):
    """The last check of a root for changes on disk."""

    began: float = 0.0  # time.monotonic()
    seconds: float = 0.0  # duration


class RootState:
    """Mutable state of one root.  Only the thread that runs the state machine changes it, except `disk_check`."""

    __slots__ = (
        "attempts",
        "cache_folder",
        "disk_check",
        "dropped",
        "failed",
        "folder_stats",
        "identity",
        "ignore_files",
        "known_outlines",
        "linked_folders",
        "manifest",
        "next_walk_at",
        "outline_batches",
        "pending",
        "pending_walks",
        "problems",
        "retry_failed",
        "root",
        "store",
        "store_ready",
        "touched",
        "undecodable_names",
        "unprescanned",
        "unread",
        "unsaved_records",
        "walk_requested",
        "walk_seconds",
        "walked_at",
        "was_read",
    )  # fmt: skip

    def __init__(self, root: Root, cache_folder: Path) -> None:
        self.root = root
        self.cache_folder = cache_folder  # of this root, or of the repository
        self.known_outlines: KnownOutlines = {}  # of other work trees, until the root was read
        self.manifest: Manifest | None = None  # None while it is not open, or if it cannot be opened
        self.store: RowStore | None = None
        self.store_ready: Future[RowStore | None] = Future()
        self.outline_batches = 0  # queued or running outline batches
        self.unread = 0  # files in these batches
        self.unprescanned: set[str] = set()  # unread files that have not been prescanned either
        self.pending: dict[str, int] = {}  # path → number of unfinished jobs
        self.dropped: set[str] = set()  # pending files that were deleted or are ignored now
        self.failed: set[str] = set()  # files on which a worker failed, or no worker could be started
        self.attempts: dict[str, int] = {}  # path → number of failures
        self.retry_failed = False  # whether the next walk schedules the failed files again
        self.unsaved_records: dict[str, FileEntry | None] = {}  # name → manifest record to write, None to delete
        self.touched: set[str] = set()  # paths that were reported as changed while walks are pending
        self.pending_walks = 1  # requested and unfinished walks; the first one opens the root
        self.walk_requested = False  # whether one of them follows a reported or detected change
        self.was_read = False  # whether all files were read once
        self.walked_at = 0.0  # time.monotonic() of the last finished walk
        self.walk_seconds = 0.0  # duration of the last walk
        self.next_walk_at = 0.0  # time.monotonic() of the next background walk, 0 for none
        self.disk_check = DiskCheck()  # replaced by requests, on any thread
        self.folder_stats: FolderStats | None = None  # of the last walk, None while a walk is pending
        self.identity: tuple[int, int] | None = None  # device and inode of the folder at the last walk that found files
        self.linked_folders: tuple[str, ...] = ()  # names of links to folders outside of the root
        self.ignore_files: tuple[str, ...] = ()  # names of the ignore files besides git's
        self.undecodable_names = 0  # number of files and folders whose name is not valid UTF-8
        self.problems: dict[str, str] = {}  # topic ("folder", "files", "rows", …) → sentence for users

    @property
    def error(self) -> str:
        """First problem as a sentence for users, "" without one."""
        return next(iter(list(self.problems.values())), "")

    def set_problem(self, topic: str, problem: str = "") -> None:
        """Set the problem of a topic, or clear it with ""."""
        if problem:
            self.problems[topic] = problem
        else:
            self.problems.pop(topic, None)

    @property
    def needs_retry(self) -> bool:
        """True if opening or reading something failed and may succeed later."""
        rows = self.store is None and self.store_ready.done() and "rows" in self.problems
        records = self.manifest is None and "records" in self.problems
        return rows or records or not self.problems.keys().isdisjoint(("files", "folder", "documents", "vectors"))

    @property
    def walked(self) -> bool:
        """True if the files of the root are listed."""
        return self.walked_at > 0

    @property
    def complete(self) -> bool:
        """True if every known file has its symbols, terms and vectors."""
        return not self.pending_walks and self.store_ready.done() and not self.pending

    @property
    def has_unread_changes(self) -> bool:
        """True if files have changed since all files were read, and are not listed or read again yet."""
        return self.was_read and (self.unread > 0 or self.walk_requested)

    def name_of(self, path: str) -> str:
        """Return a path relative to the root."""
        return path[len(self.root.path) :].lstrip("/")

    def record_failures(self, paths: Collection[str], reason: str) -> None:
        """Record files that could not be indexed, possibly through no fault of the files."""
        self.failed.update(paths)
        for path in paths:
            self.attempts[path] = self.attempts.get(path, 0) + 1
        count = f"{len(self.failed):,} file{'s' if len(self.failed) > 1 else ''}"
        self.set_problem("files", f"Cannot index {count} ({reason}); will retry.")

    @property
    def checked_at(self) -> float:
        """Time (`time.monotonic`) since which changes on disk may have been missed."""
        return max(self.walked_at, self.disk_check.began)

    def walk_started(self, requested: bool) -> None:
        """Record that a walk was submitted; `requested` if it follows a reported or detected change."""
        self.next_walk_at = 0.0
        self.pending_walks += 1
        self.walk_requested = self.walk_requested or requested
        self.folder_stats = None

    def walk_finished(self) -> None:
        """Record that the result of a walk was applied."""
        self.pending_walks -= 1
        self.walk_requested = self.walk_requested and self.pending_walks > 0
        self.was_read = self.was_read or not self.unread
        self.walked_at = time.monotonic()
        self.next_walk_at = 0.0
        if not self.pending_walks:
            self.touched.clear()

    def is_walk_due(self, now: float) -> bool:
        """Return whether a background walk should be scheduled: the last walk is long ago for its duration."""
        pause_s = max(WALK_INTERVAL_S, MIN_WALK_PAUSE_FACTOR * self.walk_seconds)
        return not self.next_walk_at and now - self.walked_at > pause_s

    def schedule_walk(self, now: float) -> None:
        """Schedule a background walk if it is due."""
        if self.is_walk_due(now):
            self.next_walk_at = now + WALK_DELAY_S

    def backoff_interval(self, after_s: float) -> float:
        """Return the seconds between walks while files are being indexed, for an interval of `after_s` otherwise."""
        return max(INDEXING_INTERVAL_FACTOR * after_s, MIN_WALK_PAUSE_FACTOR * self.walk_seconds)

    def job_started(self, path: str) -> None:
        """Record that a job for a file was queued."""
        self.pending[path] = self.pending.get(path, 0) + 1

    def job_finished(self, path: str) -> None:
        """Record that a job for a file has finished."""
        remaining = self.pending.get(path, 0) - 1
        if remaining > 0:
            self.pending[path] = remaining
        else:
            self.pending.pop(path, None)
            self.dropped.discard(path)

    def drop_pending(self, paths: Iterable[str]) -> None:
        """Mark deleted or ignored files, so that late results of their jobs are discarded."""
        self.dropped.update(path for path in paths if path in self.pending)


def root_status(state: RootState, counts: RootCounts) -> RootStatus:
    """Return the counts and the last error of a root."""
    return RootStatus(
        state.root,
        files=counts.files,
        symbols=counts.symbols,
        chunks=counts.chunks,
        vectors=counts.vectors,
        pending=len(state.pending),
        skip_reasons=counts.skip_reasons,
        linked_folders=state.linked_folders,
        undecodable_names=state.undecodable_names,
        ignore_files=state.ignore_files,
        last_error=state.error,
        disk=_store_statistics(state.store),
    )


def _store_statistics(store: RowStore | None) -> dict[str, int]:
    try:
        return store.stats() if store is not None else {}
    except Exception as error:
        log.warning("cannot read the statistics of the store: %s", error)  # the next read replaces a damaged store
        return {}


class CacheReport(Struct, frozen=True):
    """Contents of the cached index of a folder."""

    files: int
    up_to_date: int
    bytes: int
    folder: str
    ignore_files: tuple[str, ...]  # names of the ignore files besides git's


def inspect_cache(root: str, config: IndexConfig) -> CacheReport:
    """Compare a folder with its cached index, without changing it."""
    files = {f.path: f for f in walk_files(root, config.limits)}
    folder = root_directory(Path(config.cache_folder), Root(root, root.rsplit("/", 1)[-1] or root, ""))
    cached: dict[str, FileEntry] = {}
    for file in folder.glob("*/files.sqlite"):
        manifest = Manifest(file, root, outline_fingerprint(config))
        cached |= manifest.load()
        manifest.close()
    up_to_date = sum(
        1 for p, f in files.items() if (e := cached.get(p)) and (e.size, e.mtime_ns) == (f.size, f.mtime_ns)
    )
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    return CacheReport(len(files), up_to_date, size, str(folder), other_ignore_files(files.values(), config.limits))

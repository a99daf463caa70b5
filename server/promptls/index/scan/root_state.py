"""What the index keeps for one workspace folder, and what its index on disk holds."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from pathlib import Path

from msgspec import Struct

from promptls.index import files as disk
from promptls.index.config import IndexConfig, made_with
from promptls.index.publisher import Tally
from promptls.index.status import RootStatus
from promptls.index.store.cache_dir import root_folder
from promptls.index.store.manifest import Manifest
from promptls.index.store.row_store import Store
from promptls.model import FileEntry, Root

log = logging.getLogger(__name__)

WALK_EVERY_S, WALK_AFTER_S = 10.0, 0.5
"""How old the last walk is when another is due though nothing is known to have changed, and how long it waits for the
answers that somebody waits for."""
RARER_WHILE_INDEXED = 10
"""Times that the folders of a root are walked less often for changes, as long as its files wait anyway."""
WALK_SHARE = 20
"""Times as long as a walk has taken nobody need walk again: a twentieth of one core at the most."""


class RootState:
    """Mutable; changed by the indexer's thread, save where it says otherwise."""

    __slots__ = ("again", "dropped", "failed", "looked_at", "manifest", "outlining", "pending", "records", "root", "seen", "store",
                 "store_ready", "tries", "troubles", "unknown", "unread", "walk_at", "walk_took", "walked_at", "walks")  # fmt: skip

    def __init__(self, root: Root) -> None:
        self.root = root
        self.manifest: Manifest | None = None  # set by the walk thread, or later, when it could not be opened at first
        self.store: Store | None = None
        self.store_ready: Future[Store | None] = Future()
        self.outlining = 0  # batches of files that wait for their outlines
        self.unread = 0  # files in them
        self.unknown: set[str] = set()  # of these, files of which not even words and names are known
        self.pending: dict[str, int] = {}  # path → jobs that are to report on it
        self.dropped: set[str] = set()  # of these, files that are gone or ignored by now
        self.failed: set[str] = set()  # paths of files that workers have failed on, or could not be started for
        self.tries: dict[str, int] = {}  # how often that has been so, by path
        self.again = False  # whether the next walk has them tried again
        self.records: dict[str, FileEntry | None] = {}  # name → record to write, None to delete
        self.walks = 1  # walks asked for and not finished; the first one opens the root
        self.walked_at = 0.0  # time.monotonic() of the last one that has finished
        self.walk_took = 0.0  # seconds
        self.walk_at = 0.0  # time.monotonic() of the next one that nobody waits for; 0: none is due; any thread
        self.looked_at = 0.0  # time.monotonic() of the last look at what had changed, a walk or less; any thread
        self.seen: disk.Seen | None = None  # what the last walk saw; set by the walk thread
        self.troubles: dict[str, str] = {}  # by what they are about ("folder", "files", "rows", …), as sentences

    @property
    def error(self) -> str:
        """What is wrong, as a sentence; "" if nothing is."""
        return next(iter(list(self.troubles.values())), "")

    def trouble(self, about: str, said: str = "") -> None:
        """Note what is wrong with something, or that nothing is any more.  Any thread."""
        if said:
            self.troubles[about] = said
        else:
            self.troubles.pop(about, None)

    @property
    def lacking(self) -> bool:
        """Whether something could not be opened or read that may be there some day."""
        rows = self.store is None and self.store_ready.done() and "rows" in self.troubles
        records = self.manifest is None and "records" in self.troubles
        return rows or records or not self.troubles.keys().isdisjoint(("files", "folder", "buffers", "vectors"))

    @property
    def walked(self) -> bool:
        """Whether its files are known by name."""
        return self.walked_at > 0

    @property
    def complete(self) -> bool:
        """Whether every known file has its symbols, keywords and vectors in place."""
        return not self.walks and self.store_ready.done() and not self.pending

    def name_of(self, path: str) -> str:
        """A path relative to the root."""
        return path[len(self.root.path) :].lstrip("/")

    def files_failed(self, paths: Collection[str], why: str) -> None:
        """Note files that could not be indexed, for reasons that may not be theirs."""
        self.failed.update(paths)
        for path in paths:
            self.tries[path] = self.tries.get(path, 0) + 1
        count = f"{len(self.failed):,} file{'s' if len(self.failed) > 1 else ''} could not be indexed"
        self.trouble("files", f"{count} ({why}); it is tried again from time to time.")

    def walk_finished(self) -> None:
        """Note that a walk has been taken in."""
        self.walks -= 1
        self.walked_at = self.looked_at = time.monotonic()
        self.walk_at = 0.0

    def walk_later(self, now: float) -> None:
        """Have a walk made soon that nobody waits for, if the last one is old enough for its price."""
        if not self.walk_at and now - self.walked_at > max(WALK_EVERY_S, WALK_SHARE * self.walk_took):
            self.walk_at = now + WALK_AFTER_S

    def rarely(self, after_s: float) -> float:
        """Seconds between two walks while files wait to be indexed, for one every `after_s` seconds otherwise."""
        return max(RARER_WHILE_INDEXED * after_s, WALK_SHARE * self.walk_took)

    def job_begins(self, path: str) -> None:
        """Note that a job is to report on a file."""
        self.pending[path] = self.pending.get(path, 0) + 1

    def job_finished(self, path: str) -> None:
        """Note that a job has reported on a file."""
        left = self.pending.get(path, 0) - 1
        if left > 0:
            self.pending[path] = left
        else:
            self.pending.pop(path, None)
            self.dropped.discard(path)

    def drop(self, paths: Iterable[str]) -> None:
        """Note files that are gone or ignored: what jobs have still to say of them comes too late."""
        self.dropped.update(path for path in paths if path in self.pending)


def status_of(state: RootState, tally: Tally) -> RootStatus:
    """What a root holds."""
    return RootStatus(
        state.root,
        files=tally.files,
        symbols=tally.symbols,
        chunks=tally.chunks,
        vectors=tally.vectors,
        pending=len(state.pending),
        skipped=tally.skipped,
        last_error=state.error,
        disk=_disk(state.store),
    )


def _disk(store: Store | None) -> dict[str, int]:
    try:
        return store.stats() if store is not None else {}
    except Exception as error:
        log.warning("no figures of the store: %s", error)  # whoever reads it next has it made anew
        return {}


class Survey(Struct, frozen=True):
    """What a folder's index on disk holds."""

    files: int
    up_to_date: int
    bytes: int
    folder: str


def survey(root: str, config: IndexConfig) -> Survey:
    """Compare a folder with its index on disk; changes nothing."""
    found = {f.path: f for f in disk.walk(root, config.limits)}
    place = root_folder(Path(config.cache), Root(root, root.rsplit("/", 1)[-1] or root, ""))
    recalled: dict[str, FileEntry] = {}
    for file in place.glob("*/files.sqlite"):
        manifest = Manifest(file, made_with(config))
        recalled |= manifest.load(root)
        manifest.close()
    same = sum(1 for p, f in found.items() if (e := recalled.get(p)) and (e.size, e.mtime_ns) == (f.size, f.mtime_ns))
    size = sum(f.stat().st_size for f in place.rglob("*") if f.is_file())
    return Survey(len(found), same, size, str(place))

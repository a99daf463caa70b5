"""Cache of the history and freshness of workspace folders, refreshed in the background when HEAD changes.

Freshness is the state of the working tree: branch, local changes, and commits ahead of or behind the upstream branch.
Only warnings depend on it; a failure never fails a request.  `git status` reads changed files, so the filters that the
repository configures are disabled by name first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from promptls.git.commit_history import History, build_history, printable_line, read_commits
from promptls.git.runner import filter_overrides, query_git
from promptls.index import git_head
from promptls.model import CancelToken, Problem, SectionEntry

TIMEOUT_S = 5.0
"""Seconds before `git status` is stopped."""
FRESHNESS_TTL_S = 10.0
"""Seconds for which the freshness of a folder is cached."""

State = Literal["fresh", "dirty", "stale", "unknown"]


class Freshness(Struct, frozen=True):
    """State of a working tree: "stale" if it differs from its upstream branch."""

    state: State
    branch: str = ""  # "" when detached
    upstream: str = ""  # "" without an upstream branch
    ahead: int = 0
    behind: int = 0
    changed_files: int = 0  # tracked files that differ from HEAD
    problem: Problem | None = None  # why the state is unknown


def read_freshness(folder: str, token: CancelToken | None = None) -> Freshness:
    """Return the freshness of the working tree below a folder; untracked files do not count."""
    overrides = filter_overrides(folder, token)
    if isinstance(overrides, Problem):
        return Freshness("unknown", problem=overrides)
    status = query_git(
        folder,
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
        "--no-renames",
        "--",
        ".",
        timeout_s=TIMEOUT_S,
        token=token,
        configuration=overrides,
    )
    if isinstance(status, Problem):
        return Freshness("unknown", problem=status)
    if not status.complete:
        return Freshness("unknown", problem=Problem("git status timed out."))
    return parse_status(status.stdout)


def parse_status(output: bytes) -> Freshness:
    """Parse the output of `git status --porcelain=v2 --branch -z`."""
    branch = upstream = ""
    ahead = behind = changed_files = 0
    for record in output.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            if key == b"branch.head" and value != b"(detached)":
                branch = printable_line(value)
            elif key == b"branch.upstream":
                upstream = printable_line(value)
            elif key == b"branch.ab":
                plus, _, minus = value.partition(b" ")
                ahead, behind = abs(int(plus)), abs(int(minus))
        elif kind in (b"1", b"2", b"u"):
            changed_files += 1
    state: State = "stale" if ahead or behind else "dirty" if changed_files else "fresh"
    return Freshness(state, branch, upstream, ahead, behind, changed_files)


def freshness_warning(freshness: Freshness) -> SectionEntry | None:
    """Return a warning if the branch is behind its upstream branch, else None; local changes do not count."""
    if not freshness.behind:
        return None
    commits = f"{freshness.behind} commit{'s' if freshness.behind > 1 else ''}"
    text = f"The checked-out branch {freshness.branch} is {commits} behind {freshness.upstream}"
    if freshness.ahead:
        text += f" and {freshness.ahead} ahead of it"
    return SectionEntry(f"{text}: newer code may exist.", "git")


# ---- cache

MAX_WAIT_S = 0.05
"""Seconds that a request waits for git at most; then it gets the cached value."""
RETRY_INTERVAL_S = 60.0
"""Seconds after which a failed read is retried even if HEAD is the same."""

V = TypeVar("V")


class _CacheEntry(Generic[V]):
    """A cached value, and the read that will replace it."""

    __slots__ = ("head", "pending", "read_at", "value")

    def __init__(self, value: V) -> None:
        self.value = value
        self.head: str | None = None
        self.read_at = 0.0  # time.monotonic()
        self.pending: Future[None] | None = None


class HistoryCache:
    """Owner of the git state of all workspace folders. Thread-safe; call `close` at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: dict[str, _CacheEntry[History]] = {}
        self._freshness: dict[str, _CacheEntry[Freshness]] = {}
        self._token = CancelToken()
        self._executor = ThreadPoolExecutor(2, "git")

    def close(self) -> None:
        """Cancel all reads."""
        self._token.cancel()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def histories(self, roots: Sequence[str], wait_s: float = MAX_WAIT_S) -> tuple[History, ...]:
        """Return the history of each workspace folder (absolute paths); empty if it is not read yet.

        Starts a read where HEAD has changed, and waits at most `wait_s` seconds for it.
        """
        pending: list[Future[None]] = []
        with self._lock:
            for root in roots:
                entry = self._histories.setdefault(root, _CacheEntry(History(root)))
                head = git_head(root)
                age_s = time.monotonic() - entry.read_at
                if entry.head != head or (entry.value.problem is not None and head and age_s > RETRY_INTERVAL_S):
                    self._start_read(entry, head, self._history_reader(root, head))
                if entry.pending is not None:
                    pending.append(entry.pending)
        _wait(pending, wait_s)
        with self._lock:
            return tuple(self._histories[root].value for root in roots)

    def are_latest(self, histories: Sequence[History]) -> bool:
        """Return whether no newer history of these folders is known or being read."""
        with self._lock:
            entries = [(self._histories[history.root], history) for history in histories]
            return all(entry.pending is None and entry.value is history for entry, history in entries)

    def freshness(self, root: str, wait_s: float = MAX_WAIT_S) -> Freshness:
        """Return the freshness of a workspace folder, at most `FRESHNESS_TTL_S` old; "unknown" if not read yet."""
        with self._lock:
            entry = self._freshness.setdefault(root, _CacheEntry(Freshness("unknown")))
            head = git_head(root)
            if entry.head != head or time.monotonic() - entry.read_at > FRESHNESS_TTL_S:
                self._start_read(entry, head, lambda: read_freshness(root, self._token))
            pending = entry.pending
        if pending is not None:
            _wait([pending], wait_s)
        with self._lock:
            return self._freshness[root].value

    def _history_reader(self, root: str, head: str) -> Callable[[], History]:
        def read() -> History:
            if not head:
                return History(root, problem=Problem(f"{root} is not in a git repository; it has no history."))
            log = read_commits(root, self._token)
            if isinstance(log, Problem):
                return History(root, head, problem=log)
            if not log.commits and not log.complete:
                return History(root, head, problem=Problem(f"git log timed out in {root}."))
            ref = head.partition(" ")[0]
            branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
            return build_history(root, head, branch, log)

        return read

    def _start_read(self, entry: _CacheEntry[V], head: str, read: Callable[[], V]) -> None:
        """Start a read unless one is running. Call with the lock held."""
        if entry.pending is not None or self._token.cancelled:
            return

        def run() -> None:
            value = None
            try:
                value = read()
            finally:
                with self._lock:
                    entry.pending = None
                    if not self._token.cancelled:
                        entry.head, entry.read_at = head, time.monotonic()
                        entry.value = entry.value if value is None else value

        entry.pending = self._executor.submit(run)


def _wait(pending: Sequence[Future[None]], wait_s: float) -> None:
    """Wait for reads, and re-raise their exceptions."""
    for done in wait(pending, wait_s).done:
        done.result()

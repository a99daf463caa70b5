"""The owner of what is known of the past: read in the background when HEAD moves, never waited for by more than a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from promptls.git.log import MOST_COMMITS, read_commits
from promptls.git.statistics import Past, past_of
from promptls.git.tracking import FRESH_S, Freshness
from promptls.git.tracking import freshness as standing
from promptls.index import files
from promptls.model import CancelToken, Problem

WAIT_S = 0.05
"""What a request waits for git at most; then it gets what is there."""
RETRY_S = 60.0
"""A failure is asked about again after this time, or when HEAD moves."""

V = TypeVar("V")


class _Kept(Generic[V]):
    """One answer and the question that may be under way."""

    __slots__ = ("at", "head", "pending", "value")

    def __init__(self, value: V) -> None:
        self.value = value
        self.head: str | None = None
        self.at = 0.0  # monotonic seconds
        self.pending: Future[None] | None = None


class History:
    """Any thread may ask.  `close` at the end."""

    def __init__(self, most_commits: int = MOST_COMMITS) -> None:
        self._most = most_commits
        self._lock = threading.Lock()
        self._pasts: dict[str, _Kept[Past]] = {}
        self._standing: dict[str, _Kept[Freshness]] = {}
        self._token = CancelToken()
        self._readers = ThreadPoolExecutor(2, "git")

    def close(self) -> None:
        """Stop reading; what is under way ends at once."""
        self._token.cancel()
        self._readers.shutdown(wait=False, cancel_futures=True)

    def at(self, roots: Sequence[str], wait_s: float = WAIT_S) -> tuple[Past, ...]:
        """The past of each workspace folder (absolute paths); one that is not yet read has no commits.

        Starts to read where HEAD has moved, and waits `wait_s` seconds at most for it.
        """
        pending: list[Future[None]] = []
        with self._lock:
            for root in roots:
                kept = self._pasts.setdefault(root, _Kept(Past(root)))
                head = files.git_head(root)
                age = time.monotonic() - kept.at
                if kept.head != head or (kept.value.problem is not None and head and age > RETRY_S):
                    self._begin(kept, head, self._reader(root, head))
                if kept.pending is not None:
                    pending.append(kept.pending)
        _heard(pending, wait_s)
        with self._lock:
            return tuple(self._pasts[root].value for root in roots)

    def freshness(self, root: str, wait_s: float = WAIT_S) -> Freshness:
        """How the working tree of a workspace folder stood at most some seconds ago; "unknown" if not yet asked."""
        with self._lock:
            kept = self._standing.setdefault(root, _Kept(Freshness("unknown")))
            head = files.git_head(root)
            if kept.head != head or time.monotonic() - kept.at > FRESH_S:
                self._begin(kept, head, lambda: standing(root, self._token))
            pending = kept.pending
        if pending is not None:
            _heard([pending], wait_s)
        with self._lock:
            return self._standing[root].value

    def _reader(self, root: str, head: str) -> Callable[[], Past]:
        def read() -> Past:
            if not head:
                return Past(root, problem=Problem(f"{root} is not in a git repository, so it has no history."))
            got = read_commits(root, self._most, token=self._token)
            if isinstance(got, Problem):
                return Past(root, head, problem=got)
            if not got.commits and not got.whole:
                return Past(root, head, problem=Problem(f"git took too long to tell the history of {root}."))
            ref = head.partition(" ")[0]
            branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
            return past_of(root, head, branch, got)

        return read

    def _begin(self, kept: _Kept[V], head: str, read: Callable[[], V]) -> None:
        """Start to read unless it is under way; call with the lock held."""
        if kept.pending is not None or self._token.cancelled:
            return

        def run() -> None:
            value = None
            try:
                value = read()
            finally:
                with self._lock:
                    kept.pending = None
                    if not self._token.cancelled:
                        kept.head, kept.at = head, time.monotonic()
                        kept.value = kept.value if value is None else value

        kept.pending = self._readers.submit(run)


def _heard(pending: Sequence[Future[None]], wait_s: float) -> None:
    """Wait a moment; what went wrong in the background comes out here."""
    for done in wait(pending, wait_s).done:
        done.result()

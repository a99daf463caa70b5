"""Requests to the workers on behalf of queries: query embedding and structural search.

Any thread may call these; they do not change the index.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.index_status import error_reason
from promptls.index.snapshot import Snapshot
from promptls.index.workers.pool import WorkerPool
from promptls.index.workers.worker_messages import (
    EmbedQuery,
    MatchPattern,
    MatchResult,
    QueryVectors,
    Response,
)
from promptls.model import CancelToken, Span
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

QUERY_TIMEOUT_S = 10.0
"""Seconds that a worker may take to embed a query."""
MAX_CACHED_VECTORS = 256
"""Maximum number of cached query vectors; the cache is cleared when full."""
MATCH_LIMIT = 200
"""Number of matches at which a structural search stops; a prompt shows a part of them."""
MATCH_BATCH_FILES, MATCH_GRACE_S = 40, 3.0
"""Files in a batch for structural search, and seconds that a worker may exceed the deadline by, because it may have to
start first."""


_NO_VECTORS = np.zeros((0, 0), np.float32)


class PatternMatches(Struct, frozen=True):
    """Matches of a structural pattern."""

    files: dict[str, tuple[Span, ...]]  # path → lines of each match
    languages: frozenset[str]  # languages in which the pattern is valid
    searched: int  # number of files searched

    @property
    def count(self) -> int:
        """Number of matches."""
        return sum(map(len, self.files.values()))

    @property
    def reached_limit(self) -> bool:
        """True if the search stopped at the limit of matches."""
        return self.count >= MATCH_LIMIT


class QueryEmbedder:
    """Embeds queries with the interactive worker, and caches their vectors."""

    __slots__ = ("_failed_query", "_pool", "_retrying", "_vectors", "backoff", "problem")

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.problem = ""  # why the last query has no vector, a sentence for users
        self.backoff = Backoff()
        self._failed_query = ""  # query to retry
        self._retrying = False

    def vector(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a query (float32[dimension]), None if the model cannot be used."""
        cached = self._vectors.get(text)
        if cached is not None:
            return cached
        try:
            response = self._submit(text).result(2 * QUERY_TIMEOUT_S)
        except Exception as error:
            log.warning("cannot embed the query: %s", error)
            self._failed_query = text
            self.backoff.record(failed=True)
            self.problem = f"Semantic search is unavailable ({error_reason(error)}); results are keyword-only."
            return None
        if self.problem:
            self.problem = ""
            self.backoff.record(failed=False)
        if not isinstance(response, QueryVectors) or not response.vectors:
            return None
        if len(self._vectors) >= MAX_CACHED_VECTORS:
            self._vectors.clear()
        vector = self._vectors[text] = np.frombuffer(response.vectors, dtype=np.float32)
        return vector

    def start_shingles(self, shingles: Sequence[str]) -> Callable[[], NDArray[np.float32]]:
        """Start to embed shingles; the result returns float32[n, dimension], no rows if the model is not static or fails."""
        if not shingles:
            return lambda: _NO_VECTORS
        request = EmbedQuery("", tuple(shingles))
        future = self._pool.submit_interactive(lambda channel: channel.call(request, QUERY_TIMEOUT_S))

        def result() -> NDArray[np.float32]:
            try:
                response = future.result(2 * QUERY_TIMEOUT_S)
            except Exception as error:
                log.warning("cannot embed the shingles of the query: %s", error)
                return _NO_VECTORS
            vectors = np.frombuffer(response.vectors if isinstance(response, QueryVectors) else b"", np.float32)
            return vectors.reshape(len(shingles), -1) if len(vectors) else _NO_VECTORS

        return result

    @property
    def needs_retry(self) -> bool:
        """True if the last query failed and should be retried after the back-off."""
        return bool(self.problem) and not self._retrying

    def retry(self, on_done: Callable[[], None]) -> None:
        """Retry the failed query if the back-off is over; `done` is called on a thread of the pool."""

        def read(future: Future[Response]) -> None:
            failed = future.cancelled() or future.exception() is not None
            self.backoff.record(failed)
            if not failed:
                self.problem = ""
            self._retrying = False
            on_done()

        if self.needs_retry and not self.backoff.remaining_s:
            self._retrying = True
            self._submit(self._failed_query).add_done_callback(read)

    def _submit(self, text: str) -> Future[Response]:
        return self._pool.submit_interactive(lambda channel: channel.call(EmbedQuery(text), QUERY_TIMEOUT_S))


def structural_search(
    pool: WorkerPool,
    pattern: str,
    paths: Sequence[str],
    snapshot: Snapshot,
    token: CancelToken,
    seconds: float,
) -> PatternMatches:
    """Search files for a structural pattern for up to `seconds`, up to a limit of matches.

    Open documents are searched with their unsaved text.
    """
    deadline = time.monotonic() + seconds
    result = PatternMatches({}, frozenset(), 0)
    roots = tuple(root.path for root in snapshot.roots)
    batches = (paths[first : first + MATCH_BATCH_FILES] for first in range(0, len(paths), MATCH_BATCH_FILES))
    running: deque[tuple[Sequence[str], Future[Response]]] = deque()

    def submit(batch: Sequence[str]) -> None:
        texts = {p: snapshot.documents[p].text for p in batch if p in snapshot.documents}
        remaining_s = deadline - time.monotonic()
        request = MatchPattern(pattern, tuple(batch), texts, roots)
        job = pool.submit_bulk(lambda channel: channel.call(request, remaining_s + MATCH_GRACE_S))
        running.append((batch, job))

    try:
        for batch in islice(batches, pool.bulk_slots):
            submit(batch)
        while running:
            token.check()
            batch, job = running.popleft()
            try:
                response = job.result(max(0.0, deadline - time.monotonic()) + 2 * MATCH_GRACE_S)
            except Exception as error:  # a grammar that hangs, or busy workers
                log.warning("structural search failed in a batch with %s: %s", batch[0], error)
                job.cancel()
                response = None
            if isinstance(response, MatchResult):
                languages = result.languages.union(response.languages)
                result = PatternMatches(
                    {**result.files, **dict(response.files)}, languages, result.searched + len(batch)
                )
            if (
                not result.reached_limit
                and deadline > time.monotonic()
                and (following := next(batches, None)) is not None
            ):
                submit(following)
    finally:
        for _, job in running:
            job.cancel()
    return result

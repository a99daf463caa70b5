"""What requests ask of the workers: the vector of a question, and where a structural pattern matches.

Any thread; nothing here changes the index.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.snapshot import OpenDocument
from promptls.index.status import why
from promptls.index.workers.messages import EmbedQuery, Match, Matched, Response, Vector
from promptls.index.workers.pool import Channel, Pool
from promptls.model import CancelToken, Span
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

QUERY_TIMEOUT_S = 10.0
VECTORS_KEPT = 256
MATCHED_TOGETHER, MATCH_GRACE_S = 40, 3.0
"""Files that a worker matches at a time, and seconds that it may take longer than there are: the first must start."""


class PatternMatches(Struct, frozen=True):
    """Where a structural pattern was found."""

    files: dict[str, tuple[Span, ...]]  # by path, the lines of each match
    languages: frozenset[str]  # those in which the pattern has a meaning
    seen: int  # files that were looked at


class Questions:
    """Vectors of questions, those asked lately kept."""

    __slots__ = ("_pool", "_trying", "_unread", "_vectors", "pause", "problem")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.problem = ""  # why the last question has no vector, for people
        self.pause = Backoff()
        self._unread = ""  # that question
        self._trying = False

    def vector(self, text: str) -> NDArray[np.float32] | None:
        """float32[dimension], None when the model cannot be used."""
        known = self._vectors.get(text)
        if known is not None:
            return known
        try:
            answer = self._asked(text).result(2 * QUERY_TIMEOUT_S)
        except Exception as error:
            log.warning("no vector for the question: %s", error)
            self._unread = text
            self.pause.record(failed=True)
            self.problem = f"The question was searched for by words only ({why(error)})."
            return None
        if self.problem:
            self.problem = ""
            self.pause.record(failed=False)
        if not isinstance(answer, Vector) or not answer.vector:
            return None
        if len(self._vectors) >= VECTORS_KEPT:
            self._vectors.clear()
        vector = self._vectors[text] = np.frombuffer(answer.vector, dtype=np.float32)
        return vector

    @property
    def waiting(self) -> bool:
        """Whether a question is to be tried again, once the pause is over."""
        return bool(self.problem) and not self._trying

    def again(self, done: Callable[[], None]) -> None:
        """See whether questions can be read by now, if it is time; `done` is called on a thread of the pool's."""

        def read(future: Future[Response]) -> None:
            failed = future.cancelled() or future.exception() is not None
            self.pause.record(failed)
            if not failed:
                self.problem = ""
            self._trying = False
            done()

        if self.waiting and not self.pause.remaining_s:
            self._trying = True
            self._asked(self._unread).add_done_callback(read)

    def _asked(self, text: str) -> Future[Response]:
        return self._pool.interactive(lambda channel: channel.call(EmbedQuery(text), QUERY_TIMEOUT_S))


def find_matches(
    pool: Pool,
    pattern: str,
    paths: Sequence[str],
    documents: Mapping[str, OpenDocument],
    token: CancelToken,
    seconds: float,
) -> PatternMatches:
    """Where a structural pattern matches in these files, open ones as in `documents`, as far as `seconds` reach.

    Raises Cancelled.
    """
    deadline = time.monotonic() + seconds
    found: dict[str, tuple[Span, ...]] = {}
    languages: set[str] = set()
    seen = 0
    batches = (paths[start : start + MATCHED_TOGETHER] for start in range(0, len(paths), MATCHED_TOGETHER))
    asked: deque[tuple[Sequence[str], Future[Response]]] = deque()

    def ask(batch: Sequence[str]) -> None:
        texts = {p: documents[p].text for p in batch if p in documents}
        left = deadline - time.monotonic()
        asked.append((batch, pool.bulk(_matching(Match(pattern, tuple(batch), texts), left + MATCH_GRACE_S))))

    try:
        for batch in islice(batches, pool.bulk_slots):
            ask(batch)
        while asked:
            token.check()
            batch, job = asked.popleft()
            try:
                answer = job.result(max(0.0, deadline - time.monotonic()) + 2 * MATCH_GRACE_S)
            except Exception as error:  # a grammar that hangs, workers that are busy
                log.warning("looking for a pattern in %s and so on: %s", batch[0], error)
                job.cancel()
                answer = None
            if isinstance(answer, Matched):
                found.update(answer.files)
                languages.update(answer.languages)
                seen += len(batch)
            if deadline > time.monotonic() and (more := next(batches, None)) is not None:
                ask(more)
    finally:
        for _, job in asked:
            job.cancel()
    return PatternMatches(found, frozenset(languages), seen)


def _matching(request: Match, timeout_s: float) -> Callable[[Channel], Response]:
    return lambda channel: channel.call(request, timeout_s)

"""Requests to the reranker process on behalf of queries: second-stage scores within a time limit.

Texts are scored in batches, so that a cancelled or late request stops after one batch. Any thread may call these.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from promptls.index.index_status import RerankerStatus, error_reason
from promptls.index.workers.pool import PoolClosedError, WorkerChannel, WorkerError
from promptls.index.workers.spawn import RERANKER_MODULE
from promptls.index.workers.worker_messages import OpenReranker, ScoreTexts, TextScores
from promptls.model import CancelToken
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

RERANK_TIMEOUT_S = 1.5
"""Seconds that a request waits for the second stage: about what a user accepts on top of the first stage."""
LATE_PAUSE_S = 1.0
"""Seconds after a time-out in which the query is not scored again: a request with mentions retrieves twice."""
BATCH_TEXTS = 8
"""Texts in one message: a cancelled request occupies the process for at most one batch."""
BATCH_TIMEOUT_S = 10.0
"""Seconds for one batch, after which the process counts as hung and is killed."""
MAX_TEXT_CHARACTERS, MAX_QUERY_CHARACTERS = 1_000, 1_000
"""Characters of a text and of a query that are scored, about 250 tokens each: most models read 512 of both together,
and a model of six layers scores 50 such texts in a second on four cores."""
MAX_CACHED_SCORES = 1_000
"""Maximum number of cached scores, about 1 MB; a prompt that is built again reuses them."""
CANCEL_POLL_S = 0.02
"""Seconds between two checks of the cancel token."""
INITIAL_BACKOFF_S, MAX_BACKOFF_S = 4.0, 60.0
"""Back-off in seconds after a crash or a hang of the process; it doubles each time."""


class Reranker:
    """Client of the reranker process; without a model, no process is started."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._channel = WorkerChannel(OpenReranker(model), background=False, module=RERANKER_MODULE)
        self._executor = ThreadPoolExecutor(1, "reranker")
        self._scores: dict[tuple[str, str], float] = {}  # by query and text
        self._backoff = Backoff(INITIAL_BACKOFF_S, MAX_BACKOFF_S)
        self._loaded = False
        self._late_query, self._late_until = "", 0.0  # the last query that took too long
        self._failure = ""  # why the last query was not reranked, a sentence for users

    def start(self) -> None:
        """Load the model in the background."""
        if self.model:
            self._submit(self._load)

    def wait_loaded(self, timeout_s: float) -> None:
        """Wait until the model is loaded, or cannot be loaded, for up to `timeout_s` seconds."""
        if self.model and (job := self._submit(self._load)) is not None:
            wait([job], timeout_s)

    def close(self) -> None:
        """Kill the process, and cancel waiting jobs."""
        self._channel.closed = True
        self._channel.kill()  # ends the running job
        self._submit(self._channel.stop)
        self._executor.shutdown(wait=False)

    @property
    def problem(self) -> str:
        """Why the last results were not reranked, a sentence for users; "" if they were."""
        return self._channel.problem or self._failure

    def status(self) -> RerankerStatus:
        """Return the state of the model."""
        return RerankerStatus(self.model, self._loaded and not self._channel.problem, self.problem)

    def scores(self, query: str, texts: Sequence[str], token: CancelToken) -> list[float] | None:
        """Return the score of each text, None if the model cannot be used or is too slow; see `problem`."""
        if self._channel.problem or self._backoff.remaining_s:
            self._submit(self._load)  # for a later request
            return None
        query = query[:MAX_QUERY_CHARACTERS]
        if query == self._late_query and time.monotonic() < self._late_until:
            return None
        job_token = CancelToken()
        job = self._submit(lambda: self._score(query, texts, job_token))
        if job is None:
            return None
        deadline = time.monotonic() + RERANK_TIMEOUT_S
        try:
            while not wait([job], min(CANCEL_POLL_S, max(0.0, deadline - time.monotonic()))).done:
                token.check()
                if time.monotonic() >= deadline:
                    state = "took longer than" if self._loaded else "was not loaded within"
                    self._fail(f"the model {state} {RERANK_TIMEOUT_S:g} s")
                    self._late_query, self._late_until = query, time.monotonic() + LATE_PAUSE_S
                    return None
            scores = job.result()
        except (WorkerError, PoolClosedError) as error:
            self._fail(error_reason(error))
            return None
        finally:
            job_token.cancel()
            job.cancel()
        if scores is not None:
            self._failure = ""
        return scores

    def _load(self) -> None:
        """Start the process unless it is running or has to wait for its back-off (executor thread)."""
        if self._backoff.remaining_s:
            return
        try:
            self._channel.start()
        except PoolClosedError:
            self._loaded = False
        except WorkerError as error:
            self._loaded = False
            self._backoff.record(failed=True)
            self._fail(error_reason(error))
        else:
            self._loaded = not self._channel.problem

    def _score(self, query: str, texts: Sequence[str], token: CancelToken) -> list[float] | None:
        """Return the score of each text (executor thread)."""
        token.check()
        self._load()
        if not self._loaded:
            return None
        missing = sorted({text for text in texts if (query, text) not in self._scores}, key=len)
        if len(self._scores) + len(missing) > MAX_CACHED_SCORES:
            self._scores.clear()
            missing = sorted(set(texts), key=len)  # similar lengths in a batch: little padding
        try:
            for start in range(0, len(missing), BATCH_TEXTS):
                token.check()
                batch = tuple(missing[start : start + BATCH_TEXTS])
                response = self._channel.call(ScoreTexts(query, batch), BATCH_TIMEOUT_S)
                if not isinstance(response, TextScores) or len(response.scores) != len(batch):
                    problem = response.problem if isinstance(response, TextScores) else ""
                    self._fail(problem or "the model returned another number of scores")
                    return None
                self._scores.update(zip(((query, text) for text in batch), response.scores, strict=True))
        except WorkerError:
            self._backoff.record(failed=True)
            self._loaded = False
            raise
        self._backoff.record(failed=False)
        return [self._scores[query, text] for text in texts]

    def _fail(self, reason: str) -> None:
        log.warning("cannot rerank: %s", reason)
        self._failure = f"Reranking was skipped ({reason}); results keep the order of the first stage."

    def _submit(self, job: Callable[[], _Scores]) -> Future[_Scores] | None:
        try:
            return self._executor.submit(job)
        except RuntimeError:  # closed
            return None


_Scores = list[float] | None

"""The reader process of the team index, and the thread of the server that talks to it."""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO, cast

from msgspec import MsgspecError

from promptls.extensions.team.reader_messages import (
    Failure,
    IndexOpened,
    OpenIndex,
    ReaderRequest,
    ReaderResponse,
    response_decoder,
)
from promptls.extensions.team.storage import Storage
from promptls.index import kill_process, read_frame, spawn_process, write_frame
from promptls.model import Problem
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

READER_MODULE = "promptls.extensions.team.reader_process"
TIMEOUT_S = 20.0
"""Seconds after which the reader process is killed because the storage does not respond."""
REFRESH_S = 60.0
"""Seconds after which a search is followed by a check for a newer version."""
FIRST_RETRY_S, MAX_RETRY_S = 5.0, 300.0
"""Delay after the first failure and at most; until then requests are answered with the problem."""


class ReaderConnection:
    """Runs requests one after another in the reader process, which it starts on demand and replaces after a failure."""

    def __init__(self, storage: Storage | Problem, on_opened: Callable[[IndexOpened], None]) -> None:
        self._storage = storage if isinstance(storage, Storage) else Storage("")
        self._closed = isinstance(storage, Problem)
        self.problem = storage.message if isinstance(storage, Problem) else ""  # why the last request failed
        self._on_opened = on_opened
        self._executor = ThreadPoolExecutor(1, "team-index")
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff = Backoff(FIRST_RETRY_S, MAX_RETRY_S)
        self._opened_at = 0.0  # time.monotonic() of the last successful OpenIndex, 0 if the process is not ready
        self._lock = threading.Lock()

    def submit(self, request: ReaderRequest, timeout_s: float) -> Future[ReaderResponse]:
        """Queue a request; it is skipped if its turn comes after the time-out."""
        with self._lock:
            if not self._closed:
                return self._executor.submit(self._serve, request, time.monotonic() + timeout_s)
        closed: Future[ReaderResponse] = Future()
        closed.set_result(Failure(self.problem or "The team index is closed."))
        return closed

    def close(self) -> None:
        """Stop the process; running requests fail."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()  # ends a read of its output
        with suppress(RuntimeError):  # closed before
            self._executor.submit(self._stop)
        self._executor.shutdown(wait=False)

    def _serve(self, request: ReaderRequest, expires_at: float) -> ReaderResponse:
        if time.monotonic() > expires_at:
            return Failure(f"The team index {self._storage.uri} is busy.")
        try:
            response = self._answer(request)
        except Exception as error:
            log.exception("a request to the team index failed")
            response = Failure(f"Cannot read the team index {self._storage.uri}: {type(error).__name__}.")
        if self._opened_at and time.monotonic() - self._opened_at > REFRESH_S:
            with suppress(RuntimeError):  # closed
                self._executor.submit(self._exchange, self._open_request(warm=True))
        return response

    def _answer(self, request: ReaderRequest) -> ReaderResponse:
        """Return the response, after opening the index if necessary."""
        if not self._opened_at or isinstance(request, OpenIndex):
            if self._backoff.remaining_s:
                return Failure(self.problem)
            opened = self._exchange(self._open_request(warm=isinstance(request, OpenIndex)))
            if isinstance(opened, Failure) or isinstance(request, OpenIndex):
                return opened
        return self._exchange(request)

    def _open_request(self, warm: bool) -> OpenIndex:
        return OpenIndex(self._storage.uri, dict(self._storage.options), warm)

    def _exchange(self, request: ReaderRequest) -> ReaderResponse:
        """Send a request and wait for the response; the process is killed after `TIMEOUT_S`."""
        response = self._send(request)
        failed = isinstance(response, Failure)
        self._backoff.record(failed)
        self.problem = response.problem if isinstance(response, Failure) else ""
        if failed:
            self._opened_at = 0.0
        elif isinstance(response, IndexOpened):
            self._opened_at = time.monotonic()
            self._on_opened(response)
        return response

    def _send(self, request: ReaderRequest) -> ReaderResponse:
        process = self._start()
        if process is None or process.stdin is None or process.stdout is None:
            return Failure("The team index is closed.")
        timer = threading.Timer(TIMEOUT_S, process.kill)
        timer.daemon = True
        timer.start()
        started = time.monotonic()
        try:
            write_frame(cast(BinaryIO, process.stdin), request)
            body = read_frame(cast(BinaryIO, process.stdout))
            if body is not None:
                return response_decoder.decode(body)
        except (OSError, ValueError, MsgspecError) as error:
            log.warning("the reader of the team index failed: %s", error)
        finally:
            timer.cancel()
        self._stop()
        timed_out = time.monotonic() - started >= TIMEOUT_S
        reason = "it does not respond" if timed_out else "its reader process ended"
        return Failure(f"Cannot read the team index {self._storage.uri}: {reason}.")

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closed:
                return None
            if self._process is None or self._process.poll() is not None:
                self._opened_at = 0.0
                self._process = spawn_process(READER_MODULE, background=False)
            return self._process

    def _stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        self._opened_at = 0.0
        if process is not None:
            kill_process(process)

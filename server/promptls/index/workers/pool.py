"""Pool of worker processes: one interactive worker for requests, and several bulk workers.

A job is a function that uses one worker through a `WorkerChannel`, and runs on the thread of that worker.  A worker
that crashes or exceeds its timeout is replaced, and the job fails with `WorkerError`.  Workers start on demand and exit
when idle.  Unlike `concurrent.futures`, the pool can kill a hung task, restart a single worker, and run a job on
the worker that holds its data.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from promptls.index.configuration import IndexConfig
from promptls.index.workers.spawn import WORKER_MODULE, kill_prestarted, kill_process, spawn_process
from promptls.index.workers.worker_messages import (
    Acknowledged,
    Configure,
    OpenTable,
    Request,
    Response,
    StoreFailure,
    encode_frame,
    read_frame,
    response_decoder,
)
from promptls.util.backoff import Backoff

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Job = Callable[["WorkerChannel"], Result]

START_TIMEOUT_S = 60.0
"""Seconds for the start of a worker, including the load of the embedding model."""
DEFERRED_SHARE = 0.25
"""Seconds of deferred work for one second of bulk work, while there is bulk work.  The bundled model keeps up at this
rate, so that an interrupted scan has complete rows of nearly all files that were read; a slow model hardly delays it."""
MAX_DEFERRED_TEXTS = 40_000
"""Chunks that may wait for embedding in a worker, about 20 MB of tokens, before embedding goes ahead of outlines."""
INITIAL_BACKOFF_S, MAX_BACKOFF_S = 4.0, 60.0
"""Back-off in seconds for restarting a worker that could not load the model; it doubles each time."""
PIPE_CAPACITY_BYTES = 1 << 13
"""Bytes that any pipe buffers without a reader; writing more may block."""
IDLE_TIMEOUT_S = {"bulk": 5.0, "interactive": 30.0}
"""Seconds without work after which a worker exits; the next request waits 0.25 s for another one, which takes 90 MB."""


def worker_configuration(config: IndexConfig) -> Configure:
    """Return the first message to a worker."""
    return Configure(
        config.embedding.model,
        config.embedding.allow_download,
        config.limits.max_file_size,
        config.limits.max_line,
        config.grammar_order,
    )


class WorkerError(Exception):
    """A worker died, exceeded a timeout, or reported a failure as `response`."""

    def __init__(self, problem: str, response: StoreFailure | None = None, died: bool = False) -> None:
        super().__init__(problem)
        self.response = response
        self.died = died  # the process ended (crash, kill, out of memory), not a timeout


class PoolClosedError(Exception):
    """Raised if a worker is needed after the pool was closed."""


class WorkerChannel:
    """One helper process and the communication with it.  Used by one thread at a time."""

    def __init__(self, configure: Configure | OpenTable, background: bool, module: str = WORKER_MODULE) -> None:
        self._configure = configure
        self._module = module
        self._background = background
        self._process: subprocess.Popen[bytes] | None = None
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.problem = ""
        self.dimension = 0
        self.starts = 0
        self.closed = False
        self._backoff = Backoff(INITIAL_BACKOFF_S, MAX_BACKOFF_S)

    def start(self) -> None:
        """Start the process unless it is running.

        Raises:
            WorkerError: The process could not be started or configured.
            PoolClosedError: The pool is closed.
        """
        if self.closed:
            raise PoolClosedError
        if self._process is not None and self._process.poll() is None and not self._is_retry_due():
            return
        self.stop()
        self._process = spawn_process(self._module, self._background)
        self.starts += 1
        self._frames = queue.SimpleQueue()
        threading.Thread(
            target=_read_frames, args=(self._process, self._frames), daemon=True, name="worker-reader"
        ).start()
        response = self._exchange(self._configure, START_TIMEOUT_S)
        if isinstance(response, Acknowledged):
            self.problem, self.dimension = response.problem, response.dimension
            self._backoff.record(failed=bool(self.problem))
        elif isinstance(response, StoreFailure):
            self.stop()
            raise WorkerError(response.problem, response)

    def fix_model(self, identity: str) -> None:
        """Name the only model that the process may use, from its next start."""
        assert isinstance(self._configure, Configure)
        self._configure = replace(self._configure, identity=identity)

    def _is_retry_due(self) -> bool:
        """Return whether the process should be restarted to load the model again."""
        return bool(self.problem) and not self._backoff.remaining_s

    def call(self, request: Request, timeout_s: float) -> Response:
        """Send a request and return its response.

        Raises:
            WorkerError: The process failed; it was stopped, and the next call starts another.
        """
        self.start()
        return self._exchange(request, timeout_s)

    def _exchange(self, request: Request, timeout_s: float) -> Response:
        process, frame = self._process, encode_frame(request)
        assert process is not None and process.stdin is not None
        timed_out = threading.Event()

        def give_up() -> None:
            timed_out.set()
            process.kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.daemon = True
        try:
            if len(frame) > PIPE_CAPACITY_BYTES:
                timer.start()
            process.stdin.write(frame)
            process.stdin.flush()
            timer.cancel()  # the response has a timeout of its own
            body = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            self.stop()
            raise WorkerError(f"the worker did not respond within {timeout_s:g} s") from None
        except OSError:
            body = None
        finally:
            timer.cancel()
        if body is None:
            code = process.wait()
            self.stop()
            if timed_out.is_set():
                raise WorkerError(f"the worker did not read a request within {timeout_s:g} s")
            raise WorkerError(f"the worker exited with status {code}", died=True)
        try:
            return response_decoder.decode(body)
        except msgspec.MsgspecError as error:
            self.stop()
            raise WorkerError(f"the worker sent an invalid response: {error}") from error

    def kill(self) -> None:
        """Kill the process from any thread; the running call ends, and `stop` cleans up."""
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Kill the process, if any, and close its pipes."""
        process, self._process = self._process, None
        if process is not None:
            kill_process(process)


def _read_frames(process: subprocess.Popen[bytes], frames: queue.SimpleQueue[bytes | None]) -> None:
    assert process.stdout is not None
    try:
        while (body := read_frame(process.stdout)) is not None:  # type: ignore[arg-type]
            frames.put(body)
    except (OSError, ValueError):
        pass  # closed by stop()
    frames.put(None)


class _Task(Generic[Result]):
    __slots__ = ("future", "is_ready", "job", "weight")

    def __init__(self, job: Job[Result], weight: int = 0, is_ready: Callable[[], bool] = lambda: True) -> None:
        self.job = job
        self.weight = weight
        self.is_ready = is_ready
        self.future: Future[Result] = Future()

    def run(self, channel: WorkerChannel) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.job(channel))
        except BaseException as error:
            self.future.set_exception(error)


def _drain(queues: Sequence[deque[_Task[Any]]]) -> list[_Task[Any]]:
    """Empty the queues and return their tasks."""
    tasks = [task for tasks in queues for task in tasks]
    for waiting in queues:
        waiting.clear()
    return tasks


class WorkerPool:
    """One interactive worker and `bulk` bulk workers, each with a thread."""

    def __init__(self, configure: Configure, bulk: int) -> None:
        self._condition = threading.Condition()
        self._waiting: dict[str, deque[_Task[Any]]] = {"interactive": deque(), "bulk": deque()}
        self._closed = False
        self._channels = [WorkerChannel(configure, background=False)]
        self._channels += [WorkerChannel(replace(configure, bulk=True), background=True) for _ in range(bulk)]
        self._deferred: dict[WorkerChannel, deque[_Task[Any]]] = {channel: deque() for channel in self._channels}
        self._deferred_weight = dict.fromkeys(self._channels, 0)  # total weight of the deferred jobs
        self._threads = [
            threading.Thread(target=self._run, args=(channel, lane), daemon=True, name=f"worker-{lane}")
            for channel, lane in zip(self._channels, ["interactive"] + ["bulk"] * bulk, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    def fix_model(self, identity: str) -> None:
        """Name the only model that workers may use.  Call before the first job."""
        for channel in self._channels:
            channel.fix_model(identity)

    @property
    def bulk_slots(self) -> int:
        """Number of worker slots for bulk work."""
        return len(self._channels) - 1

    @property
    def problem(self) -> str:
        """Reason why the embedding model cannot be used, "" if it can or has not been loaded yet."""
        return next((c.problem for c in self._channels if c.problem), "")

    def submit_interactive(self, job: Job[Result]) -> Future[Result]:
        """Run a job on the interactive worker, in the order of submission."""
        return self._submit("interactive", job)

    def submit_bulk(self, job: Job[Result]) -> Future[Result]:
        """Run a job on the next free bulk worker."""
        return self._submit("bulk", job)

    def submit_deferred(
        self, channel: WorkerChannel, job: Job[Result], weight: int, is_ready: Callable[[], bool]
    ) -> Future[Result]:
        """Run a job on the given worker, after its bulk jobs.

        It runs before them if `is_ready` and deferred jobs have had less than `DEFERRED_SHARE` of the time, or if more
        than `MAX_DEFERRED_TEXTS` are deferred.
        """
        task = _Task(job, weight, is_ready)
        with self._condition:
            if self._closed:
                task.future.cancel()
            else:
                self._deferred[channel].append(task)
                self._deferred_weight[channel] += weight
                self._condition.notify_all()
        return task.future

    def _submit(self, lane: str, job: Job[Result]) -> Future[Result]:
        task = _Task(job)
        with self._condition:
            if self._closed:
                task.future.cancel()
            else:
                self._waiting[lane].append(task)
                self._condition.notify_all()
        return task.future

    def _run(self, channel: WorkerChannel, lane: str) -> None:
        waiting, deferred = self._waiting[lane], self._deferred[channel]
        bulk_s = deferred_s = 0.0
        while True:
            with self._condition:
                while not waiting and not deferred and not self._closed:
                    if not self._condition.wait(IDLE_TIMEOUT_S[lane]) and not waiting and not deferred:
                        channel.stop()
                        channel.problem = ""  # the next process may be able to load the model
                        self._condition.wait()
                if self._closed:
                    break
                is_due = deferred and deferred_s < DEFERRED_SHARE * bulk_s and deferred[0].is_ready()
                is_bulk = waiting and not is_due and self._deferred_weight[channel] <= MAX_DEFERRED_TEXTS
                task = (waiting if is_bulk else deferred).popleft()
                if not is_bulk:
                    self._deferred_weight[channel] -= task.weight
            began = time.monotonic()
            task.run(channel)
            if is_bulk:
                bulk_s += time.monotonic() - began
            else:
                deferred_s += time.monotonic() - began
        channel.stop()

    def cancel_bulk(self) -> None:
        """Cancel the bulk jobs that have not started."""
        with self._condition:
            dropped = _drain([self._waiting["bulk"], *self._deferred.values()])
            self._deferred_weight = dict.fromkeys(self._channels, 0)
        for task in dropped:
            task.future.cancel()

    def close(self) -> None:
        """Kill all workers, and cancel waiting jobs."""
        with self._condition:
            if self._closed:
                return
            self._closed = True
            dropped = _drain([*self._waiting.values(), *self._deferred.values()])
            self._condition.notify_all()
        for task in dropped:
            task.future.cancel()
        kill_prestarted()
        for channel in self._channels:
            channel.closed = True
            channel.kill()
        for thread in self._threads:
            thread.join(2.0)

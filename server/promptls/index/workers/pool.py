"""Worker processes, seen from the server: one for what a user waits for, some for bulk work.

A job is a function that talks to one worker over a `Channel`; it runs on the slot's thread.  A worker that
crashes or does not answer in time is replaced, and the job gets `WorkerFailed`.  Bulk workers start when
there is work and leave after a while without; both kinds are restarted on demand.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from promptls.index.workers.messages import (
    Configure,
    Done,
    Failed,
    OpenTable,
    Request,
    Response,
    encoded,
    read_frame,
    response_decoder,
)
from promptls.index.workers.spawn import WORKER, drop, end, spawn

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Job = Callable[["Channel"], Result]

START_TIMEOUT_S = 60.0
LATER_MOST = 40_000
"""Texts of which a worker may hold the tokens, some 20 MB, before it makes vectors though files wait to be outlined."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0
"""A worker that could not load the model is started anew after so long, twice as long each time."""
PIPE = 1 << 13
"""Bytes that any pipe takes in though nobody reads them; whoever writes more may wait for somebody who does."""
IDLE_S = 5.0
"""A bulk worker without work for this long ends."""


class WorkerFailed(Exception):
    """The worker died or did not answer in time; the sentence says which.  Or it `said` that it cannot work."""

    def __init__(self, problem: str, said: Failed | None = None, died: bool = False) -> None:
        super().__init__(problem)
        self.said = said
        self.died = died  # by itself, by somebody, or for lack of memory; not because it took too long


class PoolClosed(Exception):
    """Nobody wants answers any more: no worker is started."""


class Channel:
    """One worker process and the talk with it.  Used by one thread at a time."""

    def __init__(self, configure: Configure | OpenTable, background: bool, module: str = WORKER) -> None:
        self._configure = configure
        self._module = module
        self._background = background
        self._process: subprocess.Popen[bytes] | None = None
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.problem = ""
        self.dimension = 0
        self.starts = 0
        self.closed = False
        self._pause = FIRST_PAUSE_S
        self._not_before = 0.0  # time.monotonic()

    def start(self) -> None:
        """Start the process unless it runs.  Raises WorkerFailed, PoolClosed."""
        if self.closed:
            raise PoolClosed
        if self._process is not None and self._process.poll() is None and not self._try_again():
            return
        self.stop()
        self._process = spawn(self._module, self._background)
        self.starts += 1
        self._frames = queue.SimpleQueue()
        threading.Thread(target=_pump, args=(self._process, self._frames), daemon=True, name="worker-reader").start()
        done = self._exchange(self._configure, START_TIMEOUT_S)
        if isinstance(done, Done):
            self.problem, self.dimension = done.problem, done.dimension
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S) if self.problem else FIRST_PAUSE_S
            self._not_before = time.monotonic() + self._pause
        elif isinstance(done, Failed):
            self.stop()
            raise WorkerFailed(done.problem, done)

    def _try_again(self) -> bool:
        """Whether it is time to see if the model can be used by now."""
        return bool(self.problem) and time.monotonic() > self._not_before

    def call(self, request: Request, timeout_s: float) -> Response:
        """The response to `request`.  Raises WorkerFailed; the process is then gone and will be started anew."""
        self.start()
        return self._exchange(request, timeout_s)

    def _exchange(self, request: Request, timeout_s: float) -> Response:
        process, frame = self._process, encoded(request)
        assert process is not None and process.stdin is not None
        deaf = threading.Event()

        def give_up() -> None:
            deaf.set()
            process.kill()

        late = threading.Timer(timeout_s, give_up)
        late.daemon = True
        try:
            if len(frame) > PIPE:
                late.start()
            process.stdin.write(frame)
            process.stdin.flush()
            late.cancel()  # from here on the answer's own time counts
            body = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            self.stop()
            raise WorkerFailed(f"the worker did not answer within {timeout_s:g} s") from None
        except OSError:
            body = None
        finally:
            late.cancel()
        if body is None:
            code = process.wait()
            self.stop()
            if deaf.is_set():
                raise WorkerFailed(f"the worker did not listen for {timeout_s:g} s")
            raise WorkerFailed(f"the worker ended with code {code}", died=True)
        try:
            return response_decoder.decode(body)
        except msgspec.MsgspecError as error:
            self.stop()
            raise WorkerFailed(f"the worker answered what cannot be read: {error}") from error

    def stop(self) -> None:
        """End the process, if any, at once."""
        process, self._process = self._process, None
        if process is not None:
            end(process)


def _pump(process: subprocess.Popen[bytes], frames: queue.SimpleQueue[bytes | None]) -> None:
    assert process.stdout is not None
    try:
        while (body := read_frame(process.stdout)) is not None:  # type: ignore[arg-type]
            frames.put(body)
    except (OSError, ValueError):
        pass  # closed by stop()
    frames.put(None)


class _Task(Generic[Result]):
    __slots__ = ("future", "job", "weight")

    def __init__(self, job: Job[Result], weight: int = 0) -> None:
        self.job = job
        self.weight = weight
        self.future: Future[Result] = Future()

    def run(self, channel: Channel) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.job(channel))
        except BaseException as error:
            self.future.set_exception(error)


class Pool:
    """One interactive slot and `bulk` slots, a thread each."""

    def __init__(self, configure: Configure, bulk: int) -> None:
        self._condition = threading.Condition()
        self._waiting: dict[str, deque[_Task[Any]]] = {"interactive": deque(), "bulk": deque()}
        self._closed = False
        self._channels = [Channel(configure, background=False)]
        self._channels += [Channel(replace(configure, bulk=True), background=True) for _ in range(bulk)]
        self._later: dict[Channel, deque[_Task[Any]]] = {channel: deque() for channel in self._channels}
        self._put_off = dict.fromkeys(self._channels, 0)  # the weight of those
        self._threads = [
            threading.Thread(target=self._run, args=(channel, lane), daemon=True, name=f"worker-{lane}")
            for channel, lane in zip(self._channels, ["interactive"] + ["bulk"] * bulk, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def bulk_slots(self) -> int:
        return len(self._channels) - 1

    @property
    def problem(self) -> str:
        """Why the embedding model cannot be used, "" when it can or was not tried yet."""
        return next((c.problem for c in self._channels if c.problem), "")

    def interactive(self, job: Job[Result]) -> Future[Result]:
        """Run a job that somebody waits for; such jobs run one after the other, in order."""
        return self._submit("interactive", job)

    def bulk(self, job: Job[Result]) -> Future[Result]:
        """Run a job when a bulk worker is free."""
        return self._submit("bulk", job)

    def later(self, channel: Channel, job: Job[Result], weight: int) -> Future[Result]:
        """Run a job on this very worker, when no bulk job waits or jobs of more than LATER_MOST are put off."""
        task = _Task(job, weight)
        with self._condition:
            if self._closed:
                task.future.cancel()
            else:
                self._later[channel].append(task)
                self._put_off[channel] += weight
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

    def _run(self, channel: Channel, lane: str) -> None:
        waiting, later = self._waiting[lane], self._later[channel]
        while True:
            with self._condition:
                while not waiting and not later and not self._closed:
                    if not self._condition.wait(IDLE_S if lane == "bulk" else None) and not waiting and not later:
                        channel.stop()
                        channel.problem = ""  # the next one may have better luck
                        self._condition.wait()
                if self._closed:
                    break
                if waiting and self._put_off[channel] <= LATER_MOST:
                    task = waiting.popleft()
                else:
                    task = later.popleft()
                    self._put_off[channel] -= task.weight
            task.run(channel)
        channel.stop()

    def drop_bulk(self) -> None:
        """Forget the bulk jobs that have not started."""
        with self._condition:
            queues = [self._waiting["bulk"], *self._later.values()]
            dropped = [task for queue in queues for task in queue]
            for queue in queues:
                queue.clear()
            self._put_off = dict.fromkeys(self._channels, 0)
        for task in dropped:
            task.future.cancel()

    def close(self) -> None:
        """End all workers; jobs that wait are cancelled.  Returns at once, threads end by themselves."""
        with self._condition:
            if self._closed:
                return
            self._closed = True
            queues = [*self._waiting.values(), *self._later.values()]
            dropped = [task for queue in queues for task in queue]
            for queue in queues:
                queue.clear()
            self._condition.notify_all()
        for task in dropped:
            task.future.cancel()
        drop()
        for channel in self._channels:
            channel.closed = True
            process = channel._process
            if process is not None:
                process.kill()
        for thread in self._threads:
            thread.join(2.0)

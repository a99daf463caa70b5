"""A state machine of the index without threads: the test decides which work runs, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from promptls.index.configuration import IndexConfig
from promptls.index.files.walk import walk_files
from promptls.index.machine import IndexMachine
from promptls.index.workers.pool import WorkerChannel, WorkerPool, worker_configuration
from promptls.index.workers.worker import Worker
from promptls.index.workers.worker_messages import Configure, Request, Response, ScanFiles
from promptls.index.workspace import ChangeSet, Workspace
from promptls.model import Root
from promptls.util.hashing import content_hash

Result = TypeVar("Result")
MODEL_CONFIGURATION = worker_configuration(IndexConfig(""))


class Steps(Executor):
    """Runs each task when the test says so."""

    def __init__(self) -> None:
        self.tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Queue a task."""
        future: Future[Result] = Future()
        self.tasks.append((future, lambda: fn(*args, **kwargs)))
        return future

    def run_next(self) -> bool:
        """Run the oldest task; return False if there is none."""
        if not self.tasks:
            return False
        future, task = self.tasks.popleft()
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(task())
            except Exception as error:
                future.set_exception(error)
        return True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop the tasks that have not run."""
        while self.tasks:
            self.tasks.popleft()[0].cancel()


@cache
def _worker() -> Worker:
    worker = Worker()
    worker.handle(MODEL_CONFIGURATION)
    return worker


class LocalChannel(WorkerChannel):
    """A worker in this process."""

    def __init__(self) -> None:
        super().__init__(MODEL_CONFIGURATION, background=False)
        self.requests: list[Request] = []

    @property
    def scanned_paths(self) -> set[str]:
        """Paths of the files that were outlined."""
        return set(self.scanned_in_order)

    @property
    def scanned_in_order(self) -> list[str]:
        """Paths of the files that were outlined, in their order."""
        return [path for request in self.requests if isinstance(request, ScanFiles) for path in request.paths]

    def start(self) -> None:
        """Do nothing: the worker is always there."""

    def call(self, request: Request, timeout_s: float) -> Response:
        """Handle a request."""
        assert not isinstance(request, Configure)
        self.requests.append(request)
        return _worker().handle(request)


class LocalPool(WorkerPool):
    """A pool whose interactive jobs run at once, and whose other jobs run when the test says so."""

    def __init__(self) -> None:
        self.channel = LocalChannel()
        self.bulk, self.deferred = Steps(), Steps()

    @property
    def problem(self) -> str:
        """Nothing: the worker is always there."""
        return ""

    def submit_interactive(self, job: Callable[[WorkerChannel], Result]) -> Future[Result]:
        """Run a job."""
        steps = Steps()
        future = steps.submit(job, self.channel)
        steps.run_next()
        return future

    def submit_bulk(self, job: Callable[[WorkerChannel], Result]) -> Future[Result]:
        """Queue a job."""
        return self.bulk.submit(job, self.channel)

    def submit_deferred(
        self, channel: WorkerChannel, job: Callable[[WorkerChannel], Result], weight: int, is_ready: Callable[[], bool]
    ) -> Future[Result]:
        """Queue a job."""
        return self.deferred.submit(job, channel)

    def close(self) -> None:
        """Drop the jobs that have not run."""
        self.bulk.shutdown()
        self.deferred.shutdown()


class SteppedIndex:
    """An index of one folder whose walks, jobs and writes run one by one."""

    def __init__(self, root: Path, cache_folder: Path) -> None:
        self.root = root
        self.workspace = Workspace()
        self.pool, self.walks, self.storage = LocalPool(), Steps(), Steps()
        config = IndexConfig(str(cache_folder), workers=1)
        self.machine = IndexMachine(config, self.workspace, self.pool, self.walks, self.storage)
        self.taken: ChangeSet | None = None
        self.workspace.set_roots([Root(root.as_posix(), root.name, root.as_uri())])
        self.step()
        self.storage.run_next()  # opens the store; embedding jobs wait for it

    def take(self) -> None:
        """Take the changes that have arrived; `step` applies them."""
        if self.taken is None:
            self.taken = self.workspace.take_changes(timeout=0)

    def step(self) -> None:
        """Let the machine apply the changes that were taken, or those that have arrived, and the events."""
        self.take()
        changes, self.taken = self.taken, None
        assert changes is not None
        self.machine.step(changes)

    def settle(self) -> None:
        """Run everything until nothing is left to do, except writes."""
        idle_steps = 0
        while not self.machine.searchable or idle_steps == 0:
            self.step()
            executors = (self.walks, self.pool.bulk, self.pool.deferred, self.storage)
            ran = any(executor.run_next() for executor in executors[: 3 if self.machine.searchable else 4])
            idle_steps = 0 if ran else idle_steps + 1
            assert idle_steps < 3, "nothing is left to do, but the index is not searchable"

    def texts(self) -> dict[str, bytes]:
        """Return the hash of the text of each indexed file, by name."""
        files = self.machine.publisher.snapshot.files.values()
        return {entry.name: entry.content_hash for entry in files}

    def expected_texts(self) -> dict[str, bytes]:
        """Return the same for the files on disk and the open documents."""
        texts = {file.name: Path(file.path).read_text() for file in walk_files(self.root.as_posix(), self.limits)}
        texts |= {Path(p).relative_to(self.root).as_posix(): d.text for p, d in self.workspace.documents.items()}
        return {name: content_hash(text) for name, text in texts.items()}

    @property
    def limits(self) -> Any:
        """Limits of the configuration."""
        return self.machine.config.limits

"""Worker pool with real processes, which the tests kill and stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from processes import until
from promptls.index.scan import jobs
from promptls.index.scan.jobs import EmbeddingResult, OutlineResult, RowLookup
from promptls.index.workers import spawn
from promptls.index.workers.pool import IDLE_TIMEOUT_S, WorkerChannel, WorkerError, WorkerPool
from promptls.index.workers.spawn import prestart_worker
from promptls.index.workers.worker_messages import Configure, EmbedQuery, QueryVectors, ScanFiles, ScanResult, ScanText
from promptls.model import Root, decode_outline

pytestmark = pytest.mark.process

NO_ROWS = RowLookup(lambda key: False)
CONFIGURE = Configure("bundled", False, 1_000_000, 10_000, ("pack", "legacy"))


@pytest.fixture(scope="module")
def channel() -> Iterator[WorkerChannel]:
    channel = WorkerChannel(CONFIGURE, background=False)
    yield channel
    channel.stop()


def write(folder: Path, **files: str) -> tuple[str, ...]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return tuple((folder / f"{name}.py").as_posix() for name in files)


def test_worker_outlines_and_embeds_files(channel: WorkerChannel, tmp_path: Path) -> None:
    response = channel.call(ScanFiles(write(tmp_path, a="def ping(host):\n    return send(host, b'ping')\n")), 120)
    assert isinstance(response, ScanResult)
    outline = decode_outline(response.files[0].encoded_outline)
    assert [s.name for s in outline.symbols] == ["ping"]
    rows = jobs.extract_terms(channel, response.files, NO_ROWS.is_finished)
    assert rows.steps.shape == (len(rows), 0)
    embedded = jobs.embed_rows(channel, rows, NO_ROWS).rows
    assert set(embedded.keys) == {c.key for c in outline.chunks}
    assert "ping" in embedded.joined_terms()[0].split()
    assert embedded.steps.shape == (len(embedded), channel.dimension)
    assert np.linalg.norm(embedded.steps[0] * embedded.scales[0]) == pytest.approx(1, abs=0.01)
    assert not jobs.embed_rows(channel, rows, NO_ROWS).rows.keys, "texts are kept only until they are embedded"


@pytest.mark.parametrize("store_is_open", [False, True])
def test_embedding_waits_for_outlines_until_its_share_of_time_is_due(tmp_path: Path, store_is_open: bool) -> None:
    pool = WorkerPool(CONFIGURE, 1)
    done: list[str] = []
    hold = threading.Event()

    def first(channel: WorkerChannel) -> None:
        pool.submit_deferred(channel, lambda channel: done.append("vectors"), 1, lambda: store_is_open)
        hold.wait(120)

    pool.submit_bulk(first)
    last = pool.submit_bulk(lambda channel: done.append("outlines"))
    hold.set()
    last.result(120)
    pool.submit_bulk(lambda channel: None).result(120)
    until(lambda: len(done) == 2, "the deferred job did not run")
    pool.close()
    assert done == (["vectors", "outlines"] if store_is_open else ["outlines", "vectors"])


def test_killed_worker_is_replaced(channel: WorkerChannel) -> None:
    channel.start()
    assert channel._process is not None
    starts = channel.starts
    os.kill(channel._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="exited with status -9"):
        channel._exchange(EmbedQuery("x"), 120)  # `call` might notice the death and start another
    assert isinstance(channel.call(EmbedQuery("x"), 120), QueryVectors)
    assert channel.starts == starts + 1


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_hung_worker_is_killed_and_replaced(channel: WorkerChannel) -> None:
    channel.start()
    assert channel._process is not None
    os.kill(channel._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match="did not respond within"):
        channel.call(EmbedQuery("x"), 0.2)
    assert isinstance(channel.call(EmbedQuery("x"), 120), QueryVectors)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_stopped_worker_times_out_on_a_large_request(channel: WorkerChannel) -> None:
    channel.start()
    assert channel._process is not None
    os.kill(channel._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match="did not read a request"):
        channel.call(ScanText("/r/a.py", "a = 1\n" * 1_000_000), timeout_s=0.5)
    assert isinstance(channel.call(ScanText("/r/a.py", "a = 1\n"), 120), ScanResult)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_no_timer_remains_after_a_worker_died(channel: WorkerChannel) -> None:
    """A running timer would keep the server process alive after its workers ended."""
    channel.start()
    assert channel._process is not None
    pid = channel._process.pid
    others = set(threading.enumerate())  # such as timers of stores that other tests have opened
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(WorkerError, match="exited with status -9"):
        channel._exchange(ScanText("/r/a.py", "a = 1\n" * 1_000_000), timeout_s=60)
    for timer in [t for t in set(threading.enumerate()) - others if isinstance(t, threading.Timer)]:
        timer.join(120)
        assert not timer.is_alive()


def test_single_file_that_crashes_a_worker_is_outlined_as_text(tmp_path: Path) -> None:
    """A worker that dies on one file, as in a crash of a grammar, must not affect the other files."""
    paths = write(tmp_path, a="def a(): pass\n", bad="def bad(): pass\n", c="def c(): pass\n", d="def d(): pass\n")

    class Dying(WorkerChannel):
        def call(self, request, timeout_s):  # type: ignore[no-untyped-def]
            if isinstance(request, ScanFiles) and not request.plain and paths[1] in request.paths:
                self.start()
                assert self._process is not None
                os.kill(self._process.pid, signal.SIGKILL)
                return self._exchange(request, timeout_s)  # `call` might notice the death and start another
            return super().call(request, timeout_s)

    channel = Dying(CONFIGURE, background=True)
    events: list[OutlineResult | EmbeddingResult] = []
    try:
        root = Root(str(tmp_path), "work", "")
        jobs.outline_job(root, paths, NO_ROWS, events.append, defer_embedding=False, known={})(channel)
    finally:
        channel.stop()
    scans = {
        Path(s.path).stem: decode_outline(s.encoded_outline)
        for e in events
        if isinstance(e, OutlineResult)
        for s in e.scans
    }
    assert {name: [s.name for s in outline.symbols] for name, outline in scans.items() if outline} == {
        "a": ["a"],
        "bad": [],
        "c": ["c"],
        "d": ["d"],
    }
    assert scans["bad"] is not None
    assert "hung or crashed" in scans["bad"].problem


def test_pool_runs_interactive_and_bulk_jobs_and_closes_at_once(tmp_path: Path) -> None:
    pool = WorkerPool(CONFIGURE, 1)
    paths = write(tmp_path, a="def a(): pass\n")
    bulk = pool.submit_bulk(lambda channel: channel.call(ScanFiles(paths), 120))
    interactive = pool.submit_interactive(lambda channel: channel.call(ScanText(paths[0], "def b(): pass\n"), 120))
    assert isinstance(bulk.result(120), ScanResult)
    response = interactive.result(120)
    assert isinstance(response, ScanResult)
    assert [s.name for s in decode_outline(response.files[0].encoded_outline).symbols] == ["b"]
    pool.close()
    assert pool.submit_bulk(lambda channel: None).cancelled()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_prestarted_worker_is_used_by_the_first_caller() -> None:
    prestart_worker()
    channel, second = WorkerChannel(CONFIGURE, background=True), WorkerChannel(CONFIGURE, background=False)
    (prestarted,) = spawn._prestarted
    channel.start()
    second.start()
    assert channel._process is prestarted and second._process is not prestarted and not spawn._prestarted
    assert os.getpriority(os.PRIO_PROCESS, prestarted.pid) == 10 and channel.dimension == second.dimension == 512
    channel.stop()
    second.stop()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_unused_prestarted_worker_is_killed_with_the_pool() -> None:
    prestart_worker()
    (prestarted,) = spawn._prestarted
    WorkerPool(CONFIGURE, bulk=1).close()
    assert prestarted.poll() is not None


def test_idle_interactive_worker_exits_and_the_next_request_starts_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(IDLE_TIMEOUT_S, "interactive", 0.05)
    pool = WorkerPool(CONFIGURE, 1)
    (path,) = write(tmp_path, a="")

    def outline(name: str) -> list[str]:
        job = pool.submit_interactive(lambda channel: channel.call(ScanText(path, f"def {name}(): pass\n"), 120))
        response = job.result(120)
        assert isinstance(response, ScanResult)
        return [s.name for s in decode_outline(response.files[0].encoded_outline).symbols]

    assert outline("first") == ["first"]
    (channel,) = pool._channels[:1]
    until(lambda: channel._process is None, "the idle worker has exited")
    assert outline("second") == ["second"] and channel.starts == 2
    pool.close()

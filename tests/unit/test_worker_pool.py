"""Worker processes: real ones, killed and stopped for real."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from promptls.index.scan import jobs
from promptls.index.scan.jobs import Embedded, Known, Outlined
from promptls.index.workers import spawn
from promptls.index.workers.messages import Configure, EmbedQuery, ScanFiles, Scanned, ScanText, Vector
from promptls.index.workers.pool import Channel, Pool, WorkerFailed
from promptls.index.workers.spawn import start_ahead
from promptls.model import unpack

NOTHING = Known(lambda key: False)
CONFIGURE = Configure("bundled", False, 1_000_000, 10_000, ("pack", "legacy"))


@pytest.fixture(scope="module")
def channel() -> Iterator[Channel]:
    channel = Channel(CONFIGURE, background=False)
    yield channel
    channel.stop()


def write(folder: Path, **files: str) -> tuple[str, ...]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return tuple((folder / f"{name}.py").as_posix() for name in files)


def test_a_worker_outlines_and_embeds(channel: Channel, tmp_path: Path) -> None:
    answer = channel.call(ScanFiles(write(tmp_path, a="def ping(host):\n    return send(host, b'ping')\n")), 30)
    assert isinstance(answer, Scanned)
    outline = unpack(answer.files[0].outlined)
    assert [s.name for s in outline.symbols] == ["ping"]
    rows = jobs.find_terms(channel, answer.files, NOTHING.made)
    assert rows.matrix.shape == (len(rows), 0)
    made = jobs.embed(channel, rows, NOTHING).rows
    assert set(made.keys) == {c.key for c in outline.chunks}
    assert "ping" in made.texts()[0].split()
    assert made.matrix.shape == (len(made), channel.dimension)
    assert np.linalg.norm(made.matrix[0] * made.scale[0]) == pytest.approx(1, abs=0.01)
    assert not jobs.embed(channel, rows, NOTHING).rows.keys, "texts are held until they have their vectors"


def test_a_header_is_of_the_language_that_it_turns_out_to_be_of(channel: Channel, tmp_path: Path) -> None:
    header = tmp_path / "late.h"
    header.write_text("#define LINE 1\n" * 500 + "namespace shop {\nclass Cart {\n  int total() { return 1; }\n};\n}\n")
    answer = channel.call(ScanFiles((header.as_posix(),)), 30)
    assert isinstance(answer, Scanned)
    outline = unpack(answer.files[0].outlined)
    assert (outline.language, outline.symbols[-1].qualified) == ("cpp", "shop.Cart.total")


def test_vectors_are_made_when_all_is_outlined(tmp_path: Path) -> None:
    pool = Pool(CONFIGURE, 1)
    done: list[str] = []
    hold = threading.Event()

    def first(channel: Channel) -> None:
        pool.later(channel, lambda channel: done.append("vectors"), 1)
        hold.wait(30)

    pool.bulk(first)
    last = pool.bulk(lambda channel: done.append("outlines"))
    hold.set()
    last.result(30)
    pool.bulk(lambda channel: None).result(30)
    deadline = time.monotonic() + 30
    while len(done) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    pool.close()
    assert done == ["outlines", "vectors"]


def test_what_is_known_is_not_embedded(channel: Channel, tmp_path: Path) -> None:
    answer = channel.call(ScanFiles(write(tmp_path, a="def ping(host):\n    return send(host, b'ping')\n")), 30)
    assert isinstance(answer, Scanned)
    assert jobs.find_terms(channel, answer.files, lambda key: True).keys == ()
    rows = jobs.find_terms(channel, answer.files, NOTHING.made)
    assert jobs.embed(channel, rows, Known(lambda key: True)).rows.keys == ()


def test_the_question_gets_a_vector_of_the_same_space(channel: Channel) -> None:
    answer = channel.call(EmbedQuery("send a ping to the host"), 30)
    assert isinstance(answer, Vector)
    assert np.frombuffer(answer.vector, np.float32).shape == (channel.dimension,)


def test_a_worker_that_is_killed_is_replaced(channel: Channel) -> None:
    channel.start()
    assert channel._process is not None
    starts = channel.starts
    os.kill(channel._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="ended with code -9"):
        channel._exchange(EmbedQuery("x"), 30)  # `call` may see that it is gone, and start another
    assert isinstance(channel.call(EmbedQuery("x"), 30), Vector)
    assert channel.starts == starts + 1


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_a_worker_that_hangs_is_given_up_and_replaced(channel: Channel) -> None:
    channel.start()
    assert channel._process is not None
    os.kill(channel._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerFailed, match="did not answer within"):
        channel.call(EmbedQuery("x"), 0.2)
    assert isinstance(channel.call(EmbedQuery("x"), 30), Vector)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_worker_that_stands_still_takes_in_no_more_than_a_pipe_holds(channel: Channel) -> None:
    channel.start()
    assert channel._process is not None
    os.kill(channel._process.pid, signal.SIGSTOP)
    with pytest.raises(WorkerFailed, match="did not listen"):
        channel.call(ScanText("/r/a.py", "a = 1\n" * 1_000_000), timeout_s=0.5)
    assert isinstance(channel.call(ScanText("/r/a.py", "a = 1\n"), 60), Scanned)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_nothing_watches_over_a_worker_that_has_died(channel: Channel) -> None:
    """What still did would keep a server that has ended its workers from ending."""
    channel.start()
    assert channel._process is not None
    pid = channel._process.pid
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(WorkerFailed, match="ended with code -9"):
        channel._exchange(ScanText("/r/a.py", "a = 1\n" * 1_000_000), timeout_s=60)
    for timer in [t for t in threading.enumerate() if isinstance(t, threading.Timer)]:
        timer.join(10)
        assert not timer.is_alive()


def test_the_one_file_that_breaks_a_worker_is_outlined_without_a_grammar(tmp_path: Path) -> None:
    """A worker that dies on one file, as it would by a grammar's crash: the others keep their outlines."""
    paths = write(tmp_path, a="def a(): pass\n", bad="def bad(): pass\n", c="def c(): pass\n", d="def d(): pass\n")

    class Dying(Channel):
        def call(self, request, timeout_s):  # type: ignore[no-untyped-def]
            if isinstance(request, ScanFiles) and not request.plain and paths[1] in request.paths:
                self.start()
                assert self._process is not None
                os.kill(self._process.pid, signal.SIGKILL)
                return self._exchange(request, timeout_s)  # `call` may see that it is gone, and start another
            return super().call(request, timeout_s)

    channel = Dying(CONFIGURE, background=True)
    events: list[Outlined | Embedded] = []
    try:
        jobs.job(paths, NOTHING, events.append, later=False)(channel)
    finally:
        channel.stop()
    scans = {Path(s.path).stem: unpack(s.outlined) for e in events if isinstance(e, Outlined) for s in e.scans}
    assert {name: [s.name for s in outline.symbols] for name, outline in scans.items() if outline} == {
        "a": ["a"],
        "bad": [],
        "c": ["c"],
        "d": ["d"],
    }
    assert scans["bad"] is not None
    assert "hung or crashed" in scans["bad"].problem


def test_a_pool_runs_both_lanes_and_closes_at_once(tmp_path: Path) -> None:
    pool = Pool(CONFIGURE, 1)
    paths = write(tmp_path, a="def a(): pass\n")
    bulk = pool.bulk(lambda channel: channel.call(ScanFiles(paths), 30))
    buffer = pool.interactive(lambda channel: channel.call(ScanText(paths[0], "def b(): pass\n"), 30))
    assert isinstance(bulk.result(60), Scanned)
    answer = buffer.result(60)
    assert isinstance(answer, Scanned)
    assert [s.name for s in unpack(answer.files[0].outlined).symbols] == ["b"]
    pool.close()
    assert pool.bulk(lambda channel: None).cancelled()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is no core for it")
def test_a_worker_that_was_started_ahead_goes_to_whoever_needs_one_first() -> None:
    start_ahead()
    channel, second = Channel(CONFIGURE, background=True), Channel(CONFIGURE, background=False)
    (ahead,) = spawn._ahead
    channel.start()
    second.start()
    assert channel._process is ahead and second._process is not ahead and not spawn._ahead
    assert os.getpriority(os.PRIO_PROCESS, ahead.pid) == 10 and channel.dimension == second.dimension == 512
    channel.stop()
    second.stop()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is no core for it")
def test_a_worker_that_was_started_ahead_and_has_died_is_not_waited_for() -> None:
    start_ahead()
    (ahead,) = spawn._ahead
    ahead.kill()
    ahead.wait()
    channel = Channel(CONFIGURE, background=False)
    channel.start()
    assert channel.dimension == 512
    channel.stop()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is no core for it")
def test_a_worker_that_nobody_has_asked_for_ends_with_the_pool() -> None:
    start_ahead()
    (ahead,) = spawn._ahead
    Pool(CONFIGURE, bulk=1).close()
    assert ahead.poll() is not None

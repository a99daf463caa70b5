"""Worker processes: real ones, killed and stopped for real."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from promptls.index import scanning
from promptls.index.scanning import Outlined, RowsReady
from promptls.index.store import Store
from promptls.index.work.messages import Configure, EmbedQuery, ScanFiles, Scanned, ScanText, Vector
from promptls.index.work.pool import Channel, Pool, WorkerFailed

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
    outline = answer.files[0].outline
    assert outline is not None
    assert [s.name for s in outline.symbols] == ["ping"]
    rows = scanning.embed(channel, answer.files, lambda key: False)
    assert {r.key for r in rows} == {c.key for c in outline.chunks}
    assert "ping" in rows[0].terms.split()
    vector = np.frombuffer(rows[0].vector, np.float16)
    assert vector.shape == (channel.dimension,)
    assert abs(float(np.linalg.norm(vector.astype(np.float32))) - 1) < 0.01


def test_what_is_known_is_not_embedded(channel: Channel, tmp_path: Path) -> None:
    answer = channel.call(ScanFiles(write(tmp_path, a="def ping(host):\n    return send(host, b'ping')\n")), 30)
    assert isinstance(answer, Scanned)
    assert scanning.embed(channel, answer.files, lambda key: True) == ()


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
        channel.call(EmbedQuery("x"), 30)
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


def test_the_one_file_that_breaks_a_worker_is_outlined_without_a_grammar(tmp_path: Path) -> None:
    """A worker that dies on one file, as it would by a grammar's crash: the others keep their outlines."""
    paths = write(tmp_path, a="def a(): pass\n", bad="def bad(): pass\n", c="def c(): pass\n", d="def d(): pass\n")

    class Dying(Channel):
        def call(self, request, timeout_s):  # type: ignore[no-untyped-def]
            if isinstance(request, ScanFiles) and not request.plain and paths[1] in request.paths:
                self.start()
                assert self._process is not None
                os.kill(self._process.pid, signal.SIGKILL)
            return super().call(request, timeout_s)

    channel = Dying(CONFIGURE, background=True)
    events: list[Outlined | RowsReady] = []
    store: Future[Store | None] = Future()
    store.set_result(None)
    try:
        scanning.job(paths, lambda key: False, store, events.append)(channel)
    finally:
        channel.stop()
    scans = {Path(s.path).stem: s.outline for e in events if isinstance(e, Outlined) for s in e.scans}
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
    assert answer.files[0].outline is not None
    assert [s.name for s in answer.files[0].outline.symbols] == ["b"]
    pool.close()
    assert pool.bulk(lambda channel: None).cancelled()

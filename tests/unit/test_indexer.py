"""What a running index shows is what a fresh one would show: rules, roots, open buffers and settings that change."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from promptls.index import files as disk
from promptls.index.config import IndexConfig
from promptls.index.indexer import Indexer
from promptls.index.prescan.fallback import defining
from promptls.index.scan import jobs, priority
from promptls.index.search.chunk_index import Columns
from promptls.index.search.row_batch import Rows, rounded
from promptls.index.search.term_dictionary import Vocabulary
from promptls.index.snapshot import OpenDocument, Snapshot, with_entries
from promptls.index.store import writer
from promptls.index.workers.pool import Pool, PoolClosed
from promptls.model import FileEntry, Root

Shown = dict[str, tuple[str, str, bytes, str]]
ONE, TWO = "def one():\n    return 1\n", "def two():\n    return 22\n"


class Place:
    """A folder and the indexes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        self.root.mkdir()
        self.indexers: list[Indexer] = []

    def write(self, name: str, text: str) -> str:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file.as_posix()

    def roots(self, *names: str) -> list[Root]:
        folders = [(self.root / name).resolve() for name in names or ("",)]
        return [Root(folder.as_posix(), folder.name, folder.as_uri()) for folder in folders]

    def index(self, *names: str, cache: str = "cache", limits: disk.Limits | None = None) -> Indexer:
        config = IndexConfig(cache=str(self.folder / cache), limits=limits or disk.Limits(), workers=1)
        indexer = Indexer(config)
        indexer.workspace.set_roots(self.roots(*names))
        self.indexers.append(indexer)
        indexer.start()
        return indexer

    def shown(self, indexer: Indexer) -> Shown:
        assert indexer.wait_ready(timeout_s=60)
        return {path: (e.root, e.name, e.digest, e.skipped) for path, e in indexer.view().files.items()}

    def fresh(self, like: Indexer) -> Shown:
        """What an index shows that has seen nothing but this disk and these buffers."""
        indexer = Indexer(
            IndexConfig(cache=str(self.folder / f"fresh-{len(self.indexers)}"), limits=like.config.limits, workers=1)
        )
        self.indexers.append(indexer)
        indexer.workspace.set_roots(like.workspace.roots)
        for path, document in like.workspace.documents.items():
            indexer.workspace.put_document(path, document.text, document.version, edited=False)
        indexer.start()
        return self.shown(indexer)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    here = Place(tmp_path.resolve())
    yield here
    for indexer in here.indexers:
        indexer.close()


def names(shown: Shown) -> list[str]:
    return sorted(name for _, name, _, _ in shown.values())


# ---------------------------------------------------------------- rules


def test_files_that_are_ignored_while_they_wait_stay_out(place: Place) -> None:
    for number in range(200):
        place.write(f"big/f{number}.py", f"def f{number}(x):\n    return x + {number}\n" * 20)
    place.write("keep.py", ONE)
    index = place.index()
    while len(index.view().files) < 201:
        pass
    index.workspace.touch([place.write(".gitignore", "big/\n")])
    assert names(place.shown(index)) == [".gitignore", "keep.py"]
    assert index.wait_stored(timeout_s=60)
    assert place.shown(index) == place.fresh(index)


@pytest.mark.parametrize("touched", [True, False])
def test_rules_that_are_saved_in_the_editor_count(place: Place, touched: bool) -> None:
    place.write("a.py", ONE)
    rules = place.write(".gitignore", "x\n")
    index = place.index()
    assert names(place.shown(index)) == [".gitignore", "a.py"]
    index.workspace.put_document(rules, "a.py\n", 2, edited=True)
    assert names(place.shown(index)) == [".gitignore", "a.py"]
    place.write(".gitignore", "a.py\n")
    index.workspace.saved(rules)
    if touched:
        index.workspace.touch([rules])
    assert names(place.shown(index)) == [".gitignore"]


@pytest.mark.parametrize(("before", "after"), [("x\n", "a.py\n"), ("a.py\n", "x\n")])
def test_an_open_buffer_is_ignored_as_the_rules_are_now(place: Place, before: str, after: str) -> None:
    path = place.write("a.py", ONE)
    place.write(".gitignore", before)
    index = place.index()
    place.shown(index)
    index.workspace.put_document(path, ONE, 1, edited=False)
    place.shown(index)
    index.workspace.touch([place.write(".gitignore", after)])
    assert place.shown(index) == place.fresh(index)
    index.workspace.put_document(path, TWO, 2, edited=True)
    assert place.shown(index) == place.fresh(index)
    index.workspace.close_document(path)
    assert place.shown(index) == place.fresh(index)


def test_a_buffer_with_secrets_stays_out_after_it_is_closed(place: Place) -> None:
    path = place.write(".env", "TOKEN=x\n")
    index = place.index()
    before = place.shown(index)
    index.workspace.put_document(path, "TOKEN=y\n", 1, edited=True)
    place.shown(index)
    index.workspace.close_document(path)
    assert place.shown(index) == before == place.fresh(index)


# ---------------------------------------------------------------- roots


def test_a_nested_root_takes_files_and_gives_them_back(place: Place) -> None:
    opened = place.write("sub/a.py", ONE)
    place.write("sub/b.py", ONE)
    place.write("c.py", ONE)
    index = place.index()
    place.shown(index)
    index.workspace.put_document(opened, ONE, 1, edited=False)
    for roots in (place.roots("", "sub"), place.roots("")):
        index.workspace.set_roots(roots)
        assert place.shown(index) == place.fresh(index)
        index.workspace.put_document(opened, TWO, 2, edited=True)
        assert place.shown(index) == place.fresh(index)
    index.workspace.close_document(opened)
    assert place.shown(index) == place.fresh(index)


def test_a_folder_that_is_gone_leaves_its_open_buffers(place: Place) -> None:
    path = place.write("sub/a.py", ONE)
    other = place.write("sub/b.py", ONE)
    entries = [(p, FileEntry(p, place.root.as_posix(), p.removeprefix(f"{place.root}/"))) for p in (path, other)]
    snapshot = with_entries(Snapshot(roots=tuple(place.roots())), entries)
    snapshot = snapshot.__class__(
        roots=snapshot.roots,
        files=snapshot.files,
        documents=snapshot.documents.set(path, OpenDocument(ONE, 1)),
    )
    for file in (path, other):
        Path(file).unlink()
    (place.root / "sub").rmdir()
    folder = (place.root / "sub").as_posix()
    assert jobs.sort_out(place.roots()[0], [folder], snapshot, disk.Limits()) == ([], [other])


def test_a_root_that_goes_away_is_missed_and_comes_back_as_it_was(place: Place) -> None:
    place.write("a.py", ONE)
    index = place.index()
    before, away = place.shown(index), place.folder / "away"
    place.root.rename(away)
    index.workspace.rescan()
    assert place.shown(index) == {}
    assert index.standing().state == "degraded"
    assert index.standing().message == f"Nothing of the folder {place.root} is known: it is not there; it is tried again from time to time."  # fmt: skip
    away.rename(place.root)
    index.workspace.rescan()
    assert place.shown(index) == before
    assert index.wait_stored(timeout_s=60)
    assert index.standing().state == "ready"


def test_more_files_than_are_listed_are_told(place: Place) -> None:
    for number in range(4):
        place.write(f"f{number}.py", ONE)
    index = place.index(limits=disk.Limits(max_files=3))
    assert len(place.shown(index)) == 3
    assert index.standing().state == "degraded"
    assert index.standing().message == f"{place.root} has 3 files or more, and no more than that are known; leave out what nobody asks about (.promptlsignore, index.exclude), or open a folder inside of it."  # fmt: skip
    for number in range(2):
        (place.root / f"f{number}.py").unlink()
    index.workspace.rescan()
    assert len(place.shown(index)) == 2
    assert index.wait_stored(timeout_s=60)
    assert index.standing().state == "ready"


@pytest.mark.parametrize(
    ("made", "reason"), [("nothing", "it is not there"), ("file", "it is no folder"), ("folder", "")]
)
def test_a_root_without_files_says_why_it_has_none(place: Place, made: str, reason: str) -> None:
    root = place.folder / "other"
    if made == "file":
        root.write_text(ONE)
    elif made == "folder":
        root.mkdir()
    assert disk.unlisted(root.as_posix()) == reason
    index = place.index("../other")
    assert place.shown(index) == {}
    assert (index.standing().state, reason in index.standing().message) == ("degraded" if reason else "ready", True)


# ---------------------------------------------------------------- walks


def compared(
    before: FileEntry, now: FileEntry, found: list[FileEntry]
) -> tuple[dict[str, FileEntry | None], list[str]]:
    """What a walk that began with `before` and has found these says of a file that is known as `now`."""
    root = Root("/r", "r", "file:///r")
    snapshot = with_entries(Snapshot(roots=(root,)), [(now.path, now)])
    seen = {e.path: disk.Found(e.path, e.name, e.size, e.mtime_ns) for e in found}
    return jobs.compare(seen, {before.path: before}, snapshot, root, live=True)


FILE = FileEntry("/r/a.py", "/r", "a.py", 5, 10)


@pytest.mark.parametrize(
    ("now", "gone"),
    [
        (FILE, True),
        (FileEntry("/r/a.py", "/r", "a.py", 5, 10, b"outlined"), True),  # meanwhile, as it was
        (FileEntry("/r/a.py", "/r", "a.py", 7, 20, b"written"), False),  # deleted and made anew meanwhile
    ],
)
def test_a_walk_takes_away_what_it_has_not_found_and_nobody_has_written(now: FileEntry, gone: bool) -> None:
    assert compared(FILE, now, []) == ({"/r/a.py": None} if gone else {}, [])


def test_a_file_that_may_be_read_again_is_read(tmp_path: Path) -> None:
    readable = tmp_path / "a.py"
    readable.write_text(ONE)
    for path, stale in ((readable.as_posix(), [readable.as_posix()]), ("/r/a.py", [])):
        denied = FileEntry(path, "/r", "a.py", 5, 10, skipped=disk.DENIED)
        assert compared(denied, denied, [denied])[1] == stale
    held = FileEntry("/r/a.py", "/r", "a.py", 5, 10, skipped=disk.HELD)
    assert compared(held, held, [held])[1] == ["/r/a.py"]


def test_files_that_wait_to_be_read_are_not_queued_again_by_walks(place: Place) -> None:
    """A prompt during a first scan has the folders walked: what had not been read yet was read twice."""
    for number in range(300):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    indexer = place.index()
    seen = []
    while not indexer.wait_ready(timeout_s=0.02):
        indexer.workspace.rescan([place.root.as_posix()])
        standing = indexer.standing()
        seen.append((standing.unread, standing.files))
    assert all(unread <= files for unread, files in seen), seen
    assert place.shown(indexer) == place.fresh(indexer)


def test_what_somebody_asks_for_is_read_before_all_others(place: Place) -> None:
    for number in range(400):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    shop = place.write("zz/things.py", "class Cart:\n    def total(self): ...\n")
    place.write("zz/use.py", "cart = Cart()\n")
    indexer = place.index()
    while len(indexer.view().files) < 402:
        assert indexer.wait_listed() or not indexer.wait_ready(timeout_s=0.01)
    indexer.pause()
    deadline = time.monotonic() + 60
    while "cart" not in (snapshot := indexer.read_ahead({"Cart"})).names:
        assert time.monotonic() < deadline
    assert (shop, 0) in snapshot.names["cart"]
    indexer.resume()
    indexer.workspace.rescan(full=True)
    assert place.shown(indexer) == place.fresh(indexer)


def test_before_files_are_read_their_names_and_words_are_known(place: Place) -> None:
    for number in range(400):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    shop = place.write("zz/things.py", "class Cart:\n    def total(self): ...\n")
    voucher = place.write("zz/other.py", "def redeem(self):\n    return self.vouchers_left - 1\n")
    indexer = place.index()
    while not indexer.usable:
        assert not indexer.wait_ready(timeout_s=0.001), "all files were read before anything of them was known"
    indexer.pause()
    assert list(indexer.names_waiting("ca", indexer.view())) == [("Cart", shop)]
    assert list(indexer.names_waiting("cat", indexer.view())) == []
    deadline = time.monotonic() + 60
    while not (snapshot := indexer.read_likely(("voucher",))).files[voucher].read:
        assert time.monotonic() < deadline
    assert (voucher, 0) in snapshot.names["redeem"]
    while "cart" not in (snapshot := indexer.read_ahead({"Cart"})).names:
        assert time.monotonic() < deadline
    assert list(indexer.names_waiting("ca", snapshot)) == [], "it is read by now"
    assert sum(entry.read for entry in snapshot.files.values()) < 402, "others still wait"
    indexer.resume()
    indexer.workspace.rescan(full=True)
    assert place.shown(indexer) == place.fresh(indexer)
    assert not indexer.reading


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Cart", ["src/z.py", "zz/cart.py", "src/use.py"]),  # who defines it, who is called like it, who holds it
        ("total", ["src/z.py", "src/use.py"]),
        ("totally", []),
        ("find_all", ["src/a.c"]),
    ],
)
def test_who_seems_to_define_a_name(place: Place, asked: str, expected: list[str]) -> None:
    place.write("zz/cart.py", "x = Cart()\n")
    place.write("src/a.c", "int find_all(void) { return 0; }\n")
    place.write("src/use.py", "Cart().total()\n")
    place.write("src/z.py", "class Cart:\n    def total(self): ...\n")
    root = place.root.as_posix()
    paths = sorted(file.path for file in disk.walk(root, disk.Limits()))
    told = defining({asked}, paths, disk.Limits(), time.monotonic() + 60, None)
    assert [path.removeprefix(f"{root}/") for path in told] == expected
    assert defining({asked}, paths, disk.Limits(), time.monotonic() - 1, None) == []


# ---------------------------------------------------------------- settings


def test_other_limits_look_at_every_file_anew(place: Place) -> None:
    place.write("big.py", ONE * 500)
    low, high = disk.Limits(max_file_size=1000), disk.Limits()
    for limits in (low, high, low):
        index = place.index(limits=limits)
        assert place.shown(index) == place.fresh(index)
        assert index.wait_stored(timeout_s=60)
        index.close()


# ---------------------------------------------------------------- threads


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def while_asked(ask: Callable[[], object], work: Callable[[], object]) -> None:
    """Do some work while another thread asks; its errors are raised here."""
    ended, errors = threading.Event(), []

    def asking() -> None:
        while not ended.is_set():
            try:
                ask()
            except Exception as error:
                errors.append(error)
                return

    thread = threading.Thread(target=asking)
    thread.start()
    work()
    ended.set()
    thread.join()
    assert not errors, errors[0]


def test_rows_may_be_asked_for_while_they_come_and_go(hasty: None) -> None:
    """What is said of a text is said of no other, though rows take the places of rows that are gone."""
    columns, keys = Columns(), [number.to_bytes(16, "big") for number in range(6000)]
    made, unmade = keys[::2], keys[1::2]

    def work() -> None:
        for at in range(0, len(keys), 20):
            some, part = keys[at : at + 20], made[at // 2 : at // 2 + 10]
            columns.move([(f"/r/{at}.py", f"{at}.py", [], some)])
            start, vectors = np.arange(len(part) + 1, dtype=np.int32), rounded(np.ones((len(part), 2)))
            columns.fill(Rows(tuple(part), ("w",), bytes(4 * len(part)), start.tobytes(), vectors))
            columns.move([(f"/r/{at}.py", f"{at}.py", some, some[7:])])
            columns.keep([], slack=0)

    def ask() -> None:
        assert not any(columns.made(key) or columns.vectored(key) for key in unmade)

    while_asked(ask, work)
    assert all(columns.made(key) == columns.living(key) for key in made)


def test_terms_may_be_listed_while_they_are_learned(hasty: None) -> None:
    vocabulary = Vocabulary()

    def listed() -> None:
        texts = vocabulary.texts()
        assert texts == [f"t{number}" for number in range(len(texts))]

    while_asked(listed, lambda: [vocabulary.learn([f"t{n + i}" for i in range(50)]) for n in range(0, 40_000, 50)])


# ---------------------------------------------------------------- the end


def test_a_closed_pool_starts_no_worker() -> None:
    pool = Pool(IndexConfig(cache="").configure(), bulk=1)
    begun, closed = threading.Event(), threading.Event()
    outcome: list[str] = []

    def job(channel: object) -> None:
        begun.set()
        closed.wait(30)
        try:
            channel.start()  # type: ignore[attr-defined]
        except PoolClosed:
            outcome.append("closed")

    future = pool.bulk(job)
    begun.wait(30)
    closer = threading.Thread(target=pool.close)
    closer.start()
    while not pool._channels[1].closed:
        pass
    closed.set()
    closer.join()
    future.result(30)
    assert outcome == ["closed"]


def test_an_event_that_fails_holds_up_no_other(place: Place) -> None:
    """Whatever goes wrong with one report of a worker: what others report counts at once."""
    place.write("a.py", ONE)
    index = place.index()
    place.shown(index)
    for _ in range(20):
        index._post(lambda: 1 // 0)
    index.workspace.touch([place.write("b.py", TWO)])
    assert names(place.shown(index)) == ["a.py", "b.py"]


def test_a_few_rows_that_wait_for_more_are_written_when_they_have_waited(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody need do anything for that: the index said "indexing" until somebody did."""
    monkeypatch.setattr(writer, "LAZY_S", 0.5)
    path = place.write("a.py", ONE)
    indexer = place.index()
    assert indexer.wait_stored(timeout_s=60)
    place.write("a.py", ONE + TWO)
    indexer.workspace.touch([path])
    assert indexer.wait_ready(timeout_s=60)
    assert indexer._publisher.fresh, "they wait"
    deadline = time.monotonic() + 20
    while indexer._publisher.fresh and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not indexer._publisher.fresh
    assert indexer.standing().state == "ready"


def test_a_request_that_computes_holds_up_nothing_but_a_scan(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that waits is the difference between "indexing" and "ready" in the answer."""
    monkeypatch.setattr(priority, "MOST_S", 60.0)
    path = place.write("a.py", ONE)
    indexer = place.index()
    assert indexer.wait_stored(timeout_s=60)
    (state,) = indexer._roots.values()
    over = threading.Event()
    with indexer.undisturbed():
        indexer._post(over.set)
        assert over.wait(10)
        over.clear()
        state.job_begins(path)
        indexer._post(over.set)
        assert not over.wait(0.1)
    assert over.wait(10)
    state.job_finished(path)

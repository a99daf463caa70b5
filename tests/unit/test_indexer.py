"""A running index equals a fresh one after changes of ignore rules, roots, open documents and settings."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from processes import until
from promptls.index import index_client, writer
from promptls.index.configuration import IndexConfig
from promptls.index.files.read import LEASED, PERMISSION_DENIED, FileLimits, listing_problem
from promptls.index.files.walk import FileInfo, walk_files
from promptls.index.indexer import Indexer
from promptls.index.prescan import find_definitions
from promptls.index.scan import jobs
from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.search.row_batch import RowBatch, quantize
from promptls.index.search.term_dictionary import TermDictionary
from promptls.index.snapshot import OpenDocument, Snapshot, with_files
from promptls.index.workers.pool import PoolClosedError, WorkerPool, worker_configuration
from promptls.index.workspace import UnsavedDocument
from promptls.model import Cancelled, CancelToken, FileEntry, Root

pytestmark = pytest.mark.process

Shown = dict[str, tuple[str, str, bytes, str]]
ONE, TWO = "def one():\n    return 1\n", "def two():\n    return 22\n"


class IndexedFolder:
    """A folder and its indexers."""

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

    def index(self, *names: str, cache: str = "cache", limits: FileLimits | None = None) -> Indexer:
        config = IndexConfig(cache_folder=str(self.folder / cache), limits=limits or FileLimits(), workers=1)
        indexer = Indexer(config)
        indexer.workspace.set_roots(self.roots(*names))
        self.indexers.append(indexer)
        indexer.start()
        return indexer

    def shown(self, indexer: Indexer) -> Shown:
        assert indexer.client.wait_until_searchable(timeout_s=120)
        return {
            path: (e.root, e.name, e.content_hash, e.skip_reason) for path, e in indexer.client.snapshot().files.items()
        }

    def fresh(self, like: Indexer) -> Shown:
        """Return the files of a new index of the same disk and open documents."""
        indexer = Indexer(
            IndexConfig(
                cache_folder=str(self.folder / f"fresh-{len(self.indexers)}"), limits=like.config.limits, workers=1
            )
        )
        self.indexers.append(indexer)
        indexer.workspace.set_roots(like.workspace.roots)
        for path, document in like.workspace.documents.items():
            indexer.workspace.put_document(path, document.text, document.version, edited=False)
        indexer.start()
        return self.shown(indexer)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[IndexedFolder]:
    here = IndexedFolder(tmp_path.resolve())
    yield here
    for indexer in here.indexers:
        indexer.close()


def names(shown: Shown) -> list[str]:
    return sorted(name for _, name, _, _ in shown.values())


# ---------------------------------------------------------------- changes


def test_waiting_for_changed_files_is_bounded_and_can_be_cancelled(place: IndexedFolder) -> None:
    place.write("a.py", ONE)
    index = place.index()
    assert index.client.wait_for_changes(timeout_s=0)  # a first scan is not awaited
    place.shown(index)
    paths = [place.write(f"more/{number}.py", ONE) for number in range(300)]
    index.workspace.touch(paths)
    assert index.client.has_unread_changes
    assert not index.client.wait_for_changes(timeout_s=0)
    cancelled = CancelToken()
    cancelled.cancel()
    with pytest.raises(Cancelled):
        index.client.wait_for_changes(cancelled)
    assert index.client.wait_for_changes(timeout_s=120)
    assert set(paths) <= set(index.client.snapshot().files)


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize("touched", [True, False])
def test_ignore_rules_apply_after_they_are_saved_in_the_editor(place: IndexedFolder, touched: bool) -> None:
    place.write("a.py", ONE)
    rules = place.write(".gitignore", "x\n")
    index = place.index()
    assert names(place.shown(index)) == [".gitignore", "a.py"]
    index.workspace.put_document(rules, "a.py\n", 2, edited=True)
    assert names(place.shown(index)) == [".gitignore", "a.py"]
    place.write(".gitignore", "a.py\n")
    index.workspace.mark_saved(rules)
    if touched:
        index.workspace.touch([rules])
    assert names(place.shown(index)) == [".gitignore"]


@pytest.mark.parametrize(("before", "after"), [("x\n", "a.py\n"), ("a.py\n", "x\n")])
def test_open_document_follows_changed_ignore_rules(place: IndexedFolder, before: str, after: str) -> None:
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


def test_open_document_is_indexed_if_the_folder_with_its_ignore_rules_is_deleted(place: IndexedFolder) -> None:
    path = place.write("sub/a.py", ONE)
    place.write("sub/.gitignore", "a.py\n")
    place.write("b.py", ONE)
    index = place.index()
    index.workspace.put_document(path, TWO, 1, edited=True)
    assert names(place.shown(index)) == ["b.py", "sub/.gitignore"]
    shutil.rmtree(place.root / "sub")
    index.workspace.touch([(place.root / "sub").as_posix()])
    assert names(place.shown(index)) == ["b.py", "sub/a.py"]


def test_document_with_secrets_is_not_indexed_after_it_is_closed(place: IndexedFolder) -> None:
    path = place.write(".env", "TOKEN=x\n")
    index = place.index()
    before = place.shown(index)
    index.workspace.put_document(path, "TOKEN=y\n", 1, edited=True)
    place.shown(index)
    index.workspace.close_document(path)
    assert place.shown(index) == before == place.fresh(index)


# ---------------------------------------------------------------- roots


def test_nested_root_takes_over_files_and_returns_them_when_removed(place: IndexedFolder) -> None:
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


def test_changed_ignore_rules_apply_to_nested_roots(place: IndexedFolder) -> None:
    place.write("sub/a.py", ONE)
    place.write("sub/b.py", ONE)
    place.write(".git/HEAD", "ref: refs/heads/main\n")
    index = place.index("", "sub")
    assert names(place.shown(index)) == ["a.py", "b.py"]
    index.workspace.touch([place.write(".gitignore", "b.py\n")])
    assert names(place.shown(index)) == [".gitignore", "a.py"]


def test_snapshot_is_the_same_until_something_changes(place: IndexedFolder) -> None:
    """Analyses of open documents are kept for as long as it is."""
    path = place.write("a.py", ONE)
    index = place.index()
    assert index.client.wait_until_stored(timeout_s=120)
    for client in (index.client, index.client_of_all_editors):
        seen = client.snapshot()
        assert client.snapshot() is seen
        index.workspace.put_document(path, ONE if "two" in seen.names else TWO, 1, edited=True)
        assert client.snapshot() is not seen
    unsaved = UnsavedDocument(time.time() + 60, OpenDocument("def three():\n    return 3\n", 1))
    index.workspace.set_other_documents({path: unsaved})
    assert {"one"} == set(index.client.snapshot().names)
    assert {"three"} == set(index.client_of_all_editors.snapshot().names)


def test_open_documents_of_a_deleted_folder_are_kept(place: IndexedFolder) -> None:
    path = place.write("sub/a.py", ONE)
    other = place.write("sub/b.py", ONE)
    entries = [(p, FileEntry(p, place.root.as_posix(), p.removeprefix(f"{place.root}/"))) for p in (path, other)]
    snapshot = with_files(Snapshot(roots=tuple(place.roots())), entries)
    snapshot = snapshot.__class__(
        roots=snapshot.roots,
        files=snapshot.files,
        documents=snapshot.documents.set(path, OpenDocument(ONE, 1)),
    )
    for file in (path, other):
        Path(file).unlink()
    (place.root / "sub").rmdir()
    folder = (place.root / "sub").as_posix()
    assert jobs.partition_changes(place.roots()[0], [folder], snapshot, FileLimits()) == ([], [other])


def test_missing_root_is_reported_and_restored_when_it_returns(place: IndexedFolder) -> None:
    place.write("a.py", ONE)
    index = place.index()
    before, away = place.shown(index), place.folder / "away"
    place.root.rename(away)
    index.workspace.rescan()
    assert place.shown(index) == {}
    assert index.client.state().phase == "degraded"
    assert index.client.state().message == f"Cannot read the folder {place.root}: it does not exist. Will retry."  # fmt: skip
    away.rename(place.root)
    index.workspace.rescan()
    assert place.shown(index) == before
    assert index.client.wait_until_stored(timeout_s=120)
    assert index.client.state().phase == "ready"


def test_root_that_is_unmounted_is_reported(place: IndexedFolder) -> None:
    """Only the empty mount point is left."""
    place.write("a.py", ONE)
    index = place.index()
    before, mounted = place.shown(index), place.folder / "mounted"
    place.root.rename(mounted)
    place.root.mkdir()
    index.workspace.rescan()
    assert place.shown(index) == {}
    assert index.client.state().message.startswith(f"The folder {place.root} was replaced by an empty one;")
    place.root.rmdir()
    mounted.rename(place.root)
    index.workspace.rescan()
    assert place.shown(index) == before
    (place.root / "a.py").unlink()
    index.workspace.rescan()
    assert place.shown(index) == {}
    assert index.client.wait_until_stored(timeout_s=120)
    assert index.client.state().phase == "ready"


def test_file_limit_is_reported(place: IndexedFolder) -> None:
    for number in range(4):
        place.write(f"f{number}.py", ONE)
    index = place.index(limits=FileLimits(max_files=3))
    assert len(place.shown(index)) == 3
    assert index.client.state().phase == "degraded"
    assert index.client.state().message == f"{place.root} has 3 files or more, and no more are indexed. Exclude files (.promptlsignore, index.exclude), or open a subfolder."  # fmt: skip
    for number in range(2):
        (place.root / f"f{number}.py").unlink()
    index.workspace.rescan()
    assert len(place.shown(index)) == 2
    assert index.client.wait_until_stored(timeout_s=120)
    assert index.client.state().phase == "ready"


@pytest.mark.parametrize(
    ("made", "reason"), [("nothing", "it does not exist"), ("file", "it is not a folder"), ("folder", "")]
)
def test_empty_root_reports_why_it_has_no_files(place: IndexedFolder, made: str, reason: str) -> None:
    root = place.folder / "other"
    if made == "file":
        root.write_text(ONE)
    elif made == "folder":
        root.mkdir()
    assert listing_problem(root.as_posix()) == reason
    index = place.index("../other")
    assert place.shown(index) == {}
    assert (index.client.state().phase, reason in index.client.state().message) == (
        "degraded" if reason else "ready",
        True,
    )


# ---------------------------------------------------------------- walks


def compare_during_walk(
    before: FileEntry | None, now: FileEntry | None, found: list[FileEntry], pending: str = ""
) -> jobs.WalkChanges:
    """Return the changes of a walk that began with `before` and listed `found`, for a file whose entry is `now`."""
    root = Root("/r", "r", "file:///r")
    snapshot = with_files(Snapshot(roots=(root,)), [(now.path, now)] if now is not None else [])
    seen = {e.path: FileInfo(e.path, e.name, e.size, e.mtime_ns) for e in found}
    recalled = {before.path: before} if before is not None else {}
    return jobs.compare_walk(seen, recalled, snapshot, root, {pending} - {""}, live=True)


FILE = FileEntry("/r/a.py", "/r", "a.py", 5, 10)
GONE = jobs.WalkChanges({"/r/a.py": None}, [], [])
UNCONFIRMED = jobs.WalkChanges({}, [], ["/r/a.py"])


@pytest.mark.parametrize(
    ("before", "now", "pending", "expected"),
    [
        (FILE, FILE, "", GONE),
        (FILE, FileEntry("/r/a.py", "/r", "a.py", 5, 10, b"outlined"), "/r/a.py", GONE),  # outlined meanwhile
        (FILE, FileEntry("/r/a.py", "/r", "a.py", 7, 20, b"written"), "", UNCONFIRMED),  # modified meanwhile
        (None, FILE, "", UNCONFIRMED),  # created meanwhile
        (None, None, "/r/a.py", UNCONFIRMED),  # created meanwhile and still being outlined
    ],
)
def test_walk_removes_only_missing_files_that_were_not_modified_meanwhile(
    before: FileEntry | None, now: FileEntry | None, pending: str, expected: jobs.WalkChanges
) -> None:
    assert compare_during_walk(before, now, [], pending) == expected


def test_files_that_become_ignored_while_they_wait_are_not_indexed(place: IndexedFolder) -> None:
    place.write("a.py", ONE)
    index = place.index()
    place.shown(index)
    long = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(300))
    index.workspace.touch([place.write(f"more/{number}.py", f"{long}{number}\n") for number in range(300)])
    while not index.client.state().unread:  # reading them takes seconds
        assert not index.client.wait_until_searchable(timeout_s=0.001), (
            "all files were read before one was seen waiting"
        )
    index.workspace.touch([place.write(".gitignore", "more/\n")])
    assert names(place.shown(index)) == [".gitignore", "a.py"]


def test_document_that_is_saved_closed_and_ignored_during_a_walk_is_not_indexed(place: IndexedFolder) -> None:
    path = place.write("a.py", ONE)
    for number in range(2000):
        place.write(f"m{number % 40}/f{number}.txt", "")
    index = place.index()
    for delay_ms in range(0, 30, 3):
        index.workspace.put_document(path, ONE, 1, edited=False)
        place.shown(index)
        index.workspace.put_document(path, TWO, 2, edited=True)
        place.write("a.py", TWO)
        index.workspace.mark_saved(path)
        place.shown(index)
        index.workspace.touch([place.write(".gitignore", "a.py\n")])
        index.client.wait_until_searchable(timeout_s=delay_ms / 1000)  # the walk is at another place each time
        index.workspace.close_document(path)
        assert path not in place.shown(index)
        index.workspace.touch([place.write("a.py", ONE), place.write(".gitignore", "")])
        assert path in place.shown(index)


@pytest.mark.parametrize("operation", ["create", "change", "delete"])
def test_changes_during_the_first_walk_are_not_lost(place: IndexedFolder, operation: str) -> None:
    existing = [place.write(f"m{number % 40}/f{number}.py", "") for number in range(4000)]
    index = place.index()
    place.shown(index)
    assert index.client.wait_until_stored(timeout_s=120)
    index.close()
    index = place.index()
    for path in existing:
        changed = Path(path.replace("/f", "/new") if operation == "create" else path)
        if operation == "delete":
            changed.unlink()
        else:
            changed.write_text(TWO)
        index.workspace.touch([changed.as_posix()])
        if index.client.snapshot().roots and index.client.state().phase != "scanning":
            break
        index.client.wait_until_searchable(timeout_s=0.001)
    assert place.shown(index) == place.fresh(index)


def test_walk_queues_files_that_became_readable(tmp_path: Path) -> None:
    readable = tmp_path / "a.py"
    readable.write_text(ONE)
    for path, stale in ((readable.as_posix(), [readable.as_posix()]), ("/r/a.py", [])):
        denied = FileEntry(path, "/r", "a.py", 5, 10, skip_reason=PERMISSION_DENIED)
        assert compare_during_walk(denied, denied, [denied]).stale == stale
    held = FileEntry("/r/a.py", "/r", "a.py", 5, 10, skip_reason=LEASED)
    assert compare_during_walk(held, held, [held]).stale == ["/r/a.py"]


def test_walks_do_not_queue_waiting_files_again(place: IndexedFolder) -> None:
    """A prompt during the first scan triggers walks, which must not queue unread files twice."""
    for number in range(300):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    indexer = place.index()
    seen = []
    while not indexer.client.wait_until_searchable(timeout_s=0.02):
        indexer.workspace.rescan([place.root.as_posix()])
        state = indexer.client.state()
        seen.append((state.unread, state.files))
    assert all(unread <= files for unread, files in seen), seen
    assert place.shown(indexer) == place.fresh(indexer)


def test_files_that_define_a_requested_name_are_read_first(place: IndexedFolder) -> None:
    for number in range(400):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    shop = place.write("zz/things.py", "class Cart:\n    def total(self): ...\n")
    place.write("zz/use.py", "cart = Cart()\n")
    indexer = place.index()
    while len(indexer.client.snapshot().files) < 402:
        assert indexer.client.wait_until_listed() or not indexer.client.wait_until_searchable(timeout_s=0.01)
    indexer.pause()
    deadline = time.monotonic() + 120
    while "cart" not in (snapshot := indexer.client.prioritize_names({"Cart"})).names:
        assert time.monotonic() < deadline
    assert (shop, 0) in snapshot.names["cart"]
    indexer.resume()
    indexer.workspace.rescan(reindex=True)
    assert place.shown(indexer) == place.fresh(indexer)


def test_prescan_provides_names_and_words_of_unread_files(place: IndexedFolder) -> None:
    for number in range(400):
        place.write(f"m{number}.py", "".join(f"def f{number}_{n}():\n    return {n}\n\n" for n in range(40)))
    shop = place.write("zz/things.py", "class Cart:\n    def total(self): ...\n")
    voucher = place.write("zz/other.py", "def redeem(self):\n    return self.vouchers_left - 1\n")
    indexer = place.index()
    while not indexer.client.usable:
        assert not indexer.client.wait_until_searchable(timeout_s=0.001), "all files were read before the prescan ended"
    indexer.pause()
    assert list(indexer.client.prescanned_names("ca", indexer.client.snapshot())) == [("Cart", shop)]
    assert list(indexer.client.prescanned_names("cat", indexer.client.snapshot())) == []
    deadline = time.monotonic() + 120
    while not (snapshot := indexer.client.prioritize_terms(("voucher",))).files[voucher].scanned:
        assert time.monotonic() < deadline
    assert (voucher, 0) in snapshot.names["redeem"]
    while "cart" not in (snapshot := indexer.client.prioritize_names({"Cart"})).names:
        assert time.monotonic() < deadline
    assert list(indexer.client.prescanned_names("ca", snapshot)) == [], "it has been read"
    assert sum(entry.scanned for entry in snapshot.files.values()) < 402, "other files are still waiting"
    indexer.resume()
    indexer.workspace.rescan(reindex=True)
    assert place.shown(indexer) == place.fresh(indexer)
    assert not indexer.client.is_reading


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Cart", ["src/z.py", "zz/cart.py", "src/use.py"]),  # defines it, has a similar name, contains it
        ("total", ["src/z.py", "src/use.py"]),
        ("totally", []),
        ("find_all", ["src/a.c"]),
    ],
)
def test_fallback_finds_probable_definitions_by_text(place: IndexedFolder, asked: str, expected: list[str]) -> None:
    place.write("zz/cart.py", "x = Cart()\n")
    place.write("src/a.c", "int find_all(void) { return 0; }\n")
    place.write("src/use.py", "Cart().total()\n")
    place.write("src/z.py", "class Cart:\n    def total(self): ...\n")
    root = place.root.as_posix()
    paths = sorted(file.path for file in walk_files(root, FileLimits()))
    found = find_definitions({asked}, paths, FileLimits(), time.monotonic() + 60, None)
    assert [path.removeprefix(f"{root}/") for path in found] == expected
    assert find_definitions({asked}, paths, FileLimits(), time.monotonic() - 1, None) == []


# ---------------------------------------------------------------- settings


def test_changed_limits_index_every_file_again(place: IndexedFolder) -> None:
    place.write("big.py", ONE * 500)
    low, high = FileLimits(max_file_size=1000), FileLimits()
    for limits in (low, high, low):
        index = place.index(limits=limits)
        assert place.shown(index) == place.fresh(index)
        assert index.client.wait_until_stored(timeout_s=120)
        index.close()


# ---------------------------------------------------------------- threads


@pytest.fixture
def short_switch_interval() -> Iterator[None]:
    """Switch threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_while_querying(ask: Callable[[], object], work: Callable[[], object]) -> None:
    """Run `work` while another thread calls `query`, and raise its errors."""
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


def test_rows_can_be_queried_while_they_are_added_and_removed(short_switch_interval: None) -> None:
    """Reused row numbers must not mix up chunks."""
    columns, keys = ChunkIndex(), [number.to_bytes(16, "big") for number in range(6000)]
    made, unmade = keys[::2], keys[1::2]

    def work() -> None:
        for at in range(0, len(keys), 20):
            some, part = keys[at : at + 20], made[at // 2 : at // 2 + 10]
            columns.update_files([(f"/r/{at}.py", f"{at}.py", [], some)])
            start, vectors = np.arange(len(part) + 1, dtype=np.int32), quantize(np.ones((len(part), 2)))
            columns.set_rows(RowBatch(tuple(part), ("w",), bytes(4 * len(part)), start.tobytes(), vectors))
            columns.update_files([(f"/r/{at}.py", f"{at}.py", some, some[7:])])
            columns.drop_dead_rows([], slack=0)

    def ask() -> None:
        assert not any(columns.is_complete(key) or columns.has_vector(key) for key in unmade)

    run_while_querying(ask, work)
    assert all(columns.is_complete(key) == columns.is_live(key) for key in made)


def test_terms_can_be_listed_while_they_are_interned(short_switch_interval: None) -> None:
    vocabulary = TermDictionary()

    def listed() -> None:
        texts = vocabulary.terms()
        assert texts == [f"t{number}" for number in range(len(texts))]

    run_while_querying(
        listed, lambda: [vocabulary.intern([f"t{n + i}" for i in range(50)]) for n in range(0, 40_000, 50)]
    )


# ---------------------------------------------------------------- closing


def test_closed_pool_does_not_start_a_worker() -> None:
    pool = WorkerPool(worker_configuration(IndexConfig(cache_folder="")), bulk=1)
    begun, closed = threading.Event(), threading.Event()
    outcome: list[str] = []

    def job(channel: object) -> None:
        begun.set()
        closed.wait(120)
        try:
            channel.start()  # type: ignore[attr-defined]
        except PoolClosedError:
            outcome.append("closed")

    future = pool.submit_bulk(job)
    begun.wait(120)
    closer = threading.Thread(target=pool.close)
    closer.start()
    while not pool._channels[1].closed:
        pass
    closed.set()
    closer.join()
    future.result(120)
    assert outcome == ["closed"]


def test_failed_event_does_not_block_other_events(place: IndexedFolder) -> None:
    """Results of other workers are applied at once, even if one result fails."""
    place.write("a.py", ONE)
    index = place.index()
    place.shown(index)
    for _ in range(20):
        index.machine.post(lambda: {}["missing"])
    index.workspace.touch([place.write("b.py", TWO)])
    assert names(place.shown(index)) == ["a.py", "b.py"]


def test_small_batch_of_rows_is_written_after_the_delay(place: IndexedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write happens without further changes; otherwise the index would remain "indexing"."""
    monkeypatch.setattr(writer, "SMALL_BATCH_DELAY_S", 0.5)
    path = place.write("a.py", ONE)
    indexer = place.index()
    assert indexer.client.wait_until_stored(timeout_s=120)
    place.write("a.py", ONE + TWO)
    indexer.workspace.touch([path])
    assert indexer.client.wait_until_searchable(timeout_s=120)
    assert indexer.machine.publisher.unstored, "rows are waiting for a larger batch"
    until(lambda: not indexer.machine.publisher.unstored, "the rows were not written")
    assert indexer.client.state().phase == "ready"


def test_running_request_defers_only_scan_results(place: IndexedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deferred event would change the reported phase from "ready" to "indexing"."""
    monkeypatch.setattr(index_client, "MAX_DELAY_S", 60.0)
    path = place.write("a.py", ONE)
    indexer = place.index()
    assert indexer.client.wait_until_stored(timeout_s=120)
    machine = indexer.machine
    (state,) = machine.root_states()
    with indexer.client.foreground():
        machine.post(lambda: machine.pause(False))
        assert machine.wait(lambda: not machine._inbox, None, 120)
        state.job_started(path)
        machine.post(lambda: machine.pause(False))
        assert not machine.wait(lambda: not machine._inbox, None, 0.1)
    assert machine.wait(lambda: not machine._inbox, None, 120)
    state.job_finished(path)

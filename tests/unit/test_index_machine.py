"""The state machine of the index, step by step: races between walks, jobs and documents, and interrupted scans."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from indexkit import SteppedIndex

from conftest import git
from promptls.index import Snapshot
from promptls.index.scan.root_state import root_status

pytestmark = pytest.mark.process

ONE, TWO = "def one():\n    return 1\n", "def two():\n    return 22\n"


def settled(tmp_path: Path, *names: str) -> SteppedIndex:
    root = tmp_path.resolve() / "root"
    root.mkdir()
    for name in names:
        (root / name).write_text(ONE)
    index = SteppedIndex(root, tmp_path / "cache")
    index.settle()
    assert index.texts() == index.expected_texts()
    return index


def test_path_and_chunk_keys_of_a_file_are_in_memory_once(tmp_path: Path) -> None:
    index = settled(tmp_path, "a.py", "b.py")
    (index.root / "b.py").write_text(TWO)
    index.workspace.touch([(index.root / "b.py").as_posix()])
    index.settle()
    publisher, (state,) = index.machine.publisher, index.machine.roots.values()
    assert all(path is entry.path for path, entry in publisher.snapshot.files.items())
    assert state.store is not None
    keys = [*state.store.keys, *(key for rows in publisher.unstored for key in rows.keys)]
    assert keys
    assert {id(key) for key in keys} <= {id(key) for key in publisher.chunk_index.keys}


@pytest.mark.parametrize("when", ["changed", "created", "outlined"])
def test_file_is_read_if_its_document_is_closed_before_the_machine_notices_that_it_was_open(
    tmp_path: Path, when: str
) -> None:
    index = settled(tmp_path, "a.py")
    path = (index.root / "b.py" if when == "created" else index.root / "a.py").as_posix()
    Path(path).write_text(TWO)
    index.workspace.touch([path])
    if when == "outlined":
        for number in range(20):  # so that a bulk worker reads it
            (index.root / f"{number}.py").write_text(ONE)
            index.workspace.touch([(index.root / f"{number}.py").as_posix()])
        index.step()
        index.pool.bulk.run_next()
    index.take()
    index.workspace.put_document(path, "typed = 1\n", 1, edited=True)
    index.step()
    index.workspace.close_document(path)
    index.settle()
    assert index.texts() == index.expected_texts()


def test_first_scan_begins_beside_open_documents_with_recent_commits_and_with_the_files_changed_last(
    tmp_path: Path,
) -> None:
    root = tmp_path.resolve() / "root"
    for number in range(60):
        folder = root / ("open" if number % 20 == 0 else "other")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.py").write_text(f"def function_{number}():\n    return {number}\n")
    git(root, "init", "-q")
    for names in (("--all",), ("other/7.py", "other/33.py")):
        git(root, "add", *names)
        git(root, "commit", "-q", "-m", "x")
        for name in ("other/7.py", "other/33.py"):
            (root / name).write_text(f"changed = {name!r}\n")
    for path in root.glob("o*/*.py"):
        os.utime(path, (1_000_000, 1_000_000 + int(path.stem)))
    index = SteppedIndex(root, tmp_path / "cache")
    index.workspace.put_document((root / "open" / "new.py").as_posix(), ONE, 1, edited=True)
    index.step()
    index.walks.run_next()
    index.step()
    while index.pool.bulk.tasks and not index.pool.channel.scanned_in_order:
        index.pool.bulk.run_next()
    first = [Path(path).name for path in index.pool.channel.scanned_in_order[:6]]
    assert first == ["40.py", "20.py", "0.py", "33.py", "7.py", "59.py"]


def test_file_that_returns_while_an_older_walk_is_applied_is_kept(tmp_path: Path) -> None:
    index = settled(tmp_path, "a.py")
    path = index.root / "a.py"
    index.workspace.rescan()
    index.step()
    path.rename(tmp_path / "away")
    index.walks.run_next()  # does not list the file
    (tmp_path / "away").rename(path)  # unchanged
    index.workspace.touch([path.as_posix()])
    index.settle()
    assert index.texts() == index.expected_texts() != {}


def test_walk_that_began_before_an_earlier_result_was_applied_keeps_its_files(tmp_path: Path) -> None:
    index = settled(tmp_path, "a.py")
    path = index.root / "a.py"
    for _ in range(2):
        index.workspace.rescan()
        index.step()
    path.rename(tmp_path / "away")
    index.walks.run_next()  # does not list the file
    (tmp_path / "away").rename(path)
    index.walks.run_next()  # lists it, and knows it
    index.settle()
    assert index.texts() == index.expected_texts() != {}


def folder_with_many_files(tmp_path: Path, count: int) -> Path:
    root = tmp_path.resolve() / "root"
    root.mkdir()
    for number in range(count):
        (root / f"{number}.py").write_text(f"def function_{number}(value):\n    return value + {number}\n")
    return root


def test_snapshot_from_before_a_walk_is_not_listed_afterwards(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.py").write_text(ONE)
    index = SteppedIndex(tmp_path / "root", tmp_path / "cache")
    before = index.machine.publisher.snapshot
    index.settle()
    assert not index.machine.is_listed(Snapshot())  # before the machine knows the roots
    assert not index.machine.is_listed(before)
    assert index.machine.is_listed(index.machine.publisher.snapshot)


def test_outlines_of_a_scan_that_is_killed_are_kept(tmp_path: Path) -> None:
    root = folder_with_many_files(tmp_path, 1_500)
    killed = SteppedIndex(root, tmp_path / "cache")
    killed.walks.run_next()
    killed.step()
    while len(killed.pool.channel.scanned_paths) < 1_024:
        killed.pool.bulk.run_next()
        killed.step()
    while killed.storage.run_next():
        pass
    index = SteppedIndex(root, tmp_path / "cache")
    index.walks.run_next()
    index.step()
    files = index.machine.publisher.snapshot.files.values()
    assert len(files) == 1_500
    assert sum(entry.scanned for entry in files) >= 1_000
    for machine in (killed.machine, index.machine):
        machine.close()


def test_interrupted_scan_continues_where_it_stopped(tmp_path: Path) -> None:
    root = folder_with_many_files(tmp_path, 1_200)
    read: list[set[str]] = []
    for share in (3, 1):
        index = SteppedIndex(root, tmp_path / "cache")
        index.walks.run_next()
        index.step()
        while index.pool.bulk.tasks and len(index.pool.channel.scanned_paths) * share < 1_200:
            index.pool.bulk.run_next()
            index.step()
            index.pool.deferred.run_next()
            index.step()
        if share == 1:
            index.settle()
            assert index.texts() == index.expected_texts()
            assert len(index.machine.publisher.chunk_index.reader().live_keys()) == 1_200
            assert not index.machine.publisher.chunk_index.incomplete_files()
        read.append(index.pool.channel.scanned_paths)
        index.machine.close()
    first, second = read
    assert 400 <= len(first) < 1_200
    assert not first & second
    assert len(first | second) == 1_200


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems accept only Unicode names")
def test_status_counts_files_whose_names_are_not_utf8(tmp_path: Path) -> None:
    index = settled(tmp_path, "a.py", os.fsdecode(b"caf\xe9.py"))
    (state,) = index.machine.root_states()
    status = root_status(state, index.machine.publisher.root_counts(state.root.path))
    assert (status.files, status.undecodable_names) == (1, 1)

"""Detection of changes by `stat`, without a walk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.index.files.read import FileLimits
from promptls.index.files.walk import FolderStats, is_stale, modified_files, record_stats, walk_files
from promptls.index.scan.jobs import MAX_STAT_FILES, check_staleness
from promptls.index.snapshot import Snapshot
from promptls.model import FileEntry, Root
from promptls.util.mappings import PersistentMap
from trees import alone, git, plant

pytestmark = pytest.mark.process

LIMITS = FileLimits()
TREE = """
src/app.py
src/deep/er/money.py
empty/below/
build/made.o
.gitignore = build/
"""
LONG_AGO_NS = 10**18


@pytest.fixture(autouse=True)
def _no_user_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(tmp_path / "home", monkeypatch)


def make_old(root: Path) -> None:
    """Set all times to years ago."""
    for path in [root, *root.rglob("*")]:
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def stats_of(root: Path) -> FolderStats:
    began_ns = time.time_ns()
    return record_stats(root.as_posix(), list(walk_files(root.as_posix(), LIMITS)), LIMITS, began_ns)


CHANGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda root: None, False),
    "a file is modified": (lambda root: (root / "src/app.py").write_text("other"), False),
    "a file is added": (lambda root: (root / "src/new.py").write_text(""), True),
    "a file is deleted": (lambda root: (root / "src/deep/er/money.py").unlink(), True),
    "a file is renamed": (lambda root: (root / "src/app.py").rename(root / "src/b.py"), True),
    "a folder is renamed": (lambda root: (root / "src/deep").rename(root / "src/flat"), True),
    "a folder is added": (lambda root: (root / "src/deep/new").mkdir(), True),
    "a file is added to an empty folder": (lambda root: (root / "empty/below/a.py").write_text(""), True),
    "a file is added to an ignored folder": (lambda root: (root / "build/b.o").write_text(""), False),
    "rules are modified": (lambda root: (root / ".gitignore").write_text("src/\n"), True),
    "rules are added": (lambda root: (root / "src/.promptlsignore").write_text("deep/\n"), True),
    "the exclude file of git is modified": (lambda root: (root / ".git/info/exclude").write_text("*.py\n"), True),
    "git refreshes its index": (lambda root: git(root, "status"), False),
}


@pytest.mark.parametrize("case", CHANGES)
def test_change_requires_a_walk(case: str, tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    git(root, "init", "-q")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").touch()
    make_old(root)
    before = stats_of(root)
    assert not is_stale(before)
    apply, needed = CHANGES[case]
    apply(root)
    assert is_stale(before) == needed


def test_recent_changes_require_another_walk(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    fresh = stats_of(root)
    assert is_stale(fresh)
    root.rename(tmp_path / "elsewhere")
    assert is_stale(fresh)
    (tmp_path / "elsewhere").rename(root)
    make_old(root)
    assert not is_stale(stats_of(root))


def test_deleted_root_is_stale(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    make_old(root)
    before = stats_of(root)
    root.rename(tmp_path / "elsewhere")
    assert is_stale(before)


@pytest.mark.parametrize(("all_files", "expected"), [(False, []), (True, ["a.py"])])
def test_files_of_large_workspaces_are_only_checked_on_request(
    tmp_path: Path, all_files: bool, expected: list[str]
) -> None:
    (tmp_path / "a.py").write_text("a")
    root = Root(tmp_path.as_posix(), "root", tmp_path.as_uri())
    entries = [FileEntry(f"{root.path}/a.py", root.path, "a.py", 999)]
    entries += [FileEntry(f"/other/{i}.py", "/other", f"{i}.py", 1) for i in range(MAX_STAT_FILES)]  # of another root
    snapshot = Snapshot(files=PersistentMap({entry.path: entry for entry in entries}))
    modified = check_staleness(root, FolderStats({}, {}), snapshot, all_files)
    assert [Path(path).name for path in modified or ()] == expected


def test_modified_files(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, "a.py\nb.py\nc.py\nd.py\n")
    make_old(root)
    files = sorted((f.path, f.size, f.mtime_ns) for f in walk_files(root.as_posix(), LIMITS))
    (root / "b.py").write_bytes((root / "b.py").read_bytes())  # new mtime, same size
    (root / "c.py").write_text("longer than it was")
    (root / "d.py").unlink()
    assert [Path(path).name for path in modified_files(files)] == ["b.py", "c.py", "d.py"]

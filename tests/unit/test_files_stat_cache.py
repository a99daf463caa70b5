"""What a look at folders and files tells without a walk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.index import files as disk
from trees import alone, git, plant

LIMITS = disk.Limits()
TREE = """
src/app.py
src/deep/er/money.py
empty/below/
build/made.o
.gitignore = build/
"""
LONG_AGO_NS = 10**18


@pytest.fixture(autouse=True)
def _nobodys_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(tmp_path / "home", monkeypatch)


def aged(root: Path) -> None:
    """As if nothing had been touched for years."""
    for path in [root, *root.rglob("*")]:
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def seen(root: Path) -> disk.Seen:
    began_ns = time.time_ns()
    return disk.remember(root.as_posix(), list(disk.walk(root.as_posix(), LIMITS)), LIMITS, began_ns)


CHANGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda root: None, False),
    "a file is written": (lambda root: (root / "src/app.py").write_text("other"), False),
    "a file comes": (lambda root: (root / "src/new.py").write_text(""), True),
    "a file goes": (lambda root: (root / "src/deep/er/money.py").unlink(), True),
    "a file is renamed": (lambda root: (root / "src/app.py").rename(root / "src/b.py"), True),
    "a folder is renamed": (lambda root: (root / "src/deep").rename(root / "src/flat"), True),
    "a folder comes": (lambda root: (root / "src/deep/new").mkdir(), True),
    "a file comes into an empty folder": (lambda root: (root / "empty/below/a.py").write_text(""), True),
    "a file comes into an ignored folder": (lambda root: (root / "build/b.o").write_text(""), False),
    "rules are written": (lambda root: (root / ".gitignore").write_text("src/\n"), True),
    "rules come": (lambda root: (root / "src/.promptlsignore").write_text("deep/\n"), True),
    "git's own rules are written": (lambda root: (root / ".git/info/exclude").write_text("*.py\n"), True),
    "git looks at its index": (lambda root: git(root, "status"), False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_walk_is_needed_when(what: str, tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    git(root, "init", "-q")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").touch()
    aged(root)
    before = seen(root)
    assert not disk.moved(before)
    change, needed = CHANGES[what]
    change(root)
    assert disk.moved(before) == needed


def test_what_has_just_changed_is_walked_again(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    fresh = seen(root)
    assert disk.moved(fresh)
    root.rename(tmp_path / "elsewhere")
    assert disk.moved(fresh)
    (tmp_path / "elsewhere").rename(root)
    aged(root)
    assert not disk.moved(seen(root))


def test_a_root_that_goes_has_moved(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, TREE)
    aged(root)
    before = seen(root)
    root.rename(tmp_path / "elsewhere")
    assert disk.moved(before)


def test_files_that_were_written(tmp_path: Path) -> None:
    root = tmp_path / "work"
    plant(root, "a.py\nb.py\nc.py\nd.py\n")
    aged(root)
    files = sorted((f.path, f.size, f.mtime_ns) for f in disk.walk(root.as_posix(), LIMITS))
    (root / "b.py").write_bytes((root / "b.py").read_bytes())  # another time
    (root / "c.py").write_text("longer than it was")
    (root / "d.py").unlink()
    assert [Path(path).name for path in disk.written(files)] == ["b.py", "c.py", "d.py"]

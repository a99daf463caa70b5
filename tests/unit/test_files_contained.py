"""Folders that are replaced by links while files below them are read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptls.index.files import contained
from promptls.index.files.contained import LINKED_FOLDER, LinkInPath, open_folder
from promptls.index.files.convention_files import find_files, read_convention_file, read_own_file
from promptls.index.files.ignore import IgnoreTree
from promptls.index.files.read import FileContent, FileLimits, read_any_text, read_small_file, read_text
from promptls.index.files.walk import walk_files
from promptls.index.snapshot import Snapshot, SourceReader
from promptls.model import FileText, Root

LIMITS = FileLimits()
CANARY = "kumquatzebra7319"
NAMES = ("deep/file.py", ".promptls/memory.json", ".promptlsignore", "rules/a.md")
READS = 1_500


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in NAMES:
        for place, text in (("work/sub", "inside = 1\n"), ("outside", f"{CANARY} = 1\n")):
            path = tmp_path / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return tmp_path / "work"


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[None]:
    """Replace a folder by a link to `target` and back, all the time."""
    code = (
        "import os, sys\nfolder, aside, target = sys.argv[1:]\nprint(flush=True)\nwhile True:\n"
        " os.rename(folder, aside); os.symlink(target, folder); os.unlink(folder); os.rename(aside, folder)"
    )
    aside = folder.parent.parent / "aside"
    command = [sys.executable, "-c", code, str(folder), str(aside), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
            process.wait()
            if aside.exists():
                folder.unlink(missing_ok=True)
                aside.rename(folder)


def read_indexed(root: str) -> str:
    content = read_text(f"{root}/sub/deep/file.py", LIMITS, (root,))
    return content.text if isinstance(content, FileContent) else ""


def read_mentioned(root: str) -> str:
    sources = SourceReader(Snapshot(roots=(Root(root, "work", ""),)), LIMITS)
    text = sources.read_text(f"{root}/sub/deep/file.py")
    view = sources.read(f"{root}/sub/deep/file.py", explicit=True)
    return (text if isinstance(text, str) else "") + (view.text if isinstance(view, FileText) else "")


def read_rule_file(root: str) -> str:
    content = read_convention_file(root, "sub/rules/a.md", LIMITS, 1000, lambda _: True)
    return content.text if isinstance(content, FileContent) else ""


def read_memory(root: str) -> str:
    data = read_own_file(f"{root}/sub", ".promptls/memory.json", 1000)
    outer = read_own_file(root, "sub/.promptls/memory.json", 1000)
    return repr(outer) if isinstance(data, bytes) else ""  # `root/sub` is a root there, and may be a link


def read_ignore_rules(root: str) -> str:
    rules = IgnoreTree(root, without_git=True).folder("sub").user_rules
    return repr([rule.text for levels, _ in rules for rule in levels.rules])


def list_names(root: str) -> str:
    return repr([file.name for file in walk_files(root, LIMITS)] + find_files(root, "sub/rules", (".md", ".py"), 1))


@pytest.mark.process
@pytest.mark.parametrize(
    "read", [read_indexed, read_mentioned, read_rule_file, read_memory, read_ignore_rules], ids=lambda f: f.__name__
)
def test_swapped_folder_reveals_no_outside_text(workspace: Path, read: Callable[[str], str]) -> None:
    outside = workspace.parent / "outside"
    with swapping(workspace / "sub", outside):
        texts = {read(str(workspace)) for _ in range(READS)}
    assert not any(CANARY in text for text in texts)
    assert "inside" in read(str(workspace))  # control: the reader works


@pytest.mark.process
def test_swapped_folder_reveals_no_outside_names(workspace: Path) -> None:
    (workspace.parent / "outside" / "rules" / f"{CANARY}.md").write_text("")
    with swapping(workspace / "sub", workspace.parent / "outside"):
        listings = {list_names(str(workspace)) for _ in range(READS // 10)}
    assert not any(CANARY in names for names in listings)
    assert "sub/deep/file.py" in list_names(str(workspace))


@pytest.mark.process
def test_links_above_and_at_the_root_are_followed(workspace: Path) -> None:
    parent, link = workspace.parent / "parent", workspace.parent / "link"
    parent.symlink_to(workspace.parent)
    link.symlink_to(workspace)
    for root in (str(parent / "work"), str(link), str(workspace)):
        path = f"{root}/sub/deep/file.py"
        assert isinstance(read_text(path, LIMITS, (root,)), FileContent), root
        assert isinstance(read_any_text(path, LIMITS, ("/elsewhere", root)), FileContent), root
        assert "sub/deep/file.py" in [file.name for file in walk_files(root, LIMITS)]
        with open_folder(f"{root}/sub", (root,)) as entries:
            assert "deep" in [entry.name for entry in entries]


def test_links_below_the_root_are_refused(workspace: Path) -> None:
    root = str(workspace)
    (workspace / "inner").symlink_to(workspace / "sub")
    (workspace / "outer").symlink_to(workspace.parent / "outside")
    for path in (f"{root}/inner/deep/file.py", f"{root}/outer/deep/file.py"):
        assert read_small_file(path, 1000, roots=(root,)) is None
        assert getattr(read_any_text(path, LIMITS, (root,)), "reason", "") == LINKED_FOLDER
    with pytest.raises(LinkInPath), open_folder(f"{root}/outer/deep", (root,)):
        pass
    # a folder that was opened as a root of its own may be a link
    assert isinstance(read_any_text(f"{root}/outer/deep/file.py", LIMITS, (root, f"{root}/outer")), FileContent)


@pytest.mark.process
def test_folders_are_opened_one_by_one_without_descriptor_paths(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems without /proc have no path of a descriptor."""
    monkeypatch.setattr(contained, "_descriptor_path", lambda _: None)
    test_links_above_and_at_the_root_are_followed(workspace)
    test_links_below_the_root_are_refused(workspace)
    test_swapped_folder_reveals_no_outside_text(workspace, read_indexed)
    root = str(workspace)
    before = os.dup(0)
    os.close(before)
    for name in ("sub/../sub/deep/file.py", "../outside/deep/file.py", "sub/missing/file.py", "sub/deep/file.py/x"):
        assert read_small_file(f"{root}/{name}", 1000, roots=(root,)) is None, name
    after = os.dup(0)
    os.close(after)
    assert after == before  # no descriptor is left open

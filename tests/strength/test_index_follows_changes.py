"""Random changes of files, documents, ignore rules and roots, while a walk of 1,500 files is running most of the time."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git
from promptls.index.configuration import IndexConfig
from promptls.index.files.read import FileLimits
from promptls.index.files.walk import ignored_paths, walk_files
from promptls.index.indexer import Indexer
from promptls.model import Root
from promptls.util.hashing import content_hash
from tally import Tries

NAMES = [f"{folder}f{n}.py" for folder in ("", "sub/", "new/") for n in range(6)]
RULE_FILES = [".gitignore", "sub/.gitignore"]
RULES = ["", "sub/\n", "f1.py\nf2.py\n", "new*/\n", "*.py\n", "*.py\n!f1.py\n"]
ROUNDS = 30


class ChangingWorkspace:
    """A folder that changes at random, its indexer, and what the index must contain."""

    def __init__(self, top: Path, seed: int) -> None:
        self.top, self.root, self.random = top, top / "root", random.Random(seed)
        for number in range(1_500):
            self.write(f"many{number % 20}/m{number}.txt", "")
        for name in NAMES:
            self.write(name, "value = 1\n")
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "first")
        git(self.root, "branch", "other")
        self.version = 0
        self.is_nested = False
        self.indexer = self.start()

    def start(self) -> Indexer:
        indexer = Indexer(IndexConfig(cache_folder=str(self.top / "cache"), workers=1))
        indexer.workspace.set_roots(self.roots())
        indexer.start()
        return indexer

    def roots(self) -> list[Root]:
        folders = [self.root, self.root / "sub"] if self.is_nested else [self.root]
        return [Root(folder.as_posix(), folder.name, folder.as_uri()) for folder in folders]

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def touch(self, *files: Path) -> None:
        self.indexer.workspace.touch([file.as_posix() for file in files])

    def text(self) -> str:
        self.version += 1
        return "value = 1\n" + f"# {self.version}\n" * self.random.randint(0, 3)

    # ---- operations

    def write_file(self, file: Path) -> None:
        self.touch(self.write(file.relative_to(self.root).as_posix(), self.text()))

    def write_files(self, file: Path) -> None:
        self.touch(*(self.write(name, self.text()) for name in NAMES if self.random.random() < 0.7))

    def delete(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        self.touch(file)

    def rename(self, file: Path) -> None:
        target = self.root / self.random.choice(NAMES)
        if file.exists() and file != target:
            target.parent.mkdir(exist_ok=True)
            file.replace(target)
            self.touch(file, target)

    def delete_folder(self, file: Path) -> None:
        if file.parent != self.root:
            shutil.rmtree(file.parent, ignore_errors=True)
            self.touch(file.parent)

    def open(self, file: Path) -> None:
        if file.exists() and file.as_posix() not in self.indexer.workspace.documents:
            self.indexer.workspace.put_document(file.as_posix(), file.read_text(), self.version, edited=False)

    def edit(self, file: Path) -> None:
        if file.as_posix() in self.indexer.workspace.documents:
            self.indexer.workspace.put_document(file.as_posix(), self.text(), self.version, edited=True)

    def save(self, file: Path) -> None:
        if (document := self.indexer.workspace.documents.get(file.as_posix())) is not None:
            self.write(file.relative_to(self.root).as_posix(), document.text)
            self.indexer.workspace.mark_saved(file.as_posix())

    def close(self, file: Path) -> None:
        for path in list(self.indexer.workspace.documents)[:2]:
            self.indexer.workspace.close_document(path)

    def change_rules(self, file: Path) -> None:
        self.touch(self.write(self.random.choice(RULE_FILES), self.random.choice(RULES)))

    def nest(self, file: Path) -> None:
        (self.root / "sub").mkdir(exist_ok=True)
        self.is_nested = not self.is_nested
        self.indexer.workspace.set_roots(self.roots())

    def check_out(self, file: Path) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "next")
        git(self.root, "checkout", "-q", "-f", self.random.choice(["main", "other"]))
        self.indexer.workspace.rescan()

    def wait(self, file: Path) -> None:
        time.sleep(self.random.choice([0.001, 0.01, 0.05]))  # the next change meets the walk at another place

    def restart(self, file: Path) -> None:
        documents = dict(self.indexer.workspace.documents.items())
        self.indexer.close()
        self.indexer = self.start()
        for path, document in documents.items():
            self.indexer.workspace.put_document(path, document.text, document.version, edited=True)

    # ---- check

    def expected(self) -> dict[str, bytes]:
        """Return the content hash of each file of `NAMES` and `RULE_FILES` that the index must contain."""
        expected: dict[str, bytes] = {}
        for root in self.roots():
            prefix = f"{root.path}/"
            inner = [other.path for other in self.roots() if other.path.startswith(prefix)]
            listed = [file.path for file in walk_files(root.path, FileLimits())]
            opened = [path for path in self.indexer.workspace.documents if path.startswith(prefix)]
            ignored = ignored_paths(root.path, opened)
            for path in {*listed, *opened} - ignored:
                if not any(path.startswith(f"{folder}/") for folder in inner):
                    document = self.indexer.workspace.documents.get(path)
                    expected[path] = content_hash(document.text if document else Path(path).read_text())
        return {path: value for path, value in expected.items() if "/many" not in path}

    def indexed(self) -> dict[str, bytes]:
        """Return the content hash of each of these files in the index."""
        assert self.indexer.client.wait_until_searchable(timeout_s=60)
        entries = self.indexer.client.snapshot().files.values()
        return {entry.path: entry.content_hash for entry in entries if "/many" not in entry.path}


OPERATIONS = {
    ChangingWorkspace.write_file: 3, ChangingWorkspace.write_files: 4, ChangingWorkspace.delete: 1,
    ChangingWorkspace.rename: 1, ChangingWorkspace.delete_folder: 2, ChangingWorkspace.open: 3,
    ChangingWorkspace.edit: 1, ChangingWorkspace.save: 1, ChangingWorkspace.close: 2,
    ChangingWorkspace.change_rules: 5, ChangingWorkspace.nest: 2, ChangingWorkspace.check_out: 0.5,
    ChangingWorkspace.wait: 4, ChangingWorkspace.restart: 0.2,
}  # fmt: skip
"""Operations and how often each is chosen."""


@pytest.fixture(params=[3, 4, 5])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ChangingWorkspace]:
    changing = ChangingWorkspace(tmp_path.resolve(), seed=request.param)
    yield changing
    changing.indexer.close()


def test_index_equals_the_files_after_changes_during_walks(
    workspace: ChangingWorkspace, effort: float, tries: Tries
) -> None:
    for _ in range(max(1, int(ROUNDS * effort))):
        done: list[tuple[str, str]] = []
        for _ in range(workspace.random.randint(2, 14)):
            operation = workspace.random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
            file = workspace.root / workspace.random.choice(NAMES)
            operation(workspace, file)
            done.append((operation.__name__, file.name))
        tries("changes", len(done))
        assert workspace.indexed() == workspace.expected(), done

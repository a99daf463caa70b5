"""`git_head`: reference and commit of the current checkout, read without git."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.index.files.git_ignore import git_head
from trees import alone, git, plant


@pytest.fixture(autouse=True)
def _no_user_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(tmp_path / "home", monkeypatch)


def commit(root: str) -> str:
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    return git(root, "rev-parse", "HEAD").decode().strip()


@pytest.mark.process
def test_head_changes_with_branches_commits_and_packed_refs(tmp_path: Path) -> None:
    root = plant(tmp_path / "r", "sub/a.py")
    assert git_head(root) == ""
    git(root, "init", "-q")
    git(root, "checkout", "-q", "-b", "feature/é")
    assert git_head(root) == "refs/heads/feature/é"
    first = commit(root)
    assert git_head(root) == git_head(root + "/sub") == f"refs/heads/feature/é {first}"
    git(root, "pack-refs", "--all")
    assert git_head(root) == f"refs/heads/feature/é {first}"
    second = commit(root)
    assert git_head(root) == f"refs/heads/feature/é {second}"
    git(root, "checkout", "-q", "-b", "other")
    assert git_head(root) == f"refs/heads/other {second}"
    git(root, "checkout", "-q", first)
    assert git_head(root) == first


@pytest.mark.process
def test_head_of_worktrees_and_submodules(tmp_path: Path) -> None:
    root = plant(tmp_path / "r", "a.py")
    git(root, "init", "-q")
    first = commit(root)
    tree = (tmp_path / "tree").as_posix()
    git(root, "worktree", "add", "-q", "-b", "side", tree)
    assert git_head(tree) == f"refs/heads/side {first}"
    second = commit(tree)
    assert git_head(tree) == f"refs/heads/side {second}"
    assert git_head(root).endswith(first)


@pytest.mark.parametrize(
    "tree",
    [
        ".git/",
        ".git/HEAD = ref: ../../secret",
        ".git/HEAD = ref: refs/heads/../../../secret",
        ".git = gitdir: nowhere",
        ".git = nonsense",
        ".git/HEAD/",
    ],
)
def test_head_of_damaged_and_hostile_repositories(tmp_path: Path, tree: str) -> None:
    plant(tmp_path, "secret = do not tell")
    assert "tell" not in git_head(plant(tmp_path / "r", tree))

"""Repositories that lead to another one, as an unpacked archive can contain them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import git
from promptls.git.commit_history import read_commits
from promptls.git.diff import diff_working_tree
from promptls.index.files.git_ignore import find_work_tree, git_head
from promptls.index.files.read import FileLimits
from promptls.index.files.walk import walk_files
from promptls.mentions.resolve import resolve_mentions
from promptls.model import FileText, Problem
from promptls.util.git_process import repository_problem
from workspaces import context_of, snapshot_of

pytestmark = pytest.mark.process

CANARY = "kumquatzebra7319"
MENTIONS = "@diff @staged @commit:HEAD @commit:main @branch @diff:HEAD"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A repository of the user, outside of the workspace."""
    root = tmp_path / "victim"
    commit_files(root, {"a.py": f"{CANARY} = 1\n"}, f"Add {CANARY}")
    return root


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked archive with a repository of its own."""
    root = tmp_path / "unpacked" / "work"
    commit_files(root, {"a.py": "own = 1\n"}, "Begin")
    return root


def commit_files(root: Path, files: dict[str, str], message: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def replace_git_folder(archive: Path) -> Path:
    shutil.rmtree(archive / ".git")
    return archive / ".git"


def git_file(archive: Path, victim: Path) -> None:
    replace_git_folder(archive).write_text(f"gitdir: {victim}/.git\n")


def relative_git_file(archive: Path, victim: Path) -> None:
    replace_git_folder(archive).write_text(f"gitdir: {os.path.relpath(victim, archive)}/.git\n")


def git_link(archive: Path, victim: Path) -> None:
    replace_git_folder(archive).symlink_to(victim / ".git")


def git_file_of_work_tree(archive: Path, victim: Path) -> None:
    """The work tree exists, but it is another folder."""
    git(victim, "worktree", "add", "-q", "-b", "side", str(victim.parent / "tree"))
    replace_git_folder(archive).write_text(f"gitdir: {victim}/.git/worktrees/tree\n")


def forged_work_tree(archive: Path, victim: Path) -> None:
    """The back-link is right, but it is in the archive, and the common folder is not."""
    forged = archive.parent / "worktrees" / "x"
    forged.mkdir(parents=True)
    (forged / "gitdir").write_text(f"{archive}/.git\n")
    (forged / "commondir").write_text(f"{victim}/.git\n")
    (forged / "HEAD").write_text("ref: refs/heads/main\n")
    replace_git_folder(archive).write_text(f"gitdir: {forged}\n")


def forged_submodule(archive: Path, victim: Path) -> None:
    """The configuration is right, but the objects are elsewhere."""
    forged = archive.parent / "modules" / "x"
    (archive / ".git").rename(forged.parent.mkdir() or forged)
    git(forged, "config", "core.worktree", "../../work")
    (forged / "objects" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")
    (archive / ".git").write_text(f"gitdir: {forged}\n")


def common_folder(archive: Path, victim: Path) -> None:
    (archive / ".git" / "commondir").write_text(f"{victim}/.git\n")


def alternates(archive: Path, victim: Path) -> None:
    (archive / ".git" / "objects" / "info" / "alternates").write_text(f"# x\n{victim}/.git/objects\n")
    shutil.copy(victim / ".git" / "refs" / "heads" / "main", archive / ".git" / "refs" / "heads" / "main")


def nested_alternates(archive: Path, victim: Path) -> None:
    shutil.copytree(archive / ".git" / "objects", archive / "more")
    (archive / ".git" / "objects" / "info" / "alternates").write_text("../../more\n")
    (archive / "more" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")


def linked_objects(archive: Path, victim: Path) -> None:
    shutil.rmtree(archive / ".git" / "objects")
    (archive / ".git" / "objects").symlink_to(victim / ".git" / "objects")


def linked_loose_objects(archive: Path, victim: Path) -> None:
    for folder in (victim / ".git" / "objects").iterdir():
        if not (archive / ".git" / "objects" / folder.name).exists():
            (archive / ".git" / "objects" / folder.name).symlink_to(folder)


def linked_references(archive: Path, victim: Path) -> None:
    shutil.rmtree(archive / ".git" / "refs")
    (archive / ".git" / "refs").symlink_to(victim / ".git" / "refs")


def other_work_tree(archive: Path, victim: Path) -> None:
    git(archive, "config", "core.worktree", str(victim))


def other_work_tree_in_unusual_spelling(archive: Path, victim: Path) -> None:
    with (archive / ".git" / "config").open("a") as file:
        file.write(f'[CORE] WorkTree = "{victim}"\n')


def other_work_tree_by_extension(archive: Path, victim: Path) -> None:
    git(archive, "config", "extensions.worktreeConfig", "true")
    (archive / ".git" / "config.worktree").write_text(f"[core]\n\tworktree = {victim}\n")


def damaged_inside_foreign(archive: Path, victim: Path) -> None:
    """Git ignores the damaged folder and continues above, in the archive as well."""
    shutil.rmtree(archive / ".git" / "objects")
    (archive.parent / ".git").write_text(f"gitdir: {victim}/.git\n")


FOREIGN = [
    git_file, relative_git_file, git_link, git_file_of_work_tree, forged_work_tree, forged_submodule, common_folder,
    alternates, nested_alternates, linked_objects, linked_loose_objects, linked_references, other_work_tree,
    other_work_tree_in_unusual_spelling, other_work_tree_by_extension, damaged_inside_foreign,
]  # fmt: skip


@pytest.mark.parametrize("lead_away", FOREIGN, ids=lambda f: f.__name__)
def test_repository_that_leads_elsewhere_is_refused(
    archive: Path, victim: Path, lead_away: Callable[[Path, Path], None]
) -> None:
    lead_away(archive, victim)
    assert repository_problem(str(archive)), lead_away
    for result in (read_commits(str(archive)), diff_working_tree(str(archive))):
        assert isinstance(result, Problem) and "is not read: " in result.message, result
    context = context_of(snapshot_of("", archive))
    outcomes = resolve_mentions(MENTIONS, context)
    views = [context.sources.read(item.path) for outcome in outcomes for item in outcome.targets]
    texts = [view.text for view in views if isinstance(view, FileText)]
    assert CANARY not in repr((texts, [outcome.reason for outcome in outcomes]))
    assert len(outcomes) == len(MENTIONS.split())
    assert find_work_tree(str(archive)) is None
    assert "a.py" in [file.name for file in walk_files(str(archive), FileLimits())]  # without git


def test_linked_work_trees_and_submodules_are_read(archive: Path, victim: Path) -> None:
    tree, bare = victim.parent / "tree", victim.parent / "bare"
    git(victim, "worktree", "add", "-q", "-b", "side", str(tree))
    git(archive, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(victim), "libs/module")
    git(archive / "libs/module", "worktree", "add", "-q", "-b", "side", str(victim.parent / "module-tree"))
    bare.mkdir()
    git(bare, "clone", "-q", "--bare", str(victim), ".bare")
    (bare / ".git").write_text("gitdir: ./.bare\n")
    link = victim.parent / "link"
    link.symlink_to(tree)
    (tree / "sub").mkdir()
    for folder in (tree, tree / "sub", link, archive, archive / "libs/module", victim.parent / "module-tree", bare):
        assert repository_problem(str(folder)) == "", folder
        assert git_head(str(folder)), folder
    for folder in (tree, link, archive / "libs/module", victim.parent / "module-tree"):
        assert not isinstance(read_commits(str(folder)), Problem), folder
        assert not isinstance(diff_working_tree(str(folder)), Problem), folder


def test_own_alternates_are_read(archive: Path) -> None:
    shutil.copytree(archive / ".git" / "objects", archive / ".git" / "more")
    (archive / ".git" / "objects" / "info" / "alternates").write_text("../more\n")
    assert repository_problem(str(archive)) == ""


def test_folder_outside_of_repositories_has_no_problem(tmp_path: Path) -> None:
    assert repository_problem(str(tmp_path)) == repository_problem(str(tmp_path / "missing")) == ""

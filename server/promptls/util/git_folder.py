"""Locates the repository of a folder, and decides whether it may be read.

An unpacked archive can contain a `.git` that leads to another repository of the user.  A repository outside of the work
tree is accepted only if it names the work tree itself, which the author of an archive cannot cause: a linked work tree
or a submodule.  Objects, references and the work tree must not lead to a further place either.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH100, PTH112, PTH114, PTH115, PTH118, PTH119, PTH120
from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Callable

from msgspec import Struct

from promptls.util.git_process import QUICK_TIMEOUT_S, git_program, run_git

MAX_CONFIG_BYTES = 1_000_000
"""Limit for files of a repository that are read here; git itself writes a few hundred bytes."""
MAX_ALTERNATES = 8
"""Maximum number of object folders that borrow from each other; git follows 5 levels."""
_HEAD = re.compile(r"ref:\s*refs/|[0-9a-f]{40}")
_OPEN_FLAGS: int = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
_LINKED_PARTS = ("", "objects", "objects/info", "objects/pack", "info")
"""Folders of a repository whose entries must not be links to another place."""


class GitFolder(Struct, frozen=True):
    """Repository of a work tree."""

    top: str  # real path of the work tree
    path: str  # real path of its git folder, "" if `.git` is damaged
    common: str  # real path of the git folder that all work trees of the repository share
    linked: bool = False  # a linked work tree (git worktree)
    problem: str = ""  # why the repository must not be read, as the end of a sentence


def find_git_folder(folder: str, check_configuration: bool = False) -> GitFolder | None:
    """Return the repository of the nearest folder at or above `folder` that has one; None outside of repositories.

    Reads a few small files.  With `check_configuration`, git is started if the configuration could name another work
    tree, as in a submodule.
    """
    top = os.path.realpath(folder)
    while True:
        entry = os.path.join(top, ".git")
        # As for git, a folder without HEAD is not a repository, and the search continues above.
        if os.path.lexists(entry) and (not os.path.isdir(entry) or os.path.lexists(os.path.join(entry, "HEAD"))):
            return _examine(top, entry, _query_work_trees if check_configuration else None)
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent


def repository_problem(folder: str) -> str:
    """Return why git must not read the repository around a folder, as the end of a sentence; "" if it may."""
    found = find_git_folder(folder, check_configuration=True)
    return found.problem if found is not None else ""


def read_git_file(path: str) -> str:
    """Return the stripped content of a small file of a repository, "" if it cannot be read."""
    try:
        fd = os.open(path, _OPEN_FLAGS)
    except (OSError, ValueError):
        return ""
    try:
        data = os.read(fd, MAX_CONFIG_BYTES) if modes.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        data = b""
    finally:
        os.close(fd)
    return os.fsdecode(data).strip()


def _examine(top: str, entry: str, query_config: Callable[[str], list[str]] | None) -> GitFolder:
    """Return the repository to which `.git` in a folder leads."""
    target = entry
    if not os.path.isdir(entry):
        link = read_git_file(entry)
        if not link.startswith("gitdir:"):
            return GitFolder(top, "", "", problem="its .git is damaged")
        target = os.path.join(top, link.removeprefix("gitdir:").strip())
    path = os.path.realpath(target)
    relative_common = read_git_file(os.path.join(path, "commondir"))
    common = os.path.realpath(os.path.join(path, relative_common)) if relative_common else path
    linked = common != path
    if not _is_repository(path, common):  # git would continue above, in a repository that is not examined
        return GitFolder(top, path, common, linked, "its .git is damaged")
    if not _is_below(path, top):
        owner = os.path.dirname(os.path.dirname(path))
        is_work_tree = common == owner and os.path.basename(os.path.dirname(path)) == "worktrees"
        if linked and not (
            is_work_tree and _is_same(_resolve(path, read_git_file(os.path.join(path, "gitdir"))), entry)
        ):
            return GitFolder(top, path, common, linked, "its .git leads to a repository that does not name the folder")
        if not linked and not _is_submodule(path, top, query_config):
            return GitFolder(top, path, common, linked, "its .git leads to a repository that does not name the folder")
        allowed = (common,)
    elif not _is_below(common, top):
        return GitFolder(top, path, common, linked, "its .git/commondir leads to another repository")
    else:
        allowed = (top,)
    problem = _linked_entry(common, allowed) or _borrowed_objects(common, allowed)
    if not problem and query_config is not None:
        # The configuration of a linked work tree is that of the common folder, in which git ignores core.worktree.
        names = ("config.worktree",) if linked else ("config", "config.worktree")
        values = [value for name in names for value in _work_trees(os.path.join(path, name), query_config)]
        if not all(_is_same(_resolve(path, value), top) for value in values):
            problem = "core.worktree names another folder"
    return GitFolder(top, path, common, linked, problem)


def _is_repository(path: str, common: str) -> bool:
    """Return whether git accepts a folder as a repository."""
    head = os.path.join(path, "HEAD")
    is_reference = os.readlink(head).startswith("refs/") if os.path.islink(head) else _HEAD.match(read_git_file(head))
    folders = (os.path.join(common, "objects"), os.path.join(common, "refs"))
    return bool(is_reference) and all(os.path.isdir(f) and os.access(f, os.X_OK) for f in folders)


def _query_work_trees(config: str) -> list[str]:
    """Return the values of `core.worktree` in a configuration file as git parses it."""
    git = git_program()
    arguments = ("config", "--file", config, "--no-includes", "--null", "--get-all", "core.worktree")
    try:
        result = run_git(git, arguments, os.path.abspath(os.sep), timeout_s=QUICK_TIMEOUT_S) if git else None
    except (OSError, ValueError):
        result = None
    if result is None or not result.complete or result.exit_status not in (0, 1):
        return [""]  # unknown, and therefore not the right one
    return os.fsdecode(result.stdout).split("\0")[:-1]


def _is_submodule(path: str, top: str, query_config: Callable[[str], list[str]] | None) -> bool:
    """Return whether the repository of a superproject names `top` as the work tree of its submodule."""
    if f"{os.sep}modules{os.sep}" not in path:
        return False
    if query_config is None:
        return True
    values = _work_trees(os.path.join(path, "config"), query_config)
    return bool(values) and all(_is_same(_resolve(path, value), top) for value in values)


def _work_trees(config: str, query_config: Callable[[str], list[str]]) -> list[str]:
    return query_config(config) if "worktree" in read_git_file(config).lower() else []


def _linked_entry(common: str, allowed: tuple[str, ...]) -> str:
    """Return the problem of a link in a repository that leads out of it, "" without one."""
    for part in _LINKED_PARTS:
        try:
            with os.scandir(os.path.join(common, part) if part else common) as entries:
                links = [entry.path for entry in entries if entry.is_symlink()]
        except OSError:
            continue
        for link in links:
            if not any(_is_below(os.path.realpath(link), folder) for folder in allowed):
                return f"{os.path.relpath(link, common)} in its .git is a link to another place"
    return ""


def _borrowed_objects(common: str, allowed: tuple[str, ...]) -> str:
    """Return the problem of objects that are borrowed from another repository, "" without one."""
    pending, seen = [os.path.join(common, "objects")], set[str]()
    while pending:
        objects = os.path.realpath(pending.pop())
        if objects in seen:
            continue
        seen.add(objects)
        if len(seen) > MAX_ALTERNATES or not any(_is_below(objects, folder) for folder in allowed):
            return "it borrows objects from another repository (objects/info/alternates)"
        for line in read_git_file(os.path.join(objects, "info", "alternates")).splitlines():
            if line.startswith('"'):  # a quoted path, which git writes for unusual names only
                return "it borrows objects from another repository (objects/info/alternates)"
            if line and not line.startswith("#"):
                pending.append(os.path.join(objects, line))
    return ""


def _resolve(base: str, path: str) -> str:
    return os.path.join(base, path) if path else ""


def _is_same(first: str, second: str) -> bool:
    return bool(first) and os.path.normcase(os.path.realpath(first)) == os.path.normcase(os.path.realpath(second))


def _is_below(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)

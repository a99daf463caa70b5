"""Queries to git about a work tree: its files, the ignored ones and their rules, recent changes, the current commit.

A workspace is not trusted.  No hook, monitor, filter, pager or transport from its configuration is started, nothing is
written, and git never prompts.  Every call can fail (git is missing, the repository is damaged or has another owner).
The result is then None, and the callers evaluate the rules without git.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH111, PTH113, PTH118
from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from msgspec import Struct

from promptls.index.files.read import is_out_of_resources, read_small_file
from promptls.index.files.uris import WINDOWS
from promptls.model import CancelToken
from promptls.util.git_process import (
    QUICK_TIMEOUT_S,
    find_git_folder,
    git_program,
    is_unresponsive,
    mark_unresponsive,
    read_git_file,
    repository_problem,
    run_git,
)

log = logging.getLogger(__name__)

LISTING_TIMEOUT_S = 120.0
"""Seconds for the listing of a huge work tree with a cold disk cache."""
RECENT_COMMITS = 50
"""Number of commits whose files are read first in a new workspace."""
_SLOW_COMMANDS = {"ls-files", "check-ignore"}
MAX_ARGUMENT_CHARS = 4_000
"""Maximum total length of pathspecs on a command line; Windows allows 32,000 characters."""


class WorkTree(Struct, frozen=True):
    """Work tree that contains a folder."""

    folder: str  # the folder
    top: str  # real path of the work tree
    prefix: str  # the folder relative to the top, with a slash at the end, "" for the top itself
    exclude_file: str  # path of info/exclude


class GitRule(Struct, frozen=True):
    """Last rule that matches a path, as reported by git."""

    file: str  # absolute path of the ignore file
    line: int  # 1-based
    text: str

    @property
    def is_exclusion(self) -> bool:
        """Whether the rule ignores the path."""
        return not self.text.startswith("!")


def find_work_tree(folder: str) -> WorkTree | None:
    """Return the work tree that contains `folder`, None without one."""
    output = _query_git(("rev-parse", "--is-inside-work-tree", "--show-cdup", "--git-path", "info/exclude"), folder)
    if output is None:
        return None
    # The second line has only "../", so a line break in a name can only occur in the last part.
    inside, up, exclude = (*os.fsdecode(output).split("\n", 2), "", "")[:3]
    if inside != "true" or up.replace("../", ""):
        return None
    parts = _with_forward_slashes(os.path.realpath(folder)).rstrip("/").split("/")
    levels = up.count("../")
    top = "/".join(parts[: len(parts) - levels])
    prefix = "".join(part + "/" for part in parts[len(parts) - levels :]) if levels else ""
    return WorkTree(folder, top or "/", prefix, os.path.join(folder, exclude.removesuffix("\n")))


def list_files(repo: WorkTree, under: str = "", token: CancelToken | None = None) -> list[str] | None:
    """Return the names, relative to `repo.folder`, of all tracked files and all untracked files that are not ignored.

    A nested repository is listed as its folder, with a trailing slash unless it is a submodule.  Tracked files need
    not exist.  With `under`, only files in this folder are listed.
    """
    args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return _split_names(_query_git([*args, "--", ":(literal)" + under] if under else args, repo.folder, token=token))


def recently_committed(folder: str, token: CancelToken | None = None) -> list[str]:
    """Return the names, relative to `folder`, of the files that the last `RECENT_COMMITS` commits changed.

    Commits without a known parent, such as that of a clone of one commit, change no files.
    """
    commits = _query_git(("rev-list", f"--max-count={RECENT_COMMITS}", "--no-merges", "HEAD"), folder, token=token)
    arguments = ("diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-commit-id", "--relative")
    return _split_names(_query_git(arguments, folder, commits, token=token) if commits else None) or []


def tracked_paths(repo: WorkTree, among: Sequence[str] = ()) -> set[str]:
    """Return the names, relative to `repo.folder`, of tracked files and submodules and of their parent folders.

    With `among`, the result may omit other names.
    """
    pathspecs = [":(literal)" + name for name in among]
    if sum(map(len, pathspecs)) > MAX_ARGUMENT_CHARS:
        pathspecs = []
    tracked: set[str] = set()
    for name in _split_names(_query_git(("ls-files", "-z", "--cached", "--", *pathspecs), repo.folder)) or ():
        while name and name not in tracked:
            tracked.add(name)
            name = name.rpartition("/")[0]
    return tracked


def check_ignore(repo: WorkTree, names: Sequence[str]) -> dict[str, GitRule] | None:
    """Return the rule that decides about each name (relative to `repo.folder`); names without a rule are omitted.

    Tracked files and their parent folders are not ignored.  Starts two processes for any number of names.  Returns
    None if git rejects one of the names, such as one below a link.
    """
    stdin = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)  # "./": ":x" would be a pathspec
    # Without --no-index, git searches its index linearly for each name.
    output = _query_git(("check-ignore", "--no-index", "-v", "-z", "--stdin"), repo.folder, stdin, ok_statuses=(0, 1))
    if output is None:
        return None
    fields = os.fsdecode(output).split("\0")
    rules: dict[str, GitRule] = {}
    for i in range(0, len(fields) - 3, 4):
        source, line, text, name = fields[i : i + 4]
        rules[name.removeprefix("./")] = GitRule(
            _with_forward_slashes(os.path.join(repo.top, source)), int(line or 0), text
        )
    ignored = [name for name, rule in rules.items() if rule.is_exclusion]
    if ignored:
        tracked = tracked_paths(repo, ignored)
        return {name: rule for name, rule in rules.items() if name not in tracked or not rule.is_exclusion}
    return rules


def ignore_settings(repo: WorkTree) -> tuple[bool, str]:
    """Return (core.ignoreCase, path of the user's own ignore file) of a work tree."""
    ignore_case = _query_git(("config", "--type=bool", "--get", "core.ignorecase"), repo.folder) == b"true\n"
    excludes_file = _query_git(("config", "-z", "--type=path", "--get", "core.excludesfile"), repo.folder)
    if excludes_file is not None:
        path = os.fsdecode(excludes_file.removesuffix(b"\0"))
        return ignore_case, os.path.join(repo.top, path) if path else ""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return ignore_case, os.path.join(base, "git", "ignore")


def has_git_folder(folder: str) -> bool:
    """Return whether a folder has a plausible `.git`, without starting git."""
    return os.path.isfile(folder + "/.git") or os.path.isfile(folder + "/.git/HEAD")


def common_git_folder(top: str) -> str:
    """Return the real path of the git folder that all work trees of a repository share, "" if there is none.

    `top` is the top of a work tree.  Reads a few small files and starts no process.
    """
    found = find_git_folder(top)
    return found.common if found is not None and found.top == os.path.realpath(top) else ""


def git_head(root: str) -> str:
    """Return "<ref> <commit>" of the work tree around `root`, only the commit if detached, "" outside git.

    Reads a few small files and starts no process.
    """
    found = find_git_folder(root)
    if found is None or found.problem:
        return ""
    head = read_git_file(os.path.join(found.path, "HEAD"))
    ref = head.removeprefix("ref:").strip()
    if ref == head or not ref.startswith("refs/") or ".." in ref:
        return head
    for base in (found.path, found.common):
        commit = read_git_file(os.path.join(base, ref))
        if commit:
            return f"{ref} {commit}"
    # With reftables, HEAD does not name the ref.
    tables = read_git_file(os.path.join(found.common, "reftable", "tables.list"))
    if tables:
        return f"{ref} {tables}"
    packed = read_small_file(os.path.join(found.common, "packed-refs"), 64_000_000) or b""
    position = packed.find(b" " + os.fsencode(ref) + b"\n")
    start = packed.rfind(b"\n", 0, position) + 1
    return f"{ref} {os.fsdecode(packed[start:position])}" if position >= 0 else ref


def _split_names(output: bytes | None) -> list[str] | None:
    return None if output is None else os.fsdecode(output).split("\0")[:-1]


def _with_forward_slashes(path: str) -> str:
    return path.replace("\\", "/") if WINDOWS else path


def _query_git(
    arguments: Sequence[str],
    folder: str,
    stdin: bytes | None = None,
    ok_statuses: tuple[int, ...] = (0,),
    token: CancelToken | None = None,
) -> bytes | None:
    """Return the output of git, None if it is missing, fails or does not respond.

    Raises:
        Cancelled: The token was cancelled.
        OSError: The system is out of file descriptors or memory, which is not the fault of git.
    """
    git = git_program()
    if not git or is_unresponsive(git):
        return None
    if problem := repository_problem(folder):
        log.info("git does not read %s: %s", folder, problem)
        return None
    timeout_s = LISTING_TIMEOUT_S if arguments[0] in _SLOW_COMMANDS else QUICK_TIMEOUT_S
    try:
        result = run_git(git, arguments, folder, timeout_s=timeout_s, token=token, data=stdin)
    except (OSError, ValueError) as error:  # the folder was deleted, or a NUL character
        if is_out_of_resources(error):
            raise
        return None
    if not result.complete:
        if token is not None:
            token.check()
        if not result.stdout:
            mark_unresponsive(git)
        return None
    return result.stdout if result.exit_status in ok_statuses else None

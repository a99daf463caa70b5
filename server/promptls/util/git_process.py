"""Finds the repository of a folder, and runs git safely in untrusted repositories, bounded in time and output.

No hook, file-system monitor, pager or transport that the configuration of a repository names is started. git does not
write, fetch or prompt. Commands that can start more, such as filters or signature checks, pass options that disable it.

An unpacked archive can contain a `.git` that leads to another repository of the user.  A repository outside of the work
tree is accepted only if it names the work tree itself, which the author of an archive cannot cause: a linked work tree
or a submodule.  Objects, references and the work tree must not lead to a further place either.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH100, PTH112, PTH113, PTH114, PTH115, PTH117, PTH118, PTH119, PTH120
from __future__ import annotations

import logging
import os
import re
import signal
import stat as modes
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from promptls.util.cancellation import CancelToken
from promptls.util.termination import cleanup_on_signal

log = logging.getLogger(__name__)

QUICK_TIMEOUT_S = 5.0
"""Time-out for commands that normally take milliseconds. Without output after this long, git counts as unresponsive."""
UNRESPONSIVE_S = 300.0
"""Seconds for which an unresponsive git is not started again."""
MAX_STDERR_BYTES = 4_000
"""Bytes of stderr that are kept: enough to recognize the error."""
SAFE_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),  # a partial clone would fetch missing objects
    *("-c", "safe.bareRepository=explicit"),  # a bare repository can be hidden inside a work tree
)
"""Options of every command: no pager, file-system monitor, hook, transport or hidden bare repository."""
_ALLOWED_VARIABLES = {
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_EXEC_PATH",
}
_POLL_S = 0.05
_unresponsive_until: dict[str, float] = {}  # git program → time.monotonic() before which it is not started


class GitResult(Struct, frozen=True):
    """Output and exit status of a git command."""

    stdout: bytes
    complete: bool = True  # False: git was stopped by a time-out, the output limit or cancellation
    exit_status: int = 0
    stderr: bytes = b""  # first MAX_STDERR_BYTES bytes


def run_git(
    git: str,
    arguments: Sequence[str],
    folder: str,
    *,
    timeout_s: float,
    max_bytes: int | None = None,
    token: CancelToken | None = None,
    data: bytes | None = None,
) -> GitResult:
    """Run a git command in a folder and return its output.

    On a time-out, on more than `max_bytes` of output, or when the token is cancelled, git and its child processes are
    killed and the output so far is returned.

    Raises:
        OSError: git cannot be started.
        ValueError: An argument contains a NUL character.
    """
    # Files instead of pipes: only stdout has to be read while git runs, and the server's own stdin carries LSP.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(data or b"")
        given.seek(0)
        process = subprocess.Popen(
            [git, *SAFE_OPTIONS, *arguments],
            cwd=folder,
            env=safe_environment(),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=errors,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # for `kill_process_group`
        )
        stdout = bytearray()
        stopped, done = threading.Event(), threading.Event()
        deadline = time.monotonic() + timeout_s
        watchdog = threading.Thread(target=_stop_when_due, args=(process, deadline, token, stopped, done), daemon=True)
        try:
            with process, cleanup_on_signal(lambda: kill_process_group(process)):
                watchdog.start()
                assert process.stdout is not None
                while block := process.stdout.read(1 << 16):
                    stdout += block
                    if max_bytes is not None and len(stdout) > max_bytes:
                        stopped.set()
                        kill_process_group(process)
                        break
                process.wait()
                done.set()
                watchdog.join()
        finally:
            done.set()
            if process.returncode is None:
                kill_process_group(process)
        if stopped.is_set():
            return GitResult(bytes(stdout[:max_bytes]), complete=False)
        errors.seek(0)
        return GitResult(bytes(stdout), exit_status=process.returncode, stderr=errors.read(MAX_STDERR_BYTES))


def _stop_when_due(
    process: subprocess.Popen[bytes],
    deadline: float,
    token: CancelToken | None,
    stopped: threading.Event,
    done: threading.Event,
) -> None:
    while not done.wait(_POLL_S):
        if time.monotonic() > deadline or (token is not None and token.cancelled):
            stopped.set()
            kill_process_group(process)
            return


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own session, and its children, which may hold the pipes open."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def mark_unresponsive(git: str) -> None:
    """Record that git did not answer in time."""
    log.warning("git does not respond; not starting it again for %g s", UNRESPONSIVE_S)
    _unresponsive_until[git] = time.monotonic() + UNRESPONSIVE_S


def is_unresponsive(git: str) -> bool:
    """Return whether git did not answer in time during the last `UNRESPONSIVE_S` seconds."""
    return time.monotonic() < _unresponsive_until.get(git, 0.0)


def safe_environment() -> dict[str, str]:
    """Return the environment for git: no other repository, no prompts, locks or fetches."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or name.upper() in _ALLOWED_VARIABLES
    }
    return {
        **inherited,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # takes precedence over the configuration of the repository
        "LC_ALL": "C",
    }


def git_program() -> str:
    """Return the absolute path of git, or "" if it is not installed."""
    return _find_program(os.environ.get("PATH", ""))


@lru_cache(maxsize=4)
def _find_program(search_path: str) -> str:
    """Search absolute directories only: on Windows, the current directory may be an untrusted workspace."""
    for folder in search_path.split(os.pathsep):
        program = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return ""


# ---------------------------------------------------------------- repositories


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

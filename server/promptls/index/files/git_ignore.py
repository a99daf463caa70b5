"""Asking git, safely: which files a work tree has, which of them are ignored and by what, what is checked out.

A workspace is not trusted: no hook, monitor, filter, pager or transport that its configuration names is
ever started, nothing is written, nothing is asked.  Every call can fail (no git, a repository of somebody
else's, a damaged one); the answer is then None and the callers do without.
"""

# Paths are strings here, letter for letter as git and the system give them.
# ruff: noqa: PTH111, PTH112, PTH113, PTH117, PTH118, PTH120
from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from promptls.index.files.read import exhausted, read_small
from promptls.index.files.uris import WINDOWS
from promptls.model import CancelToken

log = logging.getLogger(__name__)

TIMEOUT_S = 120.0  # a listing of a cold, huge tree
SLOW = {"ls-files", "check-ignore"}
ASKED_S = 5.0  # for anything else, which takes milliseconds
HUNG_S = 300.0
"""A git that has hung is not asked for so long: our own reading of the rules has to do."""
_hung: dict[str, float] = {}  # program → time.monotonic() before which it is left alone
MOST_ARGUMENTS = 4_000  # characters; a command line on Windows has room for 32,000
SAFE = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),  # a partial clone fetches what it lacks
    *("-c", "safe.bareRepository=explicit"),  # a repository in disguise inside of a tree
)
_KEPT = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH"}


class Repo(Struct, frozen=True):
    """A work tree, seen from a folder in it."""

    at: str  # the folder that was asked about
    top: str  # the work tree's real path
    prefix: str  # the folder relative to the top, with a slash at the end, "" for the top itself
    exclude: str  # path of info/exclude


class Hit(Struct, frozen=True):
    """A rule that git says is the last to match a path."""

    file: str  # absolute path of the ignore file
    line: int  # 1-based
    text: str

    @property
    def ignores(self) -> bool:
        return not self.text.startswith("!")


def locate(folder: str) -> Repo | None:
    """The work tree that `folder` is in, as git sees it."""
    out = _run(("rev-parse", "--is-inside-work-tree", "--show-cdup", "--git-path", "info/exclude"), folder)
    if out is None:
        return None
    # The way up has no name in it, so a line break in a name can only be in the last part.
    inside, up, exclude = (*os.fsdecode(out).split("\n", 2), "", "")[:3]
    if inside != "true" or up.replace("../", ""):
        return None
    parts = _slashed(os.path.realpath(folder)).rstrip("/").split("/")
    levels = up.count("../")
    top = "/".join(parts[: len(parts) - levels])
    prefix = "".join(part + "/" for part in parts[len(parts) - levels :]) if levels else ""
    return Repo(folder, top or "/", prefix, os.path.join(folder, exclude.removesuffix("\n")))


def files(repo: Repo, under: str = "", token: CancelToken | None = None) -> list[str] | None:
    """Names, relative to `repo.at`, of all files that are tracked or neither tracked nor ignored.

    A repository inside comes as its folder, if it is no submodule with a slash at the end.  A tracked file
    need not exist.  `under`: only what is there.
    """
    args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return _names(_run([*args, "--", ":(literal)" + under] if under else args, repo.at, token=token))


def tracked(repo: Repo, among: Sequence[str] = ()) -> set[str]:
    """Names, relative to `repo.at`, of the files and submodules in the index and of the folders that hold them.

    `among`: others need not be there.
    """
    only = [":(literal)" + name for name in among]
    if sum(map(len, only)) > MOST_ARGUMENTS:
        only = []
    kept: set[str] = set()
    for name in _names(_run(("ls-files", "-z", "--cached", "--", *only), repo.at)) or ():
        while name and name not in kept:
            kept.add(name)
            name = name.rpartition("/")[0]
    return kept


def matches(repo: Repo, names: Sequence[str]) -> dict[str, Hit] | None:
    """The rule that decides about each name (relative to `repo.at`); a name without one is not in it.

    What is tracked, or holds what is, is not ignored.  Two processes for any number of names; None also if
    one of them is none that git will look at, such as one below a link.
    """
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)  # "./": ":x" would be a pathspec
    # Without --no-index git goes through its index once for each name.
    out = _run(("check-ignore", "--no-index", "-v", "-z", "--stdin"), repo.at, given, fine=(0, 1))
    if out is None:
        return None
    fields = os.fsdecode(out).split("\0")
    hits: dict[str, Hit] = {}
    for i in range(0, len(fields) - 3, 4):
        source, line, text, name = fields[i : i + 4]
        hits[name.removeprefix("./")] = Hit(_slashed(os.path.join(repo.top, source)), int(line or 0), text)
    refused = [name for name, hit in hits.items() if hit.ignores]
    if refused:
        kept = tracked(repo, refused)
        return {name: hit for name, hit in hits.items() if name not in kept or not hit.ignores}
    return hits


def settings(repo: Repo) -> tuple[bool, str]:
    """(names match in either case, path of the user's own ignore file) of a work tree."""
    fold = _run(("config", "--type=bool", "--get", "core.ignorecase"), repo.at) == b"true\n"
    named = _run(("config", "-z", "--type=path", "--get", "core.excludesfile"), repo.at)
    if named is not None:
        path = os.fsdecode(named.removesuffix(b"\0"))
        return fold, os.path.join(repo.top, path) if path else ""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return fold, os.path.join(base, "git", "ignore")


def looks_like_repo(folder: str) -> bool:
    """Whether a folder has a `.git` that could be one, without asking git."""
    return os.path.isfile(folder + "/.git") or os.path.isfile(folder + "/.git/HEAD")


def git_head(root: str) -> str:
    """What is checked out around `root`, as text that changes with a commit or a switch; "" outside of git.

    Reads two or three small files and starts no process.  "<ref> <commit>", the commit alone when detached.
    """
    place = os.path.realpath(root)
    while not os.path.lexists(os.path.join(place, ".git")):
        place, below = os.path.dirname(place), place
        if place == below:
            return ""
    folder = os.path.join(place, ".git")
    if not os.path.isdir(folder):
        link = _text(folder).removeprefix("gitdir:").strip()
        folder = os.path.normpath(os.path.join(place, link)) if link else ""
    head = _text(os.path.join(folder, "HEAD")) if folder else ""
    ref = head.removeprefix("ref:").strip()
    if ref == head or not ref.startswith("refs/") or ".." in ref:
        return head
    common = os.path.normpath(os.path.join(folder, _text(os.path.join(folder, "commondir")) or "."))
    for base in (folder, common):
        commit = _text(os.path.join(base, ref))
        if commit:
            return f"{ref} {commit}"
    tables = _text(os.path.join(common, "reftable", "tables.list"))  # HEAD names no ref where refs are kept so
    if tables:
        return f"{ref} {tables}"
    packed = read_small(os.path.join(common, "packed-refs"), 64_000_000) or b""
    at = packed.find(b" " + os.fsencode(ref) + b"\n")
    start = packed.rfind(b"\n", 0, at) + 1
    return f"{ref} {os.fsdecode(packed[start:at])}" if at >= 0 else ref


def _text(path: str) -> str:
    return os.fsdecode(read_small(path, 100_000) or b"").strip()


def _names(out: bytes | None) -> list[str] | None:
    return None if out is None else os.fsdecode(out).split("\0")[:-1]


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if WINDOWS else path


def _run(
    args: Sequence[str],
    folder: str,
    data: bytes | None = None,
    fine: tuple[int, ...] = (0,),
    token: CancelToken | None = None,
) -> bytes | None:
    """What git prints, None if it cannot be run, fails or hangs.  Raises `Cancelled`, and OSError for lack of memory
    or descriptors, which says nothing about git.
    """
    git = program(os.environ.get("PATH", ""))
    if not git or hangs(git):
        return None
    try:
        process = subprocess.Popen(
            [git, *SAFE, *args],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,  # ours speaks LSP
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # for `end`
        )
    except (OSError, ValueError) as error:  # the folder is gone, a NUL character
        if exhausted(error):
            raise
        return None
    seconds = TIMEOUT_S if args[0] in SLOW else ASKED_S
    deadline = time.monotonic() + seconds
    with process:
        try:
            while True:
                try:
                    out, _ = process.communicate(data, timeout=seconds if token is None else 0.05)
                    return out if process.returncode in fine else None
                except subprocess.TimeoutExpired:
                    data = None  # it is being sent
                    if token is not None:
                        token.check()
                    if time.monotonic() > deadline:
                        hung(git)
                        return None
        finally:
            if process.returncode is None:
                end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a git that leads a session of its own, and what it has started, which may hold the pipes open."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def hung(git: str) -> None:
    """Note that git has not answered."""
    log.warning("git does not answer; it is not asked for %g s", HUNG_S)
    _hung[git] = time.monotonic() + HUNG_S


def hangs(git: str) -> bool:
    """Whether git has not answered lately."""
    return time.monotonic() < _hung.get(git, 0.0)


def environment() -> dict[str, str]:
    """Ours without what would point git at another repository, or have it ask, wait, write or fetch."""
    kept = {k: v for k, v in os.environ.items() if not k.upper().startswith("GIT_") or k.upper() in _KEPT}
    return {
        **kept,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # counts for more than what a repository's own configuration allows
        "LC_ALL": "C",
    }


@lru_cache(maxsize=4)
def program(path: str) -> str:
    """git's absolute path: never one in the current folder, which may be the workspace, as Windows would."""
    for folder in path.split(os.pathsep):
        found = os.path.join(folder, "git.exe" if WINDOWS else "git")
        if os.path.isabs(folder) and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""

"""Runs git commands that read history; returns problems for the user instead of exceptions.

In addition to the protections of `promptls.util.git_process`, no signature is checked, since that runs a program of
the repository's choice. No filter, mailmap or order file of the repository is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from promptls.model import CancelToken, Problem
from promptls.util.git_process import (
    QUICK_TIMEOUT_S,
    GitResult,
    git_program,
    is_unresponsive,
    mark_unresponsive,
    repository_problem,
    run_git,
)

MAX_OUTPUT_BYTES = 64_000_000
"""Default limit of the output of one command."""
_HISTORY_OPTIONS = (
    *("-c", "log.showSignature=false"),
    *("-c", "mailmap.file="),  # the value of the repository could name a device
    *("-c", "mailmap.blob="),
    *("-c", "diff.external="),
    *("-c", f"diff.orderFile={os.devnull}"),  # the value of the repository could name a pipe
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.pager=cat"),
)
MISSING_OBJECTS = "objects are missing in this clone; in a partial clone, git show fetches them"
_NEWER_GIT = (
    b"unknown repository extension",
    b"Expected git repo version",
    b"unknown ref storage",
    b"unknown hash alg",
)
_BROKEN_CONFIGURATION = (
    b"bad config",
    b"bad numeric config",
    b"bad boolean config",
    b"unable to access",
    b"config file",
)
"""Parts of git's messages; the locale of its messages is C."""
_UNRESPONSIVE = Problem("git does not respond; history is unavailable for now.", "Check what blocks git.")


def query_git(
    folder: str,
    *arguments: str,
    timeout_s: float = 30.0,
    max_bytes: int = MAX_OUTPUT_BYTES,
    token: CancelToken | None = None,
    ok_statuses: tuple[int, ...] = (0,),
    configuration: Mapping[str, str] | None = None,
    data: bytes | None = None,
) -> GitResult | Problem:
    """Run a git command in a folder and return its output, or a problem.

    After `timeout_s` seconds or `max_bytes` bytes, or when the token is cancelled, git is stopped and the result is
    incomplete. A git that printed nothing until then is marked as unresponsive. Exit statuses other than `ok_statuses`
    are failures; `configuration` has settings for this command only, and `data` is its input.
    """
    git = git_program()
    if not git:
        return Problem("git is not installed; history is unavailable.", "Install git, then reindex.")
    if is_unresponsive(git):
        return _UNRESPONSIVE
    if problem := repository_problem(folder):
        return Problem(
            f"The git history of {_printable(folder)} is not read: {problem}.",
            "Run git repack -a -d and delete .git/objects/info/alternates."
            if "alternates" in problem
            else "Open the other repository, or run git worktree repair if you trust it.",
        )
    settings = configuration or {}
    if any("=" in name for name in settings):  # environment variables for such names require git 2.31
        return Problem(f"The git configuration of {_printable(folder)} has a setting with = in its name; rename it.")
    options = [*_HISTORY_OPTIONS, *(part for item in settings.items() for part in ("-c", "=".join(item)))]
    try:
        result = run_git(
            git,
            [*options, *arguments],
            folder,
            timeout_s=timeout_s,
            max_bytes=max_bytes,
            token=token,
            data=data,
        )
    except (OSError, ValueError):  # a deleted folder, a NUL character
        return Problem(f"Cannot run git in {_printable(folder)}.")
    if not result.complete:
        if not result.stdout and timeout_s >= QUICK_TIMEOUT_S and not (token and token.cancelled):
            mark_unresponsive(git)
            return _UNRESPONSIVE
        return result
    return result if result.exit_status in ok_statuses else explain_failure(result.stderr, folder)


def filter_overrides(folder: str, token: CancelToken | None = None) -> dict[str, str] | Problem:
    """Return settings that disable the filters of the repository; filters of the user, such as LFS, stay enabled.

    Required for comparing files with the index: git runs the configured `clean` filter on a file before comparing it.
    """
    result = query_git(
        folder, "config", "--null", "--show-scope", "--get-regexp", r"^filter\.", ok_statuses=(0, 1), token=token
    )
    if isinstance(result, Problem):
        return result
    if not result.complete:
        return Problem(f"The git configuration of {_printable(folder)} is too large.")
    user_settings: dict[str, str] = {}
    repository_keys: set[str] = set()
    fields = os.fsdecode(result.stdout).split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in ("system", "global"):
            user_settings[key] = value
        else:
            repository_keys.add(key)
    filters = {key.rpartition(".")[0] for key in repository_keys}
    keys = [f"{name}.{setting}" for name in filters for setting in ("clean", "smudge", "process", "required")]
    return {key: user_settings.get(key, "false" if key.endswith(".required") else "") for key in keys}


def explain_failure(stderr: bytes, folder: str) -> Problem:
    """Return the problem that the error output of git describes."""
    if b"dubious ownership" in stderr or b"unsafe repository" in stderr:
        return Problem(
            f"git refuses to read {_printable(folder)}: another user owns the repository.",
            f"If you trust it: git config --global --add safe.directory {_printable(folder)}",
        )
    if b"not a git repository" in stderr or b"safe.bareRepository" in stderr:
        return no_repository(folder)
    words = _printable(stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]).removeprefix("fatal: ")
    if b"promisor remote" in stderr:
        return Problem(MISSING_OBJECTS)
    if any(sign in stderr for sign in _NEWER_GIT):
        return Problem(f"The repository of {_printable(folder)} needs a newer version of git: {words}.", "Update git.")
    if any(sign in stderr for sign in _BROKEN_CONFIGURATION):
        return Problem(f"git cannot read its configuration: {words}.", "Correct the file.")
    if b"does not have any commits" in stderr or b"unknown revision" in stderr or b"bad revision" in stderr:
        return Problem(f"The repository of {_printable(folder)} has no commits yet.")
    return Problem(
        f"git cannot read the history of {_printable(folder)}; the repository may be damaged or incomplete.",
        "Run git fsck in it.",
    )


def is_about_repository(stderr: bytes) -> bool:
    """Return whether an error is about the repository or its configuration, not about a revision."""
    signs = (b"dubious ownership", b"unsafe repository", *_NEWER_GIT, *_BROKEN_CONFIGURATION)
    return any(sign in stderr for sign in signs)


def no_repository(folder: str) -> Problem:
    """Return the problem of a folder outside of repositories."""
    return Problem(f"{_printable(folder)} is not in a git repository; it has no history.")


def _printable(folder: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in folder)

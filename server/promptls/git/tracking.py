"""Freshness of the working tree: branch, local changes, and commits ahead of or behind the upstream branch.

Only warnings depend on it; a failure never fails a request. `git status` reads changed files, so the filters that the
repository configures are disabled by name first.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from promptls.git.log import printable_line
from promptls.git.runner import query_git
from promptls.model import CancelToken, Problem, SectionEntry

TIMEOUT_S = 5.0
"""Seconds before `git status` is stopped."""
FRESHNESS_TTL_S = 10.0
"""Seconds for which the freshness of a folder is cached."""

State = Literal["fresh", "dirty", "stale", "unknown"]
Divergence = Literal["", "behind", "ahead", "diverged"]


class Freshness(Struct, frozen=True):
    """State of a working tree: "stale" if it differs from its upstream branch."""

    state: State
    branch: str = ""  # "" when detached
    upstream: str = ""  # "" without an upstream branch
    divergence: Divergence = ""
    ahead: int = 0
    behind: int = 0
    changed_files: int = 0  # tracked files that differ from HEAD
    problem: Problem | None = None  # why the state is unknown


def read_freshness(folder: str, token: CancelToken | None = None, timeout_s: float = TIMEOUT_S) -> Freshness:
    """Return the freshness of the working tree below a folder; untracked files do not count."""
    filters = query_git(
        folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\.", ok_statuses=(0, 1), token=token
    )
    if isinstance(filters, Problem):
        return Freshness("unknown", problem=filters)
    overrides: dict[str, str] = {}
    for raw in filters.stdout.split(b"\0"):
        name = raw.decode("utf-8", "surrogateescape")
        if name:
            overrides[name] = "false" if name.endswith(".required") else ""
    status = query_git(
        folder,
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
        "--no-renames",
        "--",
        ".",
        timeout_s=timeout_s,
        token=token,
        configuration=overrides,
    )
    if isinstance(status, Problem):
        return Freshness("unknown", problem=status)
    if not status.complete or not filters.complete:
        return Freshness("unknown", problem=Problem("git status timed out."))
    return parse_status(status.stdout)


def parse_status(output: bytes) -> Freshness:
    """Parse the output of `git status --porcelain=v2 --branch -z`."""
    branch = upstream = ""
    ahead = behind = changed_files = 0
    for record in output.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            if key == b"branch.head" and value != b"(detached)":
                branch = printable_line(value)
            elif key == b"branch.upstream":
                upstream = printable_line(value)
            elif key == b"branch.ab":
                plus, _, minus = value.partition(b" ")
                ahead, behind = abs(int(plus)), abs(int(minus))
        elif kind in (b"1", b"2", b"u"):
            changed_files += 1
    divergence: Divergence = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else ""
    state: State = "stale" if divergence else "dirty" if changed_files else "fresh"
    return Freshness(state, branch, upstream, divergence, ahead, behind, changed_files)


def freshness_warning(freshness: Freshness) -> SectionEntry | None:
    """Return a warning if the branch is behind its upstream branch, else None. Local changes are no reason to warn."""
    if not freshness.behind:
        return None
    commits = f"{freshness.behind} commit{'s' if freshness.behind > 1 else ''}"
    text = f"The checked-out branch {freshness.branch} is {commits} behind {freshness.upstream}"
    if freshness.ahead:
        text += f" and {freshness.ahead} ahead of it"
    return SectionEntry(f"{text}: newer code may exist.", "git")

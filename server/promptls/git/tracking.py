"""How the working tree stands: its branch, whether it was changed, whether it is behind what it follows.

A warning at most; nothing waits for it or fails by it.  git must look into changed files to tell, so the
filters that the repository would have it run are switched off by name first.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from promptls.git.log import text_of
from promptls.git.runner import ask
from promptls.model import CancelToken, Note, Problem

TIMEOUT_S = 5.0
"""Understand-Anything's."""
FRESH_S = 10.0
"""Seconds for which an answer holds."""

State = Literal["fresh", "dirty", "stale", "unknown"]
Standing = Literal["", "behind", "ahead", "diverged"]


class Freshness(Struct, frozen=True):
    """The states are Understand-Anything's: stale is one that differs from its upstream, whatever else holds."""

    state: State
    branch: str = ""  # "" when detached
    upstream: str = ""  # "" without
    standing: Standing = ""
    ahead: int = 0
    behind: int = 0
    changed: int = 0  # tracked files that differ from the last commit
    problem: Problem | None = None  # why it is unknown


def freshness(folder: str, token: CancelToken | None = None, seconds: float = TIMEOUT_S) -> Freshness:
    """How the working tree stands below `folder`; files that git does not track are not looked for."""
    named = ask(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\.", fine=(0, 1), token=token)
    if isinstance(named, Problem):
        return Freshness("unknown", problem=named)
    off: dict[str, str] = {}
    for raw in named.out.split(b"\0"):
        name = raw.decode("utf-8", "surrogateescape")
        if name:
            off[name] = "false" if name.endswith(".required") else ""
    answer = ask(
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
        seconds=seconds,
        token=token,
        configuration=off,
    )
    if isinstance(answer, Problem):
        return Freshness("unknown", problem=answer)
    if not answer.whole or not named.whole:
        return Freshness("unknown", problem=Problem("git took too long to tell how the working tree stands."))
    return parse(answer.out)


def parse(out: bytes) -> Freshness:
    """What `git status --porcelain=v2 --branch -z` says."""
    branch = upstream = ""
    ahead = behind = changed = 0
    for record in out.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            if key == b"branch.head" and value != b"(detached)":
                branch = text_of(value)
            elif key == b"branch.upstream":
                upstream = text_of(value)
            elif key == b"branch.ab":
                plus, _, minus = value.partition(b" ")
                ahead, behind = abs(int(plus)), abs(int(minus))
        elif kind in (b"1", b"2", b"u"):
            changed += 1
    standing: Standing = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else ""
    state: State = "stale" if standing else "dirty" if changed else "fresh"
    return Freshness(state, branch, upstream, standing, ahead, behind, changed)


def freshness_note(found: Freshness) -> Note | None:
    """A warning for a working tree that is behind what it follows, else None: changes of one's own are no trouble."""
    if not found.behind:
        return None
    commits = f"{found.behind} commit{'s' if found.behind > 1 else ''}"
    text = f"The checked-out branch {found.branch} is {commits} behind {found.upstream}"
    if found.ahead:
        text += f" and {found.ahead} ahead of it"
    return Note(f"{text}: newer code may exist.", "git")

"""Reads the commit log: commits, newest first, with the files that each commit changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from promptls.git.runner import query_git
from promptls.model import CancelToken, Problem
from promptls.util.git_process import GitResult

MAX_COMMITS = 2_000
"""Default limit of the number of commits that are read."""
MAX_FILES_PER_COMMIT = 1_000
"""Files of one commit that are kept; a commit that imports a whole tree carries little information per file."""
MAX_LOG_BYTES = 16_000_000
"""Limit of the output of git; an active repository needs about 200 bytes a commit."""
TIMEOUT_S = 30.0
"""Seconds before `git log` is stopped."""
_COMMIT_MARK = "\x01"
"""First character of a commit record; a status letter never starts with it."""
_FORMAT = "%x01%H%x00%ct%x00%aN%x00%aE%x00%s"
_BOT = re.compile(
    r"\[bot\]|^(?:dependabot|renovate|github-actions|greenkeeper|pre-commit-ci|semantic-release|snyk|mergify|codecov"
    r"|allcontributors|web-flow|github|gitlab|buildbot|jenkins|travis ?ci|circleci|weblate|crowdin|copybara)\b[ _-]*(?:bot)?$"
    r"|\b(?:robot|bot)$|(?<=[a-z])[-_]bot$|(?<=[a-z])Bot$",
)

_PERSONAL_ADDRESS = re.compile(r"(?!(?:no-?reply|root|admin|git|info)@)[^@]+@.")


class FileChange(Struct, frozen=True, array_like=True, gc=False):
    """One changed file of a commit. Paths are relative to the folder whose log was read."""

    status: str  # "A", "M", "D", "T", or "R" for renamed
    path: str
    old_path: str = ""  # former path of a renamed file


class Commit(Struct, frozen=True, array_like=True):
    """A commit that is not a merge."""

    id: str
    time: int  # commit time, seconds since 1970
    author: str  # name only, mapped by .mailmap
    subject: str
    changes: tuple[FileChange, ...]
    file_count: int  # changed files; larger than len(changes) for a very large commit
    is_bot: bool = False


class CommitLog(Struct, frozen=True):
    """The commits that were read, newest first."""

    commits: tuple[Commit, ...] = ()
    names_by_email: dict[str, str] = {}  # lower-case e-mail address → name; identifies code owners, never shown
    complete: bool = True  # False: git was stopped before the end


def read_commits(
    folder: str, max_commits: int = MAX_COMMITS, timeout_s: float = TIMEOUT_S, token: CancelToken | None = None
) -> CommitLog | Problem:
    """Read the latest commits that changed a file in `folder`, without merges.

    Only renames without a change are detected: others would require git to read file contents.
    """
    result = query_git(
        folder,
        "log",
        "-z",
        f"--max-count={max_commits}",
        "--no-merges",
        "--name-status",
        "--find-renames=100%",
        "--relative",
        "--no-show-signature",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-notes",
        "--no-decorate",
        "--ignore-submodules=all",
        "--encoding=UTF-8",
        f"--format={_FORMAT}",
        "HEAD",
        "--",
        ".",
        timeout_s=timeout_s,
        max_bytes=MAX_LOG_BYTES,
        token=token,
    )
    return result if isinstance(result, Problem) else parse_log(result)


def parse_log(result: GitResult) -> CommitLog:
    """Parse the output of git; the last commit of an incomplete output is dropped."""
    fields = result.stdout.split(b"\0")
    if not result.complete:
        while fields and not fields[-1].startswith(_COMMIT_MARK.encode()):
            fields.pop()  # the last commit may lack files
        fields = fields[:-1]
    names_by_email: dict[str, str] = {}
    commits = tuple(_parse_commits(iter(fields), names_by_email))
    return CommitLog(commits, names_by_email, result.complete)


def _parse_commits(fields: Iterator[bytes], names_by_email: dict[str, str]) -> Iterator[Commit]:
    field = next(fields, b"")
    while field.startswith(_COMMIT_MARK.encode()):
        id, (time, author, mail, subject) = field[1:], (next(fields, b"") for _ in range(4))
        changes: list[FileChange] = []
        file_count = 0
        while (field := next(fields, b"").lstrip(b"\n")) and not field.startswith(_COMMIT_MARK.encode()):
            paths = [next(fields, b"") for _ in range(2 if field[:1] in b"RC" else 1)]
            file_count += 1
            if file_count <= MAX_FILES_PER_COMMIT:
                changes.append(_file_change(field, paths))
        name, address = printable_line(author), printable_line(mail).lower()
        shown = display_name(name)
        if shown and _PERSONAL_ADDRESS.match(address):
            shown = names_by_email.setdefault(address, shown)  # one address is one author, by the latest name
        yield Commit(
            id.decode("ascii", "replace"),
            int(time) if time.isdigit() else 0,
            shown,
            printable_line(subject)[:200],
            tuple(changes),
            file_count,
            is_bot(name, address),
        )


def _file_change(status: bytes, paths: list[bytes]) -> FileChange:
    path, old_path = os.fsdecode(paths[-1]), os.fsdecode(paths[0]) if status[:1] == b"R" else ""
    return FileChange("A" if status[:1] == b"C" else status[:1].decode("ascii", "replace"), path, old_path)


def printable_line(raw: bytes) -> str:
    """Decode text to one line, without unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in raw.decode("utf-8", "replace")).split())


def display_name(author: str) -> str:
    """Return an author's name without e-mail addresses, at most 60 characters; may be ""."""
    words = [word for word in author.replace("<", " ").replace(">", " ").split() if "@" not in word[1:]]
    return " ".join(words)[:60].strip()


def is_bot(name: str, address: str) -> bool:
    """Return whether the name or address of an author is that of a bot."""
    return bool(_BOT.search(name)) or bool(_BOT.search(name.lower())) or "[bot]" in address

"""Git history of one workspace folder: its commits, newest first, and statistics of them.

The statistics are recency, authors and files that change together: pure functions of a `History` and a time.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

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


def read_commits(folder: str, token: CancelToken | None = None) -> CommitLog | Problem:
    """Read the latest commits that changed a file in `folder`, without merges.

    Only renames without a change are detected: others would require git to read file contents.
    """
    result = query_git(
        folder,
        "log",
        "-z",
        f"--max-count={MAX_COMMITS}",
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
        timeout_s=TIMEOUT_S,
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


# ---- statistics

HALF_LIFE_DAYS = 30.0
"""Half-life of the recency of a file, in days."""

AUTHORSHIP_HALF_LIFE_DAYS = 180.0
"""Half-life of the weight of a change when authors are ranked: a change of half a year ago counts half."""

BULK_COMMIT_FILES = 30
"""Files above which a commit is ignored for co-changes and weighs less for authorship."""

MIN_SUPPORT = 2
"""Minimum number of shared commits of two files that change together."""
MAX_COMMITS_PER_FILE = 200
"""Latest commits of one file that the statistics use: a bound on their cost."""
DAY_S = 86_400.0
"""Seconds of a day."""


class FileHistory(Struct, frozen=True, array_like=True, gc=False):
    """History of one existing file."""

    last_change: int  # seconds since 1970
    commits: tuple[int, ...]  # indexes into History.commits, newest first

    @property
    def change_count(self) -> int:
        """Number of commits that changed the file."""
        return len(self.commits)


class History(Struct, frozen=True):
    """Commit history of one workspace folder at one HEAD."""

    root: str  # absolute path of the folder
    head: str = ""  # identifies what is checked out, see `files.git_head`
    branch: str = ""  # "" when detached
    commits: tuple[Commit, ...] = ()  # newest first, without their changes
    files: Mapping[str, FileHistory] = {}  # name relative to the root
    changed_files: tuple[tuple[str, ...], ...] = ()  # for each commit the keys of `files` that it changed
    names_by_email: Mapping[str, str] = {}  # lower-case e-mail address → name; never shown
    former_names: Mapping[str, str] = {}  # name before a rename → current name
    problem: Problem | None = None  # why the history is empty


class CoChange(Struct, frozen=True):
    """Two files that change in the same commits."""

    name: str
    other: str
    support: int  # commits that changed both
    confidence: float  # share of the commits of `name` that also changed `other`


class Author(Struct, frozen=True):
    """An author of some files."""

    name: str
    weight: float  # sum of the changes, each weighted by its age
    change_count: int
    last_change: int  # seconds since 1970


def build_history(root: str, head: str, branch: str, log: CommitLog) -> History:
    """Build the history of a folder from its log, by the current names of the files."""
    current_names: dict[str, str] = {}  # name at the time → current name, "" for a deleted file
    commit_indexes: dict[str, list[int]] = defaultdict(list)
    changed_files: list[tuple[str, ...]] = []
    for index, commit in enumerate(log.commits):
        names = tuple(dict.fromkeys(_current_names(commit.changes, current_names)))
        changed_files.append(names)
        for name in names:
            commit_indexes[name].append(index)
    files = {name: FileHistory(log.commits[at[0]].time, tuple(at)) for name, at in commit_indexes.items()}
    commits = tuple(replace(commit, changes=()) for commit in log.commits)  # `changed_files` replaces them
    former_names = {name: current for name, current in current_names.items() if current not in ("", name)}
    return History(root, head, branch, commits, files, tuple(changed_files), log.names_by_email, former_names)


def _current_names(changes: Iterable[FileChange], current_names: dict[str, str]) -> Iterator[str]:
    """Yield the current names of the files of a commit. Commits must come newest first."""
    older_names: dict[str, str] = {}  # meaning of names in older commits
    for change in changes:
        if change.status == "D":
            current_names.setdefault(change.path, "")
            continue
        name = current_names.setdefault(change.path, change.path)
        if name:
            yield name
        if change.status == "R":
            older_names[change.old_path] = name
            older_names.setdefault(change.path, "")  # an older file of this name is a different file
    current_names |= older_names


def find_file_history(histories: Sequence[History], path: str) -> tuple[History, str, FileHistory] | None:
    """Return (history of the innermost root, name in it, history of the file) of an absolute path, or None."""
    candidates = [history for history in histories if path.startswith(history.root.rstrip("/") + "/")]
    history = max(candidates, key=lambda history: len(history.root), default=None)
    if history is None:
        return None
    name = path[len(history.root.rstrip("/")) + 1 :]
    file = history.files.get(name)
    return (history, name, file) if file is not None else None


def recency(histories: Sequence[History], path: str, now: float, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """Return 2^(-age / half-life) of the last change of a file (absolute path); 0 without a history.

    A time in the future counts as now.
    """
    found = find_file_history(histories, path)
    return exponential_decay(now - found[2].last_change, half_life_days) if found is not None else 0.0


def exponential_decay(age_s: float, half_life_days: float) -> float:
    """Return 2^(-age / half-life), at most 1; 0 for a half-life of 0 or less."""
    if half_life_days <= 0:
        return 0.0
    return math.pow(2.0, -min(1000.0, max(0.0, age_s) / DAY_S / half_life_days))


def authors(histories: Sequence[History], paths: Sequence[str], now: float) -> tuple[Author, ...]:
    """Return the authors of files (absolute paths), by decreasing weight, without bots.

    A change weighs 2^(-age / half-life), times BULK_COMMIT_FILES / files for a larger commit.
    """
    weight: dict[str, float] = defaultdict(float)
    count: Counter[str] = Counter()
    last_change: dict[str, int] = {}
    for history, names in _group_by_root(histories, paths):
        indexes = {i for name in names for i in history.files[name].commits[:MAX_COMMITS_PER_FILE]}
        for index in sorted(indexes):
            commit = history.commits[index]
            if commit.is_bot or not commit.author:
                continue
            changed = sum(name in names for name in history.changed_files[index])
            commit_weight = changed * min(1.0, BULK_COMMIT_FILES / max(1, commit.file_count))
            weight[commit.author] += commit_weight * exponential_decay(now - commit.time, AUTHORSHIP_HALF_LIFE_DAYS)
            count[commit.author] += changed
            last_change[commit.author] = max(last_change.get(commit.author, 0), commit.time)
    people = [Author(name, round(weight[name], 6), count[name], last_change[name]) for name in count]
    return tuple(sorted(people, key=lambda a: (-a.weight, -a.change_count, a.name)))


def _group_by_root(histories: Sequence[History], paths: Iterable[str]) -> list[tuple[History, set[str]]]:
    names: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        found = find_file_history(histories, path)
        if found is not None:
            names[found[0].root].add(found[1])
    return [(history, names[history.root]) for history in histories if history.root in names]


def co_changes(history: History, name: str, limit: int = 5) -> tuple[CoChange, ...]:
    """Return the files that change together with a file (names relative to the root), strongest first.

    Support and confidence as in association rules (Agrawal et al. 1993), without bulk commits.
    """
    file = history.files.get(name)
    if file is None:
        return ()
    shared = [
        history.changed_files[i]
        for i in file.commits[:MAX_COMMITS_PER_FILE]
        if history.commits[i].file_count <= BULK_COMMIT_FILES
    ]
    counts = Counter(other for names in shared for other in names if other != name)
    pairs = [CoChange(name, other, n, n / len(shared)) for other, n in counts.items() if n >= MIN_SUPPORT]
    return tuple(sorted(pairs, key=lambda p: (-p.support * p.confidence, p.other))[:limit])

"""Training step `commits`: the history of repositories → records.

The message of a commit describes a problem as users and authors do, and the definitions that it changes are the answer.
A commit counts if its message says in at least five words what changes, and if it changes few lines of code in few
definitions. The texts of a record are the subject and the first sentence of the body.

The repositories are those of kind "git" in packages.tsv. Each is a bare clone, FOLDER/OWNER+NAME, whose HEAD may be
newer than the listed commit.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

from promptls.languages import language_of
from training import collect, holdout, licences, pairs

NEWEST = 2000  # commits of a repository that are read
MAX_RECORDS = 1500  # maximum per repository
MAX_SECONDS = 20.0  # CPU seconds per repository
MAX_FILES = 3  # maximum number of changed code files …
MAX_LINES = 90  # … and of changed lines in them
MAX_DEFINITIONS = 3
MIN_INSIDE = 0.6  # share of the changed lines that these definitions must contain
MIN_WORDS = 5
_LICENCE_FILES = re.compile(
    r"(?:UN)?LICEN[CS]E(?:[-_.]?(?:MIT|APACHE|BSD))?(?:\.(?:txt|md|rst))?|COPYING", re.IGNORECASE
)

_NOT_A_CHANGE = re.compile(  # work on the project itself, at the start of a subject
    r"(?:bump|merge|revert|release|version|prepare|chore|docs?|documentation|tests?|style|ci|build|lint|format\w*|typos?|"
    r"refactor\w*|rename|reword|clean\w*|tidy|upgrade|updated? (?:\w+ )?(?:dep\w*|docs?|readme|changelog|comments?)|"
    r"deps?|wip|initial|misc|minor|fix (?:\w+ )?(?:tests?|typos?|lint|ci|build|docs?))\b",
    re.IGNORECASE,
)
_ABOUT_TEXT = re.compile(
    r"\b(?:typos?|changelog|readme|whitespace|copyright|licen[cs]e|docstrings?|spelling|unit tests?|test (?:case|suite)|"
    r"flaky|coverage|lint\w*|formatting|code style|unused|dead code|dependabot|renovate|pre-commit|no functional)\b",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^[^\w\[`'\"(:]+")  # emoji
_TAG = re.compile(r"^(?:\[[^\]]*\]|:\w+:|\w+(?:\([^)]*\))?!?:)\s+")
_REFERENCE = re.compile(
    r"\s*\(?(?:\b(?:fix(?:e[sd])?|close[sd]?|refs?|see|resolves?|via)\s+)?(?:[\w./-]*#\d+|GH-\d+|https?://\S+)\)?:?",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    r"^[A-Z][\w-]+: |^(?:Fix(?:e[sd])?|Close[sd]?|Resolves?|Refs?)\b.{0,20}#\d+|^Co-authored", re.IGNORECASE
)
_START, _FIELD = "%x00%x1e", "%x00%x1f"
_ENTRY = re.compile(rb"\0\x1e([0-9a-f]{40,64})\0\x1f")  # a patch can contain the marks, but not in this form
_HUNK = re.compile(rb"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Commit(NamedTuple):
    """A commit with its texts and, for each code file, its ranges of changed lines (from 0, end exclusive)."""

    sha: str
    texts: tuple[str, ...]
    ranges: dict[str, list[tuple[int, int]]]


def commits(work: Path, repositories: Path, processes: int = 1) -> None:
    """Write `records/git-OWNER+NAME.jsonl` for each repository of packages.tsv that is under `repositories`."""
    out = work / "records"
    out.mkdir(exist_ok=True)
    named = [p for p in collect.packages() if p.kind == "git" and p.role == "train" and not holdout.held_out(p.name)]
    jobs = [(p, repositories / p.name.replace("/", "+"), out) for p in named]
    started = time.monotonic()
    with Pool(processes, maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(_repository, jobs):
            print(f"{time.monotonic() - started:6.0f}s {line}", flush=True)


def _repository(job: tuple[collect.Package, Path, Path]) -> str:
    """Write the records of one repository and return a summary."""
    package, repository, folder = job
    out = folder / f"git-{repository.name}.jsonl"
    if out.exists():
        return f"{package.name}: kept"
    found = licence(repository, package.version)
    if found != package.licence or not licences.permissive(found):
        return f"{package.name}: left out, licence {found or 'unknown'}"
    head = {"kind": "git", "name": package.name, "version": package.version, "licence": found}
    rows = 0
    with out.with_suffix(".part").open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for record in records(repository, package.version):
            file.write(json.dumps(record) + "\n")
            rows += 1
    out.with_suffix(".part").rename(out)
    return f"{package.name} {found} {rows}"


def licence(repository: Path, commit: str) -> str:
    """Return the licence that the files at the top of a repository contain, "" if it is not known or not one."""
    names = _git(repository, "ls-tree", "--name-only", commit).decode("utf-8", "replace").split("\n")
    texts = [_git(repository, "show", f"{commit}:{name}") for name in names if _LICENCE_FILES.fullmatch(name)]
    files = [text for text in texts if not text.startswith(b"tree ")]
    found = {licences.licence_of_text(text.decode("utf-8", "replace")) for text in files}
    return " or ".join(sorted(found)) if found and "" not in found else ""


def records(repository: Path, newest: str) -> Iterator[dict[str, Any]]:
    """Yield the definitions that the commits up to `newest` change, as they are afterwards, with the commits' texts."""
    began, rows = time.process_time(), 0
    for commit in read_commits(_git(repository, *_log(newest))):
        if rows >= MAX_RECORDS or time.process_time() - began > MAX_SECONDS:
            return
        changed: list[dict[str, Any]] = []
        inside = 0
        for path, ranges in commit.ranges.items():
            text = _git(repository, "show", f"{commit.sha}:{path}").decode("utf-8", "replace")
            found, count = changed_definitions(list(pairs.records(path, text, language_of(path, text[:4096]))), ranges)
            changed += found
            inside += count
        total = sum(end - start for ranges in commit.ranges.values() for start, end in ranges)
        if 0 < len(changed) <= MAX_DEFINITIONS and inside >= MIN_INSIDE * total:
            for record in changed:
                yield record | {"commits": list(commit.texts)}
                rows += 1


def _log(newest: str) -> tuple[str, ...]:
    return (
        *("log", "--no-merges", "--no-renames", "--no-color", "--no-ext-diff", "--unified=0", "--patch"),
        *(f"--max-count={NEWEST}", "--diff-filter=AM", f"--format={_START}%H{_FIELD}%s{_FIELD}%b{_FIELD}", newest),
    )


def read_commits(log: bytes) -> Iterator[Commit]:
    """Yield the commits of the output of `git log --patch` that count."""
    parts = _ENTRY.split(log)[1:]
    for sha, entry in zip(parts[::2], parts[1::2], strict=True):
        subject, body, patch = entry.split(b"\0\x1f", 2)
        texts = said(subject.decode("utf-8", "replace"), body.decode("utf-8", "replace"))
        if texts and (ranges := _ranges(patch)):
            yield Commit(sha.decode(), texts, ranges)


def said(subject: str, body: str) -> tuple[str, ...]:
    """Return the texts of a commit message: subject and first sentence of the body; none if it does not count."""
    bare = _REFERENCE.sub("", _LEADING.sub("", subject)).strip()
    if _NOT_A_CHANGE.match(bare):
        return ()
    while match := _TAG.match(bare):
        bare = _LEADING.sub("", bare[match.end() :])
    if _NOT_A_CHANGE.match(bare) or _ABOUT_TEXT.search(bare):
        return ()
    first = pairs.plain_words(bare.rstrip(" ."))
    if len(first.split()) < MIN_WORDS:
        return ()
    lines = body.strip().split("\n\n", 1)[0].split("\n")
    paragraph = " ".join(line.strip() for line in lines if not _TRAILER.match(line.strip()))
    more = pairs.sentences(_REFERENCE.sub("", paragraph))[:1] if paragraph else []
    return (first, *(text for text in more if len(text.split()) >= MIN_WORDS and text != first))


def _ranges(patch: bytes) -> dict[str, list[tuple[int, int]]]:
    """Return the changed lines of the code files of a patch; none if there are too many files or lines."""
    found: dict[str, list[tuple[int, int]]] = {}
    lines = 0
    for part in re.split(rb"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        name = re.search(rb"^\+\+\+ b/(.+)$", part, re.MULTILINE)
        path = name[1].decode("utf-8", "replace").rstrip("\t") if name else ""
        if (
            not path
            or not pairs.wanted(path)
            or holdout.vendored(Path(path).parts[:-1])
            or language_of(path, "") not in pairs.LANGUAGES - {"markdown"}
        ):
            continue
        for removed, start, added in _HUNK.findall(part):
            size = int(added or 1)
            at = int(start) - 1 if size else int(start)  # git names the line before a removal
            found.setdefault(path, []).append((at, at + max(size, 1)))
            lines += max(size, int(removed or 1))
        if len(found) > MAX_FILES or lines > MAX_LINES:
            return {}
    return found


def changed_definitions(
    rows: Sequence[dict[str, Any]], ranges: Sequence[tuple[int, int]]
) -> tuple[list[dict[str, Any]], int]:
    """Return the smallest records around each range, and the number of lines of these ranges."""
    found: dict[int, dict[str, Any]] = {}
    inside = 0
    for start, end in ranges:
        around = [i for i, row in enumerate(rows) if row["lines"][0] <= start and end <= row["lines"][1]]
        if around:
            smallest = min(around, key=lambda i: rows[i]["lines"][1] - rows[i]["lines"][0])
            found[smallest] = rows[smallest]
            inside += end - start
    return list(found.values()), inside


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={repository}", *arguments], capture_output=True, check=False).stdout

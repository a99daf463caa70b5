"""Commits as git tells them, newest first, with the files that each of them changed.

Must not know whose files they are or what is made of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from promptls.git.runner import Answer, ask
from promptls.model import CancelToken, Problem

MOST_COMMITS = 2_000
MOST_FILES = 1_000  # of one commit that are kept; an import of a whole tree says little of each
MOST_BYTES = 16_000_000  # of git's output; a busy repository says 200 bytes a commit
TIMEOUT_S = 30.0
_START = "\x01"  # what a commit begins with; no status does
_FORMAT = "%x01%H%x00%ct%x00%aN%x00%aE%x00%s"
_BOT = re.compile(
    r"\[bot\]|^(?:dependabot|renovate|github-actions|greenkeeper|pre-commit-ci|semantic-release|snyk|mergify|codecov"
    r"|allcontributors|web-flow|github|gitlab|buildbot|jenkins|travis ?ci|circleci|weblate|crowdin|copybara)\b[ _-]*(?:bot)?$"
    r"|\b(?:robot|bot)$|(?<=[a-z])[-_]bot$|(?<=[a-z])Bot$",
)

_PERSONAL = re.compile(r"(?!(?:no-?reply|root|admin|git|info)@)[^@]+@.")


class Change(Struct, frozen=True, array_like=True, gc=False):
    """One file in one commit; paths are relative to the folder that was asked about."""

    status: str  # "A", "M", "D", "T", "R" for renamed
    path: str
    old: str = ""  # what a renamed file was called


class Commit(Struct, frozen=True, array_like=True):
    """One commit that is no merge."""

    id: str
    time: int  # seconds since 1970, when it was committed
    author: str  # name only, as .mailmap has it
    subject: str
    changes: tuple[Change, ...]
    files: int  # that it changed; more than len(changes) if it changed very many
    bot: bool = False


class Log(Struct, frozen=True):
    """The commits that were read, newest first."""

    commits: tuple[Commit, ...] = ()
    names: dict[str, str] = {}  # lower-case e-mail address → name, to know an owner by; never shown
    whole: bool = True  # False: git was stopped before it had told all of them


def read_commits(
    folder: str, most: int = MOST_COMMITS, seconds: float = TIMEOUT_S, token: CancelToken | None = None
) -> Log | Problem:
    """The latest commits that changed something in `folder`, merges left out, names as .mailmap has them.

    Renames without a change are followed; to find others git would have to read contents.
    """
    answer = ask(
        folder,
        "log",
        "-z",
        f"--max-count={most}",
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
        seconds=seconds,
        most=MOST_BYTES,
        token=token,
    )
    return answer if isinstance(answer, Problem) else parse(answer)


def parse(answer: Answer) -> Log:
    """The commits in git's output; one that was cut off is left out."""
    fields = answer.out.split(b"\0")
    if not answer.whole:
        while fields and not fields[-1].startswith(_START.encode()):
            fields.pop()  # the last commit may lack files
        fields = fields[:-1]
    names: dict[str, str] = {}
    commits = tuple(_commits(iter(fields), names))
    return Log(commits, names, answer.whole)


def _commits(fields: Iterator[bytes], names: dict[str, str]) -> Iterator[Commit]:
    field = next(fields, b"")
    while field.startswith(_START.encode()):
        id, (time, author, mail, subject) = field[1:], (next(fields, b"") for _ in range(4))
        changes: list[Change] = []
        count = 0
        while (field := next(fields, b"").lstrip(b"\n")) and not field.startswith(_START.encode()):
            paths = [next(fields, b"") for _ in range(2 if field[:1] in b"RC" else 1)]
            count += 1
            if count <= MOST_FILES:
                changes.append(_change(field, paths))
        name, address = text_of(author), text_of(mail).lower()
        shown = name_of(name)
        if shown and _PERSONAL.match(address):
            shown = names.setdefault(address, shown)  # who writes the name in two ways is one person, by the newer
        yield Commit(
            id.decode("ascii", "replace"),
            int(time) if time.isdigit() else 0,
            shown,
            text_of(subject)[:200],
            tuple(changes),
            count,
            is_bot(name, address),
        )


def _change(status: bytes, paths: list[bytes]) -> Change:
    new, old = os.fsdecode(paths[-1]), os.fsdecode(paths[0]) if status[:1] == b"R" else ""
    return Change("A" if status[:1] == b"C" else status[:1].decode("ascii", "replace"), new, old)


def text_of(raw: bytes) -> str:
    """Text on one line, without what cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in raw.decode("utf-8", "replace")).split())


def name_of(author: str) -> str:
    """A name fit to be shown: no e-mail address, at most 60 characters; "" if nothing is left."""
    kept = [word for word in author.replace("<", " ").replace(">", " ").split() if "@" not in word[1:]]
    return " ".join(kept)[:60].strip()


def is_bot(name: str, address: str) -> bool:
    """Whether an author is a program, by what it calls itself."""
    return bool(_BOT.search(name)) or bool(_BOT.search(name.lower())) or "[bot]" in address

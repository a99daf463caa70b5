"""Commits by the names that people give them, and what commits say.

Whoever goes on from here does so by ids, so that no name can be taken for an option, a range or a path.
"""

from __future__ import annotations

import re

from promptls.git.runner import Answer, ask
from promptls.model import CancelToken, Problem

MOST_SUBJECTS = 50

_BRACED = re.compile(r"\{[^}]*\}")
_ID = re.compile(rb"[0-9a-f]{40,64}\n")
_SAID = "--format=%P%ncommit %h%nAuthor: %an%nDate: %ad%n%n%w(0,4,4)%B"
_PLAIN = ("--no-color", "--no-notes", "--no-show-signature", "--encoding=UTF-8")


def commit(folder: str, revision: str, token: CancelToken | None = None) -> str | Problem:
    """The id of the commit that a revision names, "" if it names none; a problem if git cannot be asked.

    What begins with "-" would be an option; what stands behind a colon outside of braces is a path.
    """
    if revision.startswith("-") or ":" in _BRACED.sub("", revision) or not revision.isprintable():
        return ""
    return _id(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fine=(0, 1, 128), token=token)


def head(folder: str, token: CancelToken | None = None) -> str | Problem:
    """The id of what is checked out, of a tree without files where nothing has been committed yet."""
    found = _id(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", fine=(0, 1), token=token)
    return found or _empty_tree(folder, token)


def merge_base(folder: str, first: str, second: str, token: CancelToken | None = None) -> str | Problem:
    """The id of the commit at which two others (ids) parted, "" if they have none in common."""
    return _id(folder, "merge-base", first, second, fine=(0, 1), token=token)


def main_branch(folder: str, token: CancelToken | None = None) -> str:
    """The full name of the branch that others leave and come back to; "" if none looks like it."""
    said = ask(folder, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", fine=(0, 1), token=token)
    names = [said.out.decode("utf-8", "replace").strip()] if isinstance(said, Answer) else []
    names += [f"refs/heads/{name}" for name in ("main", "master", "trunk", "develop")]
    known = (name for name in names if name and not isinstance(id := commit(folder, name, token), Problem) and id)
    return next(known, "")


def message(folder: str, id: str, token: CancelToken | None = None) -> tuple[str, str] | Problem:
    """(id of what a commit was made from, who made it when, and what it says): the first parent, or an empty tree."""
    got = ask(folder, "show", "-s", *_PLAIN, _SAID, "--date=iso", id, "--", token=token)
    if isinstance(got, Problem):
        return got
    parents, _, said = got.out.decode("utf-8", "replace").partition("\n")
    before = parents.partition(" ")[0] or _empty_tree(folder, token)
    return before if isinstance(before, Problem) else (before, said.strip())


def subjects(folder: str, first: str, last: str, token: CancelToken | None = None) -> str:
    """The first lines of the latest commits (ids) behind one up to another, a line each."""
    most = f"--max-count={MOST_SUBJECTS}"
    got = ask(folder, "log", *_PLAIN, most, "--format=%h %s", f"{first}..{last}", "--", token=token)
    return got.out.decode("utf-8", "replace").strip() if isinstance(got, Answer) else ""


def _empty_tree(folder: str, token: CancelToken | None) -> str | Problem:
    """Its id depends on the repository's hash function."""
    return _id(folder, "hash-object", "-t", "tree", "--stdin", fine=(0,), token=token)


def _id(folder: str, *question: str, fine: tuple[int, ...], token: CancelToken | None) -> str | Problem:
    got = ask(folder, *question, fine=fine, token=token)
    if isinstance(got, Problem):
        return got
    return got.out.decode().strip() if _ID.fullmatch(got.out) else ""

"""Resolves revisions to commit ids, and reads commit messages.

Everything after resolution works with ids, so that a revision can never be taken for an option, a range or a path.
"""

from __future__ import annotations

import re

from promptls.git.runner import query_git
from promptls.model import CancelToken, Problem

MAX_SUBJECTS = 50
"""Commit subjects that `subjects_between` returns at most; more would crowd out the diff."""

MAX_REFS = 500
"""Maximum number of references that completion chooses from."""

REFS_TIMEOUT_S = 2.0
"""Time limit of listing references in seconds: the user waits for completion."""

_BRACED = re.compile(r"\{[^}]*\}")
_ID_LINE = re.compile(rb"[0-9a-f]{40,64}\n")
_MESSAGE_FORMAT = "--format=%P%ncommit %h%nAuthor: %an%nDate: %ad%n%n%w(0,4,4)%B"
_PLAIN_OPTIONS = ("--no-color", "--no-notes", "--no-show-signature", "--encoding=UTF-8")


def resolve_commit(folder: str, revision: str, token: CancelToken | None = None) -> str | Problem:
    """Return the commit id of a revision, or "" if the commit does not exist.

    A leading "-" would be an option. A colon outside of braces starts a path.
    """
    if revision.startswith("-") or ":" in _BRACED.sub("", revision) or not revision.isprintable():
        return ""
    return _query_id(
        folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", ok_statuses=(0, 1, 128), token=token
    )


def resolve_head(folder: str, token: CancelToken | None = None) -> str | Problem:
    """Return the commit id of HEAD, or the id of the empty tree before the first commit."""
    commit = _query_id(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok_statuses=(0, 1), token=token)
    return commit or _empty_tree(folder, token)


def merge_base(folder: str, first: str, second: str, token: CancelToken | None = None) -> str | Problem:
    """Return the id of the merge base of two commit ids, or "" without one."""
    return _query_id(folder, "merge-base", first, second, ok_statuses=(0, 1), token=token)


def default_branch(folder: str, token: CancelToken | None = None) -> str:
    """Return the full name of the default branch, or ""."""
    result = query_git(folder, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", ok_statuses=(0, 1), token=token)
    names = [] if isinstance(result, Problem) else [result.stdout.decode("utf-8", "replace").strip()]
    names += [f"refs/heads/{name}" for name in ("main", "master", "trunk", "develop")]
    existing = (
        name for name in names if name and not isinstance(id := resolve_commit(folder, name, token), Problem) and id
    )
    return next(existing, "")


def commit_message(folder: str, id: str, token: CancelToken | None = None) -> tuple[str, str] | Problem:
    """Return (id of the first parent or of the empty tree, message with author and date) of a commit id."""
    result = query_git(folder, "show", "-s", *_PLAIN_OPTIONS, _MESSAGE_FORMAT, "--date=iso", id, "--", token=token)
    if isinstance(result, Problem):
        return result
    parents, _, message = result.stdout.decode("utf-8", "replace").partition("\n")
    parent = parents.partition(" ")[0] or _empty_tree(folder, token)
    return parent if isinstance(parent, Problem) else (parent, message.strip())


def ref_names(folder: str, *patterns: str, token: CancelToken | None = None) -> list[str]:
    """Return the short names of the references that match patterns such as "refs/heads", the latest first."""
    result = query_git(
        folder,
        "for-each-ref",
        f"--count={MAX_REFS}",
        "--sort=-creatordate",
        "--format=%(refname:short)",
        *patterns,
        timeout_s=REFS_TIMEOUT_S,
        token=token,
    )
    names = [] if isinstance(result, Problem) else result.stdout.decode("utf-8", "replace").splitlines()
    return [name for name in names if name and not name.endswith("/HEAD")]


def subjects_between(folder: str, first: str, last: str, token: CancelToken | None = None) -> str:
    """Return the subjects of the latest commits after one commit id up to another, one per line."""
    limit = f"--max-count={MAX_SUBJECTS}"
    result = query_git(folder, "log", *_PLAIN_OPTIONS, limit, "--format=%h %s", f"{first}..{last}", "--", token=token)
    return "" if isinstance(result, Problem) else result.stdout.decode("utf-8", "replace").strip()


def _empty_tree(folder: str, token: CancelToken | None) -> str | Problem:
    """Return the id of the empty tree, which depends on the hash function of the repository."""
    return _query_id(folder, "hash-object", "-t", "tree", "--stdin", ok_statuses=(0,), token=token)


def _query_id(folder: str, *arguments: str, ok_statuses: tuple[int, ...], token: CancelToken | None) -> str | Problem:
    result = query_git(folder, *arguments, ok_statuses=ok_statuses, token=token)
    if isinstance(result, Problem):
        return result
    return result.stdout.decode().strip() if _ID_LINE.fullmatch(result.stdout) else ""

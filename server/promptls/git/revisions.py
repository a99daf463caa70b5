"""Resolves revisions to commit ids, and reads commit messages.

Everything after resolution works with ids, so that a revision can never be taken for an option, a range or a path.
"""

from __future__ import annotations

import re

from promptls.git.runner import explain_failure, is_about_repository, query_git
from promptls.model import CancelToken, Problem
from promptls.util.git_process import GitResult

MAX_SUBJECTS = 50
"""Commit subjects that `subjects_between` returns at most; more would crowd out the diff."""

MAX_REFS = 500
"""Maximum number of references that completion chooses from."""

USUAL_BRANCHES = ("main", "master", "trunk", "develop")
"""Usual names of the branch that others start from."""

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
    arguments = ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    result = query_git(folder, *arguments, ok_statuses=(0, 1, 128), token=token)
    if isinstance(result, Problem):
        return result
    if result.exit_status == 128 and is_about_repository(result.stderr):
        return explain_failure(result.stderr, folder)
    return _id(result)


def resolve_head(folder: str, token: CancelToken | None = None) -> str | Problem:
    """Return the commit id of HEAD, or the id of the empty tree before the first commit."""
    commit = _query_id(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok_statuses=(0, 1), token=token)
    return commit or _empty_tree(folder, token)


def merge_base(folder: str, first: str, second: str, token: CancelToken | None = None) -> str | Problem:
    """Return the id of the merge base of two commit ids, or "" without one."""
    return _query_id(folder, "merge-base", first, second, ok_statuses=(0, 1), token=token)


def default_branch(folder: str, token: CancelToken | None = None) -> str:
    """Return the full name of the branch that others start from, or "".

    The first that exists: the HEAD of a remote, a local branch with a usual name, such a branch of a remote, the
    upstream of the current branch if it has another name.
    """
    places = ("refs/heads", "refs/remotes/*")
    patterns = [f"{place}/{name}" for place in places for name in USUAL_BRANCHES]
    fields = "--format=%(refname)%00%(symref)"
    listing = query_git(
        folder, "for-each-ref", fields, "refs/remotes/*/HEAD", *patterns, timeout_s=REFS_TIMEOUT_S, token=token
    )
    lines = [] if isinstance(listing, Problem) else listing.stdout.decode("utf-8", "replace").splitlines()
    refs = dict(line.split("\0") for line in lines if "\0" in line)
    remotes = sorted({name.split("/")[2] for name in refs if name.startswith("refs/remotes/")}, key=_remote_rank)
    heads = [refs.get(f"refs/remotes/{remote}/HEAD", "") for remote in remotes]
    usual = [
        f"refs/{place}/{name}" for place in ("heads", *(f"remotes/{r}" for r in remotes)) for name in USUAL_BRANCHES
    ]
    known = [name for name in heads if name and resolve_commit(folder, name, token)]
    known += [name for name in usual if name in refs]
    return known[0] if known else _other_upstream(folder, token)


def _other_upstream(folder: str, token: CancelToken | None) -> str:
    """Return the upstream of the current branch if it has another name, else ""."""
    names = [
        query_git(folder, "rev-parse", "--symbolic-full-name", revision, ok_statuses=(0, 128), token=token)
        for revision in ("HEAD", "@{upstream}")
    ]
    current, upstream = ("" if isinstance(n, Problem) else n.stdout.decode("utf-8", "replace").strip() for n in names)
    return upstream if upstream.rpartition("/")[2] != current.rpartition("/")[2] else ""


def _remote_rank(name: str) -> tuple[int, str]:
    return {"origin": 0, "upstream": 1}.get(name, 2), name


def short_ref(name: str) -> str:
    """Return the name of a branch as people write it: "origin/main"."""
    return name.removeprefix("refs/heads/").removeprefix("refs/remotes/")


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
    return _id(result)


def _id(result: GitResult) -> str:
    return result.stdout.decode().strip() if _ID_LINE.fullmatch(result.stdout) else ""

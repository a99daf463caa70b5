"""Filters by path: globs with the syntax of ignore files, in the spellings that people and language models use."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from promptls.api.messages.params import InvalidParams
from promptls.index import Snapshot, is_file_path, match_globs
from promptls.model import Root
from promptls.util.cancellation import check_each

MAX_GLOBS = 100
"""Maximum number of globs of a search; more are lists of files."""
MAX_GLOB_CHARACTERS = 10_000
"""Maximum number of characters of all globs of a search, as many as 100 long paths have."""

_WILDCARD = re.compile(r"[*?\[]")


def match_paths(snapshot: Snapshot, globs: Sequence[str]) -> list[str]:
    """Return the paths of the indexed files that match a glob, by default all, and no excluding glob ("!tests/").

    A glob is relative to any workspace folder, absolute, or starts with the name of a folder ("api:src/*.py").

    Raises:
        InvalidParams: There are too many globs, or they are too long.
        Cancelled: The request is cancelled.
    """
    if len(globs) > MAX_GLOBS or sum(map(len, globs)) > MAX_GLOB_CHARACTERS:
        raise InvalidParams(
            f"paths: at most {MAX_GLOBS} globs with {MAX_GLOB_CHARACTERS:,} characters; use folders or wildcards.",
            "paths",
        )
    names: dict[str, list[str]] = {root.path: [] for root in snapshot.roots}
    for entry in check_each(snapshot.files.values()):
        if entry.root in names:
            names[entry.root].append(entry.name)
    excluding = [glob[1:] for glob in globs if glob.startswith("!")]
    including = [glob for glob in globs if not glob.startswith("!")] or ["."]
    paths: list[str] = []
    for root in snapshot.roots:
        included, excluded = (
            match_globs(names[root.path], [own for glob in some if (own := _glob_in_root(glob, root, snapshot.roots))])
            for some in (including, excluding)
        )
        removed = set(excluded)
        paths += [f"{root.path.rstrip('/')}/{name}" for name in included if name not in removed]
    return paths


def _glob_in_root(glob: str, root: Root, roots: Sequence[Root]) -> str:
    """Return a glob relative to a workspace folder, "" if it is about another one."""
    pattern = glob if "/" in glob else glob.replace("\\", "/")
    name, colon, rest = pattern.partition(":")
    if colon and any(name == one.name for one in roots):
        if name != root.name:
            return ""
        pattern = f"/{rest.lstrip('/')}"
    elif is_file_path(pattern):
        pattern = _relative(pattern, root.path)
    elif pattern == "." or pattern.startswith("./"):
        pattern = pattern[1:] or "/"
    return pattern if pattern != "/" else "**"


def _relative(pattern: str, root: str) -> str:
    """Return an absolute glob relative to a folder, unchanged if it is not inside; links before a wildcard are resolved."""
    wildcard = _WILDCARD.search(pattern)
    fixed = pattern[: wildcard.start()].rpartition("/")[0] if wildcard else pattern
    rest = pattern[len(fixed) :]
    for folder in dict.fromkeys((fixed, _real_path(fixed))):
        if f"{folder}/".startswith(f"{root.rstrip('/')}/"):
            return folder[len(root.rstrip("/")) :] + rest or "/"
    return pattern


def _real_path(path: str) -> str:
    """Return a path without links, unchanged if it is not valid (it contains a null character or a lone surrogate)."""
    try:
        return os.path.realpath(path).replace("\\", "/")
    except (OSError, ValueError):
        return path

"""Files with a conventional name (AGENTS.md, .cursor/rules/…), read directly, without a walk.

Such a file contains instructions for every assistant, and is read even if git ignores it.  Still excluded are files
matched by `.promptlsignore` or the setting index.exclude, files that usually hold secrets, and links that leave the
root.  Blocking; any thread; starts no process.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH114
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice

from msgspec.structs import replace

from promptls.index.files.contained import open_folder
from promptls.index.files.gitignore import IgnoreRules, parse_rules
from promptls.index.files.ignore import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, rule_decision, user_match
from promptls.index.files.policy import FilePolicy
from promptls.index.files.read import FileContent, FileLimits, UnreadableFile, open_file, read_any_text, read_small_file
from promptls.index.files.uris import CASE_INSENSITIVE, is_inside

_OUTSIDE_ROOT = UnreadableFile("it is a link to a target outside the workspace")
_MAX_FOLDER_ENTRIES = 10_000  # further entries of a folder are not read


def existing_names(root: str, folder: str, names: Iterable[str]) -> list[str]:
    """Return the names that exist in a folder (relative to the root, "" for the root itself)."""
    base = f"{root}/{folder}" if folder else root
    return [name for name in names if os.path.lexists(f"{base}/{name}")]


def find_files(root: str, folder: str, suffixes: tuple[str, ...], max_depth: int = 0) -> list[str]:
    """Return the sorted names, relative to the root, of files with these suffixes in a folder and its subfolders.

    Subfolders are searched down to `max_depth` levels, without following links.  The result is empty for a folder that
    does not exist or is outside the root.
    """
    if not is_inside(root, f"{root}/{folder}"):
        return []
    names: list[str] = []
    subfolders: list[str] = []
    try:
        with open_folder(_resolve(root, folder), (root,)) as listing:
            for entry in islice(listing, _MAX_FOLDER_ENTRIES):
                name = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    subfolders.append(name)
                elif entry.name.endswith(suffixes):
                    names.append(name)
    except (OSError, ValueError):
        return []
    names.sort()
    for name in sorted(subfolders) if max_depth else ():
        names += find_files(root, name, suffixes, max_depth - 1)
    return names


def read_convention_file(
    root: str, name: str, limits: FileLimits, max_bytes: int, is_listed: Callable[[str], bool]
) -> FileContent | UnreadableFile:
    """Read the text of a file with a conventional name (relative to the root), or return why it is unreadable.

    A link is followed only if its target is a listed file.  `is_listed` receives the name relative to the root.
    """
    try:
        target = _resolve(root, name)[len(root) + 1 :]
    except (OSError, ValueError):
        return UnreadableFile("it is a broken link")
    if not is_inside(root, f"{root}/{name}"):
        return _OUTSIDE_ROOT
    if target != name and not _is_same_name(target, name) and not is_listed(target):
        return UnreadableFile("it is a link to a file that is excluded")
    limits = replace(limits, max_file_size=min(max_bytes, limits.max_file_size))
    return read_any_text(f"{root}/{target}", limits, (root,))


def exclusion_reason(root: str, name: str, limits: FileLimits) -> str:
    """Return why the user has excluded a file (name relative to the root), "" otherwise.

    Checks the setting index.exclude and the ignore files of promptls and other tools from the top of the work tree, but
    not git's rules.
    """
    if reason := FilePolicy(exclude=limits.policy.exclude).exclusion_reason(name):
        return reason
    top = _work_tree_top(root)
    folder, parts = top, f"{root}/{name}"[len(top) + 1 :].split("/")
    levels: list[tuple[IgnoreRules, bytes]] = []
    for depth, base in enumerate(parts):
        for file in (f"{folder}/{ignore_file}" for ignore_file in (IGNORE_FILE, *limits.ignore_files)):
            data = read_small_file(file, MAX_IGNORE_FILE_BYTES, roots=(root, top))
            rules = parse_rules(data, file, CASE_INSENSITIVE) if data else None
            levels += [(rules, b"")] if rules is not None else []
        raw = os.fsencode(base)
        match = user_match(tuple(levels), raw, depth < len(parts) - 1)
        if match is not None and not match[0].negated:
            return rule_decision(match[1].file, match[0].line, match[0].text).reason
        levels = [(rules, prefix + raw + b"/") for rules, prefix in levels]
        folder = f"{folder}/{base}"
    return ""


def _work_tree_top(root: str) -> str:
    """Return the nearest folder with a `.git`, or the root itself without one."""
    folder = root
    while folder and not os.path.lexists(f"{folder}/.git"):
        folder = folder.rpartition("/")[0]
    return folder or root


def _resolve(root: str, name: str) -> str:
    """Return the path below the root, without links, to which a name leads; it contains ".." for a path outside."""
    target = os.path.relpath(os.path.realpath(f"{root}/{name}"), os.path.realpath(root)).replace(os.sep, "/")
    return root if target == "." else f"{root}/{target}"


def _is_same_name(target: str, name: str) -> bool:
    return CASE_INSENSITIVE and target.lower() == name.lower()


def read_own_file(root: str, name: str, max_bytes: int) -> bytes | UnreadableFile | None:
    """Read the bytes of a file of promptls in a folder (name relative to it), or return why it is unreadable.

    Returns None if the file does not exist.  The file must not be a link, and must not be outside `root`.
    """
    path = f"{root}/{name}"
    if not os.path.lexists(path):
        return None
    if not is_inside(root, path):
        return _OUTSIDE_ROOT
    try:
        opened = open_file(_resolve(root, name), roots=(root,)) if not os.path.islink(path) else open_file(path)
    except (OSError, ValueError):
        return UnreadableFile("it is a broken link")
    if isinstance(opened, str):
        return UnreadableFile(opened)
    try:
        with os.fdopen(opened[0], "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        return UnreadableFile(f"it cannot be read: {error.strerror or type(error).__name__}")
    return data if len(data) <= max_bytes else UnreadableFile(f"it is over the limit of {max_bytes:,} bytes")

"""Files that a convention names (AGENTS.md, .cursor/rules/…): found and read where they lie, without a walk.

Such a file is its owner's word to every assistant, so it counts although git may ignore it.  What the owner
keeps from us still holds: `.promptlsignore` and the setting index.exclude, files that usually hold secrets,
and nothing outside of the root however a link points there.  Blocking, any thread; starts no process.
"""

# Paths are strings here, letter for letter as git and the system give them.
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice

from msgspec.structs import replace

from promptls.index.files.gitignore import Rules, parse
from promptls.index.files.ignore import MOST_RULES, OWN
from promptls.index.files.policy import Policy
from promptls.index.files.read import Limits, ReadText, Skipped, opened, read_any, read_small
from promptls.index.files.uris import FOLDS, inside

_OUTSIDE = Skipped("it is a link that leads out of the workspace")
_MOST_SEEN = 10_000  # entries of a folder that are looked at


def present(root: str, folder: str, names: Iterable[str]) -> list[str]:
    """Those of the names that something is called in a folder (relative to the root, "" for the root itself)."""
    base = f"{root}/{folder}" if folder else root
    return [name for name in names if os.path.lexists(f"{base}/{name}")]


def files_in(root: str, folder: str, endings: tuple[str, ...], deep: int = 0) -> list[str]:
    """Names, relative to the root and sorted, of the files with these endings in a folder and `deep` levels below.

    () for a folder that does not exist or that lies outside of the root; links to folders are not followed
    further down.
    """
    if not inside(root, f"{root}/{folder}"):
        return []
    found: list[str] = []
    below: list[str] = []
    try:
        with os.scandir(f"{root}/{folder}") as listing:
            for entry in islice(listing, _MOST_SEEN):
                name = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    below.append(name)
                elif entry.name.endswith(endings):
                    found.append(name)
    except (OSError, ValueError):
        return []
    found.sort()
    for name in sorted(below) if deep else ():
        found += files_in(root, name, endings, deep - 1)
    return found


def read_named(root: str, name: str, limits: Limits, most: int, known: Callable[[str], bool]) -> ReadText | Skipped:
    """The text of a file that a convention names (relative to the root), at most `most` bytes; or why not.

    A link is read only if its target, a name relative to the root, is `known`: one that may be shown anyway.
    """
    path = f"{root}/{name}"
    try:
        top, place = os.path.realpath(root), os.path.realpath(path)
    except (OSError, ValueError):
        return Skipped("it is a link that leads nowhere")
    if not inside(root, path):
        return _OUTSIDE
    target = os.path.relpath(place, top).replace(os.sep, "/")
    if target != name and not _same(target, name) and not known(target):
        return Skipped("it is a link to a file that is not shown by itself")
    return read_any(f"{root}/{target}", replace(limits, max_file_size=min(most, limits.max_file_size)))


def kept_out(root: str, name: str, limits: Limits) -> str:
    """Why the user keeps a file (relative to the root) from us though it may be there, "" if not.

    Looks at the `.promptlsignore` files from the top of the work tree down, not at git's rules.
    """
    if why := Policy(exclude=limits.policy.exclude).refusal(name):
        return why
    top = _top(root)
    folder, parts = top, f"{root}/{name}"[len(top) + 1 :].split("/")
    levels: list[tuple[Rules, bytes]] = []
    for depth, base in enumerate(parts):
        data = read_small(f"{folder}/{OWN}", MOST_RULES)
        own = parse(data, f"{folder}/{OWN}", FOLDS) if data else None
        levels += [(own, b"")] if own is not None else []
        raw = os.fsencode(base)
        for rules, way in reversed(levels):
            rule = rules.match(raw, way + raw, depth < len(parts) - 1)
            if rule is not None and not rule.negated:
                return f'the rule "{rule.text}" ignores it ({rules.file}, line {rule.line})'
            if rule is not None:
                break
        levels = [(rules, way + raw + b"/") for rules, way in levels]
        folder = f"{folder}/{base}"
    return ""


def _top(root: str) -> str:
    """The work tree's top, by its looks; the root itself outside of one."""
    place = root
    while place and not os.path.lexists(f"{place}/.git"):
        place = place.rpartition("/")[0]
    return place or root


def _same(target: str, name: str) -> bool:
    return FOLDS and target.lower() == name.lower()


def read_bytes(root: str, name: str, most: int) -> bytes | Skipped | None:
    """A file of ours in a folder (name relative to it): its bytes, why they are not read, or None for no file.

    No part of the way below `root` may be a link that leads out of it, and the file itself may be none.
    """
    path = f"{root}/{name}"
    if not os.path.lexists(path):
        return None
    if not inside(root, path):
        return _OUTSIDE
    got = opened(path)
    if isinstance(got, str):
        return Skipped(got)
    try:
        with os.fdopen(got[0], "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        return Skipped(f"it cannot be read: {error.strerror or type(error).__name__}")
    return data if len(data) <= most else Skipped(f"it is over the limit of {most:,} bytes")

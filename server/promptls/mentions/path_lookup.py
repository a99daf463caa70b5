"""From a path as people write it to files and folders of the workspace.

Shared by the resolvers.  The ladder is: exact path below a root > end of a path in the letters as written >
the same two with letter case and Unicode form aside; only the best rung that holds anything counts.  What no
rung holds is looked for on disk.  Whether a path may be shown at all is `barred`'s to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from urllib.parse import unquote

from msgspec import Struct

from promptls.index import files
from promptls.index.snapshot import Snapshot
from promptls.mentions.completion.index import fold, paths_of
from promptls.mentions.context import Request
from promptls.mentions.format import spell
from promptls.mentions.grammar import WORDS, Words
from promptls.model import Root, Span

Lookup = Callable[[str], list[str]]
"""Last segment of a path → paths that may end in it."""

_DRIVE = re.compile(r"[A-Za-z]:(?:/|$)")
_TEST = re.compile(
    r"(?:^|[/:])(?:tests?|specs?|__tests__|testing)/|(?:^|[/:])(?:test_|conftest)[^/]*$|[._-](?:test|spec)s?\.\w+$"
)

_NOTHING_THERE = frozenset(
    {"there is no such file", "a part of its path is not a folder", "its path holds a NUL character"}
)
"""What `disk` says of a path that leads nowhere."""


class Rung(IntEnum):
    """How well a path fits what was written, best first."""

    EXACT = 0
    END = 1
    FOLDED = 2
    FOLDED_END = 3
    NONE = 9


class Found(Struct, frozen=True):
    """Paths on the same rung; `outside` if what was written leads out of every root."""

    paths: tuple[str, ...] = ()
    rung: Rung = Rung.NONE
    outside: bool = False


def roots_named(snapshot: Snapshot, name: str) -> tuple[Root, ...]:
    """The roots that a mention may mean: all without a name; by letter case aside if no name fits exactly."""
    if not name:
        return snapshot.roots
    exact = tuple(root for root in snapshot.roots if root.name == name)
    return exact or tuple(root for root in snapshot.roots if fold(root.name) == fold(name))


def find_files(request: Request, target: str, roots: tuple[Root, ...]) -> Found:
    """Indexed files and open documents that the target may mean."""
    return _climb(request.snapshot, target, roots, lambda name: _files_named(request.snapshot, name))


def find_folders(request: Request, target: str, roots: tuple[Root, ...]) -> Found:
    """Folders with indexed files that the target may mean; a root by its absolute path is one of them."""
    catalog = paths_of(request.snapshot)
    tops = [root.path for root in roots]
    return _climb(request.snapshot, target, roots, lambda name: [*catalog.folders_named(name), *tops])


def root_and_path(snapshot: Snapshot, argument: str) -> tuple[str, str]:
    """(root, path) of a "root:path" that is an argument or a scope; ("", all of it) where no root is called so."""
    root, colon, path = argument.partition(":")
    if not root or not colon or path.startswith(":") or _DRIVE.match(argument) or not roots_named(snapshot, root):
        return "", argument
    return root, path


def folders_at(request: Request, argument: str) -> tuple[str, ...]:
    """The folders that "path/", "root:path/" or "root:" may mean."""
    name, path = root_and_path(request.snapshot, argument)
    roots = roots_named(request.snapshot, name)
    if name and not path:
        return tuple(root.path for root in roots)
    return find_folders(request, path.rstrip("/"), roots).paths


def files_at(request: Request, argument: str) -> tuple[str, ...]:
    """The files that "path" or "root:path" may mean."""
    name, path = root_and_path(request.snapshot, argument)
    return find_files(request, path, roots_named(request.snapshot, name)).paths


def files_in(snapshot: Snapshot, folders: Iterable[str]) -> list[str]:
    """The indexed files below these folders."""
    below = tuple(folder.rstrip("/") + "/" for folder in folders)
    return [path for path in snapshot.files if path.startswith(below)]


def within(request: Request, argument: str) -> frozenset[str]:
    """The files of the folder or root that an argument names, or the file itself."""
    return frozenset(files_in(request.snapshot, folders_at(request, argument)) or files_at(request, argument))


def on_disk(request: Request, target: str, roots: tuple[Root, ...]) -> str | None:
    """The absolute path of what is there, though the index does not know it; None if nothing is."""
    for way in spellings(target):
        for path in _absolute(way, roots):
            if files.stat(path) is not None or files.is_folder(path):
                return path
            # Neither file nor folder, yet there: a link, a pipe.
            got = files.read_any(path, request.sources.limits)
            if isinstance(got, files.Skipped) and got.reason not in _NOTHING_THERE:
                return path
    return None


def barred(request: Request, path: str) -> str:
    """Why a file or folder must not be shown, as a sentence; "" if it may be."""
    snapshot = request.snapshot
    label = snapshot.label(path)
    root = snapshot.root_of(path)
    why = files.secret(path)
    if why and not request.sources.secrets:
        return f"{label} is not shown: {why}. The setting secrets.allowFiles lets a mention show it."
    if root is None:
        return "" if path in snapshot.documents else f"{path} is outside of the workspace."
    entry = snapshot.files.get(path)
    if entry is not None and entry.mtime_ns:
        return ""  # the walk has listed it
    if path not in snapshot.documents and not files.inside(root.path, path):
        return f"{label} is a link that leads out of the workspace."
    if path not in files.ignored(root.path, [path], request.sources.limits):
        return ""
    verdict = files.explain(root.path, path, request.sources.limits)
    if not verdict.rule:
        return f"{label} is not shown: {verdict.reason}."
    where = "built-in" if verdict.file == "built-in" else f"{_place(snapshot, verdict.file)}, line {verdict.line}"
    return f'{label} is ignored by the rule "{verdict.rule}" ({where}).'


def name_for(
    snapshot: Snapshot,
    path: str,
    *,
    folder: bool = False,
    lines: Span | None = None,
    symbol: str = "",
    words: Words = WORDS,
) -> str | None:
    """The mention that names a path of the workspace and nothing else; None if no mention can."""
    root = snapshot.root_of(path)
    name = path if root is None else path[len(root.path) + 1 :]
    if root is None or len(snapshot.roots) == 1:
        if not name:
            return "@workspace"
        return spell(name, folder=folder, lines=lines, symbol=symbol, words=words)
    if sum(other.name == root.name for other in snapshot.roots) > 1:
        return spell(path, folder=folder, lines=lines, symbol=symbol, words=words)
    return spell(name, root.name, folder=folder, lines=lines, symbol=symbol, words=words)


def nearest_first(request: Request, paths: Iterable[str]) -> list[str]:
    """Paths in the order in which they are likely meant.

    Open documents, then those that share most folders with the active one, tests last among equals.
    """
    active = request.client.active.split("/")[:-1]
    opened = {path: i for i, path in enumerate((request.client.active, *request.client.open))}

    def key(path: str) -> tuple[int, int, bool, int, str]:
        shared = 0
        for mine, theirs in zip(active, path.split("/"), strict=False):
            if mine != theirs:
                break
            shared += 1
        return opened.get(path, len(opened)), -shared, is_test(request.snapshot.label(path)), path.count("/"), path

    return sorted(dict.fromkeys(paths), key=key)


def is_test(label: str) -> bool:
    """Whether a path is a test by its name or its folder."""
    return _TEST.search(label.lower()) is not None


def spellings(target: str) -> Iterator[str]:
    """The ways to read a target: as it stands, with backslashes as slashes, percent-decoded."""
    seen: set[str] = set()
    slashed = target.replace("\\", "/")
    for way in (target, slashed, unquote(target), unquote(slashed)):
        way = _tidy(way)
        if way and way not in seen:
            seen.add(way)
            yield way


def _tidy(path: str) -> str:
    """Without "." and empty segments; ".." is taken back where it can be."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _climb(snapshot: Snapshot, target: str, roots: tuple[Root, ...], named: Lookup) -> Found:
    outside = False
    for way in spellings(target):
        best, rung = [], Rung.NONE
        for path in dict.fromkeys(named(way.rsplit("/", 1)[-1])):
            root = snapshot.root_of(path)
            if root not in roots and (root is not None or len(roots) != len(snapshot.roots)):
                continue
            fit = _fit(way, path, root)
            if fit < rung:
                best, rung = [path], fit
            elif fit == rung != Rung.NONE:
                best.append(path)
        if best:
            return Found(tuple(best), rung)
        outside = outside or way.startswith("../") or way == ".." or bool(_DRIVE.match(way))
    return Found(outside=outside)


def _fit(way: str, path: str, root: Root | None) -> Rung:
    name = path[len(root.path) + 1 :] if root is not None else path
    if way == path or way.lstrip("/") == name:
        return Rung.EXACT
    if path.endswith(way if way.startswith("/") else "/" + way):
        return Rung.END
    if fold(way) == fold(path) or fold(way.lstrip("/")) == fold(name):
        return Rung.FOLDED
    return Rung.FOLDED_END if fold(path).endswith(fold(way if way.startswith("/") else "/" + way)) else Rung.NONE


def _files_named(snapshot: Snapshot, name: str) -> list[str]:
    """Indexed files and open documents with this last segment, letter case and Unicode form aside."""
    wanted = fold(name)
    found = [path for form in _forms(name) for path in snapshot.basenames.get(form, ())]
    found += [path for path in snapshot.documents if fold(path.rsplit("/", 1)[-1]) == wanted]
    return found


def _forms(name: str) -> set[str]:
    if name.isascii():
        return {name.lower()}
    return {name.lower(), *(unicodedata.normalize(form, name).lower() for form in ("NFC", "NFD"))}


def _absolute(way: str, roots: tuple[Root, ...]) -> Iterator[str]:
    inside = way.lstrip("/")
    if way != inside or _DRIVE.match(way):
        for root in roots:
            if way == root.path or way.startswith(root.path + "/"):
                yield way
    if not way.startswith("../") and way != "..":
        yield from (f"{root.path}/{inside}" for root in roots)


def _place(snapshot: Snapshot, file: str) -> str:
    return snapshot.label(file) if snapshot.root_of(file) is not None else file.rsplit("/", 1)[-1]

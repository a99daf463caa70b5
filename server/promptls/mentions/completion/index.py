"""What of a snapshot can be named: its files, folders and symbol names, made searchable.

Built when first asked for and kept for the last snapshots seen.  A snapshot that differs little from a known
one (every edit gives another) takes over its haystacks and adds a small one for what is new; what has gone
stays in them, so every hit is checked against the snapshot before it is used.  Safe to call from any thread.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from threading import Lock
from typing import TypeVar

from immutables import Map
from msgspec import Struct
from msgspec.structs import replace

from promptls.index.snapshot import Place, Snapshot, Step, difference
from promptls.mentions.completion.fuzzy import Haystack, Tier
from promptls.model import FileEntry, Root, names_in
from promptls.util.overlay_map import Layered

_KEPT = 2  # catalogs kept of each sort: the last snapshot, and one that is still being worked on
_SMALL = 5_000  # changes that never make a rebuild worth its time


class Paths(Struct, frozen=True):
    """Files and folders of one snapshot."""

    files: Map[str, FileEntry]
    roots: tuple[Root, ...]
    source: Layered[str]  # `Snapshot.basenames`: the same map while no path comes or goes
    step: Step | None  # of the snapshot that `files` belong to
    built: frozenset[str] = frozenset()  # paths in the first haystack
    added: frozenset[str] = frozenset()  # paths in the second
    layers: tuple[Haystack, ...] = ()  # keys are absolute paths, those of folders with a slash at the end
    order: tuple[list[str], ...] = ()  # the paths of each layer, sorted
    folders: tuple[Mapping[str, list[str]], ...] = ()  # folded last segment → absolute folders, for each layer
    sizes: tuple[list[int], ...] = ()  # bytes of the paths of each layer before each one, and of all, when it was made

    def search(self, query: str, limit: int, worst: Tier = Tier.SCATTERED) -> Iterator[tuple[Tier, str]]:
        """Paths of files and folders that match, at least `limit` if there are so many."""
        for layer in self.layers:
            for tier, index in layer.search(query, limit, worst):
                key = layer.keys[index]
                if key in self.files if key[-1] != "/" else self.is_folder(key[:-1]):
                    yield tier, key

    def under(self, folder: str) -> Iterator[str]:
        """The files in a folder and below it, sorted by path within each layer."""
        prefix = folder + "/"
        for order in self.order:
            for i in range(bisect_left(order, prefix), len(order)):
                if not order[i].startswith(prefix):
                    break
                if order[i] in self.files:
                    yield order[i]

    def is_folder(self, folder: str) -> bool:
        """Whether there is a file in it."""
        return next(self.under(folder), None) is not None

    def children(self, folder: str, limit: int = 2_000) -> list[str]:
        """What lies directly in a folder: absolute paths, folders with a slash at the end, sorted."""
        prefix = folder + "/"
        found: set[str] = set()
        for order in self.order:
            i = bisect_left(order, prefix)
            while i < len(order) and order[i].startswith(prefix) and len(found) < limit:
                slash = order[i].find("/", len(prefix))
                if slash < 0:
                    if order[i] in self.files:
                        found.add(order[i])
                    i += 1
                    continue
                child = order[i][: slash + 1]
                if self.is_folder(child[:-1]):
                    found.add(child)
                i = bisect_left(order, child[:-1] + "0", i)  # "0" follows "/": behind the whole folder
        return sorted(found)

    def alike(self, name: str, least: float) -> Iterator[tuple[float, str]]:
        """Paths whose last segment is like this name: (ratio of 0 to 100, path)."""
        for layer in self.layers:
            for score, index in layer.alike(name, least):
                yield score, layer.keys[index]

    def count(self, folder: str) -> int:
        """How many files there are in a folder and below it; a few that have just gone may count."""
        prefix = folder + "/"
        return sum(bisect_left(order, folder + "0") - bisect_left(order, prefix) for order in self.order)

    def size(self, folder: str) -> int:
        """About how many bytes the files in a folder and below it have."""
        prefix = folder + "/"
        return sum(
            sizes[bisect_left(order, folder + "0")] - sizes[bisect_left(order, prefix)]
            for order, sizes in zip(self.order, self.sizes, strict=True)
        )

    def folders_named(self, name: str) -> list[str]:
        """Absolute folders whose last segment is `name`, letter case and Unicode form aside."""
        key = fold(name)
        return [f for layer in self.folders for f in layer.get(key, ()) if self.is_folder(f)]


class Symbols(Struct, frozen=True):
    """Distinct names of the symbols of one snapshot."""

    files: Map[str, FileEntry]
    source: Layered[Place]  # `Snapshot.names`: the same map while no definition comes or goes
    step: Step | None
    built: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    layers: tuple[Haystack, ...] = ()  # keys are names as written

    def search(self, query: str, limit: int, worst: Tier = Tier.SCATTERED) -> Iterator[tuple[Tier, str]]:
        """Names that match, at least `limit` if there are so many; some may have gone from the snapshot."""
        for layer in self.layers:
            for tier, index in layer.search(query, limit, worst):
                yield tier, layer.keys[index]


def paths_of(snapshot: Snapshot) -> Paths:
    """The files and folders of a snapshot."""
    return _recall(
        _paths,
        snapshot,
        snapshot.basenames,
        lambda last: last.roots == snapshot.roots,
        _build_paths,
        _extend_paths,
    )


def symbols_of(snapshot: Snapshot) -> Symbols:
    """The symbol names of a snapshot."""
    return _recall(_symbols, snapshot, snapshot.names, lambda last: True, _build_symbols, _extend_symbols)


def warm(snapshot: Snapshot) -> None:
    """Build both catalogs now, so that the first completion need not wait for them."""
    paths_of(snapshot)
    symbols_of(snapshot)


def fold(text: str) -> str:
    """Equal for names that differ in letter case or Unicode normal form only."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


_Layer = tuple[Haystack, list[str], Mapping[str, list[str]], list[int]]

_paths: list[Paths] = []
_symbols: list[Symbols] = []
_lock = Lock()

_T = TypeVar("_T", Paths, Symbols)


def _recall(
    kept: list[_T],
    snapshot: Snapshot,
    source: object,
    fits: Callable[[_T], bool],
    build: Callable[[Snapshot], _T],
    extend: Callable[[_T, Snapshot, list[FileEntry]], _T | None],
) -> _T:
    """The kept catalog of these files, or one made from the last kept one, or a new one."""
    with _lock:
        for known in kept:
            if known.files is snapshot.files and fits(known):
                return known
        made: _T | None = None
        if kept and fits(kept[-1]) and kept[-1].source is source:
            made = replace(kept[-1], files=snapshot.files, step=snapshot.step)
        elif kept and fits(kept[-1]):
            changed, _ = difference(kept[-1].files, kept[-1].step, snapshot)
            if len(changed) <= max(_SMALL, len(snapshot.files) // 2):
                made = extend(kept[-1], snapshot, changed)
        if made is None:
            made = build(snapshot)
        kept.append(made)
        del kept[:-_KEPT]
        return made


def _build_paths(snapshot: Snapshot) -> Paths:
    layer = _path_layer(snapshot.roots, list(snapshot.files.values()))
    return _with_layers(snapshot, frozenset(layer[1]), frozenset(), [layer])


def _extend_paths(last: Paths, snapshot: Snapshot, changed: list[FileEntry]) -> Paths | None:
    added = last.added.union(e.path for e in changed if e.path not in last.built)
    gone = len(last.built) + len(added) - len(snapshot.files)
    if len(added) + gone > max(_SMALL, len(last.built) // 4):
        return None
    layers = list(zip(last.layers, last.order, last.folders, last.sizes, strict=True))
    if added != last.added:
        new = [snapshot.files[path] for path in added if path in snapshot.files]
        layers[1:] = [_path_layer(snapshot.roots, new)] if new else []
    return _with_layers(snapshot, last.built, added, layers)


def _with_layers(snapshot: Snapshot, built: frozenset[str], added: frozenset[str], layers: list[_Layer]) -> Paths:
    haystacks, order, folders, sizes = zip(*layers, strict=True)
    files, names, step = snapshot.files, snapshot.basenames, snapshot.step
    return Paths(files, snapshot.roots, names, step, built, added, haystacks, order, folders, sizes)


def _path_layer(roots: tuple[Root, ...], entries: Sequence[FileEntry]) -> _Layer:
    prefixes = {root.path: root.name + "/" if len(roots) > 1 else "" for root in roots}
    names: list[tuple[str, str]] = []
    seen: set[str] = set()
    folders: dict[str, list[str]] = {}
    for entry in entries:
        prefix = prefixes.get(entry.root)
        if prefix is None:
            continue
        names.append((prefix + entry.name, entry.path))
        above = len(entry.root)
        folder = entry.path[: entry.path.rfind("/")]
        while len(folder) > above and folder not in seen:
            seen.add(folder)
            names.append((prefix + folder[above + 1 :] + "/", folder + "/"))
            cut = folder.rfind("/")
            folders.setdefault(fold(folder[cut + 1 :]), []).append(folder)
            folder = folder[:cut]
    order = sorted(key for _, key in names if key[-1] != "/")
    by_path = {entry.path: entry.size for entry in entries}
    sizes = list(accumulate(map(by_path.__getitem__, order), initial=0))
    return Haystack(names, paths=True), order, folders, sizes


def _build_symbols(snapshot: Snapshot) -> Symbols:
    names = _names(snapshot.files.values())
    return Symbols(snapshot.files, snapshot.names, snapshot.step, names, frozenset(), (_symbol_layer(names),))


def _extend_symbols(last: Symbols, snapshot: Snapshot, changed: list[FileEntry]) -> Symbols | None:
    added = last.added | (_names(changed) - last.built)
    if len(added) > max(_SMALL, len(last.built) // 4):
        return None
    layers = last.layers if added == last.added else (last.layers[0], _symbol_layer(added))
    return Symbols(snapshot.files, snapshot.names, snapshot.step, last.built, added, layers)


def _names(entries: Iterable[FileEntry]) -> frozenset[str]:
    return frozenset(name for entry in entries for name in names_in(entry.outlined) if name)


def _symbol_layer(names: Iterable[str]) -> Haystack:
    return Haystack(((name, name) for name in names), paths=False)

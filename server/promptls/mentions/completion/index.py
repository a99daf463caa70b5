"""Search indexes over the files, folders and symbol names of a snapshot, updated incrementally.

A snapshot that differs little from the last one reuses its fuzzy indexes and adds a small one for new names.
Names that are gone remain in the fuzzy indexes, so every hit is checked against the snapshot.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import Change, Derived, OutlineRef, Snapshot
from promptls.mentions.completion.fuzzy import FuzzyIndex, MatchTier, Quality
from promptls.model import FileEntry, Root, decode_symbol_names
from promptls.util.mappings import OverlayMap, PersistentMap

HISTORY = 2
"""Indexes kept of each sort: the last snapshot, and one that an earlier request still uses."""

MIN_REBUILD_CHANGES = 5_000
"""Number of changed names up to which an update is always faster than a rebuild."""

MAX_CHILDREN = 2_000
"""Maximum number of folder entries offered; keeps completion fast in generated folders."""


class PathIndex(Struct, frozen=True):
    """Files and folders of one snapshot.

    Parallel tuples have one element per layer: the base index and, after updates, one for added paths.
    """

    files: PersistentMap[str, FileEntry] = PersistentMap()
    roots: tuple[Root, ...] = ()
    source: OverlayMap[str] | None = None  # `Snapshot.basenames`: the same object until a path is added or removed
    added: frozenset[str] = frozenset()  # paths of the second layer
    layers: tuple[FuzzyIndex, ...] = ()  # keys are absolute paths, of folders with a trailing slash
    order: tuple[list[str], ...] = ()  # sorted paths
    folders: tuple[Mapping[str, list[str]], ...] = ()  # case-folded folder name → absolute folders
    sizes: tuple[NDArray[np.int64], ...] = ()  # cumulative file sizes in bytes, in `order`

    def search(self, query: str, limit: int, worst: MatchTier = MatchTier.SUBSEQUENCE) -> Iterator[tuple[Quality, str]]:
        """Yield matching files and folders, at least `limit` if there are as many."""
        for layer in self.layers:
            for match in layer.search(query, limit, worst):
                if self._exists(key := layer.keys[match.row]):
                    yield match.quality, key

    def _exists(self, key: str) -> bool:
        """Return whether a key of the fuzzy indexes is in the snapshot."""
        return key in self.files if key[-1] != "/" else self.is_folder(key[:-1])

    def files_under(self, folder: str) -> Iterator[str]:
        """Yield all files below a folder, sorted by path within each layer."""
        prefix = folder + "/"
        for order in self.order:
            for i in range(bisect_left(order, prefix), len(order)):
                if not order[i].startswith(prefix):
                    break
                if order[i] in self.files:
                    yield order[i]

    def is_folder(self, folder: str) -> bool:
        """Return whether a folder contains files of the snapshot."""
        return next(self.files_under(folder), None) is not None

    def children(self, folder: str, limit: int = MAX_CHILDREN) -> list[str]:
        """Return the direct children of a folder: sorted absolute paths, folders with a trailing slash."""
        prefix = folder + "/"
        children: set[str] = set()
        for order in self.order:
            i = bisect_left(order, prefix)
            while i < len(order) and order[i].startswith(prefix) and len(children) < limit:
                slash = order[i].find("/", len(prefix))
                if slash < 0:
                    if order[i] in self.files:
                        children.add(order[i])
                    i += 1
                    continue
                child = order[i][: slash + 1]
                if self.is_folder(child[:-1]):
                    children.add(child)
                i = bisect_left(order, child[:-1] + "0", i)  # "0" follows "/": skips the whole folder
        return sorted(children)

    def within_edits(self, name: str) -> list[str]:
        """Return the paths whose last segment is a misspelling of `name`, best first."""
        found = ((edits, layer.keys[row]) for layer in self.layers for edits, row in layer.within_edits(name))
        return [key for _, key in sorted(found) if self._exists(key)]

    def file_count(self, folder: str) -> int:
        """Return the number of files below a folder; a few that are gone may be included."""
        prefix = folder + "/"
        return sum(bisect_left(order, folder + "0") - bisect_left(order, prefix) for order in self.order)

    def total_bytes(self, folder: str) -> int:
        """Return the approximate size of all files below a folder."""
        prefix = folder + "/"
        return sum(
            int(sizes[bisect_left(order, folder + "0")] - sizes[bisect_left(order, prefix)])
            for order, sizes in zip(self.order, self.sizes, strict=True)
        )

    def folders_named(self, name: str) -> list[str]:
        """Return absolute folders with this name, ignoring letter case and Unicode normal form."""
        key = fold_case(name)
        return [f for layer in self.folders for f in layer.get(key, ()) if self.is_folder(f)]


class SymbolIndex(Struct, frozen=True):
    """Distinct symbol names of one snapshot."""

    source: OverlayMap[OutlineRef] | None = None  # `Snapshot.names`: the same object until a definition changes
    base: frozenset[str] = frozenset()  # names of the first layer
    added: frozenset[str] = frozenset()  # names of the second layer
    layers: tuple[FuzzyIndex, ...] = ()  # keys are names as written

    def search(self, query: str, limit: int, worst: MatchTier = MatchTier.SUBSEQUENCE) -> Iterator[tuple[Quality, str]]:
        """Yield matching names, at least `limit` if there are as many; some may be gone from the snapshot."""
        for layer in self.layers:
            for match in layer.search(query, limit, worst):
                yield match.quality, layer.keys[match.row]

    def within_edits(self, name: str) -> list[str]:
        """Return the names that are a misspelling of `name`, best first; some may be gone from the snapshot."""
        return [
            n for _, n in sorted((e, layer.keys[row]) for layer in self.layers for e, row in layer.within_edits(name))
        ]


class CompletionIndex:
    """Owner of the path and symbol indexes of recent snapshots.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._roots: tuple[Root, ...] = ()
        self._paths = Derived(PathIndex(), _update_paths, history=HISTORY)
        self._symbols = Derived(SymbolIndex(), _update_symbols, history=HISTORY)

    def paths(self, snapshot: Snapshot) -> PathIndex:
        """Return the index of the files and folders of a snapshot."""
        with self._lock:
            if snapshot.roots != self._roots:
                self._roots = snapshot.roots
                self._paths = Derived(PathIndex(), _update_paths, history=HISTORY)
            derived = self._paths
        return derived.at(snapshot)

    def symbols(self, snapshot: Snapshot) -> SymbolIndex:
        """Return the index of the symbol names of a snapshot."""
        return self._symbols.at(snapshot)

    def build(self, snapshot: Snapshot) -> None:
        """Build both indexes ahead of the first completion request."""
        self.paths(snapshot)
        self.symbols(snapshot)


def fold_case(text: str) -> str:
    """Return a key that is equal for names that differ only in letter case or Unicode normal form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


_PathLayer = tuple[FuzzyIndex, list[str], Mapping[str, list[str]], NDArray[np.int64]]


def _update_paths(last: PathIndex, change: Change) -> PathIndex:
    snapshot = change.snapshot
    if last.layers and last.source is snapshot.basenames:
        return replace(last, files=snapshot.files)
    if last.layers and len(change.changed) <= max(MIN_REBUILD_CHANGES, len(snapshot.files) // 2):
        extended = _extend_paths(last, snapshot, change.changed)
        if extended is not None:
            return extended
    layer = _path_layer(snapshot.roots, list(snapshot.files.values()))
    return _path_index(snapshot, frozenset(), [layer])


def _extend_paths(last: PathIndex, snapshot: Snapshot, changed: list[FileEntry]) -> PathIndex | None:
    """Return the index with a layer for added paths, or None if a rebuild is better."""
    base = last.order[0]
    at = {e.path: bisect_left(base, e.path) for e in changed}
    added = last.added.union(path for path, i in at.items() if base[i : i + 1] != [path])
    gone = len(base) + len(added) - len(snapshot.files)
    if len(added) + gone > max(MIN_REBUILD_CHANGES, len(base) // 4):
        return None
    layers = list(zip(last.layers, last.order, last.folders, last.sizes, strict=True))
    if added != last.added:
        new = [snapshot.files[path] for path in added if path in snapshot.files]
        layers[1:] = [_path_layer(snapshot.roots, new)] if new else []
    return _path_index(snapshot, added, layers)


def _path_index(snapshot: Snapshot, added: frozenset[str], layers: list[_PathLayer]) -> PathIndex:
    indexes, order, folders, sizes = zip(*layers, strict=True)
    return PathIndex(snapshot.files, snapshot.roots, snapshot.basenames, added, indexes, order, folders, sizes)


def _path_layer(roots: tuple[Root, ...], entries: Sequence[FileEntry]) -> _PathLayer:
    prefixes = {root.path: root.name + "/" if len(roots) > 1 else "" for root in roots}
    names: list[tuple[str, str]] = []
    seen: set[str] = set()
    folders: dict[str, list[str]] = {}
    for entry in entries:
        prefix = prefixes.get(entry.root)
        if prefix is None:
            continue
        names.append((prefix + entry.name, entry.path))
        root_length = len(entry.root)
        folder = entry.path[: entry.path.rfind("/")]
        while len(folder) > root_length and folder not in seen:
            seen.add(folder)
            names.append((prefix + folder[root_length + 1 :] + "/", folder + "/"))
            slash = folder.rfind("/")
            folders.setdefault(fold_case(folder[slash + 1 :]), []).append(folder)
            folder = folder[:slash]
    order = sorted(key for _, key in names if key[-1] != "/")
    by_path = {entry.path: entry.size for entry in entries}
    sizes = np.cumsum([0, *map(by_path.__getitem__, order)], dtype=np.int64)
    return FuzzyIndex(names, paths=True), order, folders, sizes


def _update_symbols(last: SymbolIndex, change: Change) -> SymbolIndex:
    snapshot = change.snapshot
    if last.layers and last.source is snapshot.names:
        return last
    if last.layers and len(change.changed) <= max(MIN_REBUILD_CHANGES, len(snapshot.files) // 2):
        added = last.added | (_names(change.changed) - last.base)
        if len(added) <= max(MIN_REBUILD_CHANGES, len(last.base) // 4):
            layers = last.layers if added == last.added else (last.layers[0], _symbol_layer(added))
            return SymbolIndex(snapshot.names, last.base, added, layers)
    names = _names(snapshot.files.values())
    return SymbolIndex(snapshot.names, names, frozenset(), (_symbol_layer(names),))


def _names(entries: Iterable[FileEntry]) -> frozenset[str]:
    return frozenset(name for entry in entries for name in decode_symbol_names(entry.encoded_outline) if name)


def _symbol_layer(names: Iterable[str]) -> FuzzyIndex:
    return FuzzyIndex(((name, name) for name in names), paths=False)

"""Reference index: the files that mention a name, used to find incoming edges.

Maps each name that an outline references, and each word of its imports, to the paths of the files.  The index is
updated with the changed files of a snapshot.  A lookup returns candidates, which the caller verifies in the outline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from promptls.index import Change
from promptls.model import FileEntry, decode_references
from promptls.util.persistent_map import PersistentMap

IMPORT = "\0"
"""Prefix of words from imports, which separates them from names; IMPORT + "." is the key of modules with only dots."""

_WORD = re.compile(r"[\w-]+")


class ReferenceIndex(Struct, frozen=True):
    """Paths of files by referenced name or import word."""

    paths: PersistentMap[str, tuple[str, ...]] = PersistentMap()

    def files_with(self, key: str) -> tuple[str, ...]:
        """Return the paths of the files that reference a name, or import a word prefixed by `IMPORT`."""
        return self.paths.get(key, ())


def reference_keys(encoded_outline: bytes) -> frozenset[str]:
    """Return the names and import words of an encoded outline."""
    imports, names = decode_references(encoded_outline)
    keys = set(names)
    for imported in imports:
        keys.update(IMPORT + word.lower() for word in _WORD.findall(imported.module)[-3:] or ["."])
        keys.update(IMPORT + name.lower() for name in imported.names)
    return frozenset(keys)


def update_reference_index(index: ReferenceIndex, change: Change) -> ReferenceIndex:
    """Return the index after a change of the files."""
    if not index.paths:
        return ReferenceIndex(_build_paths(change.changed))
    outlines = [(e.path, _encoded_outline(change.before.get(e.path)), e.encoded_outline) for e in change.changed]
    outlines += [(entry.path, entry.encoded_outline, b"") for entry in change.gone]
    paths = index.paths.mutate()
    for path, old, new in outlines:
        if old == new:
            continue
        before, after = reference_keys(old), reference_keys(new)
        for key in before - after:
            remaining = tuple(p for p in paths.get(key, ()) if p != path)
            if remaining:
                paths[key] = remaining
            else:
                del paths[key]
        for key in after - before:
            paths[key] = (*paths.get(key, ()), path)
    return ReferenceIndex(paths.finish())


def _encoded_outline(entry: FileEntry | None) -> bytes:
    return entry.encoded_outline if entry is not None else b""


def _build_paths(entries: Iterable[FileEntry]) -> PersistentMap[str, tuple[str, ...]]:
    """Build the map from scratch; appending to lists is much cheaper than extending tuples."""
    lists: dict[str, list[str]] = {}
    for entry in entries:
        for key in reference_keys(entry.encoded_outline):
            lists.setdefault(key, []).append(entry.path)
    return PersistentMap({key: tuple(paths) for key, paths in lists.items()})

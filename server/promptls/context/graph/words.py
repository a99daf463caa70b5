"""Which files speak of a name: the way back along an edge.

A persistent map from each name that outlines refer to, and each word that imports hold, to the files that do.
Kept up with a snapshot by looking at the files that changed; a lookup proposes, the outline decides.
"""

from __future__ import annotations

import re

from immutables import Map
from msgspec import Struct

from promptls.index.snapshot import Snapshot
from promptls.model import AnyOutline, FileEntry

IMPORT = "\0"
"""Before the words of imports, so that they are no names; IMPORT + "." for a module that is named by dots alone."""

_WORD = re.compile(r"[\w-]+")


class Words(Struct, frozen=True):
    """Name → paths of the files that refer to it, for one state of the files."""

    files: Map[str, FileEntry] = Map()
    paths: Map[str, tuple[str, ...]] = Map()

    def files_with(self, name: str) -> tuple[str, ...]:
        return self.paths.get(name, ())


def words_of(outline: AnyOutline | None) -> frozenset[str]:
    """What a file is found by."""
    if outline is None:
        return frozenset()
    found = set(outline.ref_names)
    for one in outline.imports:
        found.update(IMPORT + word.lower() for word in _WORD.findall(one.module)[-3:] or ["."])
        found.update(IMPORT + name.lower() for name in one.names)
    return frozenset(found)


def updated(words: Words, snapshot: Snapshot) -> Words:
    """The words of a snapshot, made from those of another one."""
    if words.files is snapshot.files:
        return words
    changed: list[tuple[str, FileEntry | None, FileEntry | None]] = [
        (path, words.files.get(path), entry)
        for path, entry in snapshot.files.items()
        if (old := words.files.get(path)) is not entry and (old.outline if old else None) is not entry.outline
    ]
    changed += [(path, old, None) for path, old in words.files.items() if path not in snapshot.files]
    if not words.paths:
        return Words(snapshot.files, _built(changed))
    paths = words.paths.mutate()
    for path, old, new in changed:
        before, after = words_of(old.outline if old else None), words_of(new.outline if new else None)
        for word in before - after:
            left = tuple(p for p in paths.get(word, ()) if p != path)
            if left:
                paths[word] = left
            else:
                del paths[word]
        for word in after - before:
            paths[word] = (*paths.get(word, ()), path)
    return Words(snapshot.files, paths.finish())


def _built(changed: list[tuple[str, FileEntry | None, FileEntry | None]]) -> Map[str, tuple[str, ...]]:
    """From nothing: one list a word is far cheaper than a tuple a word and file."""
    lists: dict[str, list[str]] = {}
    for path, _, entry in changed:
        for word in words_of(entry.outline if entry else None):
            lists.setdefault(word, []).append(path)
    return Map({word: tuple(paths) for word, paths in lists.items()})

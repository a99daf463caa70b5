"""Which files speak of a name: the way back along an edge.

A persistent map from each name that outlines refer to, and each word that imports hold, to the files that do.
Kept up with a snapshot by looking at the files that changed; a lookup proposes, the outline decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from immutables import Map
from msgspec import Struct

from promptls.index.snapshot import Snapshot, Step, difference
from promptls.model import FileEntry, spoken_in

IMPORT = "\0"
"""Before the words of imports, so that they are no names; IMPORT + "." for a module that is named by dots alone."""

_WORD = re.compile(r"[\w-]+")


class Words(Struct, frozen=True):
    """Name → paths of the files that refer to it, for one state of the files."""

    files: Map[str, FileEntry] = Map()
    step: Step | None = None  # of the snapshot that they belong to
    paths: Map[str, tuple[str, ...]] = Map()

    def files_with(self, name: str) -> tuple[str, ...]:
        return self.paths.get(name, ())


def words_of(outlined: bytes) -> frozenset[str]:
    """What a file is found by, from its packed outline."""
    imports, names = spoken_in(outlined)
    found = set(names)
    for one in imports:
        found.update(IMPORT + word.lower() for word in _WORD.findall(one.module)[-3:] or ["."])
        found.update(IMPORT + name.lower() for name in one.names)
    return frozenset(found)


def updated(words: Words, snapshot: Snapshot) -> Words:
    """The words of a snapshot, made from those of another one."""
    if words.files is snapshot.files:
        return words
    new, gone = difference(words.files, words.step, snapshot)
    if not words.paths:
        return Words(snapshot.files, snapshot.step, _built(new))
    changed = [(entry.path, _outlined(words.files.get(entry.path)), entry.outlined) for entry in new]
    changed += [(entry.path, entry.outlined, b"") for entry in gone]
    paths = words.paths.mutate()
    for path, old, outlined in changed:
        before, after = (words_of(old), words_of(outlined)) if old != outlined else (frozenset(), frozenset())
        for word in before - after:
            left = tuple(p for p in paths.get(word, ()) if p != path)
            if left:
                paths[word] = left
            else:
                del paths[word]
        for word in after - before:
            paths[word] = (*paths.get(word, ()), path)
    return Words(snapshot.files, snapshot.step, paths.finish())


def _outlined(entry: FileEntry | None) -> bytes:
    return entry.outlined if entry is not None else b""


def _built(entries: Iterable[FileEntry]) -> Map[str, tuple[str, ...]]:
    """From nothing: one list a word is far cheaper than a tuple a word and file."""
    lists: dict[str, list[str]] = {}
    for entry in entries:
        for word in words_of(entry.outlined):
            lists.setdefault(word, []).append(entry.path)
    return Map({word: tuple(paths) for word, paths in lists.items()})

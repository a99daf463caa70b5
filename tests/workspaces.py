"""Workspaces written as one string, for tests that need a snapshot and no server.

    snapshot_of('''
    -- src/app.py --
    def main(): ...
    ''', tmp_path)

A line "-- path --" begins a file.  Everything is outlined by the real scanner; the files are on disk below
`top` as well, so that what looks at the disk sees the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from immutables import Map
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.index import files as disk
from promptls.index.embedding.embedder import Embedder, EmbeddingSpec, load
from promptls.index.search.analyzer import terms
from promptls.index.search.chunk_index import Columns
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import rounded, rows_of
from promptls.index.snapshot import OpenDocument, Outliner, Snapshot, Sources, with_entries
from promptls.index.syntax.parse import scan
from promptls.languages.table import language_of
from promptls.mentions.context import Client, Request
from promptls.model import FileEntry, Outline, Root, Span, pack
from promptls.util.hashing import digest_of


def files_of(text: str) -> dict[str, str]:
    """Path → text of each file in a workspace string."""
    files: dict[str, str] = {}
    name = ""
    for line in text.strip("\n").split("\n"):
        if line.startswith("-- ") and line.endswith(" --"):
            name = line[3:-3]
            files[name] = ""
        elif name:
            files[name] += line + "\n"
    return files


def snapshot_of(text: str, top: Path, roots: Iterable[str] = (), unsaved: Mapping[str, str] | None = None) -> Snapshot:
    """The snapshot of a workspace string.

    `roots`: folders below `top` that are the workspace folders; without, `top` is the only one.
    `unsaved`: path → text of open buffers; what of them is not in `text` is not on disk either.
    """
    base = top.resolve().as_posix()
    places = [f"{base}/{name}" for name in roots] or [base]
    snapshot = Snapshot(roots=tuple(Root(p, p.rsplit("/", 1)[-1], disk.to_uri(p)) for p in places))
    entries: dict[str, FileEntry] = {}
    for name, content in files_of(text).items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="")
        path = f"{base}/{name}"
        found = disk.stat(path)
        assert found is not None, f"{name} was not written"
        entries[path] = _entry(snapshot, path, content, None, *found)
    documents: Map[str, OpenDocument] = Map()
    for version, (name, content) in enumerate((unsaved or {}).items(), 1):
        path = name if name.startswith("/") else f"{base}/{name}"
        documents = documents.set(path, OpenDocument(content, version))
        if snapshot.root_of(path) is not None:
            old = entries.get(path)
            known = (old.size, old.mtime_ns) if old is not None else (0, 0)
            entries[path] = _entry(snapshot, path, content, version, *known)
    snapshot = with_entries(snapshot, entries.items())
    return replace(snapshot, documents=documents)


def request_of(
    snapshot: Snapshot,
    active: str = "",
    selection: tuple[str, Span] | None = None,
    opened: Iterable[str] = (),
) -> Request:
    """A request on a snapshot; paths are relative to the first root's parent if not absolute."""

    def at(name: str) -> str:
        if not name or name.startswith("/"):
            return name
        base = snapshot.roots[0].path
        return f"{base}/{name}" if len(snapshot.roots) == 1 else f"{base.rsplit('/', 1)[0]}/{name}"

    client = Client(at(active), (at(selection[0]), selection[1]) if selection else None, tuple(map(at, opened)))
    return Request(Sources(snapshot, disk.Limits(), _outlined(snapshot)), client)


def outline_of(path: str, text: str) -> Outline:
    """The outline of a text as the index makes it."""
    return scan(text, language_of(path, text[:4096]), None).outline


def _outlined(snapshot: Snapshot) -> Outliner:
    return lambda path, text, version: _entry(snapshot, path, text, version)


def _entry(
    snapshot: Snapshot, path: str, text: str, version: int | None, size: int = 0, mtime_ns: int = 0
) -> FileEntry:
    root = snapshot.root_of(path)
    top = root.path if root is not None else ""
    name = path[len(top) + 1 :] if top else path
    if version is None and isinstance(got := disk.read_text(path, disk.Limits()), disk.Skipped):
        return FileEntry(path, top, name, size, mtime_ns, skipped=got.reason)
    return FileEntry(path, top, name, size, mtime_ns, digest_of(text), version, pack(outline_of(path, text)))


class Indexed:
    """What retrieval needs of an index: columns of a snapshot's texts, and the bundled model."""

    def __init__(self, snapshot: Snapshot, reverse: bool = False) -> None:
        rows: dict[bytes, tuple[str, str]] = {}
        for path, entry in snapshot.files.items():
            text = Path(path).read_text("utf-8")
            for key, chunk in scan(text, language_of(path, text), None).texts.items():
                rows.setdefault(key, (entry.name, chunk))
        keys = sorted(rows, reverse=reverse)
        vectors = _embedder().embed([rows[key][1] for key in keys])
        made = Columns()
        made.fill(rows_of(((key, terms(rows[key][1])) for key in keys), rounded(vectors)))
        for path, entry in snapshot.files.items():
            chunks = entry.outline.chunks if entry.outline is not None else ()
            made.move([(path, entry.name, [], [chunk.key for chunk in chunks])])
        self._columns = made

    def columns(self) -> IndexReader:
        return self._columns.view()

    def query_vector(self, text: str) -> NDArray[np.float32] | None:
        return _embedder().embed_query(text)


@cache
def _embedder() -> Embedder:
    return load(EmbeddingSpec())


def similarities(view: IndexReader, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """How similar every row is to a unit vector; of very many rows as the signs tell it where it is not near."""
    near = view.similarities_soon(vector)(np.ones(len(view), np.bool_), np.zeros(0, np.int64))
    return near.looked.of(np.arange(len(view)), near.similarity)

"""Workspaces written as one string, for tests that need a snapshot but no server.

    snapshot_of('''
    -- src/app.py --
    def main(): ...
    ''', tmp_path)

A line "-- path --" starts a file. The files are parsed by the real parser and also written to disk below `top`, so that
code that reads the disk gets the same content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.graph.graph import Graph
from promptls.graph.imports import ImportResolver
from promptls.index.embedding.embedder import Embedder, EmbeddingSpec, load_embedder
from promptls.index.files.read import FileLimits, UnreadableFile, file_stat, read_text
from promptls.index.files.uris import to_uri
from promptls.index.search.analyzer import tokenize
from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import RowBatch, quantize
from promptls.index.snapshot import OpenDocument, Outliner, Snapshot, SourceReader, with_files
from promptls.index.syntax.parse import parse_source
from promptls.languages import language_of
from promptls.mentions.context import ClientContext, ResolveContext, Services
from promptls.model import FileEntry, Outline, Root, Span, encode_outline
from promptls.util.hashing import content_hash
from promptls.util.mappings import PersistentMap
from trees import files_of


def snapshot_of(text: str, top: Path, roots: Iterable[str] = (), unsaved: Mapping[str, str] | None = None) -> Snapshot:
    """Build the snapshot of a workspace string.

    Args:
        text: The workspace string.
        top: Folder that the files are written to.
        roots: Workspace folders below `top`; without any, `top` is the only one.
        unsaved: Texts of open documents by path; those that are not in `text` do not exist on disk.
    """
    base = top.resolve().as_posix()
    root_paths = [f"{base}/{name}" for name in roots] or [base]
    snapshot = Snapshot(roots=tuple(Root(p, p.rsplit("/", 1)[-1], to_uri(p)) for p in root_paths))
    entries: dict[str, FileEntry] = {}
    for name, content in files_of(text).items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="")
        path = f"{base}/{name}"
        stat = file_stat(path)
        assert stat is not None, f"{name} was not written"
        entries[path] = _entry(snapshot, path, content, None, *stat)
    documents: PersistentMap[str, OpenDocument] = PersistentMap()
    for version, (name, content) in enumerate((unsaved or {}).items(), 1):
        path = name if name.startswith("/") else f"{base}/{name}"
        documents = documents.set(path, OpenDocument(content, version))
        if snapshot.root_of(path) is not None:
            old = entries.get(path)
            size_and_mtime = (old.size, old.mtime_ns) if old is not None else (0, 0)
            entries[path] = _entry(snapshot, path, content, version, *size_and_mtime)
    snapshot = with_files(snapshot, entries.items())
    return replace(snapshot, documents=documents)


def context_of(
    snapshot: Snapshot,
    active: str = "",
    selection: tuple[str, Span] | None = None,
    opened: Iterable[str] = (),
) -> ResolveContext:
    """Build a context for resolving mentions; relative paths start at the parent of the first root."""

    def at(name: str) -> str:
        if not name or name.startswith("/"):
            return name
        base = snapshot.roots[0].path
        return f"{base}/{name}" if len(snapshot.roots) == 1 else f"{base.rsplit('/', 1)[0]}/{name}"

    client = ClientContext(at(active), (at(selection[0]), selection[1]) if selection else None, tuple(map(at, opened)))
    services = Services(graph=Graph(ImportResolver).at)
    return ResolveContext(SourceReader(snapshot, FileLimits(), _outlined(snapshot)), client, services=services)


def outline_of(path: str, text: str) -> Outline:
    """Parse a text as the index does and return its outline."""
    return parse_source(text, language_of(path, text[:4096]), path=path).outline


def _outlined(snapshot: Snapshot) -> Outliner:
    return lambda path, text, version: _entry(snapshot, path, text, version)


def _entry(
    snapshot: Snapshot, path: str, text: str, version: int | None, size: int = 0, mtime_ns: int = 0
) -> FileEntry:
    root = snapshot.root_of(path)
    top = root.path if root is not None else ""
    name = path[len(top) + 1 :] if top else path
    if version is None and isinstance(got := read_text(path, FileLimits()), UnreadableFile):
        return FileEntry(path, top, name, size, mtime_ns, skip_reason=got.reason)
    return FileEntry(
        path, top, name, size, mtime_ns, content_hash(text), version, encode_outline(outline_of(path, text))
    )


class IndexedSnapshot:
    """In-memory index of a snapshot with the bundled embedding model, as retrieval needs it."""

    def __init__(self, snapshot: Snapshot, reverse: bool = False) -> None:
        rows: dict[bytes, tuple[str, str]] = {}
        for path, entry in snapshot.files.items():
            text = Path(path).read_text("utf-8")
            for key, chunk in parse_source(text, language_of(path, text), path=path).chunk_texts.items():
                rows.setdefault(key, (entry.name, chunk))
        keys = sorted(rows, reverse=reverse)
        vectors = _embedder().embed([rows[key][1] for key in keys])
        index = ChunkIndex()
        index.set_rows(build_rows(((key, tokenize(rows[key][1])) for key in keys), quantize(vectors)))
        for path, entry in snapshot.files.items():
            chunks = entry.outline.chunks if entry.outline is not None else ()
            index.update_files([(path, entry.name, [], [chunk.key for chunk in chunks])])
        self._index = index

    def reader(self) -> IndexReader:
        return self._index.reader()

    def query_vector(self, text: str) -> NDArray[np.float32] | None:
        return _embedder().embed_query(text)

    def start_shingles(self, shingles: Sequence[str]) -> Callable[[], NDArray[np.float32]]:
        return lambda: _embedder().embed(shingles)


@cache
def _embedder() -> Embedder:
    return load_embedder(EmbeddingSpec())


def similarities(reader: IndexReader, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the similarity of every row to a unit vector."""
    return reader.start_similarity_search(vector)()


def build_rows(terms: Iterable[tuple[bytes, Sequence[str]]], vectors: bytes = b"") -> RowBatch:
    """Build a batch from (key, terms) pairs.

    Args:
        terms: Key and terms of each row.
        vectors: As in `RowBatch`.
    """
    ids: dict[str, int] = {}
    keys, term_ids, lengths = [], [], []
    for key, row_terms in terms:
        keys.append(key)
        term_ids += [ids.setdefault(term, len(ids)) for term in row_terms]
        lengths.append(len(row_terms))
    offsets = np.fromiter(accumulate(lengths, initial=0), np.int32, len(lengths) + 1)
    return RowBatch(tuple(keys), tuple(ids), np.array(term_ids, np.int32).tobytes(), offsets.tobytes(), vectors)

"""Documents of a workspace that the baselines rank: windows of lines, functions, or definitions with the text between.

All baselines read the files that promptls indexes, so that differences are those of the ranking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from evaluation._answers import lines
from msgspec import Struct

from promptls.index.snapshot import Snapshot
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.model import FileEntry

MAX_CHARACTERS = 1_000_000
"""Characters of a file above which it is not ranked: it is data."""
WINDOW, STEP = 40, 30
"""Lines of a window, and lines between the starts of two windows."""


class Document(Struct, frozen=True):
    """A region of a file; lines are counted from 0."""

    path: str  # relative to the workspace
    start: int
    end: int  # line after the last
    text: str
    name: str = ""  # of the definition
    owner: str = ""  # qualified name of the class around it


def windows(snapshot: Snapshot) -> Iterator[Document]:
    """Yield overlapping windows of lines of all files."""
    for entry, text in _files(snapshot):
        for start in range(0, max(1, len(text) - (WINDOW - STEP)), STEP):
            yield _document(entry, text, start, start + WINDOW)


def functions(snapshot: Snapshot) -> Iterator[Document]:
    """Yield the functions of all files, without those inside of functions."""
    for entry, text in _files(snapshot):
        for start, end, name in function_spans(entry):
            yield _document(entry, text, start, end, name)


def definitions(snapshot: Snapshot) -> Iterator[Document]:
    """Yield the definitions of all files, and the text between them."""
    for entry, text in _files(snapshot):
        outline = entry.outline
        assert outline is not None
        for chunk in outline.chunks:
            symbol = outline.symbols[chunk.symbol] if chunk.symbol >= 0 else None
            owner = symbol.qualified.rpartition(".")[0] if symbol is not None else ""
            yield _document(entry, text, chunk.span.start, chunk.span.end, symbol.name if symbol else "", owner)


def function_spans(entry: FileEntry) -> list[tuple[int, int, str]]:
    """Return (start, end, qualified name) of the functions of a file, without those inside of functions."""
    outline, found = entry.outline, list[tuple[int, int, str]]()
    for symbol in outline.symbols if outline is not None else ():
        if symbol.kind in CALLABLE_KINDS and not (found and symbol.span.start < found[-1][1]):
            found.append((symbol.span.start, symbol.span.end, symbol.qualified))
    return found


def digest(snapshot: Snapshot) -> str:
    """Return a hash of all files and their outlines."""
    found = hashlib.blake2b(digest_size=12)
    for entry in sorted(snapshot.files.values(), key=lambda e: e.name):
        found.update(entry.name.encode() + b"\0" + entry.content_hash + entry.encoded_outline)
    return found.hexdigest()


def without_overlaps(documents: Iterator[Document], limit: int) -> list[Document]:
    """Return the first documents that do not overlap an earlier one."""
    kept: dict[str, list[Document]] = {}
    out: list[Document] = []
    for document in documents:
        others = kept.setdefault(document.path, [])
        if not any(document.start < o.end and o.start < document.end for o in others):
            others.append(document)
            out.append(document)
            if len(out) == limit:
                break
    return out


def pack(documents: list[Document], budget: int) -> str:
    """Return the documents, best first, that fit into a budget of tokens (characters / 4)."""
    blocks = [f"{d.path}:{d.start + 1}-{d.end}\n{d.text}\n" for d in documents]
    room, shown = 4 * budget, list[str]()
    for block in blocks:
        if len(block) <= room:
            room -= len(block)
            shown.append(block)
    return "".join(shown)


def _files(snapshot: Snapshot) -> Iterator[tuple[FileEntry, list[str]]]:
    for entry in snapshot.files.values():
        if entry.encoded_outline and entry.size <= MAX_CHARACTERS:
            yield entry, lines(entry.path)


def _document(entry: FileEntry, text: list[str], start: int, end: int, name: str = "", owner: str = "") -> Document:
    end = min(end, len(text))
    return Document(entry.name, start, end, "\n".join(text[start:end]), name, owner)

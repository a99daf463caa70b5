"""Texts of the team index as virtual documents, labeled with repository, commit and age."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.index import VIRTUAL_SCHEME, split_lines
from promptls.languages import language_of
from promptls.mentions.context import ResolveContext
from promptls.model import FileEntry, FileText, Item, Origin, Outline, Span, encode_outline
from promptls.retrieval.team_source import TeamFile, TeamHit, TeamRepository
from promptls.util.hashing import content_hash

MAX_LINES = 200_000
"""Line number up to which a chunk keeps its place in the file; the lines before it are blank."""


def add_file(file: TeamFile, context: ResolveContext) -> FileText:
    """Add a file to the request as a virtual document."""
    return _add(file.repository, file.path, file.text, file.outline, context)


def add_hits(hits: Iterable[TeamHit], context: ResolveContext, origin: Origin) -> list[tuple[Item, FileText]]:
    """Add chunks to the request; chunks of one file are one virtual document, each at its lines."""
    hits = [hit for hit in hits if hit.span.end <= MAX_LINES]
    lines: dict[tuple[str, str], list[str]] = {}
    for hit in hits:
        rows = lines.setdefault((hit.repository.name, hit.path), [])
        rows += [""] * (hit.span.end - len(rows))
        body = hit.text.split("\n")[: len(hit.span)]
        rows[hit.span.start : hit.span.start + len(body)] = body
    documents: dict[tuple[str, str], FileText] = {}
    items: list[tuple[Item, FileText]] = []
    for hit in hits:
        key = (hit.repository.name, hit.path)
        if key not in documents:
            text = "\n".join(lines[key])
            outline = encode_outline(Outline(language_of(hit.path, ""), len(lines[key])))
            documents[key] = _add(hit.repository, hit.path, text, outline, context)
        reasons = {"semantic": hit.similarity, "keyword": hit.keyword}
        path = documents[key].entry.path
        items.append((Item(path, hit.span, hit.kind, origin, hit.score, hit.symbol, reasons), documents[key]))
    return items


def team_label(repository: TeamRepository, path: str) -> str:
    """Return the label of a file: "acme/shop@1a2b3c4d5e/shop/cart.py (3 days old)"."""
    return f"{repository.label}/{path} ({repository.age()})"


def _add(repository: TeamRepository, path: str, text: str, outline: bytes, context: ResolveContext) -> FileText:
    """Add a virtual document; a number is appended to its name if another text already has it."""
    label, number = team_label(repository, path), 1
    while True:
        name = VIRTUAL_SCHEME + (label if number == 1 else f"{label[:-1]}, {number})")
        entry = FileEntry(name, "", name[len(VIRTUAL_SCHEME) :], len(text), 0, content_hash(text), None, outline)
        file = FileText(entry, text, tuple(split_lines(text)))
        if context.sources.share_virtual_documents({name: file}):
            return file
        number += 1


def whole(file: FileText, origin: Origin) -> Item:
    """Return the item for all lines of a document."""
    return Item(file.entry.path, Span(0, len(file.lines)), "file", origin, 1.0)

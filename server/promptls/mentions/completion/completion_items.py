"""Completion items, and the query that all completion sources share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from promptls.index import Snapshot
from promptls.mentions.context import ResolveContext
from promptls.mentions.kinds import KindRegistry
from promptls.mentions.syntax.grammar import Keywords
from promptls.model import Symbol, decode_symbol_names
from promptls.model.files import is_prompt_document

TokenCounter = Callable[[str], int]
"""Maps a path to the token count of the whole file."""

RECENT_EDIT_S = 3600.0
"""Age in seconds up to which an edited file counts as recent."""

MAX_RECENT_DOCUMENTS = 50
"""Maximum number of recent documents that completion ranks first."""


class CompletionItem(Struct, frozen=True):
    """One completion of a mention."""

    label: str
    insert_text: str  # the whole mention, with the "@"
    detail: str = ""
    documentation: str = ""
    kind: str = "file"  # "file", "folder", "root", "range", the kind of a symbol, "kind", or the name of a mention kind
    tokens: int | None = None  # estimated token count, None if unknown


class CompletionQuery(Struct, frozen=True):
    """Input of all completion sources."""

    context: ResolveContext
    kinds: KindRegistry
    limit: int
    count_tokens: TokenCounter | None
    keywords: Keywords
    recent_documents: Mapping[str, int]  # path → rank, most recent first

    @property
    def snapshot(self) -> Snapshot:
        """Snapshot that the request works on."""
        return self.context.snapshot

    def recency(self, path: str) -> int:
        """Return the rank of a recent document; all other paths rank equally after them."""
        return self.recent_documents.get(path, len(self.recent_documents))


def build_query(
    context: ResolveContext, kinds: KindRegistry, limit: int, count_tokens: TokenCounter | None
) -> CompletionQuery:
    """Return the query for a context.

    Recent documents are the active one, open ones, and files edited within the last hour.  Prompt documents are
    excluded, because questions are about code.
    """
    snapshot, edits = context.snapshot, context.services.edits
    edited = edits.texts_at(time.time() - RECENT_EDIT_S) if edits is not None else ()
    client = context.client
    ordered = dict.fromkeys((client.active_document, *client.open_documents, *edited))
    recent = [p for p in ordered if p in snapshot.files and p != context.document and not is_prompt_document(p)]
    ranks = {path: i for i, path in enumerate(recent[:MAX_RECENT_DOCUMENTS])}
    return CompletionQuery(context, kinds, limit, count_tokens, kinds.keywords(), ranks)


def file_symbols(snapshot: Snapshot, path: str) -> Sequence[Symbol]:
    """Return the symbols in the outline of a file."""
    entry = snapshot.files.get(path)
    return entry.outline.symbols if entry is not None and entry.outline is not None else ()


def symbol_names(snapshot: Snapshot, path: str) -> list[str]:
    """Return the names of the symbols of a file."""
    entry = snapshot.files.get(path)
    return decode_symbol_names(entry.encoded_outline) if entry is not None else []


def estimate_tokens(query: CompletionQuery, path: str, lines: int) -> int | None:
    """Estimate the tokens of some lines of a file from their share of the whole file; None if unknown."""
    entry = query.snapshot.files.get(path)
    if query.count_tokens is None or entry is None or entry.outline is None:
        return None
    file_tokens, file_lines = query.count_tokens(path), entry.outline.lines
    return file_tokens if lines >= file_lines else max(1, file_tokens * lines // file_lines)

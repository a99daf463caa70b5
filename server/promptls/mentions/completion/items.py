"""What completion offers, and what every branch of it needs to know.

Values only; the branches are `offer_paths` and `offer_symbols`, the way in is `complete`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from promptls.documents import is_prompt
from promptls.index.snapshot import Snapshot
from promptls.mentions.context import Request
from promptls.mentions.grammar import Words
from promptls.mentions.registry import Registry
from promptls.model import Symbol, names_in

Tokens = Callable[[str], int]
"""Path → what the whole file would cost, in tokens."""

RECENT_S = 3600.0
MAX_OPEN = 50
"""Open documents that are looked at."""


class CompletionItem(Struct, frozen=True):
    """One thing that may be inserted."""

    label: str
    insert_text: str  # the whole mention, with the "@"
    detail: str = ""
    documentation: str = ""
    kind: str = "file"  # "file", "folder", "root", "range", the kind of a symbol, or "kind"
    tokens: int | None = None  # what it would cost; None where that is not known


class Ask(Struct, frozen=True):
    """One question for completions."""

    request: Request
    kinds: Registry
    limit: int
    tokens: Tokens | None
    words: Words  # the kinds called by name
    opened: Mapping[str, int]  # open documents of the workspace → their place, most recent first

    @property
    def snapshot(self) -> Snapshot:
        return self.request.snapshot

    def recency(self, path: str) -> int:
        """The place of an open document; behind all of them for any other."""
        return self.opened.get(path, len(self.opened))


def ask(request: Request, kinds: Registry, limit: int, tokens: Tokens | None) -> Ask:
    """The question, with the documents that come first: the active one, the open ones as the client or the server has
    them, those edited within the last hour.  Prompts are no such documents: the question is about code."""
    snapshot, edits = request.snapshot, request.around.edits
    edited = edits.since(time.time() - RECENT_S) if edits is not None else ()
    shown = dict.fromkeys((request.client.active, *(request.client.open or snapshot.documents), *edited))
    opened = [path for path in shown if path in snapshot.files and not is_prompt(path)][:MAX_OPEN]
    return Ask(request, kinds, limit, tokens, kinds.words(), {path: i for i, path in enumerate(opened)})


def outline_of(snapshot: Snapshot, path: str) -> Sequence[Symbol]:
    """The symbols of a file as the index knows them."""
    entry = snapshot.files.get(path)
    return entry.outline.symbols if entry is not None and entry.outline is not None else ()


def names_of(snapshot: Snapshot, path: str) -> list[str]:
    """The names of those symbols."""
    entry = snapshot.files.get(path)
    return names_in(entry.outlined) if entry is not None else []


def cost(question: Ask, path: str, lines: int) -> int | None:
    """Tokens of so many lines of a file: their share of the whole; None where that is not known."""
    entry = question.snapshot.files.get(path)
    if question.tokens is None or entry is None or entry.outline is None:
        return None
    whole, of = question.tokens(path), entry.outline.lines
    return whole if lines >= of else max(1, whole * lines // of)

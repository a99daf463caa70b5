"""Completion of the mention at the cursor, best items first.

Offers files and folders by name or path, folder contents after "/", symbols after "#", lines after ":", and mention
kinds.  Every inserted mention parses back to the chosen target (see `format`).  No file is read, so completion
takes milliseconds even in a large workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from promptls.mentions.completion.arguments import complete_argument
from promptls.mentions.completion.fuzzy import MIN_SUBSEQUENCE_LENGTH
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.items import CompletionItem, CompletionQuery, TokenCounter, build_query
from promptls.mentions.completion.paths import complete_path
from promptls.mentions.completion.replacement import Part, place_item, replaced_end
from promptls.mentions.completion.symbols import (
    complete_lines,
    complete_symbol,
    complete_symbol_in_file,
    complete_word,
    has_scope,
)
from promptls.mentions.context import ResolveContext
from promptls.mentions.kinds import KindRegistry, MentionKind
from promptls.mentions.registry import registry
from promptls.mentions.syntax.lexer import token_at_end
from promptls.mentions.syntax.token import MentionToken

_RELATIVE = re.compile(r"(?:\.\.?/)+")


class CompletionResult(Struct, frozen=True):
    """Completion items, and the range of code points that they replace."""

    is_incomplete: bool  # more letters may give other items
    start: int
    end: int
    items: tuple[CompletionItem, ...] = ()


def complete(
    text: str,
    offset: int,
    context: ResolveContext,
    limit: int = 50,
    count_tokens: TokenCounter | None = None,
    kinds: KindRegistry | None = None,
) -> CompletionResult:
    """Return the completions of the mention at an offset (in code points), best first."""
    offset = max(0, min(offset, len(text)))
    token = token_at_end(text[:offset])
    if token is None or limit < 1:
        return CompletionResult(False, offset, offset)
    query = build_query(context, kinds or registry(), limit, count_tokens)
    part, found = _find_items(query, token)
    items = tuple(islice(found, limit + 1))
    incomplete = len(items) > limit or len(token.value) < MIN_SUBSEQUENCE_LENGTH or token.value[-1] in "/#:."
    incomplete = incomplete or context.pending_symbols is not None  # files that are being parsed may add items
    end = replaced_end(text, token, offset, part, items, context)
    placed = (place_item(item, text, offset, end, query) for item in items[:limit])
    return CompletionResult(incomplete, token.start, end, tuple(placed))


def _find_items(query: CompletionQuery, token: MentionToken) -> tuple[Part, Iterator[CompletionItem]]:
    """Return the part of the mention that the cursor is in, and the items for it."""
    value, masked = token.value, token.masked
    head = masked.find(":") + 1
    kind = query.kinds.get(value[: head - 1]) if head else None
    if kind is not None and kind.keyword and kind.argument != "nothing":
        return _argument_part(kind, value[head:]), complete_argument(query, kind, value[:head], value[head:])
    hash_at = masked.find("#")
    if hash_at == 0:
        return "symbol", complete_symbol(query, value[1:])
    if hash_at > 0 and has_scope(query, value[:hash_at]):
        return "symbol", complete_symbol_in_file(query, value[:hash_at], value[hash_at + 1 :])
    colon = masked.rfind(":")
    if colon <= 0:  # a "#" may be part of a name
        path = _normalize(value, masked)
        return "path", complete_path(query, path, None, complete_word(query, path))
    roots = [root for root in query.snapshot.roots if fold_case(root.name) == fold_case(value[:colon])]
    if roots:
        return "path", complete_path(query, _normalize(value[colon + 1 :], masked[colon + 1 :]), roots)
    return "lines", complete_lines(query, value[:colon].rstrip(":"), value[colon + 1 :])


def _argument_part(kind: MentionKind, argument: str) -> Part:
    if kind.argument_type == "target" and "/" in argument and "#" not in argument:
        return "path"
    return "symbol" if kind.argument_type in ("symbol", "target") else "argument"


def _normalize(value: str, masked: str) -> str:
    """Convert the backslashes of a Windows path to slashes, and remove leading "./" and "../"."""
    path = "".join("/" if mark == "\\" else char for char, mark in zip(value, masked, strict=True))
    return _RELATIVE.sub("", path)

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
from promptls.mentions.completion.symbols import complete_lines, complete_symbol, complete_symbol_in_file
from promptls.mentions.context import ResolveContext
from promptls.mentions.lexer import MentionToken, token_at_end, token_end
from promptls.mentions.registry import KindRegistry, registry

_SUFFIX = re.compile(r"(?<=[A-Za-z0-9])[^\x00-\x7f]|:(?=\d)|#(?=\w)")
"""Start of text after a name that a completion keeps."""


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
    end = _replaced_end(text, token, offset)
    query = build_query(context, kinds or registry(), limit, count_tokens)
    items = tuple(islice(_items(query, token), limit + 1))
    incomplete = len(items) > limit or len(token.value) < MIN_SUBSEQUENCE_LENGTH or token.value[-1] in "/#:."
    incomplete = incomplete or context.pending_symbols is not None  # files that are being parsed may add items
    return CompletionResult(incomplete, token.start, end, items[:limit])


def _replaced_end(text: str, token: MentionToken, offset: int) -> int:
    """Return where the completed name ends: before lines, a symbol, or text that follows without a space.

    `@src/ap|p.py:10-20` keeps its lines, and `@src/ap|的作用` the sentence: only ASCII continues an ASCII name.
    """
    end = max(offset, token_end(text, token.start)) if token.value else offset
    name_end = text.find(token.quote, offset, end) if token.quote else offset
    suffix = _SUFFIX.search(text, name_end, end) if name_end >= 0 else None
    return suffix.start() if suffix is not None else end


def _items(query: CompletionQuery, token: MentionToken) -> Iterator[CompletionItem]:
    value, masked = token.value, token.masked
    head = masked.find(":") + 1
    kind = query.kinds.get(value[: head - 1]) if head else None
    if kind is not None and kind.keyword and kind.argument != "nothing":
        return complete_argument(query, kind, value[:head], value[head:])
    hash_at = masked.find("#")
    if hash_at == 0:
        return complete_symbol(query, value[1:])
    if hash_at > 0:
        return complete_symbol_in_file(query, value[:hash_at], value[hash_at + 1 :])
    colon = masked.rfind(":")
    if colon <= 0:
        return complete_path(query, _with_slashes(value, masked), None)
    roots = [root for root in query.snapshot.roots if fold_case(root.name) == fold_case(value[:colon])]
    if roots:
        return complete_path(query, _with_slashes(value[colon + 1 :], masked[colon + 1 :]), roots)
    return complete_lines(query, value[:colon].rstrip(":"), value[colon + 1 :])


def _with_slashes(value: str, masked: str) -> str:
    """Convert the backslashes of a Windows path to slashes."""
    chars = ("/" if mark == "\\" else char for char, mark in zip(value, masked, strict=True))
    return "".join(chars).removeprefix("./")

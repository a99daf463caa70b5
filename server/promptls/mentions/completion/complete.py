"""Completion of a mention that is being typed: what could come after the "@", best first.

Files and folders by name or path, symbols after "#", what lies in a folder after "/", lines after ":", and
the kinds.  What is inserted is always read back as what was chosen (`spelling`).  No file is read, so the
answer comes within milliseconds in a large workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from promptls.mentions.completion.arguments import argument_offers
from promptls.mentions.completion.fuzzy import LONG
from promptls.mentions.completion.index import fold
from promptls.mentions.completion.items import Ask, CompletionItem, Tokens, ask
from promptls.mentions.completion.paths import path_offers
from promptls.mentions.completion.symbols import line_offers, scoped_offers, symbol_offers
from promptls.mentions.context import Request
from promptls.mentions.lexer import Token, last_token, token_end
from promptls.mentions.registry import Registry, registry


class Completion(Struct, frozen=True):
    """What to offer, and which code points of the text it replaces."""

    is_incomplete: bool  # other letters may give other items: ask again
    start: int
    end: int
    items: tuple[CompletionItem, ...] = ()


def complete(
    text: str,
    offset: int,
    request: Request,
    limit: int = 50,
    tokens: Tokens | None = None,
    kinds: Registry | None = None,
) -> Completion:
    """What can be mentioned at a place in a text (offset in code points), best first."""
    offset = max(0, min(offset, len(text)))
    typed = last_token(text[:offset])
    if typed is None or limit < 1:
        return Completion(False, offset, offset)
    end = max(offset, token_end(text, typed.start)) if typed.plain else offset
    items = tuple(islice(_offers(ask(request, kinds or registry(), limit, tokens), typed), limit + 1))
    more = len(items) > limit or len(typed.plain) < LONG or typed.plain[-1] in "/#:."
    more = more or request.around.waiting is not None  # files that are read meanwhile may have others
    return Completion(more, typed.start, end, items[:limit])


def _offers(question: Ask, typed: Token) -> Iterator[CompletionItem]:
    plain, shape = typed.plain, typed.shape
    head = shape.find(":") + 1
    kind = question.kinds.named(plain[: head - 1]) if head else None
    if kind is not None and kind.word and kind.argument != "nothing":
        return argument_offers(question, kind, plain[:head], plain[head:])
    sharp = shape.find("#")
    if sharp == 0:
        return symbol_offers(question, plain[1:])
    if sharp > 0:
        return scoped_offers(question, plain[:sharp], plain[sharp + 1 :])
    colon = shape.rfind(":")
    if colon <= 0:
        return path_offers(question, _slashed(plain, shape), None)
    roots = [root for root in question.snapshot.roots if fold(root.name) == fold(plain[:colon])]
    if roots:
        return path_offers(question, _slashed(plain[colon + 1 :], shape[colon + 1 :]), roots)
    return line_offers(question, plain[:colon].rstrip(":"), plain[colon + 1 :])


def _slashed(plain: str, shape: str) -> str:
    """The query with the backslashes of a Windows path as slashes."""
    chars = ("/" if mark == "\\" else char for char, mark in zip(plain, shape, strict=True))
    return "".join(chars).removeprefix("./")

"""Completion of what stands behind "@kind:": fixed words, definitions, folders."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from promptls.mentions.completion.items import Ask, CompletionItem
from promptls.mentions.completion.paths import path_offers
from promptls.mentions.completion.symbols import scoped_offers, symbol_offers
from promptls.mentions.format import spell_argument, unspelled
from promptls.mentions.path_lookup import root_and_path, roots_named
from promptls.mentions.registry import Kind
from promptls.mentions.resolvers.relations import ends
from promptls.mentions.resolvers.symbol import parted


def argument_offers(ask: Ask, kind: Kind, head: str, query: str) -> Iterator[CompletionItem]:
    """What an argument may go on to; `head` is "kind:" as it was typed."""
    for word in kind.offers:
        if word.startswith(query):
            yield CompletionItem(f"{head}{word}", f"@{head}{word}", kind.help, kind=kind.name)
    if kind.takes == "symbol":
        first, dots, last = ends(query) if kind.name == "path" else ("", "", "")
        scope, name = parted(last if dots else query, ask.request)
        for item in scoped_offers(ask, scope, name) if scope else symbol_offers(ask, name):
            yield from _behind(head, f"{first}{dots}", replace(item, tokens=None))
    elif kind.takes == "path":
        root, path = root_and_path(ask.snapshot, query)
        roots = roots_named(ask.snapshot, root) if root else None
        for item in path_offers(replace(ask, kinds=replace(ask.kinds, kinds={})), path, roots):
            if item.kind == "folder":
                yield from _behind(head, "", item)


def _behind(head: str, before: str, item: CompletionItem) -> Iterator[CompletionItem]:
    """A mention as an argument, or as the end of one; nothing where no mention can say it."""
    text = spell_argument(head.removesuffix(":"), before + unspelled(item.insert_text))
    if text is not None:
        yield replace(item, insert_text=text)

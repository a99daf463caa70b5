"""Completion of what stands behind "@kind:": fixed words, definitions, folders."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from promptls.context.mentions.offer_paths import path_offers
from promptls.context.mentions.offer_symbols import scoped_offers, symbol_offers
from promptls.context.mentions.offers import Ask, CompletionItem
from promptls.context.mentions.registry import Kind


def argument_offers(ask: Ask, kind: Kind, head: str, query: str) -> Iterator[CompletionItem]:
    """What an argument may go on to; `head` is "kind:" as it was typed."""
    for word in kind.offers:
        if word.startswith(query):
            yield CompletionItem(f"{head}{word}", f"@{head}{word}", kind.help, kind=kind.name)
    if kind.takes == "symbol":
        before, dots, last = query.rpartition("..") if kind.name == "path" else ("", "", query)
        scope, sharp, name = last.rpartition("#")
        for item in scoped_offers(ask, scope, name) if sharp else symbol_offers(ask, last):
            target = item.insert_text.removeprefix("@").removeprefix("#")
            yield replace(item, insert_text=f"@{head}{before}{dots}{target}", tokens=None)
    elif kind.takes == "path":
        for item in path_offers(replace(ask, kinds=replace(ask.kinds, kinds={})), query, None):
            if item.kind == "folder":
                yield replace(item, insert_text=f"@{head}{item.insert_text.removeprefix('@')}")

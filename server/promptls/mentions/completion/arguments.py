"""Completion of the argument after "@kind:": fixed suggestions, symbols and folders."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from promptls.mentions.completion.items import CompletionItem, CompletionQuery
from promptls.mentions.completion.paths import complete_path
from promptls.mentions.completion.symbols import complete_symbol, complete_symbol_in_file
from promptls.mentions.format import format_argument_mention, mention_to_argument
from promptls.mentions.path_lookup import find_roots, split_root
from promptls.mentions.registry import MentionKind
from promptls.mentions.resolvers.relations import split_call_path
from promptls.mentions.resolvers.symbol import split_scope


def complete_argument(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    """Yield completions of an argument; `head` is "kind:" as typed."""
    for suggestion in kind.suggestions:
        if suggestion.startswith(argument):
            yield CompletionItem(f"{head}{suggestion}", f"@{head}{suggestion}", kind.help, kind=kind.name)
    if kind.argument_type == "symbol":
        first, dots, last = split_call_path(argument) if kind.name == "path" else ("", "", "")
        scope, name = split_scope(last if dots else argument, query.context)
        for item in complete_symbol_in_file(query, scope, name) if scope else complete_symbol(query, name):
            yield from _as_argument(head, f"{first}{dots}", replace(item, tokens=None))
    elif kind.argument_type == "path":
        root, path = split_root(query.snapshot, argument)
        roots = find_roots(query.snapshot, root) if root else None
        without_kinds = replace(query, kinds=replace(query.kinds, kinds={}))
        for item in complete_path(without_kinds, path, roots):
            if item.kind == "folder":
                yield from _as_argument(head, "", item)


def _as_argument(head: str, before: str, item: CompletionItem) -> Iterator[CompletionItem]:
    """Yield an item with its mention as an argument behind `before`, unless no mention can represent it."""
    text = format_argument_mention(head.removesuffix(":"), before + mention_to_argument(item.insert_text))
    if text is not None:
        yield replace(item, insert_text=text)

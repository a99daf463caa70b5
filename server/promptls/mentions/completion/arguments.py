"""Completion of the argument after "@kind:": fixed suggestions, symbols, paths, revisions, layers, globs, queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from promptls.knowledge.project.file_kind import is_prose_path
from promptls.mentions.completion import argument_values
from promptls.mentions.completion.argument_values import Values
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.items import CompletionItem, CompletionQuery
from promptls.mentions.completion.paths import complete_path
from promptls.mentions.completion.symbols import complete_symbol, complete_symbol_in_file
from promptls.mentions.kinds import MentionKind
from promptls.mentions.path_lookup import find_roots, split_root
from promptls.mentions.resolvers.relations import split_call_path
from promptls.mentions.resolvers.symbol import split_scope
from promptls.mentions.syntax.format import format_argument_mention, mention_to_argument

MAX_FOLDERS = 10
"""Maximum number of folders offered before other values of an argument."""


def complete_argument(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    """Yield completions of an argument; `head` is "kind:" as typed."""
    fixed = ((suggestion, kind.help) for suggestion in kind.suggestions)
    yield from _matching(kind, head, "", argument, fixed)
    match kind.argument_type:
        case "symbol":
            yield from _symbols(query, kind, head, argument)
        case "target":
            yield from _symbols(query, kind, head, argument)
            if argument:
                yield from (i for i in _paths(query, head, argument, "file") if not is_prose_path(i.label))
        case "path":
            yield from _paths(query, head, argument, "folder")
        case "revision":
            first, dots, last = split_call_path(argument)
            before, typed = (f"{first}{dots}", last) if dots else ("", argument)
            yield from _matching(kind, head, before, typed, argument_values.revision_values(query), by_detail=True)
        case "branch":
            yield from _matching(kind, head, "", argument, argument_values.branch_values(query))
        case "layer":
            yield from _matching(kind, head, "", argument, argument_values.layer_values(query))
        case "diagnostics":
            yield from _matching(kind, head, "", argument, argument_values.diagnostics_values(query))
        case "team":
            before, values = argument_values.team_values(query, argument)
            yield from _matching(kind, head, before, argument.removeprefix(before), values)
        case "glob":
            yield from _matching(kind, head, "", argument, argument_values.glob_values(query))
            yield from _paths(query, head, argument, "folder", "**")
        case "query":
            yield from _matching(kind, head, "", argument, argument_values.query_values(query, argument))
            for item in islice(_paths(query, head, argument, "folder"), MAX_FOLDERS):
                yield replace(item, label=f"{item.label}:", insert_text=f"{item.insert_text}:")


def _symbols(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    first, dots, last = split_call_path(argument) if kind.name == "path" else ("", "", "")
    scope, name = split_scope(last if dots else argument, query.context)
    for item in complete_symbol_in_file(query, scope, name) if scope else complete_symbol(query, name):
        yield from _as_argument(head, f"{first}{dots}", replace(item, tokens=None))


def _paths(
    query: CompletionQuery, head: str, argument: str, item_kind: str, after: str = ""
) -> Iterator[CompletionItem]:
    root, path = split_root(query.snapshot, argument)
    roots = find_roots(query.snapshot, root) if root else None
    without_kinds = replace(query, kinds=replace(query.kinds, kinds={}))
    for item in complete_path(without_kinds, path, roots):
        if item.kind == item_kind:
            yield from _as_argument(head, "", item, after)


def _matching(
    kind: MentionKind, head: str, before: str, typed: str, values: Values, by_detail: bool = False
) -> Iterator[CompletionItem]:
    """Yield the values that start with the typed text, then those that contain it, or `by_detail` whose detail does."""
    typed = fold_case(typed)
    others: list[CompletionItem] = []
    for value, detail in dict(values).items():
        text = format_argument_mention(head.removesuffix(":"), before + value)
        if text is None:
            continue
        item = CompletionItem(f"{head}{before}{value}", text, detail, kind=kind.name)
        if fold_case(value).startswith(typed):
            yield item
        elif typed in fold_case(value) or (by_detail and len(typed) > 2 and typed in fold_case(detail)):
            others.append(item)
    yield from others


def _as_argument(head: str, before: str, item: CompletionItem, after: str = "") -> Iterator[CompletionItem]:
    """Yield an item with its mention as an argument between two texts, unless no mention can represent it."""
    text = format_argument_mention(head.removesuffix(":"), f"{before}{mention_to_argument(item.insert_text)}{after}")
    if text is not None:
        yield replace(item, insert_text=text)

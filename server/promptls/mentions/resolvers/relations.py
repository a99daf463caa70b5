"""Resolvers of graph relations: callers, callees, usages, implementations, tests and call paths of a symbol.

The graph is built by syntactic analysis, not by a compiler, so every reason names this limitation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from promptls.graph.definition_items import definition_item, find_tests_named_after, tests_of, used_names
from promptls.graph.graph import GraphView
from promptls.graph.impact import implementations_of, value_uses
from promptls.graph.nodes import Edge
from promptls.graph.traversal import MIN_CERTAINTY, call_paths, callables_in, callees
from promptls.index import OutlineRef
from promptls.languages import analyses_calls
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import included, unresolved
from promptls.mentions.path_lookup import resolve_folders, split_root
from promptls.mentions.resolvers import file, symbol
from promptls.mentions.resolvers.file_sets import file_set_outcome
from promptls.mentions.syntax.grammar import format_argument_mention, full_argument, is_path_like, mention_to_argument
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Span
from promptls.util.text.display import plural

MAX_ITEMS = 60
"""Maximum number of related definitions; further ones are only counted."""

MAX_CALL_PATHS = 3
"""Maximum number of call paths shown."""

CONTEXT_LINES = 2
"""Lines shown around a reference that is outside of every definition."""

MAX_IMPORT_LINES = 20
"""Maximum number of lines of an import that are shown, up to the line with the name."""

_WORD = re.compile(r"\w+")
_PATH_SEPARATOR = re.compile(r"(?<!\.)\.\.(?!\.)")
_LIMITATION = "(syntactic analysis)"

Relation = Callable[[GraphView, OutlineRef], Iterable[OutlineRef]]
"""Returns the definitions that are related to a definition."""


def resolve_callers(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@callers:name" to the definitions that call it, else to the places that pass, register or bind it."""
    refs = _find_definitions(mention, context, full_argument(mention))
    if isinstance(refs, MentionOutcome):
        return refs
    own = set(refs)
    items = _use_items(refs, context, lambda *one: (edge for edge in _calls(*one) if edge.source not in own))
    if items:
        return _counted_outcome(mention, items, "caller")
    unknown = _unknown_calls(mention, context, refs, "Callers")
    items = _use_items(refs, context, _value_uses)
    if not items:
        return unknown or _counted_outcome(mention, (), "caller")
    outcome = _counted_outcome(mention, items, "use", "as a value")
    return replace(outcome, reason=f"{outcome.reason} {unknown.reason}") if unknown is not None else outcome


def _unknown_calls(
    mention: Mention, context: ResolveContext, refs: Iterable[OutlineRef], noun: str
) -> MentionOutcome | None:
    """Return the outcome if calls in the language of a definition are not analysed, None if they are."""
    files = filter(None, (context.graph.file_symbols(path) for path, _ in refs))
    names = sorted({file.language.name for file in files if not analyses_calls(file.language.name)})
    reason = f"{noun} of {full_argument(mention)} are unknown, because calls in {' and '.join(names)} are not analysed."
    return unresolved(mention, reason) if names else None


def resolve_callees(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@callees:name" to the definitions that it calls."""
    refs = _find_definitions(mention, context, full_argument(mention))
    outcome = _related_outcome(mention, context, refs, callees, "callee")
    if outcome.status != "unresolved" or isinstance(refs, MentionOutcome):
        return outcome
    return _unknown_calls(mention, context, refs, "Callees") or outcome


def resolve_tests(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@tests:…" to the tests that call a definition or the code of a file.

    Falls back to test files that are named after the file.
    """
    refs = _find_file_or_definitions(mention, context)
    outcome = _related_outcome(mention, context, refs, tests_of, "test", callables_in)
    if outcome.status != "unresolved" or isinstance(refs, MentionOutcome):
        return outcome
    snapshot, paths = context.snapshot, dict.fromkeys(path for path, _ in refs)
    test_files = dict.fromkeys(test for path in paths for test in find_tests_named_after(snapshot, path))
    if not test_files:
        return outcome
    labels = ", ".join(map(snapshot.label, paths))
    count = plural(len(test_files), "test file")
    reason = f"No calling test found {_LIMITATION}; {count} by the name of {labels}."
    name = f"tests {full_argument(mention)}".strip()
    return file_set_outcome(mention, context, name, [*test_files], reason)


def resolve_implementations(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@implementations:…" to subtypes of a type, or to overrides of a method."""
    refs = _find_definitions(mention, context, full_argument(mention))
    return _related_outcome(mention, context, refs, implementations_of, "implementation")


def resolve_usages(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@usages:name" to the definitions that use it, or to lines outside of definitions, such as imports."""
    refs = _find_definitions(mention, context, full_argument(mention))
    if isinstance(refs, MentionOutcome):
        return refs
    return _counted_outcome(mention, _use_items(refs, context, _uses), "use")


def _calls(ref: OutlineRef, context: ResolveContext) -> Iterator[Edge]:
    """Yield the calls of a definition, at the top level of files too; the type of a constructor is one of its callers."""
    view = context.graph
    calls = [edge for edge in view.incoming(ref) if edge.type == "calls" and edge.weight >= MIN_CERTAINTY]
    yield from sorted(calls, key=lambda edge: (edge.source, edge.line))
    symbol = view.symbol(ref)
    if symbol is not None and symbol.kind == "constructor" and symbol.parent >= 0:
        yield Edge((ref[0], symbol.parent), ref, "calls", 1.0, ref[0], symbol.span.start)


def _uses(ref: OutlineRef, context: ResolveContext) -> Iterator[Edge]:
    view = context.graph
    for edge in (*view.incoming(ref), *view.import_uses(ref)):
        if edge.type in ("calls", "inherits", "implements", "uses", "imports") and edge.weight >= MIN_CERTAINTY:
            yield edge
    yield from _value_uses(ref, context)


def _value_uses(ref: OutlineRef, context: ResolveContext) -> Iterator[Edge]:
    return value_uses(context.graph, ref, context.index.reader(), context.sources.read, context.token)


def _use_items(
    refs: Sequence[OutlineRef],
    context: ResolveContext,
    uses: Callable[[OutlineRef, ResolveContext], Iterable[Edge]],
) -> list[Item]:
    """Return the definitions, or lines outside of definitions, that use others, each once."""
    items: dict[tuple[str, Span], Item] = {}
    for ref in refs:
        names = used_names(context.graph, [ref])
        for edge in uses(ref, context):
            item = _item(context.graph, edge.source, edge, context, names)
            if item is not None:
                items.setdefault((item.path, item.span), item)
    return list(items.values())


def resolve_path(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@path:a..b" to the definitions on the shortest call paths between two definitions."""
    first, dots, last = split_call_path(full_argument(mention))
    if not first or not last:
        return unresolved(mention, "A call path needs two definitions, for example @path:main..Store.save.")
    start = _find_definitions(mention, context, first, after=dots + last)
    if isinstance(start, MentionOutcome):
        return start
    end = _find_definitions(mention, context, last, before=first + dots)
    if isinstance(end, MentionOutcome):
        return end
    view = context.graph
    paths = call_paths(view, start, end, MAX_CALL_PATHS, context.token)
    if not paths:
        return unresolved(mention, f"No call path from {first} to {last} found {_LIMITATION}.")
    refs = dict.fromkeys(ref for path in paths for ref in path)
    items = [item for ref in refs if (item := _item(view, ref, None, context)) is not None]
    symbol_of = view.symbol
    names = [" → ".join(s.name for ref in path if (s := symbol_of(ref)) is not None) for path in paths]
    return included(mention, items, f"{'; '.join(names)} {_LIMITATION}.")


def split_call_path(argument: str) -> tuple[str, str, str]:
    """Split "a..b" into ("a", "..", "b"); return empty strings if it is not a call path.

    Three dots are part of a name, as in "[...slug]".
    """
    match = _PATH_SEPARATOR.search(argument)
    return (argument[: match.start()], match.group(), argument[match.end() :]) if match else ("", "", "")


def _related_outcome(
    mention: Mention,
    context: ResolveContext,
    refs: list[OutlineRef] | MentionOutcome,
    relation: Relation,
    noun: str,
    used: Relation | None = None,
) -> MentionOutcome:
    """Return the outcome for the definitions related to `refs`.

    `used` yields the definitions whose call sites are shown in each related definition.
    """
    if isinstance(refs, MentionOutcome):
        return refs
    view = context.graph
    own = set(refs)
    related = [r for r in dict.fromkeys(r for ref in refs for r in relation(view, ref)) if r not in own]
    names = used_names(view, (u for ref in refs for u in used(view, ref))) if used is not None else frozenset()
    items = [item for ref in related if (item := _item(view, ref, None, context, names)) is not None]
    return _counted_outcome(mention, items, noun)


def _counted_outcome(mention: Mention, items: Sequence[Item], noun: str, kind: str = "") -> MentionOutcome:
    if not items:
        return unresolved(mention, f"No {noun}s of {full_argument(mention)} found {_LIMITATION}.")
    counted = f"{plural(len(items), noun)} {kind}".rstrip()
    some = f"The first {MAX_ITEMS} of {counted}" if len(items) > MAX_ITEMS else counted
    return included(mention, items[:MAX_ITEMS], f"{some} {_LIMITATION}.")


def _find_definitions(
    mention: Mention, context: ResolveContext, argument: str, before: str = "", after: str = ""
) -> list[OutlineRef] | MentionOutcome:
    """Return the definitions that an argument names, or the outcome if there are none.

    `before` and `after` are the rest of the argument, which candidates keep.
    """
    outcome = _resolve_definition(mention, context, argument)
    if outcome.status != "included":
        return _as_argument(outcome, mention, before, after)
    refs = []
    for item in outcome.targets:
        entry = context.snapshot.files.get(item.path)
        symbols = entry.outline.symbols if entry is not None and entry.outline is not None else ()
        refs += [(item.path, i) for i, s in enumerate(symbols) if s.qualified == item.symbol and s.span == item.span]
    return refs


def _find_file_or_definitions(mention: Mention, context: ResolveContext) -> list[OutlineRef] | MentionOutcome:
    """Return the file that an argument names, else the definitions."""
    argument = full_argument(mention)
    root, path = split_root(context.snapshot, argument)
    maybe_path = is_path_like(path) or "/" in path  # executables have no extension
    if not maybe_path or symbol.split_scope(argument, context)[0]:
        return _find_definitions(mention, context, argument)
    outcome = file.resolve_file(replace(mention, kind="file", target=path, root=root, scope=""), context)
    if outcome.status == "included" and all(item.kind == "file" for item in outcome.targets):
        return [(item.path, -1) for item in outcome.targets]
    refs = _find_definitions(mention, context, argument)  # "Server.go" may be a method
    failed = isinstance(refs, MentionOutcome) and refs.status == "unresolved"
    return _as_argument(outcome, mention) if failed else refs


def _as_argument(outcome: MentionOutcome, mention: Mention, before: str = "", after: str = "") -> MentionOutcome:
    """Return the outcome for an argument as the outcome for the whole mention."""
    keyword = mention.text[1:].partition(":")[0]

    def rewrite(text: str) -> str:
        return format_argument_mention(keyword, before + mention_to_argument(text) + after) or "" if text else ""

    candidates = tuple(filter(None, map(rewrite, outcome.candidates)))
    return replace(outcome, mention=mention, candidates=candidates, suggestion=rewrite(outcome.suggestion))


def _resolve_definition(mention: Mention, context: ResolveContext, argument: str) -> MentionOutcome:
    """Resolve "Cart.total", "src/cart.py#Cart.total" or "root:src/cart.py#Cart.total"."""

    def resolve_in(path: str, name: str) -> MentionOutcome:
        root, scope = split_root(context.snapshot, path)
        return symbol.resolve(replace(mention, kind="symbol", target=name, root=root, scope=scope), context)

    scope, name = symbol.split_scope(argument, context)
    outcome = resolve_in(scope, name)
    path, _, name = argument.rpartition("#")
    if outcome.status == "unresolved" and not scope and (is_path_like(path) or resolve_folders(context, path)):
        return resolve_in(path, name)  # a folder without its slash, or a file that does not exist
    return outcome


def _item(
    view: GraphView,
    ref: OutlineRef,
    edge: Edge | None,
    context: ResolveContext,
    names: frozenset[str] = frozenset(),
) -> Item | None:
    """Return a definition with its call sites of `names`, or the lines around an edge outside of definitions."""
    item = definition_item(view, ref, Origin.MENTION, 1.0, names)
    if item is not None:
        return item
    view_text = context.sources.read(ref[0])
    if edge is None or not isinstance(view_text, FileText):
        return None
    span = Span(max(0, edge.line - CONTEXT_LINES), min(len(view_text.lines), edge.line + CONTEXT_LINES + 1))
    if edge.type == "imports":
        shown = view_text.lines[edge.line : edge.line + MAX_IMPORT_LINES]
        named = next((n for n, line in enumerate(shown) if not names.isdisjoint(_WORD.findall(line))), 0)
        span = Span(edge.line, edge.line + named + 1)
    return Item(ref[0], span, "text", Origin.MENTION, 1.0)

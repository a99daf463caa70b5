"""Completion of symbols and lines: "@#name", "@#Class.", "@path#name", "@path:".

Items are sorted by match tier, then recent documents come first, tests last, and shorter names first.
Outlines come from the snapshot; no file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promptls.index import OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_peripheral, is_test_path
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.completion.fuzzy import FuzzyIndex, MatchTier
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.items import (
    CompletionItem,
    CompletionQuery,
    estimate_tokens,
    file_symbols,
    symbol_names,
)
from promptls.mentions.format import format_mention
from promptls.mentions.path_lookup import mention_for, resolve_files, sort_by_proximity
from promptls.mentions.resolvers.symbol import Definition, candidate_names, filter_matching, split_name
from promptls.model import Symbol
from promptls.model.prompt_documents import is_prompt_document

MAX_DEFINITIONS = 50
"""Maximum number of definitions of one name; bounds the time for names such as "__init__"."""

MAX_LISTED_PATHS = 500
"""Maximum number of paths whose symbols are listed for "@#" without recent documents; keeps completion fast."""


def complete_symbol(query: CompletionQuery, name: str) -> Iterator[CompletionItem]:
    """Yield symbols of the workspace; without a name, those of recent documents or else of the files nearest the root."""
    parts = split_name(name)
    is_member_query = name.endswith((".", ":", "#"))
    refs: Iterator[OutlineRef]
    if not parts:
        refs = _unnamed_symbols(query)
    elif is_member_query:
        refs = _members(query.snapshot, parts)
    else:
        refs = _ranked_definitions(query, parts[-1], [fold_case(part) for part in parts[:-1]])
    for ref in refs:
        item = _item(query, ref)
        if item is not None:
            yield item
    pending_symbols = query.context.pending_symbols
    if pending_symbols is not None and len(parts) == 1 and not is_member_query:
        yield from _pending_items(query, pending_symbols(parts[0]))


def _unnamed_symbols(query: CompletionQuery) -> Iterator[OutlineRef]:
    """Yield the symbols of recent documents; without any, the top-level definitions of code, short paths first.

    Clients such as VS Code end the completion at an empty list, even if the user has typed more in the meantime.
    """
    snapshot, found = query.snapshot, False
    for path in query.recent_documents:
        for i in range(len(file_symbols(snapshot, path))):
            found = True
            yield path, i
    if found:
        return
    for _, path in query.context.path_index.search("", MAX_LISTED_PATHS):
        if path.endswith("/") or is_peripheral(snapshot.label(path)) or is_prompt_document(path):
            continue
        for i, symbol in enumerate(file_symbols(snapshot, path)):
            if symbol.parent < 0 and symbol.kind in CALLABLE_KINDS | TYPE_KINDS:
                yield path, i


def _pending_items(query: CompletionQuery, pending: Iterable[tuple[str, str]]) -> Iterator[CompletionItem]:
    """Yield names defined in unparsed files; a mention of one gives its file priority in the scan."""
    seen: set[str] = set()
    for name, path in pending:
        if name in seen or name.lower() in query.snapshot.names:
            continue
        seen.add(name)
        text = format_mention(symbol=name)
        if text is not None:
            yield CompletionItem(name, text, f"{query.snapshot.label(path)}, not indexed yet", "", "symbol")


def complete_symbol_in_file(query: CompletionQuery, scope: str, name: str) -> Iterator[CompletionItem]:
    """Yield symbols of the file before the "#": by match, or in document order without a name."""
    parts = split_name(name)
    for path in _scope_files(query, scope):
        symbols = [(i, s) for i, s in enumerate(file_symbols(query.snapshot, path)) if s.name]
        order = [i for i, _ in symbols]
        if parts:
            names = FuzzyIndex(((s.name, str(i)) for i, s in symbols), paths=False)
            order = [int(names.keys[row]) for _, row in names.search(parts[-1], query.limit + 1)]
        yield from filter(None, (_item(query, (path, i), scoped=True) for i in order))


def complete_lines(query: CompletionQuery, scope: str, prefix: str) -> Iterator[CompletionItem]:
    """Yield line ranges of the symbols of the file before the ":", by line number or symbol name."""
    for path in _scope_files(query, scope):
        for symbol in file_symbols(query.snapshot, path):
            label = symbol.span.label
            if not symbol.name:
                continue
            if not label.startswith(prefix) and not fold_case(symbol.name).startswith(fold_case(prefix)):
                continue
            text = mention_for(query.snapshot, path, lines=symbol.span, keywords=query.keywords)
            if text is not None:
                tokens = estimate_tokens(query, path, len(symbol.span))
                title = f"{label}  {symbol.qualified}"
                yield CompletionItem(title, text, symbol.signature, symbol.doc, "range", tokens)


def _ranked_definitions(query: CompletionQuery, name: str, holders: Sequence[str]) -> Iterator[OutlineRef]:
    """Yield the definitions whose own name matches, within `holders` only."""
    snapshot = query.snapshot
    tiers: dict[str, MatchTier] = {}
    recent_names = {name for path in query.recent_documents for name in symbol_names(snapshot, path) if name}
    recent = FuzzyIndex(((n, n) for n in recent_names), paths=False)
    for tier, row in recent.search(name, query.limit):
        tiers[recent.keys[row]] = tier
    for tier, key in query.context.symbol_index.search(name, query.limit + 1):
        tiers.setdefault(key, tier)
    for tier in MatchTier:
        ranked: list[tuple[tuple[int, bool, int, str, int], OutlineRef]] = []
        for key in (key for key, key_tier in tiers.items() if key_tier == tier):
            for path, i in _definitions(snapshot, key, holders):
                rank = query.recency(path), is_test_path(snapshot.files[path].name), len(key), path, i
                ranked.append((rank, (path, i)))
        yield from (ref for _, ref in sorted(ranked))


def _definitions(snapshot: Snapshot, name: str, holders: Sequence[str]) -> Iterator[OutlineRef]:
    """Yield the definitions of a name, at most `MAX_DEFINITIONS`."""
    count = 0
    for ref in snapshot.names.get(name.lower(), ()):
        symbol = snapshot.symbol(ref)
        if symbol is not None and symbol.name == name and _is_held_by(symbol, holders):
            yield ref
            count += 1
            if count == MAX_DEFINITIONS:
                return


def _members(snapshot: Snapshot, names: Sequence[str]) -> Iterator[OutlineRef]:
    """Yield the direct members of the definitions of a qualified name."""
    holders = [fold_case(name) for name in names[:-1]]
    for path, index in snapshot.names.get(names[-1].lower(), ()):
        holder = snapshot.symbol((path, index))
        if holder is not None and _is_held_by(holder, holders):
            yield from ((path, i) for i, s in enumerate(file_symbols(snapshot, path)) if s.parent == index)


def _is_held_by(symbol: Symbol, holders: Sequence[str]) -> bool:
    """Return whether the qualifying names of a symbol end with `holders`."""
    return not holders or [fold_case(part) for part in split_name(symbol.qualified)[:-1]][-len(holders) :] == holders


def _item(query: CompletionQuery, ref: OutlineRef, scoped: bool = False) -> CompletionItem | None:
    snapshot, path = query.snapshot, ref[0]
    symbol = snapshot.symbol(ref)
    if symbol is None or not symbol.name:
        return None
    text = None if scoped or not _is_unique(snapshot, symbol) else format_mention(symbol=symbol.qualified)
    text = text or mention_for(snapshot, path, symbol=symbol.qualified, keywords=query.keywords)
    if text is None:
        return None
    detail = f"{symbol.kind}, {snapshot.label(path)}:{symbol.span.start + 1}"
    documentation = f"{symbol.signature}\n{symbol.doc}".strip()
    tokens = estimate_tokens(query, path, len(symbol.span))
    return CompletionItem(symbol.qualified, text, detail, documentation, symbol.kind, tokens)


def _is_unique(snapshot: Snapshot, symbol: Symbol) -> bool:
    """Return whether the qualified name alone identifies the definition."""
    refs = {ref for name in candidate_names(symbol.qualified) for ref in snapshot.names.get(name, ())}
    if len(refs) > MAX_DEFINITIONS:
        return False
    definitions = (Definition(ref[0], other) for ref in refs if (other := snapshot.symbol(ref)) is not None)
    return len({(d.path, d.symbol.qualified) for d in filter_matching(symbol.qualified, definitions)}) == 1


def _scope_files(query: CompletionQuery, scope: str) -> Sequence[str]:
    return sort_by_proximity(query.context, resolve_files(query.context, scope))

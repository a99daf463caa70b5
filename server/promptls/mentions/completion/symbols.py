"""Completion of symbols and lines: "@#name", "@#Class.", "@path#name", "@path:".

Items are sorted by match tier, then recent documents come first, code before prose, tests last, and shorter names
first.
Outlines come from the snapshot; no file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from promptls.index import OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_peripheral, is_prose_path, is_test_path
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.completion.completion_items import (
    CompletionItem,
    CompletionQuery,
    estimate_tokens,
    file_symbols,
    symbol_names,
)
from promptls.mentions.completion.fuzzy import MIN_SUBSEQUENCE_LENGTH, FuzzyIndex, MatchTier, Quality
from promptls.mentions.completion.index import fold_case
from promptls.mentions.path_lookup import mention_for, resolve_files, sort_by_proximity
from promptls.mentions.resolvers.symbol import Definition, candidate_names, filter_matching, split_name
from promptls.mentions.syntax.grammar import format_mention
from promptls.model import Symbol
from promptls.model.files import is_prompt_document

MAX_DEFINITIONS = 50
"""Maximum number of definitions of one name; bounds the time for names such as "__init__"."""

MAX_HOLDERS = 200
"""Maximum number of definitions of a class name whose members are offered."""

MAX_WORD_SYMBOLS = 10
"""Maximum number of symbols offered for a word without "#", among the paths."""

_PACKAGE_STEMS = frozenset({"__init__", "index", "mod", "lib", "init"})
"""Names without extension of the files that represent their folder."""

MAX_LISTED_PATHS = 500
"""Maximum number of paths whose symbols are listed for "@#" without recent documents; keeps completion fast."""


def complete_symbol(query: CompletionQuery, name: str) -> Iterator[CompletionItem]:
    """Yield symbols of the workspace; without a name, those of recent documents or else of the files nearest the root."""
    parts = split_name(name)
    is_member_query = name.endswith((".", ":", "#"))
    if not parts:
        refs = _unnamed_symbols(query)
    elif is_member_query:
        refs = iter(_members(query, parts))
    elif len(parts) > 1:
        refs = _ranked_members(query, parts[-1], parts[:-1])
    else:
        qualities = _name_qualities(query, name, MatchTier.SUBSEQUENCE, query.limit + 1)
        refs = _ranked_refs(query, _definitions_of(query.snapshot, qualities))
    seen: set[OutlineRef] = set()
    for ref in refs:
        item = _item(query, ref) if ref not in seen else None
        if item is not None:
            seen.add(ref)
            yield item
    pending_symbols = query.context.pending_symbols
    if pending_symbols is not None and len(parts) == 1 and not is_member_query:
        yield from _pending_items(query, pending_symbols(parts[0]))


def complete_word(query: CompletionQuery, word: str) -> Iterator[CompletionItem]:
    """Yield a few symbols whose name starts with a word that was typed without "#"."""
    if len(word) < MIN_SUBSEQUENCE_LENGTH or not word.isidentifier():
        return
    qualities = _name_qualities(query, word, MatchTier.PREFIX, MAX_WORD_SYMBOLS)
    items = (_item(query, ref) for ref in _ranked_refs(query, _definitions_of(query.snapshot, qualities)))
    yield from islice(filter(None, items), MAX_WORD_SYMBOLS)


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
            order = [int(names.keys[match.row]) for match in names.search(parts[-1], query.limit + 1)]
        yield from filter(None, (_item(query, (path, i), scoped=True) for i in order))


def has_scope(query: CompletionQuery, scope: str) -> bool:
    """Return whether the text before a "#" names a file."""
    return bool(resolve_files(query.context, scope))


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


def _name_qualities(query: CompletionQuery, name: str, worst: MatchTier, limit: int) -> dict[str, Quality]:
    """Return the matching symbol names with the quality of their match, those of recent documents included."""
    qualities: dict[str, Quality] = {}
    recent_names = {name for path in query.recent_documents for name in symbol_names(query.snapshot, path) if name}
    recent = FuzzyIndex(((n, n) for n in recent_names), paths=False)
    for match in recent.search(name, limit, worst):
        qualities[recent.keys[match.row]] = match.quality
    for quality, key in query.context.symbol_index.search(name, limit, worst):
        qualities.setdefault(key, quality)
    return qualities


def _definitions_of(snapshot: Snapshot, qualities: Mapping[str, Quality]) -> Iterator[tuple[Quality, OutlineRef]]:
    for key, quality in qualities.items():
        for ref in _definitions(snapshot, key):
            yield quality, ref


def _ranked_refs(query: CompletionQuery, found: Iterable[tuple[Quality, OutlineRef]]) -> Iterator[OutlineRef]:
    """Yield definitions by quality: recent documents first, code before prose, tests last, short names first."""
    snapshot = query.snapshot
    ranked: list[tuple[Quality, int, bool, bool, int, OutlineRef]] = []
    for quality, ref in found:
        symbol = snapshot.symbol(ref)
        if symbol is not None:
            name = snapshot.files[ref[0]].name
            recency, length = query.recency(ref[0]), len(symbol.name)
            ranked.append((quality, recency, is_prose_path(name), is_test_path(name), length, ref))
    yield from (ref for *_, ref in sorted(ranked))


def _ranked_members(query: CompletionQuery, name: str, holders: Sequence[str]) -> Iterator[OutlineRef]:
    """Yield the members of a class or module whose name matches."""
    members = {str(i): ref for i, ref in enumerate(_members(query, holders))}
    symbols = ((query.snapshot.symbol(ref), key) for key, ref in members.items())
    names = FuzzyIndex(((symbol.name, key) for symbol, key in symbols if symbol is not None), paths=False)
    found = names.search(name, query.limit + 1)
    yield from _ranked_refs(query, ((match.quality, members[names.keys[match.row]]) for match in found))


def _definitions(snapshot: Snapshot, name: str) -> Iterator[OutlineRef]:
    """Yield the definitions of a name, at most `MAX_DEFINITIONS`."""
    count = 0
    for ref in snapshot.names.get(name.lower(), ()):
        symbol = snapshot.symbol(ref)
        if symbol is not None and symbol.name == name:
            yield ref
            count += 1
            if count == MAX_DEFINITIONS:
                return


def _members(query: CompletionQuery, names: Sequence[str]) -> Iterable[OutlineRef]:
    """Return the direct members of the definitions of a qualified name, and the symbols of a module of this name."""
    snapshot = query.snapshot
    *outer, own = [fold_case(name) for name in names]
    members: dict[OutlineRef, None] = {}
    for path, index in islice(snapshot.names.get(own, ()), MAX_HOLDERS):
        holder = snapshot.symbol((path, index))
        if holder is not None and _is_held_by(holder, outer):
            members |= dict.fromkeys((path, i) for i, s in enumerate(file_symbols(snapshot, path)) if s.parent == index)
    for path in _module_files(query, names[-1]):
        if members and names[-1] not in path:
            continue  # "Cart." means the class, not cart.py
        if not outer or _module_names(snapshot.label(path))[-len(outer) - 1 : -1] == outer:
            top_level = (i for i, symbol in enumerate(file_symbols(snapshot, path)) if symbol.parent < 0)
            members |= dict.fromkeys((path, i) for i in top_level)
    return members


def _module_files(query: CompletionQuery, name: str) -> Iterator[str]:
    """Yield the code files that a module name may denote: "canvas" for canvas.py and canvas/__init__.py."""
    for quality, key in query.context.path_index.search(name, MAX_DEFINITIONS, MatchTier.STEM):
        if quality[0] > MatchTier.STEM:
            continue
        if not key.endswith("/"):
            yield from () if is_prose_path(key) else (key,)
            continue
        for child in query.context.path_index.children(key[:-1], MAX_DEFINITIONS):
            if child.rsplit("/", 1)[-1].partition(".")[0] in _PACKAGE_STEMS:
                yield child


def _module_names(label: str) -> list[str]:
    """Return the names of the packages and the module of a file."""
    *folders, name = fold_case(label).replace(":", "/").split("/")
    stem = name.partition(".")[0]
    return folders if stem in _PACKAGE_STEMS else [*folders, stem]


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

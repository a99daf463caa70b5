"""Completion of symbols and lines: "@#name", "@#Class.", "@path#name", "@path:".

Order: how well the name matches, then open documents, then tests last, then shorter names.  Outlines are those
of the snapshot; nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promptls.index.snapshot import Place, Snapshot
from promptls.mentions.completion.fuzzy import Haystack, Tier
from promptls.mentions.completion.index import fold, symbols_of
from promptls.mentions.completion.items import Ask, CompletionItem, cost, names_of, outline_of
from promptls.mentions.format import spell
from promptls.mentions.path_lookup import files_at, is_test, name_for, nearest_first
from promptls.mentions.resolvers.symbol import Definition, last_names, matching, split
from promptls.model import Symbol

_PLACES = 50  # definitions of one name that are looked at


def symbol_offers(ask: Ask, query: str) -> Iterator[CompletionItem]:
    """Definitions anywhere; before anything was typed, those of the open documents."""
    parts = split(query)
    places: Iterator[Place]
    if not parts:
        places = ((path, i) for path in ask.opened for i in range(len(outline_of(ask.snapshot, path))))
    elif query.endswith((".", ":", "#")):
        places = _members(ask.snapshot, parts)
    else:
        places = _ranked(ask, parts[-1], [fold(part) for part in parts[:-1]])
    for place in places:
        item = _offer(ask, place)
        if item is not None:
            yield item
    waiting = ask.request.around.waiting
    if waiting is not None and len(parts) == 1 and not query.endswith((".", ":", "#")):
        yield from _unread(ask, waiting(parts[0]))


def _unread(ask: Ask, waiting: Iterable[tuple[str, str]]) -> Iterator[CompletionItem]:
    """Names that files which wait to be read seem to define; whoever takes one has its file read first."""
    seen: set[str] = set()
    for name, path in waiting:
        if name in seen or name.lower() in ask.snapshot.names:
            continue
        seen.add(name)
        spelled = spell(symbol=name)
        if spelled is not None:
            yield CompletionItem(name, spelled, f"{ask.snapshot.label(path)}, not read yet", "", "symbol")


def scoped_offers(ask: Ask, scope: str, query: str) -> Iterator[CompletionItem]:
    """The symbols of the file written before the "#": in document order, or by how well they match."""
    parts = split(query)
    for path in _files(ask, scope):
        found = [(i, s) for i, s in enumerate(outline_of(ask.snapshot, path)) if s.name]
        order = [i for i, _ in found]
        if parts:
            names = Haystack(((s.name, str(i)) for i, s in found), paths=False)
            order = [int(names.keys[index]) for _, index in names.search(parts[-1], ask.limit + 1)]
        yield from filter(None, (_offer(ask, (path, i), scoped=True) for i in order))


def line_offers(ask: Ask, scope: str, query: str) -> Iterator[CompletionItem]:
    """The lines of each definition of the file written before the ":", by number or by name."""
    for path in _files(ask, scope):
        for symbol in outline_of(ask.snapshot, path):
            label = symbol.span.label
            if not symbol.name or not (label.startswith(query) or fold(symbol.name).startswith(fold(query))):
                continue
            spelled = name_for(ask.snapshot, path, lines=symbol.span, words=ask.words)
            if spelled is not None:
                title, price = f"{label}  {symbol.qualified}", cost(ask, path, len(symbol.span))
                yield CompletionItem(title, spelled, symbol.signature, symbol.doc, "range", price)


def _ranked(ask: Ask, name: str, holders: Sequence[str]) -> Iterator[Place]:
    """Definitions by their own name, those in holders of other names left out."""
    snapshot = ask.snapshot
    tiers: dict[str, Tier] = {}
    near = {name for path in ask.opened for name in names_of(snapshot, path) if name}
    opened = Haystack(((n, n) for n in near), paths=False)
    for tier, index in opened.search(name, ask.limit):
        tiers[opened.keys[index]] = tier
    for tier, key in symbols_of(snapshot).search(name, ask.limit + 1):
        tiers.setdefault(key, tier)
    for tier in Tier:
        ranked: list[tuple[tuple[int, bool, int, str, int], Place]] = []
        for key in (key for key, its in tiers.items() if its == tier):
            for path, i in _places(snapshot, key, holders):
                rank = ask.recency(path), is_test(snapshot.files[path].name), len(key), path, i
                ranked.append((rank, (path, i)))
        yield from (place for _, place in sorted(ranked))


def _places(snapshot: Snapshot, name: str, holders: Sequence[str]) -> Iterator[Place]:
    """Where a name is defined, at most `_PLACES`."""
    count = 0
    for place in snapshot.names.get(name.lower(), ()):
        symbol = snapshot.symbol(place)
        if symbol is not None and symbol.name == name and _held(symbol, holders):
            yield place
            count += 1
            if count == _PLACES:
                return


def _members(snapshot: Snapshot, names: Sequence[str]) -> Iterator[Place]:
    """What is defined directly in the definitions of a name."""
    holders = [fold(name) for name in names[:-1]]
    for path, index in snapshot.names.get(names[-1].lower(), ()):
        holder = snapshot.symbol((path, index))
        if holder is not None and _held(holder, holders):
            yield from ((path, i) for i, s in enumerate(outline_of(snapshot, path)) if s.parent == index)


def _held(symbol: Symbol, holders: Sequence[str]) -> bool:
    """Whether the names before the symbol's own end in these."""
    return not holders or [fold(part) for part in split(symbol.qualified)[:-1]][-len(holders) :] == holders


def _offer(ask: Ask, place: Place, scoped: bool = False) -> CompletionItem | None:
    snapshot, path = ask.snapshot, place[0]
    symbol = snapshot.symbol(place)
    if symbol is None or not symbol.name:
        return None
    spelled = None if scoped or not _only_one(snapshot, symbol) else spell(symbol=symbol.qualified)
    spelled = spelled or name_for(snapshot, path, symbol=symbol.qualified, words=ask.words)
    if spelled is None:
        return None
    detail = f"{symbol.kind}, {snapshot.label(path)}:{symbol.span.start + 1}"
    documentation = f"{symbol.signature}\n{symbol.doc}".strip()
    return CompletionItem(
        symbol.qualified, spelled, detail, documentation, symbol.kind, cost(ask, path, len(symbol.span))
    )


def _only_one(snapshot: Snapshot, symbol: Symbol) -> bool:
    """Whether the qualified name alone says which definition is meant."""
    places = {place for name in last_names(symbol.qualified) for place in snapshot.names.get(name, ())}
    if len(places) > _PLACES:
        return False
    found = (Definition(place[0], other) for place in places if (other := snapshot.symbol(place)) is not None)
    return len({(d.path, d.symbol.qualified) for d in matching(symbol.qualified, found)}) == 1


def _files(ask: Ask, scope: str) -> Sequence[str]:
    return nearest_first(ask.request, files_at(ask.request, scope))

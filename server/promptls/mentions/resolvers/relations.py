"""The resolvers of what stands around a definition: callers, callees, usages, implementations, tests, call paths.

All of it is told by syntax and imports, not by a compiler, so reasons say "as far as the syntax tells".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from promptls.graph.call_paths import LEAST, call_paths, callees, callers, inside
from promptls.graph.graph import GraphView
from promptls.graph.name_lookup import versions
from promptls.graph.nodes import Edge
from promptls.graph.test_names import named_after
from promptls.index.snapshot import Place
from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.semantics import HOLDERS
from promptls.mentions.context import Request
from promptls.mentions.format import spell_argument, unspelled
from promptls.mentions.grammar import argument, looks_like_path
from promptls.mentions.outcomes import included, unresolved
from promptls.mentions.path_lookup import folders_at, root_and_path
from promptls.mentions.resolvers import file, symbol
from promptls.mentions.resolvers.file_sets import group
from promptls.model import Item, Mention, MentionOutcome, Origin, Span, TextView

MOST = 60
_BETWEEN = re.compile(r"(?<!\.)\.\.(?!\.)")
_AS_FAR = "as far as the syntax tells"

Related = Callable[[GraphView, Place], Iterable[Place]]


def resolve_callers(mention: Mention, request: Request) -> MentionOutcome:
    """What calls a definition."""
    return _related(mention, request, _named(mention, request, argument(mention)), callers, "callers", _itself)


def resolve_callees(mention: Mention, request: Request) -> MentionOutcome:
    """What a definition calls."""
    return _related(mention, request, _named(mention, request, argument(mention)), callees, "callees")


def resolve_tests(mention: Mention, request: Request) -> MentionOutcome:
    """The tests of a definition, or of those in a file; else the files of tests that are called after its file."""

    def tests(view: GraphView, place: Place) -> Iterable[Place]:
        return [e.target for one in inside(view, place) for e in view.out(one) if e.type == "tested_by"]

    places = _file_or_definition(mention, request)
    outcome = _related(mention, request, places, tests, "tests", inside)
    if outcome.status != "unresolved" or isinstance(places, MentionOutcome):
        return outcome
    snapshot, paths = request.snapshot, dict.fromkeys(path for path, _ in places)
    found = dict.fromkeys(test for path in paths for test in named_after(snapshot, path))
    if not found:
        return outcome
    after = ", ".join(map(snapshot.label, paths))
    count = "1 file is" if len(found) == 1 else f"{len(found)} files are"
    return group(mention, request, "tests", [*found], f"No test calls it, {_AS_FAR}; {count} called after {after}.")


def resolve_implementations(mention: Mention, request: Request) -> MentionOutcome:
    """What extends or implements a type, or overrides a method in one that does."""

    def implementations(view: GraphView, place: Place) -> Iterable[Place]:
        found, own, holder = view.symbol(place), view.facts(place[0]), None
        holds = HOLDERS.get(own.outline.language, TYPE_KINDS) if own is not None else TYPE_KINDS
        if found is not None and own is not None and found.kind not in holds:
            holder = view.resolver.types.around(place[0], own, place[1])
        below = _below(view, holder or place)
        if found is None or holder is None:
            return below
        out: list[Place] = []
        for path, index in below:
            facts = view.facts(path)
            children = facts.children.get(index, ()) if facts is not None else ()
            here = [(path, i) for i in children if facts is not None and facts.symbols[i].name == found.name]
            elsewhere = view.resolver.types.own((path, index), found.name) if not here else None
            out += [elsewhere] if elsewhere is not None else here
        return out

    places = _named(mention, request, argument(mention))
    return _related(mention, request, places, implementations, "implementations")


def _below(view: GraphView, place: Place) -> list[Place]:
    """Types that extend or implement a type, directly or not, nearest first."""
    found: dict[Place, None] = {}
    level = [place]
    while level and len(found) < MOST:
        edges = [e for one in level for e in view.into(one) if e.type in ("inherits", "implements")]
        level = [e.source for e in edges if e.source not in found and e.source != place]
        found.update(dict.fromkeys(level))
    return list(found)


def resolve_usages(mention: Mention, request: Request) -> MentionOutcome:
    """Where a definition is used: the definitions that use it, or the lines where none stands around them."""
    places = _named(mention, request, argument(mention))
    if isinstance(places, MentionOutcome):
        return places
    view = request.graph
    items: dict[tuple[str, Span], Item] = {}
    count = 0
    for place in places:
        names = _names(view, [place])
        for edge in view.into(place):
            if edge.type in ("calls", "inherits", "implements", "uses") and edge.weight >= LEAST:
                count += 1
                item = _item(view, edge.source, edge, request, names)
                if item is not None and len(items) < MOST:
                    items.setdefault((item.path, item.span), item)
    return _outcome(mention, list(items.values()), count, "uses")


def resolve_path(mention: Mention, request: Request) -> MentionOutcome:
    """The definitions on the shortest ways of calls from one definition to another."""
    first, dots, last = ends(argument(mention))
    if not first or not last:
        return unresolved(mention, "A call path goes from one definition to another: @path:main..Store.save.")
    start = _named(mention, request, first, after=dots + last)
    if isinstance(start, MentionOutcome):
        return start
    end = _named(mention, request, last, before=first + dots)
    if isinstance(end, MentionOutcome):
        return end
    view = request.graph
    paths = call_paths(view, start, end, 3, request.token)
    if not paths:
        return unresolved(mention, f"No way of calls leads from {first} to {last}, {_AS_FAR}.")
    places = dict.fromkeys(place for path in paths for place in path)
    items = [item for place in places if (item := _item(view, place, None, request)) is not None]
    found = view.symbol
    names = [" → ".join(s.name for place in path if (s := found(place)) is not None) for path in paths]
    return included(mention, items, f"{'; '.join(names)}, {_AS_FAR}.")


def ends(written: str) -> tuple[str, str, str]:
    """(from, "..", to) of a call path, ("", "", "") where it is none; three dots are part of a name: "[...slug]"."""
    found = _BETWEEN.search(written)
    return (written[: found.start()], found.group(), written[found.end() :]) if found else ("", "", "")


def _related(
    mention: Mention,
    request: Request,
    places: list[Place] | MentionOutcome,
    related: Related,
    what: str,
    used: Related | None = None,
) -> MentionOutcome:
    """The outcome of a mention of what is related to some definitions.

    `used`: for what uses definitions, those that it uses of each; where it does so is told with it.
    """
    if isinstance(places, MentionOutcome):
        return places
    view = request.graph
    own = set(places)
    found = [p for p in dict.fromkeys(p for place in places for p in related(view, place)) if p not in own]
    names = _names(view, (one for place in places for one in used(view, place))) if used is not None else frozenset()
    items = [item for place in found[:MOST] if (item := _item(view, place, None, request, names)) is not None]
    return _outcome(mention, items, len(found), what)


def _itself(view: GraphView, place: Place) -> Iterable[Place]:
    return [place]


def _names(view: GraphView, places: Iterable[Place]) -> frozenset[str]:
    """The names by which definitions are used: a constructor by that of its type, too."""
    out: set[str] = set()
    for place in places:
        symbol = view.symbol(place)
        if symbol is not None:
            out.add(symbol.name)
            if symbol.kind == "constructor":
                out.add(symbol.qualified.rpartition(".")[0].rpartition(".")[2])
    return frozenset(out - {""})


def _sites(view: GraphView, place: Place, names: frozenset[str]) -> tuple[int, ...]:
    """The lines of a definition's own code that use one of these names."""
    facts = view.facts(place[0])
    if facts is None:
        return ()
    lines = {use.line for name in names for owner, use in facts.uses_named(name) if owner == place[1]}
    return tuple(sorted(lines))


def _outcome(mention: Mention, items: Sequence[Item], count: int, what: str) -> MentionOutcome:
    if not items:
        return unresolved(mention, f"{argument(mention)} has no {what}, {_AS_FAR}.")
    counted = f"{count} {what.removesuffix('s') if count == 1 else what}"
    some = f"The first {len(items)} of {counted}" if count > len(items) else counted
    return included(mention, items, f"{some}, {_AS_FAR}.")


def _named(
    mention: Mention, request: Request, written: str, before: str = "", after: str = ""
) -> list[Place] | MentionOutcome:
    """The places of the definition that an argument, or a part of one, names; or why there are none.

    `before` and `after`: the rest of the argument, which candidates keep.
    """
    found = _definition(mention, request, written)
    if found.status != "included":
        return _spelled(found, mention, before, after)
    places = []
    for item in found.targets:
        entry = request.snapshot.files.get(item.path)
        symbols = entry.outline.symbols if entry is not None and entry.outline is not None else ()
        places += [(item.path, i) for i, s in enumerate(symbols) if s.qualified == item.symbol and s.span == item.span]
    return places


def _file_or_definition(mention: Mention, request: Request) -> list[Place] | MentionOutcome:
    """The place of the file that an argument names, else those of a definition."""
    written = argument(mention)
    root, path = root_and_path(request.snapshot, written)
    is_path = looks_like_path(path) or "/" in path  # programs have no ending
    if not is_path or symbol.parted(written, request)[0]:
        return _named(mention, request, written)
    found = file.resolve(replace(mention, kind="file", target=path, root=root, scope=""), request)
    if found.status == "included" and all(item.kind == "file" for item in found.targets):
        return [(item.path, -1) for item in found.targets]
    named = _named(mention, request, written)  # "Server.go" may be a method
    return _spelled(found, mention) if isinstance(named, MentionOutcome) and named.status == "unresolved" else named


def _spelled(outcome: MentionOutcome, mention: Mention, before: str = "", after: str = "") -> MentionOutcome:
    """An outcome for what an argument names as that of the whole mention."""
    word = mention.text[1:].partition(":")[0]

    def spelled(text: str) -> str:
        return spell_argument(word, before + unspelled(text) + after) or "" if text else ""

    candidates = tuple(filter(None, map(spelled, outcome.candidates)))
    return replace(outcome, mention=mention, candidates=candidates, suggestion=spelled(outcome.suggestion))


def _definition(mention: Mention, request: Request, written: str) -> MentionOutcome:
    """The definition that "Cart.total", "src/cart.py#Cart.total" or "root:src/cart.py#Cart.total" names."""

    def among(path: str, name: str) -> MentionOutcome:
        root, scope = root_and_path(request.snapshot, path)
        asked = replace(mention, kind="symbol", target=name, root=root, scope=scope)
        found = symbol.resolve(asked, request)
        return _one_thing(asked, request) or found if found.status == "ambiguous" else found

    scope, name = symbol.parted(written, request)
    found = among(scope, name)
    path, _, name = written.rpartition("#")
    if found.status == "unresolved" and not scope and (looks_like_path(path) or folders_at(request, path)):
        return among(path, name)  # in a folder without its slash; or to say that there is no such file
    return found


def _one_thing(asked: Mention, request: Request) -> MentionOutcome | None:
    """All the definitions that a name fits, if a build takes one of them; None if they are several things."""
    found = symbol.fitting(asked, request)
    if isinstance(found, MentionOutcome):
        return None
    first = request.snapshot.outline(found[0].path)
    if first is None:
        return None
    places = versions(request.snapshot, (found[0].path, first.symbols.index(found[0].symbol)))
    if not {d.path for d in found} <= {path for path, _ in places} or len({d.symbol.qualified for d in found}) > 1:
        return None
    items = (Item(d.path, d.symbol.span, d.symbol.kind, Origin.MENTION, 1.0, d.symbol.qualified) for d in found)
    return included(asked, items)


def _item(
    view: GraphView, place: Place, edge: Edge | None, request: Request, names: frozenset[str] = frozenset()
) -> Item | None:
    """A definition, or the lines around an edge's evidence where no definition stands around it; `names`: what it is
    asked for using."""
    found = view.symbol(place)
    if found is not None:
        sites = _sites(view, place, names)
        return Item(place[0], found.span, found.kind, Origin.MENTION, 1.0, found.qualified, sites=sites)
    text = request.sources.read(place[0])
    if edge is None or not isinstance(text, TextView):
        return None
    return Item(place[0], Span(max(0, edge.line - 2), min(len(text.lines), edge.line + 3)), "text", Origin.MENTION, 1.0)

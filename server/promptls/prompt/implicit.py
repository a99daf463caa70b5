"""What nobody asked for by name: regions for the question, scored and thinned out as the profile says.

retrieval → score → threshold → each thing once → diversity.  Every step leaves a reason in what it drops.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.graph.graph import GraphView
from promptls.graph.search import search
from promptls.mentions.context import Request
from promptls.model import Item, Origin, TextView
from promptls.prompt.explicit import in_view
from promptls.prompt.profile import Profile
from promptls.prompt.rank import DISTINCT, Dropped, above_threshold, by_worth, decayed, diverse
from promptls.prompt.scoring import Asked, Corpus, Region, boosted, score
from promptls.retrieval import Index, Strategy, retrieve, scanned
from promptls.retrieval.query import Query

LEAST, LEAST_PER_TOKEN = 12, 1 / 250
"""Found regions that are read, and more of them for each token of the budget."""
MOST, MOST_PER_TOKEN = 40, 1 / 60
"""Regions that are read at most, whichever is more: one seldom costs less than 60 tokens."""
ENOUGH_PER_TOKEN = 8
"""Characters of regions, for each token of the budget, after which no more are read: about twice what fits."""


class Candidates(Struct, frozen=True):
    """Regions by rank, with their texts; and what was left out on the way."""

    regions: tuple[Region, ...]
    views: dict[str, TextView]
    dropped: tuple[Dropped, ...] = ()


def regions_for(
    query: Query, asked: Sequence[Item], request: Request, index: Index, strategy: Strategy, most: int
) -> Sequence[Item]:
    """Regions for the question; those of mentioned folders and files are looked for there too and come first.

    `most` of them will be read.
    """
    snapshot, token = request.snapshot, request.token
    strategy = replace(strategy, reach=strategy.reach.for_regions(most))
    paths = {i.path for i in asked if i.kind != "folder"}
    seen = scanned(query, snapshot, index, token, paths)
    everywhere = retrieve(query, snapshot, index, strategy, token, seen=seen).items
    if not paths:
        return everywhere
    there = retrieve(query, snapshot, index, strategy, token, paths, seen).items
    known = {(i.path, i.span) for i in there}
    return [*there, *(i for i in everywhere if (i.path, i.span) not in known)]


def from_graph(view: GraphView, question: str, seeds: int, request: Request) -> list[Item]:
    """Nodes of the knowledge graph that match the question, as regions, best first."""
    out: list[Item] = []
    for hit in search(view, question, seeds, token=request.token):
        node = view.node(hit.place)
        if node is not None:
            symbol = view.symbol(hit.place)
            name = symbol.qualified if symbol is not None else ""
            out.append(Item(node.path, node.span, node.type, Origin.GRAPH, hit.score, name, {"graph": hit.score}))
    return out


def considered(profile: Profile, budget: int) -> int:
    """How many regions are read at most."""
    return profile.gathering.considered or int(max(MOST, budget * MOST_PER_TOKEN))


def best(items: Sequence[Item], request: Request, profile: Profile, budget: int) -> Candidates:
    """The first items with their texts: as many as the profile says, or as fill the budget several times over."""
    if profile.gathering.considered:
        return with_texts(items[: profile.gathering.considered], request, scored=True)
    least, enough = int(LEAST + budget * LEAST_PER_TOKEN), ENOUGH_PER_TOKEN * budget
    return with_texts(items[: considered(profile, budget)], request, scored=True, least=least, enough=enough)


def with_texts(
    items: Sequence[Item], request: Request, scored: bool = False, least: int = 0, enough: int | None = None
) -> Candidates:
    """Items with the text they are cut from; what is no longer there is dropped, what has moved is found again.

    No more than `least` items once their texts have `enough` characters.  Those that are `scored` come without what
    only formulas look at.
    """
    regions: list[Region] = []
    views: dict[str, TextView] = {}
    now = time.time()
    characters = 0
    for i, item in enumerate(items):
        if enough is not None and i >= least and characters >= enough:
            break
        view = request.sources.read(item.path)
        if isinstance(view, TextView) and (current := in_view(item, view, request)) is not None:
            views[item.path] = view
            region = Region(current, view.slice(current.span)) if scored else _region(current, view, now)
            regions.append(region)
            characters += len(region.text)
        request.token.check()
    return Candidates(tuple(regions), views)


def _region(item: Item, view: TextView, now: float) -> Region:
    entry = view.entry
    age = 0.0 if entry.version is not None else (now - entry.mtime_ns / 1e9) / 86_400 if entry.mtime_ns else None
    symbols = entry.outline.symbols if entry.outline is not None else ()
    at = next((i for i, s in enumerate(symbols) if s.qualified == item.symbol and s.span == item.span), -1)
    region = Region(item, view.slice(item.span), entry.size or len(view.text), age_days=age, file=view.lines)
    if at < 0:
        return region
    symbol = symbols[at]
    return replace(
        region,
        summary=symbol.doc or symbol.signature,
        children=sum(s.parent == at for s in symbols),
        complexity=symbol.complexity,
        exported=symbol.exported,
    )


def scored(candidates: Candidates, profile: Profile, asked: Asked, corpus: Corpus) -> Candidates:
    """The regions with the profile's scores and boosts, best first."""
    rules = profile.scoring
    regions = score(rules.formula, candidates.regions, asked, corpus, rules.cap)
    if rules.boosts:
        regions = boosted(regions, rules.boosts, asked, rules.cap, corpus)
    if rules.half_life_days:
        regions = decayed(regions, rules.half_life_days)
    return replace(candidates, regions=tuple(regions))


def above(candidates: Candidates, threshold: float, profile: Profile) -> Candidates:
    """The regions whose score is high enough, at most as many as the profile wants."""
    kept, dropped = above_threshold([r.item for r in candidates.regions], threshold, profile.scoring.relative)
    names = {(i.path, i.span, i.kind) for i in kept}
    regions = [r for r in candidates.regions if (r.item.path, r.item.span, r.item.kind) in names]
    limit = profile.scoring.limit or len(regions)
    late = [Dropped(r.item, f"after the best {limit}") for r in regions[limit:]]
    return replace(candidates, regions=tuple(regions[:limit]), dropped=(*candidates.dropped, *dropped, *late))


def without(candidates: Candidates, shown: frozenset[str]) -> Candidates:
    """The regions whose files do not stand in a section already."""
    twice = [Dropped(r.item, "it stands in the section of rules") for r in candidates.regions if r.item.path in shown]
    if not twice:
        return candidates
    kept = tuple(r for r in candidates.regions if r.item.path not in shown)
    return replace(candidates, regions=kept, dropped=(*candidates.dropped, *twice))


def distinct(candidates: Candidates, profile: Profile) -> Candidates:
    """Each thing once, in the profile's sense; then the profile's order."""
    regions, dropped = DISTINCT[profile.packing.distinct](candidates.regions)
    if profile.scoring.diversity < 1:
        regions = diverse(regions, profile.scoring.diversity, profile.scoring.alike)
    if profile.packing.thrift:
        regions = by_worth(regions, profile.packing.thrift)
    return replace(candidates, regions=tuple(regions), dropped=(*candidates.dropped, *dropped))

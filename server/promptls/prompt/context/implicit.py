"""Implicit context: items that a task or retrieval adds for the question, scored, filtered and deduplicated.

Stages: retrieval, scoring, threshold, deduplication, diversity.  Each stage gives a reason for what it drops.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.graph.node_search import search_nodes
from promptls.mentions.context import ResolveContext
from promptls.model import FileText, Item, Origin, Span
from promptls.prompt.context.explicit import locate_item
from promptls.prompt.packing.pack import PackingCandidate
from promptls.prompt.profile import Profile
from promptls.prompt.rendering.forms import item_forms, outline_definitions
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.scoring import (
    DEDUPLICATORS,
    CorpusStatistics,
    DroppedItem,
    RetrievedItem,
    ScoringQuery,
    apply_boosts,
    apply_time_decay,
    by_value_per_token,
    diversify,
    score_items,
    split_by_threshold,
)
from promptls.prompt.tasks import TaskRequest
from promptls.retrieval.places import with_places
from promptls.retrieval.query import Query
from promptls.retrieval.retrieve import retrieve, score_first_stage

MIN_ITEMS, MIN_ITEMS_PER_TOKEN = 12, 1 / 250
"""Items that are read at least: a constant, plus a number for each token of the budget."""
MAX_ITEMS, MAX_ITEMS_PER_TOKEN = 40, 1 / 60
"""Items that are read at most, the larger of both: an item seldom costs less than 60 tokens."""
CHARACTERS_PER_TOKEN = 8
"""Characters of items for each token of the budget, after which reading stops: about twice what fits."""


class Candidates(Struct, frozen=True):
    """Retrieved items by rank, the text of their files, and the items dropped so far."""

    items: tuple[RetrievedItem, ...]
    files: dict[str, FileText]  # by path
    dropped: tuple[DroppedItem, ...] = ()
    below: tuple[DroppedItem, ...] = ()  # dropped because their scores are below the threshold
    as_outlines: bool = False  # whether the prompt shows outlines instead of code, in this order


def packing_candidates(candidates: Candidates, renderer: Renderer, context: ResolveContext) -> list[PackingCandidate]:
    """Return the candidates for packing; outlines of one file are one candidate."""
    files = candidates.files
    if not candidates.as_outlines:
        return [PackingCandidate(item_forms(r.item, files[r.item.path], renderer)) for r in candidates.items]
    by_path: dict[str, list[Item]] = {}
    for retrieved in candidates.items:
        by_path.setdefault(retrieved.item.path, []).append(retrieved.item)
    count = context.graph.mention_count
    outlines = (outline_definitions(items, files[path], renderer, count) for path, items in by_path.items())
    return [PackingCandidate(outline) for outline in outlines]


def retrieve_items(query: Query, explicit: Sequence[Item], context: ResolveContext, max_items: int) -> Sequence[Item]:
    """Return ranked items for the question, those in mentioned files and folders first.

    `max_items` is the number of items that are read later.
    """
    snapshot, index, token = context.snapshot, context.index, context.token
    strategy = context.services.strategy
    strategy = replace(strategy, limits=strategy.limits.for_regions(max_items))
    paths = {item.path for item in explicit if item.kind == "file"}
    first_stage = score_first_stage(query, snapshot, index, token, paths)
    everywhere = retrieve(query, snapshot, index, strategy, token, first_stage=first_stage).items
    if not paths:
        return everywhere
    in_mentioned = retrieve(query, snapshot, index, strategy, token, paths, first_stage).items
    known = {(item.path, item.span) for item in in_mentioned}
    return [*in_mentioned, *(item for item in everywhere if (item.path, item.span) not in known)]


def add_places(items: Sequence[Item], request: TaskRequest, context: ResolveContext) -> Sequence[Item]:
    """Return the ranked items with the places of the names of the question, and of mentioned symbols."""
    symbols = [item.symbol for item in request.explicit_items if item.symbol]
    index, query = context.index, request.intent.query
    return with_places(
        items, request.question, query, symbols, context.snapshot, index.reader(), context.sources, context.token
    )


def graph_items(question: str, max_items: int, context: ResolveContext) -> list[Item]:
    """Return the nodes of the knowledge graph that match the question as items, best first."""
    graph = context.graph
    out: list[Item] = []
    for hit in search_nodes(graph, question, max_items, token=context.token):
        node = graph.node(hit.ref)
        if node is not None:
            symbol = graph.symbol(hit.ref)
            name = symbol.qualified if symbol is not None else ""
            out.append(Item(node.path, node.span, node.type, Origin.GRAPH, hit.score, name, {"graph": hit.score}))
    return out


def max_candidates(profile: Profile, budget: int) -> int:
    """Return the maximum number of items that are read."""
    return profile.gathering.max_items or int(max(MAX_ITEMS, budget * MAX_ITEMS_PER_TOKEN))


def read_top_items(items: Sequence[Item], context: ResolveContext, profile: Profile, budget: int) -> Candidates:
    """Read the text of the first items: as many as the profile sets, or as fill the budget about twice."""
    if profile.gathering.max_items:
        return read_items(items[: profile.gathering.max_items], context, scored=True)
    min_items = int(MIN_ITEMS + budget * MIN_ITEMS_PER_TOKEN)
    max_characters = CHARACTERS_PER_TOKEN * budget
    top = items[: max_candidates(profile, budget)]
    return read_items(top, context, scored=True, min_items=min_items, max_characters=max_characters)


def read_items(
    items: Sequence[Item],
    context: ResolveContext,
    scored: bool = False,
    min_items: int = 0,
    max_characters: int | None = None,
) -> Candidates:
    """Read the text of items; items that are no longer in their file are dropped, moved ones are located again.

    Stops after `max_characters` of text, but not before `min_items` items.  For `scored` items, properties that only
    formulas use are not filled in.
    """
    retrieved: list[RetrievedItem] = []
    files: dict[str, FileText] = {}
    now = time.time()
    characters = 0
    for i, item in enumerate(items):
        if max_characters is not None and i >= min_items and characters >= max_characters:
            break
        view = context.sources.read(item.path)
        if isinstance(view, FileText) and (current := locate_item(item, view, context)) is not None:
            files[item.path] = view
            text = view.slice(current.span)
            retrieved.append(RetrievedItem(current, text) if scored else _with_properties(current, view, now))
            characters += len(text)
        context.token.check()
    return Candidates(tuple(retrieved), files)


def _with_properties(item: Item, view: FileText, now: float) -> RetrievedItem:
    """Return the item with the properties that formulas use."""
    entry = view.entry
    age = 0.0 if entry.version is not None else (now - entry.mtime_ns / 1e9) / 86_400 if entry.mtime_ns else None
    symbols = entry.outline.symbols if entry.outline is not None else ()
    at = next((i for i, s in enumerate(symbols) if s.qualified == item.symbol and s.span == item.span), -1)
    size = entry.size or len(view.text)
    retrieved = RetrievedItem(item, view.slice(item.span), size, age_days=age, file_lines=view.lines)
    if at < 0:
        return retrieved
    symbol = symbols[at]
    return replace(
        retrieved,
        summary=symbol.doc or symbol.signature,
        children=sum(s.parent == at for s in symbols),
        complexity=symbol.complexity,
        exported=symbol.exported,
    )


def apply_scores(candidates: Candidates, profile: Profile, query: ScoringQuery, corpus: CorpusStatistics) -> Candidates:
    """Score the items with the profile's formula and boosts, best first."""
    constants = profile.scoring
    items = score_items(profile.formula, candidates.items, query, corpus, constants.max_score)
    if constants.boosts:
        items = apply_boosts(items, profile.boosts, query, constants.max_score, corpus)
    if constants.half_life_days:
        items = apply_time_decay(items, constants.half_life_days)
    return replace(candidates, items=tuple(items))


def apply_threshold(candidates: Candidates, threshold: float, profile: Profile) -> Candidates:
    """Drop items with a score below the threshold, and items beyond the profile's maximum number."""
    constants = profile.scoring
    passed, dropped = split_by_threshold([r.item for r in candidates.items], threshold)
    keys = {(item.path, item.span, item.kind) for item in passed}
    items = [r for r in candidates.items if (r.item.path, r.item.span, r.item.kind) in keys]
    limit = constants.max_items or len(items)
    beyond = [DroppedItem(r.item, f"after the best {limit}") for r in items[limit:]]
    return replace(candidates, items=tuple(items[:limit]), dropped=(*candidates.dropped, *dropped, *beyond))


def keep_from(candidates: Candidates, score: float) -> Candidates:
    """Keep the items of a task and the retrieved items that reach a score."""
    kept = tuple(r for r in candidates.items if r.item.origin is Origin.TASK or r.item.score >= score)
    return replace(candidates, items=kept)


def prepend(first: Candidates, candidates: Candidates) -> Candidates:
    """Put candidates before others; those of the others that are a part of them are dropped."""
    spans: dict[str, list[Span]] = {}
    for retrieved in first.items:
        spans.setdefault(retrieved.item.path, []).append(retrieved.item.span)
    kept: list[RetrievedItem] = []
    dropped: list[DroppedItem] = []
    for retrieved in candidates.items:
        item = retrieved.item
        if any(span.contains(item.span) for span in spans.get(item.path, ())):
            dropped.append(DroppedItem(item, "is part of code that the task needs"))
        else:
            kept.append(retrieved)
    files = {**candidates.files, **first.files}
    all_dropped = (*first.dropped, *candidates.dropped, *dropped)
    return replace(candidates, items=(*first.items, *kept), files=files, dropped=all_dropped)


def exclude_shown(candidates: Candidates, shown: frozenset[str]) -> Candidates:
    """Drop items of files whose whole text is in a section."""
    dropped = [DroppedItem(r.item, "already in the section of rules") for r in candidates.items if r.item.path in shown]
    if not dropped:
        return candidates
    items = tuple(r for r in candidates.items if r.item.path not in shown)
    return replace(candidates, items=items, dropped=(*candidates.dropped, *dropped))


def deduplicate(candidates: Candidates, profile: Profile) -> Candidates:
    """Drop duplicates, then apply the profile's order."""
    items, dropped = DEDUPLICATORS[profile.packing.deduplication](candidates.items)
    if profile.scoring.mmr_lambda < 1:
        items = diversify(items, profile.scoring.mmr_lambda, profile.scoring.similarity)
    if profile.packing.token_cost_exponent:
        items = by_value_per_token(items, profile.packing.token_cost_exponent)
    return replace(candidates, items=tuple(items), dropped=(*candidates.dropped, *dropped))

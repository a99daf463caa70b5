"""The pipeline, top to bottom: a message and a snapshot become a prompt within its budget.

mentions → intent → retrieval → threshold → copies → pack → assemble.  Each stage takes values and gives
values, and leaves its counts and milliseconds in the trace.  Explicit context goes before anything that
was found.  Synchronous; the token is looked at between stages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from promptls.context.mentions.grammar import strip
from promptls.context.mentions.request import Request
from promptls.context.mentions.resolve import items as items_of
from promptls.context.mentions.resolve import resolve_all
from promptls.context.query import Query
from promptls.context.retrieval import Index, Weights, retrieve
from promptls.model import Item, MentionOutcome, MentionStatus, Origin, Problem, Span, TextView
from promptls.prompt import assemble as assembling
from promptls.prompt.assemble import Assembled, Placed, assemble
from promptls.prompt.intent import Intent, understand
from promptls.prompt.pack import ALREADY_INCLUDED, Choice, Omitted, pack
from promptls.prompt.rank import above_threshold, first_of_each_text
from promptls.prompt.render import Renderer, forms
from promptls.prompt.tokens import Counter

WEIGHTS = Weights()
VARIANTS = assembling.VARIANTS

CONSIDERED = 40
"""Found regions that are looked at, whatever the budget …"""
CONSIDERED_PER_TOKEN = 1 / 60
"""… and more for larger budgets: a region seldom costs less than 60 tokens."""
INSIDE = 12
"""Definitions of a mentioned file that may stand for it when it does not fit."""
FOLDER_FILES = 40
"""Files of a mentioned folder whose outlines are listed."""
OMITTED = 50
"""Left-out regions that are told."""


class Wanted(Struct, frozen=True):
    """What a request asks for beside the message."""

    budget: int  # tokens
    counter: Counter
    variant: str = "baseline"
    output: str = "text"
    retrieval: bool = True
    threshold: float = 0.0
    completeness: float = 1.0  # share of the index that is there
    warnings: tuple[str, ...] = ()


class Stage(Struct, frozen=True):
    """One step of the pipeline, as it went."""

    name: str
    taken: int
    given: int
    ms: float


class Built(Struct, frozen=True):
    """A prompt and how it came about."""

    assembled: Assembled
    omitted: tuple[Omitted, ...]  # at most OMITTED of them
    dropped: int  # how many the budget left out
    mentions: tuple[MentionOutcome, ...]
    intent: Intent
    stages: tuple[Stage, ...]
    line: str
    warnings: tuple[str, ...]


class _Clock:
    """Collects the stages."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, taken: int) -> Iterator[list[int]]:
        """Time a stage; it puts the number of what it gives into the list."""
        start, given = time.perf_counter(), [0]
        yield given
        self.stages.append(Stage(name, taken, given[-1], round((time.perf_counter() - start) * 1000, 2)))


def build(message: str, wanted: Wanted, request: Request, index: Index, pool: ThreadPoolExecutor) -> Built:
    """The prompt for a message.  Raises Cancelled, and BudgetTooSmall if the message alone does not fit."""
    clock, token, snapshot = _Clock(), request.token, request.snapshot
    renderer = Renderer(wanted.counter, snapshot.label, citations=wanted.variant == "citation")

    with clock.stage("mentions", 0) as given:
        outcomes = resolve_all(message, request)
        asked = [*items_of(outcomes), *_selected(message, request)]
        given.append(len(asked))
    token.check()

    question = strip(message, [o.mention for o in outcomes])
    intent = understand(message, question)
    found: Sequence[Item] = ()
    with clock.stage("retrieval", 0) as given:
        if intent.codebase and wanted.retrieval:
            found = _retrieve(intent.query, asked, request, index, pool)
        given.append(len(found))
    token.check()

    with clock.stage("threshold", len(found)) as given:
        ranked, weak = above_threshold(found, wanted.threshold)
        given.append(len(ranked))

    considered = ranked[: int(CONSIDERED + wanted.budget * CONSIDERED_PER_TOKEN)]
    with clock.stage("dedup", len(considered)) as given:
        readable = _with_texts(considered, request)
        distinct, copies = first_of_each_text([i for i, _ in readable], [v.slice(i.span) for i, v in readable])
        given.append(len(distinct))
    token.check()

    with clock.stage("budget", len(asked) + len(distinct)) as given:
        frame = assembling.frame_tokens(message, wanted.variant, wanted.output, wanted.counter)
        explicit, problems = _explicit(asked, found, request, renderer)
        views = {(i.path, i.span): v for i, v in readable}
        implicit = [Choice(forms(item, views[item.path, item.span], renderer)) for item in distinct]
        packed = pack(explicit, implicit, wanted.budget - frame)
        given.append(len(packed.kept))
    token.check()

    with clock.stage("assemble", len(packed.kept)) as given:
        assembled = assemble(
            message,
            packed,
            variant=wanted.variant,
            output=wanted.output,
            budget=wanted.budget,
            renderer=renderer,
            complete=wanted.completeness,
        )
        given.append(len(assembled.items))
    left_out = _left_out(assembled)
    return Built(
        assembled,
        (*left_out, *(Omitted(d.item, d.reason, 0) for d in [*copies, *weak]))[:OMITTED],
        len(left_out),
        tuple(_outcome(o, outcomes, assembled, problems) for o in outcomes),
        intent,
        tuple(clock.stages),
        _line(clock.stages, assembled.used),
        (*wanted.warnings, *assembled.warnings),
    )


def mentions_of(message: str, request: Request, budget: int, counter: Counter) -> tuple[MentionOutcome, ...]:
    """What would become of a message's mentions: `build` without retrieval and without a prompt."""
    wanted = Wanted(budget=max(budget, 4 * len(message) + 200), counter=counter, retrieval=False)
    return _dry(message, wanted, request)


def _dry(message: str, wanted: Wanted, request: Request) -> tuple[MentionOutcome, ...]:
    renderer = Renderer(wanted.counter, request.snapshot.label)
    outcomes = resolve_all(message, request)
    explicit, problems = _explicit(items_of(outcomes), (), request, renderer)
    frame = assembling.frame_tokens(message, wanted.variant, wanted.output, wanted.counter)
    packed = pack(explicit, (), wanted.budget - frame)
    assembled = assemble(message, packed, budget=wanted.budget, renderer=renderer)
    return tuple(_outcome(o, outcomes, assembled, problems) for o in outcomes)


# ---- what was asked for


_HERE = re.compile(r"\b(?:this|current|active) (?:file|document|module|buffer|class|function)\b|\bhere\b", re.I)


def _selected(message: str, request: Request) -> list[Item]:
    """The selection, or the active document if the message points at it."""
    client = request.client
    if client.selection is not None and client.selection[0] in request.snapshot.files:
        path, span = client.selection
        return [_named(Item(path, span, "text", Origin.SELECTION, 1.0), request)]
    if client.active in request.snapshot.files and _HERE.search(message):
        return [Item(client.active, Span(0, 1 << 30), "file", Origin.ACTIVE, 1.0)]
    return []


def _named(item: Item, request: Request) -> Item:
    """The item with the name of the innermost definition around it."""
    entry = request.snapshot.files.get(item.path)
    around = [s for s in (entry.outline.symbols if entry and entry.outline else ()) if s.span.contains(item.span)]
    if not around:
        return item
    innermost = min(around, key=lambda s: len(s.span))
    return replace(item, symbol=innermost.qualified, kind=innermost.kind if innermost.span == item.span else item.kind)


def _explicit(
    asked: Sequence[Item], found: Sequence[Item], request: Request, renderer: Renderer
) -> tuple[list[Choice], dict[tuple[str, Span], str]]:
    """Choices for what was asked for, in order, and why some of it cannot be shown.

    A folder stands for itself (its outline); its files are asked for only through it, so they compete
    with what was found.
    """
    choices: list[Choice] = []
    problems: dict[tuple[str, Span], str] = {}
    folders = {i.path: i.mention for i in asked if i.kind == "folder"}
    for item in asked:
        request.token.check()
        if item.kind == "folder":
            files = _files_under(item.path, asked, found)
            views = [v for p in files if isinstance(v := request.sources.read(p), TextView)]
            choices.append(Choice(forms(item, views, renderer)))
            continue
        if any(item.mention == m and item.path.startswith(f + "/") for f, m in folders.items()):
            continue
        view = request.sources.read(item.path, explicit=True)
        if isinstance(view, Problem):
            problems[item.path, item.span] = view.message
            continue
        inside = [i for i in found if i.path == item.path and item.span.contains(i.span)][:INSIDE]
        kept = [_in_view(i, view, request) for i in inside]
        choices.append(Choice(forms(item, view, renderer), tuple(forms(i, view, renderer) for i in kept if i)))
    return choices, problems


def _files_under(folder: str, asked: Sequence[Item], found: Sequence[Item]) -> list[str]:
    """Files of a folder: those with the best regions first, then in the order of the mention."""
    inside = [i.path for i in (*found, *asked) if i.kind != "folder" and i.path.startswith(folder + "/")]
    return list(dict.fromkeys(inside))[:FOLDER_FILES]


# ---- what was found


def _retrieve(
    query: Query, asked: Sequence[Item], request: Request, index: Index, pool: ThreadPoolExecutor
) -> Sequence[Item]:
    """Regions for the question; those of mentioned folders and files are looked for there too and come first."""
    snapshot, token = request.snapshot, request.token
    everywhere = retrieve(query, snapshot, index, WEIGHTS, pool, token).items
    within = {i.path for i in asked if i.kind != "folder"}
    if not within:
        return everywhere
    there = retrieve(query, snapshot, index, WEIGHTS, pool, token, within).items
    known = {(i.path, i.span) for i in there}
    return [*there, *(i for i in everywhere if (i.path, i.span) not in known)]


def _with_texts(items: Sequence[Item], request: Request) -> list[tuple[Item, TextView]]:
    """Items with the text they are cut from; what is no longer there is dropped, what has moved is found again."""
    out: list[tuple[Item, TextView]] = []
    for item in items:
        view = request.sources.read(item.path)
        if isinstance(view, TextView) and (current := _in_view(item, view, request)) is not None:
            out.append((current, view))
        request.token.check()
    return out


def _in_view(item: Item, view: TextView, request: Request) -> Item | None:
    """The item in the text as it is now: the definition of the same name if the file has changed."""
    entry = request.snapshot.files.get(item.path)
    if entry is not None and entry.digest == view.entry.digest:
        return item
    outline = view.entry.outline
    same = [s for s in outline.symbols if s.qualified == item.symbol] if outline and item.symbol else []
    return replace(item, span=same[0].span) if same else None


# ---- what is told


def _left_out(assembled: Assembled) -> tuple[Omitted, ...]:
    """What the budget left out; what is in the prompt as a part of something else is not."""
    return tuple(o for o in assembled.omitted if o.reason != ALREADY_INCLUDED)


def _outcome(
    outcome: MentionOutcome,
    outcomes: Sequence[MentionOutcome],
    assembled: Assembled,
    problems: dict[tuple[str, Span], str],
) -> MentionOutcome:
    """A mention's outcome with what became of its targets in the prompt."""
    if outcome.status not in ("included", "partial") or not outcome.targets:
        return outcome
    folder = next((t for t in outcome.targets if t.kind == "folder"), None)
    targets = [folder] if folder is not None else list(outcome.targets)
    placed = [p for p in assembled.items if any(_same(t, s) for t in targets for s in p.sources)]
    shown = [t for t in targets if any(_same(t, s) for p in placed for s in p.sources)]
    missing = [problems[t.path, t.span] for t in targets if (t.path, t.span) in problems]
    reason = outcome.reason
    status: MentionStatus = "included"
    if not shown:
        status = "omitted"
        reason = missing[0] if missing else "The budget leaves no room for it."
    elif len(shown) < len(targets) or any(_reduced(p) for p in placed):
        status = "partial"
        what = sorted({p.block.form for p in placed if _reduced(p)})
        why = (
            f"The budget allows {' and '.join(_FORM_WORDS[f] for f in what)}."
            if what
            else "Not all of it could be shown."
        )
        reason = f"{reason} {why}".strip()
    return replace(outcome, status=status, reason=reason, tokens=sum(p.block.tokens for p in placed))


_FORM_WORDS = {
    "partial": "a part of it",
    "signature": "its signature",
    "outline": "an outline of it",
    "reference": "a reference to it",
    "full": "all of it",
}


def _same(a: Item, b: Item) -> bool:
    return (a.path, a.span, a.kind) == (b.path, b.span, b.kind)


def _reduced(placed: Placed) -> bool:
    folder = placed.sources[0].kind == "folder"
    return placed.block.form != "full" and not (folder and placed.block.form == "outline")


def _line(stages: Sequence[Stage], used: int) -> str:
    """ "20 → 18 (threshold) → 15 (dedup) → 8 (budget), 7,234 tokens" """
    by_name = {s.name: s for s in stages}
    steps = [str(by_name["retrieval"].given)]
    steps += [f"{by_name[name].given} ({name})" for name in ("threshold", "dedup", "budget")]
    return f"{' → '.join(steps)}, {used:,} tokens"

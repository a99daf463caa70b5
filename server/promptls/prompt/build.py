"""The pipeline, top to bottom: a message and a snapshot become a prompt within its budget.

mentions → intent → retrieval → threshold → each thing once → sections → pack → assemble.  Each stage takes
values and gives values, and leaves its counts and milliseconds in the trace; the profile says which stages
and which constants.  Explicit context goes before anything that was found.  Synchronous; the token is looked
at between stages.
"""

from __future__ import annotations

import time
from collections import Counter as Counts
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import Request
from promptls.mentions.grammar import strip
from promptls.mentions.resolve import items as items_of
from promptls.mentions.resolve import resolve_all
from promptls.model import Item, MentionOutcome
from promptls.prompt import assemble as assembling
from promptls.prompt import explicit as asking
from promptls.prompt import implicit as finding
from promptls.prompt.assemble import Assembled, Placed, assemble
from promptls.prompt.history import choose
from promptls.prompt.implicit import Candidates
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import QUOTING, Facts, Message, Section
from promptls.prompt.pack import ALREADY_INCLUDED, Choice, Omitted, Packed, pack
from promptls.prompt.profile import Profile, profile
from promptls.prompt.query_understanding import Understood, understood
from promptls.prompt.rank import above_threshold
from promptls.prompt.render import Renderer, forms
from promptls.prompt.sanitize import about_message, redact
from promptls.prompt.scoring import Corpus
from promptls.prompt.sections import gather
from promptls.prompt.services import Surroundings
from promptls.prompt.tokens import Counter

OMITTED = 50
"""Left-out regions that are told."""

HISTORY_SHARE = 0.25
"""Of what the message and the sections leave, for earlier turns."""


class Wanted(Struct, frozen=True):
    """What a request asks for beside the message."""

    budget: int  # tokens
    counter: Counter
    profile: Profile = profile("default")
    variant: str = "baseline"
    output: str = "text"
    task: str = ""  # text of a recipe
    brings: tuple[str, ...] = ()  # mentions of a recipe, resolved as if they stood in the message
    history: tuple[Message, ...] = ()
    switched: tuple[tuple[str, bool], ...] = ()  # sections, and "retrieval", that are on or off for this request
    threshold: float | None = None  # None: the profile's
    completeness: float = 1.0  # share of the index that is there
    warnings: tuple[str, ...] = ()

    def wants(self, section: str) -> bool:
        """Whether a section may be in the prompt."""
        return dict(self.switched).get(section, True)


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


def build(message: str, wanted: Wanted, request: Request, around: Surroundings) -> Built:
    """The prompt for a message.  Raises Cancelled, and BudgetTooSmall if the message alone does not fit."""
    clock, token, counter = _Clock(), request.token, wanted.counter
    renderer = Renderer(counter, request.snapshot.label, citations=wanted.variant == "citation")

    with clock.stage("mentions", 0) as given:
        outcomes = resolve_all(message, request)
        in_front, gone = asking.in_front(message, request)
        brought, missing = asking.brought(wanted.brings, request, len(outcomes))
        asked = [*items_of(outcomes), *in_front, *brought]
        mentioned = {o.mention.kind for o in outcomes if o.targets}  # what is asked for does not come twice
        given.append(len(asked))
    token.check()

    with clock.stage("intent", 0) as given:
        question = strip(message, [o.mention for o in outcomes])
        taken = understood(message, question, wanted.profile, request, around)
        intent = taken.intent
        given.append(len(intent.query.terms))

    candidates, ranked = _found(taken, question, asked, wanted, request, around, clock)

    with clock.stage("sections", 0) as given:
        files = [*(i.path for i in asked), request.client.active, *(r.item.path for r in candidates.regions)]
        gathered = gather(
            wanted.profile,
            intent,
            files,
            lambda section: wanted.wants(section) and section not in mentioned,
            wanted.budget,
            counter,
            request,
            around,
            frozenset(i.path for i in asking.alone(asked) if i.kind == "file"),
            not candidates.regions and not asked,
        )
        candidates = finding.without(candidates, gathered.shown)
        sections = (*gathered.sections, *([Section("task", wanted.task, "task")] if wanted.task else []))
        facts = Facts(intent.types, intent.action, wanted.budget)
        frame = _frame(message, wanted, sections, (), facts)
        earlier, hidden = _without_secrets(() if "history" in mentioned else wanted.history)
        quoted = wanted.profile.layout in QUOTING
        turns = choose(earlier, int(HISTORY_SHARE * max(0, wanted.budget - frame)), counter, {}, quoted)
        frame = _frame(message, wanted, sections, turns.turns, facts)
        given.append(len(sections))
    token.check()

    with clock.stage("budget", len(asked) + len(candidates.regions)) as given:
        explicit, problems = asking.choices(asked, ranked, request, renderer)
        implicit = [Choice(forms(r.item, candidates.views[r.item.path], renderer)) for r in candidates.regions]
        rules = wanted.profile.packing
        packed = pack(
            explicit,
            implicit,
            wanted.budget - frame,
            mode=rules.mode,
            keep_top=rules.keep_top,
            order=rules.order,
            found_share=rules.found_share,
            reserved=rules.reserved,
        )
        # Only now it is known what older copies are of; the room that they leave is for turns before them.
        lighter = choose(earlier, turns.tokens, counter, _shown(packed, renderer), quoted)
        turns = lighter if lighter.superseded > turns.superseded else turns
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
            sections=sections,
            history=turns.turns,
            layout=wanted.profile.layout,
            facts=Facts(facts.types, facts.action, facts.budget, len(_left_out(packed.omitted))),
            complete=wanted.completeness,
        )
        given.append(len(assembled.items))
    left_out = _left_out(assembled.omitted)
    return Built(
        assembled,
        (*left_out, *(Omitted(d.item, d.reason, 0) for d in candidates.dropped[:OMITTED]))[:OMITTED],
        len(left_out),
        tuple(asking.outcome_of(o, assembled, problems) for o in outcomes),
        intent,
        tuple(clock.stages),
        trace_line(clock.stages, assembled.used),
        (
            *wanted.warnings,
            *about_message(message),
            *gone,
            *missing,
            *hidden,
            *taken.warnings,
            *gathered.warnings,
            *assembled.warnings,
        ),
    )


def _without_secrets(turns: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Earlier turns with secrets redacted, and a sentence about them; the question itself is never rewritten."""
    cleaned = [(turn.role, *redact(turn.content)) for turn in turns]
    names = Counts(finding.name for _, _, findings in cleaned for finding in findings)
    told = ", ".join(f"{n} x {name}" for name, n in sorted(names.items()))
    said = (f"redacted in earlier turns: {told}",) if told else ()
    return tuple(Message(role, text) for role, text, _ in cleaned), said


def _found(
    taken: Understood,
    question: str,
    asked: Sequence[Item],
    wanted: Wanted,
    request: Request,
    around: Surroundings,
    clock: _Clock,
) -> tuple[Candidates, Sequence[Item]]:
    """Regions that nobody asked for, and all that were found before anything was left out."""
    profile_, token = wanted.profile, request.token
    most = finding.considered(profile_, wanted.budget)
    found: Sequence[Item] = ()
    with clock.stage("retrieval", 0) as given:
        if taken.intent.codebase and wanted.wants("retrieval") and (profile_.gathering.beside_mentions or not asked):
            if profile_.gathering.source == "graph":
                found = finding.from_graph(around.graph(request), question, profile_.gathering.considered, request)
            else:
                query, strategy = taken.intent.query, around.strategy
                found = finding.regions_for(query, asked, request, around.index, strategy, most)
        given.append(len(found))
    token.check()

    threshold = profile_.scoring.threshold if wanted.threshold is None else wanted.threshold
    if profile_.scoring.formula == "legs":  # scored already: only what is good enough is read
        with clock.stage("threshold", len(found)) as given:
            good, late = above_threshold(found, threshold, profile_.scoring.relative)
            read = finding.best(good, request, profile_, wanted.budget)
            given.append(len(good))
        with clock.stage("dedup", len(read.regions)) as given:
            candidates = finding.distinct(read, profile_)
            candidates = Candidates(candidates.regions, candidates.views, (*candidates.dropped, *late))
            given.append(len(candidates.regions))
    else:
        with clock.stage("threshold", min(most, len(found))) as given:
            columns = around.index.columns()
            corpus = Corpus(max(1, columns.count), columns.frequency)
            candidates = finding.with_texts(found[:most], request)
            candidates = finding.scored(candidates, profile_, taken.asked, corpus)
            candidates = finding.above(candidates, threshold, profile_)
            given.append(len(candidates.regions))
        with clock.stage("dedup", len(candidates.regions)) as given:
            candidates = finding.distinct(candidates, profile_)
            given.append(len(candidates.regions))
    token.check()
    return candidates, found


def _frame(message: str, wanted: Wanted, sections: Sequence[Section], turns: Sequence[Message], facts: Facts) -> int:
    """Tokens of the prompt without blocks."""
    return assembling.frame_tokens(
        message, wanted.variant, wanted.output, wanted.counter, sections, turns, wanted.profile.layout, facts
    )


class DryRun(Struct, frozen=True):
    """A message with what its mentions bring, and nothing that was found."""

    message: str
    resolved: tuple[MentionOutcome, ...]  # as the resolvers gave them
    mentions: tuple[MentionOutcome, ...]  # as they stand in the prompt
    items: tuple[Placed, ...]
    used: int  # tokens of message and mentions


def dry_run(message: str, request: Request, budget: int, counter: Counter, before: DryRun | None = None) -> DryRun:
    """What would become of a message's mentions: `build` without retrieval and without sections.

    `before` is the run for an earlier text of the same message on the same snapshot: where other words around the
    same mentions are all that has changed, nothing is packed again.
    """
    budget = max(budget, 4 * len(message) + 200)
    outcomes = resolve_all(message, request)
    if before is not None and [_meaning(o) for o in outcomes] == [_meaning(o) for o in before.resolved]:
        moved = [replace(now, mention=o.mention) for now, o in zip(before.mentions, outcomes, strict=True)]
        used = before.used + counter.count(message) - counter.count(before.message)
        return DryRun(message, outcomes, tuple(moved), before.items, used)
    renderer = Renderer(counter, request.snapshot.label)
    explicit, problems = asking.choices(items_of(outcomes), (), request, renderer)
    packed = pack(explicit, [], budget - assembling.frame_tokens(message, "baseline", "text", counter))
    assembled = assemble(message, packed, budget=budget, renderer=renderer)
    mentions = tuple(asking.outcome_of(o, assembled, problems) for o in outcomes)
    return DryRun(message, outcomes, mentions, assembled.items, assembled.used)


def _meaning(outcome: MentionOutcome) -> MentionOutcome:
    """An outcome wherever its mention stands."""
    return replace(outcome, mention=replace(outcome.mention, start=0, end=0))


def _shown(packed: Packed, renderer: Renderer) -> dict[str, str]:
    """What the blocks show of each file, by its path as the prompt shows it."""
    texts: dict[str, list[str]] = {}
    for kept in packed.kept:
        if kept.block.spans:
            texts.setdefault(renderer.label(kept.block.item.path), []).append(kept.block.body)
    return {path: "\n".join(bodies) for path, bodies in texts.items()}


def _left_out(omitted: Sequence[Omitted]) -> tuple[Omitted, ...]:
    """What the budget left out; what is in the prompt as a part of something else is not."""
    return tuple(o for o in omitted if o.reason != ALREADY_INCLUDED)


def trace_line(stages: Sequence[Stage], used: int) -> str:
    """ "20 → 18 (threshold) → 15 (dedup) → 8 (budget), 7,234 tokens" """
    by_name = {s.name: s for s in stages}
    first = by_name["retrieval"].given
    considered = by_name["threshold"].taken
    steps = [str(min(first, considered) if considered else first)]
    steps += [f"{by_name[name].given} ({name})" for name in ("threshold", "dedup", "budget")]
    return f"{' → '.join(steps)}, {used:,} tokens"

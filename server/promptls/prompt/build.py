"""The prompt pipeline: builds a prompt within its budget from a message and a snapshot.

mentions → intent → gathering (task, retrieval, threshold, deduplication, selection) → sections → packing → map → assembly.
Stages exchange frozen values, and each adds its counts and its duration to the trace.  The profile selects how code is
gathered, and the constants.
Explicit context has priority over the items of a task, and these over retrieved items.  Synchronous; cancellation is
checked between stages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.lookalikes import text_warnings
from promptls.mentions.registry import registry
from promptls.mentions.resolve import (
    ParsedMessage,
    Resolution,
    collect_items,
    many_mentions_warning,
    parse_message,
    resolve_message,
)
from promptls.model import Item, MentionOutcome, Span
from promptls.prompt.assemble import AssembledPrompt, BudgetTooSmall, assemble, frame_tokens
from promptls.prompt.context import explicit, implicit, team_context
from promptls.prompt.context.gather import MIN_MAP_TOKENS, Gathered, gather, without_dropped
from promptls.prompt.context.history import redact_turns, select_turns
from promptls.prompt.context.query_understanding import understand_query
from promptls.prompt.context.selection import SelectionReport
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Layout, Message, PromptMetadata, Section, message_only_layout
from promptls.prompt.options import PromptOptions
from promptls.prompt.packing.pack import ALREADY_INCLUDED, OmittedItem, PackingCandidate, PackResult, pack
from promptls.prompt.region_list import list_regions
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.rendering.spans import subtract_spans
from promptls.prompt.sanitize import message_warnings
from promptls.prompt.scoring import DroppedItem
from promptls.prompt.sections import GatheredSections, gather_sections
from promptls.prompt.tasks import TaskRequest
from promptls.prompt.tasks.long_log import contains_log, shorten_log
from promptls.prompt.tasks.overview import is_about_project
from promptls.prompt.tokens import Counter
from promptls.retrieval.query import Query
from promptls.util.text.display import percentage, plural

MAX_OMITTED = 50
"""Maximum number of omitted items in a result."""

HISTORY_SHARE = 0.25
"""Share of earlier turns in the tokens that the message and the sections leave."""

SAFETY_TOKENS = 64
"""Maximum difference between the tokens of a message alone and those in a prompt."""
MAX_ANALYZED_CHARACTERS = 100_000
"""Maximum number of characters of a question that are analyzed and searched for, about 0.5 s; the prompt has all."""
MAP_FRAME_TOKENS = 60
"""Tokens of the fence and the introduction of this list."""
FILLED_TOKENS = 4_000
"""Budget up to which it is filled; of a larger one, the share `fill` of the profile is used as well."""
MESSAGE_SHARE = 0.5
"""Share of the budget above which the log in a message is shortened."""


class TraceStage(Struct, frozen=True):
    """Counts and duration of one stage of the pipeline."""

    name: str
    input_count: int
    output_count: int
    ms: float


class BuildResult(Struct, frozen=True):
    """A prompt, and how it was built."""

    assembled: AssembledPrompt
    omitted: tuple[OmittedItem, ...]  # at most MAX_OMITTED
    dropped_count: int  # number of items that the budget left out
    mentions: tuple[MentionOutcome, ...]
    intent: Intent
    selection: SelectionReport | None  # of the language model that chose the code
    stages: tuple[TraceStage, ...]
    trace_line: str
    warnings: tuple[str, ...]

    @property
    def was_truncated(self) -> bool:
        """True if an item is left out, or a mention is only partly shown."""
        return self.dropped_count > 0 or any(outcome.status == "partial" for outcome in self.mentions)


class _Trace:
    """Collects the stages of one build."""

    def __init__(self) -> None:
        self.stages: list[TraceStage] = []

    @contextmanager
    def stage(self, name: str, input_count: int) -> Iterator[list[int]]:
        """Time a stage; the stage appends its output count to the list."""
        start, counts = time.perf_counter(), [0]
        yield counts
        duration = round((time.perf_counter() - start) * 1000, 2)
        self.stages.append(TraceStage(name, input_count, counts[-1], duration))


class _Frame(Struct, frozen=True):
    """A prompt without code and earlier turns."""

    message: str
    options: PromptOptions
    layout: Layout
    sections: Sequence[Section]
    metadata: PromptMetadata

    def tokens(self, turns: Sequence[Message]) -> int:
        """Return the tokens of the frame with some earlier turns."""
        o = self.options
        return frame_tokens(
            self.message, o.variant, o.output, o.counter, self.sections, turns, self.layout, self.metadata
        )


def build(
    parsed: ParsedMessage, options: PromptOptions, context: ResolveContext, resolution: Resolution | None = None
) -> BuildResult:
    """Build the prompt for a parsed message; `resolution` has the outcomes of its mentions if they are known.

    Raises:
        Cancelled: the request was cancelled.
        BudgetTooSmall: the message alone exceeds the budget.
    """
    trace, token = _Trace(), context.token
    message, log_warnings = fit_message(parsed.text, options.budget, options.counter)
    _check_size(message, options)  # most of the time would be spent in vain

    with trace.stage("mentions", 0) as count:
        resolution = resolution or resolve_message(parsed, context)
        outcomes = resolution.outcomes
        active_items, active_warnings = explicit.active_context(message, context)
        recipe_items, recipe_warnings = explicit.recipe_items(options.recipe_mentions, context, len(outcomes))
        pinned = explicit.pinned_items(options.pinned, context)
        mentioned = [*pinned, *collect_items(outcomes), *active_items, *recipe_items]
        mentioned = [item for item in mentioned if not explicit.is_dropped(item, options.dropped)]
        mentioned_kinds = {o.mention.kind for o in outcomes if o.targets}
        count.append(len(mentioned))
    token.check()

    with trace.stage("intent", 0) as count:
        question = resolution.question if message == parsed.text else parse_message(message, context).question
        question = analyzed_text(question)
        understanding = understand_query(analyzed_text(message), question, options, context)
        intent = understanding.intent
        count.append(len(intent.query.terms))
        pending_team = team_context.start(understanding, options, context)

    request = TaskRequest(
        parsed.text,
        question,
        intent,
        outcomes,
        mentioned,
        options.recipe,
        options.history,
        context,
        is_about_project(question, outcomes, mentioned, context),
    )
    gathered = gather(request, message, understanding, options, trace.stage)
    if options.dropped:
        gathered = without_dropped(gathered, options.dropped)
    team = team_context.finish(pending_team, gathered.candidates, context)

    with trace.stage("sections", 0) as count:
        sections = _sections(gathered, request, mentioned_kinds, options)
        candidates = implicit.exclude_shown(gathered.candidates, sections.shown)
        unresolved = explicit.unresolved_mentions(outcomes)
        frame = _Frame(
            message,
            options,
            message_only_layout if gathered.message_only else options.profile.layout,
            () if gathered.message_only else sections.sections,
            PromptMetadata(
                intent.types, intent.action, options.budget, unresolved=unresolved, notice=_absent_notice(gathered)
            ),
        )
        history, history_warnings = redact_turns(() if "history" in mentioned_kinds else options.history)
        left = options.budget - frame.tokens(())
        max_history = int(HISTORY_SHARE * max(0, left))
        turns = select_turns(history, max_history, options.counter, options.profile.hooks.quotes_history)
        if turns.turns:
            left = options.budget - frame.tokens(turns.turns)
        count.append(len(frame.sections))
    token.check()

    with trace.stage("budget", len(mentioned) + len(candidates.items)) as count:
        renderer = _renderer(options, context)
        explicit_candidates, unreadable = explicit.packing_candidates(mentioned, gathered.retrieved, context, renderer)
        implicit_candidates = implicit.packing_candidates(candidates, renderer, context)
        map_tokens = gathered.map_tokens if candidates.items or gathered.absent else 0
        reserve = 0 if mentioned else map_tokens  # what is mentioned is not cut for the map
        pack_local = _packing(explicit_candidates, implicit_candidates, options)
        first_rank = len(explicit_candidates) + len(implicit_candidates)
        packed = team_context.pack_with_team(pack_local, team, left - reserve, first_rank, renderer)
        count.append(len(packed.items))
    token.check()

    with trace.stage("map", len(gathered.retrieved)) as count:
        map_tokens = min(left - packed.tokens, map_tokens)
        region_map = _region_map(gathered.retrieved, packed, intent.query, map_tokens, options.counter, context)
        count.append(region_map.count("\n"))
    token.check()

    with trace.stage("assemble", len(packed.items)) as count:
        assembled = assemble(
            message,
            packed,
            variant=options.variant,
            output=options.output,
            budget=options.budget,
            renderer=renderer,
            sections=frame.sections,
            history=turns.turns,
            layout=frame.layout,
            metadata=replace(frame.metadata, omitted_count=len(_over_budget(packed.omitted))),
            empty_text=_nothing_relevant(gathered, options),
            map_text=region_map,
            index_completeness=options.index_completeness,
            boundary_key=options.boundary_key,
        )
        count.append(len(assembled.items))
    omitted = _over_budget(assembled.omitted)
    below = _not_shown(candidates.below, packed)
    dropped = (OmittedItem(d.item, d.reason, 0) for d in (*candidates.dropped, *below)[:MAX_OMITTED])
    return BuildResult(
        assembled,
        (*omitted, *dropped)[:MAX_OMITTED],
        len(omitted),
        tuple(
            explicit.final_outcome(outcome, assembled, unreadable, explicit_candidates, options.dropped)
            for outcome in outcomes
        ),
        intent,
        gathered.selection.report,
        tuple(trace.stages),
        trace_line(trace.stages, assembled.tokens_used, max((d.item.score for d in below), default=None)),
        (
            *options.warnings,
            *(problem.message for problem in registry().problems),
            *log_warnings,
            *message_warnings(message),
            *many_mentions_warning(parsed),
            *text_warnings(resolution.texts),
            *active_warnings,
            *recipe_warnings,
            *history_warnings,
            *understanding.warnings,
            *gathered.selection.warnings,
            *team.warnings,
            *sections.warnings,
            *assembled.warnings,
        ),
    )


def analyzed_text(text: str) -> str:
    """Return the start and the end of a very long text: a question is before or after the content that it is about."""
    if len(text) <= MAX_ANALYZED_CHARACTERS:
        return text
    half = MAX_ANALYZED_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def fit_message(message: str, budget: int, counter: Counter) -> tuple[str, tuple[str, ...]]:
    """Return a message with its log shortened to the message's share of the budget, and a warning if it was."""
    max_tokens = int(MESSAGE_SHARE * budget)
    if counter.count(message) <= max_tokens or not contains_log(message):
        return message, ()
    shortened, warning = shorten_log(message, max_tokens, counter)
    return shortened, (warning,) if warning else ()


def _check_size(message: str, options: PromptOptions) -> None:
    """Raise `BudgetTooSmall` for a message that alone exceeds the budget."""
    tokens = options.counter.count(message)
    if tokens > options.budget + SAFETY_TOKENS:
        layout = options.profile.layout
        frame = frame_tokens(message, options.variant, options.output, options.counter, layout=layout)
        raise BudgetTooSmall(max(frame, tokens), options.budget)  # a context has no message


def _sections(
    gathered: Gathered, request: TaskRequest, mentioned_kinds: Set[str], options: PromptOptions
) -> GatheredSections:
    """Return the sections of the prompt, the task of the recipe included."""
    context, mentioned = request.context, request.explicit_items
    paths = [item.path for item in mentioned]
    sections = gather_sections(
        options,
        request.intent,
        [*paths, context.client.active_document, *(r.item.path for r in gathered.candidates.items)],
        context,
        exclude=mentioned_kinds.__contains__,  # a mentioned section does not appear twice
        full_files=frozenset(i.path for i in explicit.top_level_items(mentioned) if i.kind == "file"),
        tasks=gathered.instructions,
        retrieval_empty=gathered.needs_overview,
        about_project=request.about_project,
    )
    task = (Section("task", options.task, "task"),) if options.task else ()
    return replace(sections, sections=(*sections.sections, *task))


def _renderer(options: PromptOptions, context: ResolveContext) -> Renderer:
    return Renderer(
        options.counter,
        context.snapshot.label,
        citations=options.variant == "citation",
        omit_notes=options.profile.packing.mode == "best",
        line_numbers=options.line_numbers,
    )


def _packing(
    mentioned: Sequence[PackingCandidate], gathered: Sequence[PackingCandidate], options: PromptOptions
) -> Callable[[int], PackResult]:
    """Return the function that packs the candidates into a number of tokens as the profile does."""
    profile = options.profile
    beyond = max(0, options.budget - FILLED_TOKENS) if options.fill == "relevant" else 0
    return partial(
        pack,
        mentioned,
        gathered,
        mode=profile.packing.mode,
        trim_first=profile.packing.trim_first,
        order=profile.packing.order,
        implicit_share=profile.packing.implicit_share,
        explicit_reserve=profile.packing.explicit_reserve,
        kept_free=int((1 - profile.packing.fill) * beyond),
    )


def _region_map(
    retrieved: Sequence[Item],
    packed: PackResult,
    query: Query,
    budget: int,
    counter: Counter,
    context: ResolveContext,
) -> str:
    """Return the list of the next regions, which the prompt does not show, "" if the budget is too small."""
    if budget < MIN_MAP_TOKENS:
        return ""
    shown = _shown_spans(packed)
    regions = (item for item in retrieved if item.kind != "file")
    rest = [item for item in regions if subtract_spans([item.span], sorted(shown.get(item.path, ())))]
    return list_regions(rest, query, context.sources, counter, budget - MAP_FRAME_TOKENS).text


def _absent_notice(gathered: Gathered) -> str:
    """Return that no code contains what is asked for, and whether documents do; "" if nothing is absent."""
    if not gathered.absent:
        return ""
    names = " or ".join(f'"{name}"' for name in gathered.absent)
    if gathered.candidates.items:
        return f"No code of the workspace contains {names}, only documents do. The nearest regions are listed below."
    return f"No file of the workspace contains {names}, so no code is added. The nearest regions are listed below."


def _nothing_relevant(gathered: Gathered, options: PromptOptions) -> str:
    """Return why a prompt has no code: no score reaches the threshold; else ""."""
    candidates = gathered.candidates
    if candidates.items or not candidates.below or options.index_completeness < 1:
        return ""
    best = max(dropped.item.score for dropped in candidates.below)
    return (
        "No code from the workspace is included: none is likely to belong to the question "
        f"(probability at most {best:.2g})."
    )


def _not_shown(dropped: Sequence[DroppedItem], packed: PackResult) -> list[DroppedItem]:
    """Return the dropped items of which no packed item shows all lines."""
    shown = _shown_spans(packed)
    return [d for d in dropped if d.item.path not in shown or subtract_spans([d.item.span], sorted(shown[d.item.path]))]


def _shown_spans(packed: PackResult) -> dict[str, list[Span]]:
    """Return the lines that the prompt shows, by path."""
    shown: dict[str, list[Span]] = {}
    for block in packed.items:
        shown.setdefault(block.rendered.item.path, []).extend(block.rendered.spans)
    return shown


def _over_budget(omitted: Sequence[OmittedItem]) -> tuple[OmittedItem, ...]:
    """Return the items that the budget left out, without those that are part of another item in the prompt."""
    return tuple(item for item in omitted if item.reason != ALREADY_INCLUDED)


def trace_line(stages: Sequence[TraceStage], tokens_used: int, next_best: float | None = None) -> str:
    """Summarize a build: "5 items, 7,234 tokens; likely enough: 91 of 472 regions (the next one: 1.8 %)".

    `next_best` is the best score below the threshold.
    """
    by_name = {stage.name: stage for stage in stages}
    retrieved, considered = by_name["retrieval"].output_count, by_name["threshold"].input_count
    found = min(retrieved, considered) if considered else retrieved
    text = f"{plural(by_name['budget'].output_count, 'item')}, {tokens_used:,} tokens"
    if found:
        text += f"; likely enough: {by_name['dedup'].output_count:,} of {plural(found, 'region')}"
    return text if next_best is None else f"{text} (the next one: {percentage(next_best)})"

"""The prompt pipeline: builds a prompt within its budget from a message and a snapshot.

mentions → intent → task → retrieval → threshold → deduplication → sections → packing → map → assembly.  Stages exchange
frozen values, and each adds its counts and its duration to the trace.  The profile selects stages and constants.
Explicit context has priority over the items of a task, and these over retrieved items.  Synchronous; cancellation is
checked between stages.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.lookalikes import text_warnings
from promptls.mentions.registry import registry
from promptls.mentions.resolve import ParsedMessage, Resolution, collect_items, parse_message, resolve_message
from promptls.model import Item, MentionOutcome, Span
from promptls.prompt.assemble import AssembledPrompt, BudgetTooSmall, assemble, frame_tokens
from promptls.prompt.context import explicit, implicit, team_context
from promptls.prompt.context.history import redact_turns, select_turns
from promptls.prompt.context.implicit import Candidates
from promptls.prompt.context.query_understanding import QueryUnderstanding, understand_query
from promptls.prompt.context.selection import CERTAIN_SCORE, Selection, SelectionReport, select_regions
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Layout, Message, PromptMetadata, Section, message_only_layout
from promptls.prompt.options import PromptOptions
from promptls.prompt.packing.pack import ALREADY_INCLUDED, OmittedItem, PackResult, pack
from promptls.prompt.region_list import list_regions
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.rendering.spans import subtract_spans
from promptls.prompt.sanitize import message_warnings
from promptls.prompt.scoring import CorpusStatistics, DroppedItem, split_by_threshold
from promptls.prompt.sections import gather_sections
from promptls.prompt.tasks import TaskContext, TaskRequest
from promptls.prompt.tasks.feature import asks_for_feature, items_around_feature
from promptls.prompt.tasks.long_log import contains_log, shorten_log
from promptls.prompt.tasks.select import earlier_question, task_context
from promptls.prompt.tokens import Counter
from promptls.retrieval.query import Query, parse_query

MAX_OMITTED = 50
"""Maximum number of omitted items in a result."""

HISTORY_SHARE = 0.25
"""Share of earlier turns in the tokens that the message and the sections leave."""

SAFETY_TOKENS = 64
"""Maximum difference between the tokens of a message alone and those in a prompt."""
MAX_ANALYZED_CHARACTERS = 100_000
"""Maximum number of characters of a question that are analyzed and searched for, about 0.5 s; the prompt has all."""
MAP_SHARE, MAX_MAP_TOKENS, MIN_MAP_TOKENS = 0.08, 640, 140
"""Share of the budget of the list of regions that are not shown, and its tokens: about 40 regions, and at least five."""
MAP_FRAME_TOKENS = 60
"""Tokens of the fence and the introduction of this list."""
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


def build(
    parsed: ParsedMessage, options: PromptOptions, context: ResolveContext, resolution: Resolution | None = None
) -> BuildResult:
    """Build the prompt for a parsed message; `resolution` has the outcomes of its mentions if they are known.

    Raises:
        Cancelled: the request was cancelled.
        BudgetTooSmall: the message alone exceeds the budget.
    """
    trace, token, counter, profile = _Trace(), context.token, options.counter, options.profile
    renderer = Renderer(
        counter,
        context.snapshot.label,
        citations=options.variant == "citation",
        omit_notes=profile.packing.mode == "best",
        line_numbers=options.line_numbers,
    )

    message, log_warnings = fit_message(parsed.text, options.budget, counter)
    if counter.count(message) > options.budget + SAFETY_TOKENS:  # most of the time would be spent in vain
        frame = frame_tokens(message, options.variant, options.output, counter, layout=profile.layout)
        raise BudgetTooSmall(max(frame, counter.count(message)), options.budget)  # a context has no message

    with trace.stage("mentions", 0) as count:
        resolution = resolution or resolve_message(parsed, context)
        outcomes = resolution.outcomes
        active_items, active_warnings = explicit.active_context(message, context)
        recipe_items, recipe_warnings = explicit.recipe_items(options.recipe_mentions, context, len(outcomes))
        explicit_items = [*collect_items(outcomes), *active_items, *recipe_items]
        mentioned_kinds = {o.mention.kind for o in outcomes if o.targets}
        count.append(len(explicit_items))
    token.check()

    with trace.stage("intent", 0) as count:
        question = resolution.question if message == parsed.text else parse_message(message, context).question
        earlier = earlier_question(question, options.history, context) if profile.gathering.by_task else ""
        question = analyzed_text(question)
        understanding = understand_query(analyzed_text(message), question, options, context, earlier)
        intent = understanding.intent
        count.append(len(intent.query.terms))
        pending_team = team_context.start(understanding, options, context)

    task = TaskContext()
    if profile.gathering.by_task and options.includes("retrieval"):
        with trace.stage("task", len(explicit_items)) as count:
            task = task_context(
                TaskRequest(
                    parsed.text, question, intent, outcomes, explicit_items, options.recipe, options.history, context
                )
            )
            count.append(len(task.items))
        token.check()
    message_only = profile.gathering.by_task and not (
        intent.about_codebase or explicit_items or task.items or options.task or profile.hooks.layout
    )
    layout = message_only_layout if message_only else profile.layout

    candidates, retrieved = _retrieve(understanding, question, explicit_items, task, options, context, trace)
    selection = Selection()
    if profile.gathering.by_task and task.retrieval != "none" and options.asks_model:
        with trace.stage("selection", len(retrieved)) as count:
            search = partial(_search, max_items=implicit.max_candidates(profile, options.budget), context=context)
            selection = select_regions(message, intent.query, explicit_items, retrieved, options, context, search)
            if selection.report is not None:
                chosen = implicit.read_items(selection.items, context, scored=True)
                candidates = implicit.prepend(chosen, implicit.keep_from(candidates, CERTAIN_SCORE))
            count.append(len(selection.items))
    team = team_context.finish(pending_team, candidates, context)

    with trace.stage("sections", 0) as count:
        explicit_paths = [item.path for item in explicit_items]
        files = [*explicit_paths, context.client.active_document, *(r.item.path for r in candidates.items)]
        gathered = gather_sections(
            options,
            intent,
            files,
            context,
            exclude=mentioned_kinds.__contains__,  # a mentioned section does not appear twice
            full_files=frozenset(i.path for i in explicit.top_level_items(explicit_items) if i.kind == "file"),
            tasks=task.instructions,
            retrieval_empty=not (profile.gathering.by_task or candidates.items or explicit_items),
        )
        candidates = implicit.exclude_shown(candidates, gathered.shown)
        task_section = [Section("task", options.task, "task")] if options.task else []
        sections = () if message_only else (*gathered.sections, *task_section)
        unresolved = explicit.unresolved_mentions(outcomes)
        metadata = PromptMetadata(intent.types, intent.action, options.budget, unresolved=unresolved)
        frame = _frame_tokens(message, options, layout, sections, (), metadata)
        history, history_warnings = redact_turns(() if "history" in mentioned_kinds else options.history)
        quoted = profile.hooks.quotes_history
        turns = select_turns(history, int(HISTORY_SHARE * max(0, options.budget - frame)), counter, {}, quoted)
        if turns.turns:
            frame = _frame_tokens(message, options, layout, sections, turns.turns, metadata)
        count.append(len(sections))
    token.check()

    with trace.stage("budget", len(explicit_items) + len(candidates.items)) as count:
        packing_candidates, unreadable = explicit.packing_candidates(explicit_items, retrieved, context, renderer)
        implicit_candidates = implicit.packing_candidates(candidates, renderer, context)
        pack_local = partial(
            pack,
            packing_candidates,
            implicit_candidates,
            mode=profile.packing.mode,
            trim_first=profile.packing.trim_first,
            order=profile.packing.order,
            implicit_share=profile.packing.implicit_share,
            explicit_reserve=profile.packing.explicit_reserve,
        )
        first_rank = len(packing_candidates) + len(implicit_candidates)
        is_exact = task.retrieval != "all" or candidates.as_outlines
        shows_map = profile.gathering.by_task and not message_only and not is_exact and bool(candidates.items)
        map_budget = _map_budget(options.budget) if shows_map else 0
        reserve = 0 if explicit_items else map_budget  # what is mentioned is not cut for the map
        packed = team_context.pack_with_team(pack_local, team, options.budget - frame - reserve, first_rank, renderer)
        if history:  # copies of the shown code can be recognized now; without them, more turns may fit
            lighter = select_turns(history, turns.tokens, counter, _shown_text(packed, renderer), quoted)
            turns = lighter if lighter.removed_copies > turns.removed_copies else turns
        count.append(len(packed.items))
    token.check()

    with trace.stage("map", len(retrieved)) as count:
        left = options.budget - frame - sum(block.rendered.tokens for block in packed.items)
        region_map = _region_map(retrieved, packed, intent.query, min(left, map_budget), options.counter, context)
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
            sections=sections,
            history=turns.turns,
            layout=layout,
            metadata=replace(metadata, omitted_count=len(_over_budget(packed.omitted))),
            empty_text=_nothing_relevant(candidates, options),
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
        tuple(explicit.final_outcome(outcome, assembled, unreadable, packing_candidates) for outcome in outcomes),
        intent,
        selection.report,
        tuple(trace.stages),
        trace_line(trace.stages, assembled.tokens_used, max((d.item.score for d in below), default=None)),
        (
            *options.warnings,
            *(problem.message for problem in registry().problems),
            *log_warnings,
            *message_warnings(message),
            *text_warnings(resolution.texts),
            *active_warnings,
            *recipe_warnings,
            *history_warnings,
            *understanding.warnings,
            *selection.warnings,
            *team.warnings,
            *gathered.warnings,
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


def _retrieve(
    understanding: QueryUnderstanding,
    question: str,
    explicit_items: Sequence[Item],
    task: TaskContext,
    options: PromptOptions,
    context: ResolveContext,
    trace: _Trace,
) -> tuple[Candidates, Sequence[Item]]:
    """Return the candidates for implicit context, those of the task first, and all retrieved items by rank."""
    profile, token = options.profile, context.token
    max_candidates = implicit.max_candidates(profile, options.budget)
    retrieved: Sequence[Item] = ()
    with trace.stage("retrieval", 0) as count:
        allowed = options.includes("retrieval") and (profile.gathering.with_mentions or not explicit_items)
        is_full = options.fill == "full" and not task.as_outlines
        allowed = allowed and (task.retrieval != "none" or is_full)
        allowed = allowed and not (understanding.is_foreign and profile.gathering.by_task)
        if understanding.intent.about_codebase and allowed:
            if profile.gathering.source == "graph":
                retrieved = implicit.graph_items(question, profile.gathering.max_items, context)
            else:
                query = understanding.intent.query
                retrieved = implicit.retrieve_items(query, explicit_items, context, max_candidates)
        count.append(len(retrieved))
    token.check()

    if profile.keeps_retrieval_scores:  # the threshold goes first, so that fewer items are read
        with trace.stage("threshold", len(retrieved)) as count:
            if options.fill == "relevant" and profile.scoring.rerank:
                read = implicit.read_relevant_items(retrieved, context, options, related=task.retrieval == "related")
                count.append(len(read.items))
                if task.retrieval == "all" and asks_for_feature(understanding.intent):
                    around = items_around_feature([r.item for r in read.items], context)
                    read = implicit.append(read, implicit.read_items(around, context, scored=True))
            else:
                is_full = options.fill == "full" and profile.scoring.full_threshold is not None
                relative = 0.0 if is_full else profile.scoring.relative_threshold
                passed, below = split_by_threshold(retrieved, options.threshold, relative)
                read = implicit.read_top_items(passed, context, profile, options.budget)
                read = replace(read, below=tuple(below))
                count.append(len(passed))
        with trace.stage("dedup", len(read.items)) as count:
            candidates = implicit.deduplicate(read, profile)
            count.append(len(candidates.items))
    else:
        with trace.stage("threshold", min(max_candidates, len(retrieved))) as count:
            reader = context.index.reader()
            corpus = CorpusStatistics(max(1, reader.live_count), reader.document_frequency)
            candidates = implicit.read_items(retrieved[:max_candidates], context)
            candidates = implicit.apply_scores(candidates, profile, understanding.scoring_query, corpus)
            candidates = implicit.apply_threshold(candidates, options.threshold, profile)
            count.append(len(candidates.items))
        with trace.stage("dedup", len(candidates.items)) as count:
            candidates = implicit.deduplicate(candidates, profile)
            count.append(len(candidates.items))
    token.check()
    first = implicit.read_items(task.items, context, scored=True)
    candidates = replace(implicit.prepend(first, candidates), as_outlines=task.as_outlines)
    return candidates, [*(r.item for r in first.items), *retrieved]


def _map_budget(budget: int) -> int:
    """Return the tokens of the map in a prompt, 0 if they would be too few."""
    share = min(int(MAP_SHARE * budget), MAX_MAP_TOKENS)
    return share if share >= MIN_MAP_TOKENS else 0


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


def _search(text: str, max_items: int, context: ResolveContext) -> Sequence[Item]:
    """Return the ranking for a query of a language model."""
    return implicit.retrieve_items(parse_query(text), (), context, max_items)


def _nothing_relevant(candidates: Candidates, options: PromptOptions) -> str:
    """Return the notice of a prompt without code because no score reaches the threshold; "" if there is another reason."""
    if candidates.items or not candidates.below or options.index_completeness < 1:
        return ""
    best = max(dropped.item.score for dropped in candidates.below)
    return (
        "No code from the workspace is included: none is likely to belong to the question "
        f"(probability at most {best:.2g})."
    )


def _frame_tokens(
    message: str,
    options: PromptOptions,
    layout: Layout,
    sections: Sequence[Section],
    turns: Sequence[Message],
    metadata: PromptMetadata,
) -> int:
    """Return the tokens of the prompt without items."""
    return frame_tokens(message, options.variant, options.output, options.counter, sections, turns, layout, metadata)


def _shown_text(packed: PackResult, renderer: Renderer) -> dict[str, str]:
    """Return the text that the prompt shows of each file, by the label of the file."""
    bodies: dict[str, list[str]] = {}
    for packed_block in packed.items:
        block = packed_block.rendered
        if block.spans:
            bodies.setdefault(renderer.label(block.item.path), []).append(block.body)
    return {label: "\n".join(parts) for label, parts in bodies.items()}


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
    """Summarize a build in one line: "20 → 18 (threshold) → 15 (dedup) → 8 (budget), 7,234 tokens; next best .018".

    `next_best` is the best score below the threshold.
    """
    by_name = {stage.name: stage for stage in stages}
    retrieved = by_name["retrieval"].output_count
    considered = by_name["threshold"].input_count
    steps = [str(min(retrieved, considered) if considered else retrieved)]
    steps += [f"{by_name[name].output_count} ({name})" for name in ("threshold", "dedup", "budget")]
    end = "" if next_best is None else f"; next best {f'{next_best:.2g}'.removeprefix('0')}"
    return f"{' → '.join(steps)}, {tokens_used:,} tokens{end}"

"""Gathering of implicit context: one function for each kind of profile.

`gather_by_task` is the pipeline of the default profile: the code that the kind of request needs, then the retrieved code
that is probably needed, or that a language model selects.  `gather_by_score` is that of the profiles which reproduce
other systems: retrieved items, scored by the formula of the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.model import Item, Span
from promptls.prompt.context import implicit
from promptls.prompt.context.explicit import is_dropped
from promptls.prompt.context.implicit import Candidates
from promptls.prompt.context.query_understanding import QueryUnderstanding
from promptls.prompt.context.selection import CERTAIN_SCORE, Selection, select_regions
from promptls.prompt.options import PromptOptions
from promptls.prompt.scoring import CorpusStatistics, split_by_threshold
from promptls.prompt.tasks import TaskContext, TaskRequest
from promptls.prompt.tasks.select import task_context
from promptls.retrieval.query import parse_query

MAP_SHARE, MAX_MAP_TOKENS, MIN_MAP_TOKENS = 0.04, 320, 140
"""Share of the budget of the list of regions that are not shown, and its tokens: about 20 regions, and at least five."""

ABSENT_MAP_TOKENS = 320
"""Tokens of this list if what the question asks for does not exist: about 15 regions."""

MIN_BEST_SCORE = 0.03
"""Minimum score of the best item, below which no code is added; of 326 questions about existing code none has less."""
FILL_THRESHOLD = 0.001
"""Minimum score of an item if the budget is to be filled."""

Stage = Callable[[str, int], AbstractContextManager[list[int]]]
"""Times a stage of the pipeline, by its name and input count; the output count is appended to the list."""


class Gathered(Struct, frozen=True):
    """Implicit context of a prompt."""

    candidates: Candidates  # those of the task first
    retrieved: Sequence[Item]  # by rank, with those of the task first
    instructions: tuple[str, ...] = ()  # names of templates of the task
    selection: Selection = Selection()
    message_only: bool = False  # whether the prompt is the message alone
    map_tokens: int = 0  # of the list of regions that the prompt does not show
    needs_overview: bool = False  # whether nothing is mentioned or found
    absent: tuple[str, ...] = ()  # names that the question asks for and no code contains


def without_dropped(gathered: Gathered, dropped: Sequence[tuple[str, Span]]) -> Gathered:
    """Leave out the items that the user has dropped."""
    items = tuple(r for r in gathered.candidates.items if not is_dropped(r.item, dropped))
    retrieved = [item for item in gathered.retrieved if not is_dropped(item, dropped)]
    return replace(gathered, candidates=replace(gathered.candidates, items=items), retrieved=retrieved)


def gather(
    request: TaskRequest, message: str, understanding: QueryUnderstanding, options: PromptOptions, stage: Stage
) -> Gathered:
    """Gather the implicit context of a request as its profile does.

    Args:
        request: the message, and what is known about it before retrieval.
        message: the message as the prompt has it, which is shorter if it contains a long log.
        understanding: the intent of the question.
        options: the options of the prompt.
        stage: times the stages.
    """
    if options.profile.gathering.by_task:
        return gather_by_task(request, message, understanding, options, stage)
    return gather_by_score(request, understanding, options, stage)


def gather_by_task(
    request: TaskRequest, message: str, understanding: QueryUnderstanding, options: PromptOptions, stage: Stage
) -> Gathered:
    """Gather what the task needs, and the retrieved code that is probably needed or that a language model selects."""
    context, intent, explicit = request.context, request.intent, request.explicit_items
    task = TaskContext()
    if options.includes("retrieval"):
        with stage("task", len(explicit)) as count:
            task = task_context(request)
            count.append(len(task.items))
        context.token.check()
    is_wanted = task.retrieval != "none" or (options.fill == "full" and not task.as_outlines)
    retrieved = _retrieve(request, options, stage, allowed=is_wanted and not understanding.is_foreign)
    with stage("threshold", len(retrieved)) as count:
        considered = () if task.absent else retrieved
        threshold = score_threshold(considered, options, names_code=bool(explicit or task.items))
        read, passed = _read_above_threshold(considered, threshold, options, context)
        count.append(passed)
    candidates = _deduplicate(read, options, stage)
    context.token.check()
    first = implicit.read_items(task.items, context, scored=True)
    candidates = replace(implicit.prepend(first, candidates), as_outlines=task.as_outlines)
    retrieved = [*(r.item for r in first.items), *retrieved]
    selection = Selection()
    if task.retrieval != "none" and options.asks_model:
        with stage("selection", len(retrieved)) as count:
            search = partial(
                _search, max_items=implicit.max_candidates(options.profile, options.budget), context=context
            )
            selection = select_regions(message, intent.query, explicit, retrieved, options, context, search)
            if selection.report is not None:
                chosen = implicit.read_items(selection.items, context, scored=True)
                candidates = implicit.prepend(chosen, implicit.keep_from(candidates, CERTAIN_SCORE))
            count.append(len(selection.items))
    has_purpose = intent.about_codebase or explicit or task.items or options.task or options.profile.hooks.layout
    is_exact = task.retrieval != "all" or task.as_outlines
    return Gathered(
        candidates,
        retrieved,
        task.instructions,
        selection,
        message_only=not has_purpose,
        map_tokens=0
        if is_exact or not has_purpose
        else (ABSENT_MAP_TOKENS if task.absent else _map_tokens(options.budget)),
        absent=task.absent,
    )


def gather_by_score(
    request: TaskRequest, understanding: QueryUnderstanding, options: PromptOptions, stage: Stage
) -> Gathered:
    """Gather retrieved items with the scores of the profile's formula."""
    context, profile = request.context, options.profile
    allowed = profile.gathering.with_mentions or not request.explicit_items
    retrieved = _retrieve(request, options, stage, allowed=allowed)
    if profile.keeps_retrieval_scores:  # the threshold goes first, so that fewer items are read
        with stage("threshold", len(retrieved)) as count:
            candidates, passed = _read_above_threshold(retrieved, options.threshold, options, context)
            count.append(passed)
    else:
        considered = retrieved[: implicit.max_candidates(profile, options.budget)]
        with stage("threshold", len(considered)) as count:
            reader = context.index.reader()
            corpus = CorpusStatistics(max(1, reader.live_count), reader.document_frequency)
            candidates = implicit.read_items(considered, context)
            candidates = implicit.apply_scores(candidates, profile, understanding.scoring_query, corpus)
            candidates = implicit.apply_threshold(candidates, options.threshold, profile)
            count.append(len(candidates.items))
    candidates = _deduplicate(candidates, options, stage)
    context.token.check()
    return Gathered(candidates, retrieved, needs_overview=not (candidates.items or request.explicit_items))


def _retrieve(request: TaskRequest, options: PromptOptions, stage: Stage, *, allowed: bool) -> Sequence[Item]:
    """Return the ranked items for the question, none unless retrieval is `allowed` and the question is about code."""
    context, gathering = request.context, options.profile.gathering
    items: Sequence[Item] = ()
    with stage("retrieval", 0) as count:
        if allowed and options.includes("retrieval") and request.intent.about_codebase:
            if gathering.source == "graph":
                items = implicit.graph_items(request.question, gathering.max_items, context)
            else:
                max_items = implicit.max_candidates(options.profile, options.budget)
                items = implicit.retrieve_items(request.intent.query, request.explicit_items, context, max_items)
                if gathering.by_task:
                    items = implicit.add_places(items, request, context)
        count.append(len(items))
    context.token.check()
    return items


def score_threshold(retrieved: Sequence[Item], options: PromptOptions, *, names_code: bool) -> float:
    """Return the minimum score of a retrieved item.

    If all items are weak and the request does not name any code, no item reaches it.
    """
    if options.fill == "full":
        return min(options.threshold, FILL_THRESHOLD)
    is_weak = not names_code and all(item.score < MIN_BEST_SCORE for item in retrieved)
    return max(options.threshold, MIN_BEST_SCORE) if is_weak else options.threshold


def _read_above_threshold(
    retrieved: Sequence[Item], threshold: float, options: PromptOptions, context: ResolveContext
) -> tuple[Candidates, int]:
    """Return the first items that reach the threshold with their text, and how many reach it."""
    passed, below = split_by_threshold(retrieved, threshold)
    read = implicit.read_top_items(passed, context, options.profile, options.budget)
    return replace(read, below=tuple(below)), len(passed)


def _deduplicate(read: Candidates, options: PromptOptions, stage: Stage) -> Candidates:
    with stage("dedup", len(read.items)) as count:
        candidates = implicit.deduplicate(read, options.profile)
        count.append(len(candidates.items))
    return candidates


def _search(text: str, max_items: int, context: ResolveContext) -> Sequence[Item]:
    """Return the ranking for a query of a language model."""
    return implicit.retrieve_items(parse_query(text), (), context, max_items)


def _map_tokens(budget: int) -> int:
    """Return the tokens of the map in a prompt, 0 if they would be too few."""
    share = min(int(MAP_SHARE * budget), MAX_MAP_TOKENS)
    return share if share >= MIN_MAP_TOKENS else 0

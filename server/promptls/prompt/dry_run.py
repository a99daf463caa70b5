"""The outcome of a message's mentions without a prompt, for the editor features of prompt documents.

Diagnostics must say what the prompt will contain.  If everything that is mentioned certainly fits, packing it is enough,
which takes a few milliseconds at a keystroke.  Else the prompt is built, because its sections and retrieved items decide
what is left for mentions.  That takes some hundred milliseconds, so while the user types, the outcomes are preliminary.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import ParsedMessage, Resolution, collect_items, resolve_message
from promptls.model import Item, MentionOutcome
from promptls.prompt.assemble import BudgetTooSmall, PromptItem, assemble, frame_tokens
from promptls.prompt.build import HISTORY_SHARE, build
from promptls.prompt.context import explicit
from promptls.prompt.layouts import PromptMetadata
from promptls.prompt.options import PromptOptions
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.rendering.renderer import Renderer

SECTION_TOKENS = 40
"""Maximum number of tokens of a section's heading and fence."""

ITEM_TOKENS = 40
"""Number of tokens that the lines around an item add to its fence, more than which is rare."""


class DryRun(Struct, frozen=True):
    """A message with the items of its mentions, without retrieval."""

    message: ParsedMessage
    options: PromptOptions
    resolved: tuple[MentionOutcome, ...]  # as returned by the resolvers
    mentions: tuple[MentionOutcome, ...]  # with the status in the prompt
    active: tuple[Item, ...]  # the selection or active document that the prompt will contain
    items: tuple[PromptItem, ...]
    tokens_used: int  # by the message and the items of its mentions
    needed: int  # tokens of all items in full, 0 if they may not fit
    full_tokens: int  # tokens of the message and of all items in full
    exact: bool  # whether the outcomes are those of the built prompt
    texts: tuple[MentionOutcome, ...] = ()  # of lookalikes


def dry_run(
    message: ParsedMessage,
    context: ResolveContext,
    options: PromptOptions,
    previous: DryRun | None = None,
    *,
    exact: bool = True,
) -> DryRun:
    """Return the outcomes that `build` has for a message's mentions with these options.

    No language model is asked.

    Args:
        message: the parsed message.
        context: the sources and services of the request.
        options: the options of the prompt.
        previous: the run for an earlier text of the message on the same snapshot.  If the mentions are the same apart
            from their offsets and still fit, its items are reused.
        exact: whether the prompt is built if the mentions may not fit; else the outcomes are preliminary.
    """
    counter = options.counter
    resolution = resolve_message(message, context)
    outcomes = resolution.outcomes
    active = tuple(explicit.active_context(message.text, context)[0])
    metadata = PromptMetadata(budget=options.budget, unresolved=explicit.unresolved_mentions(outcomes))
    layout = options.profile.layout
    frame = frame_tokens(message.text, options.variant, options.output, counter, layout=layout, metadata=metadata)
    room = _certain_room(frame, options)
    if previous is not None and _are_same(previous, outcomes, active, options):
        moved = [replace(old, mention=o.mention) for old, o in zip(previous.mentions, outcomes, strict=True)]
        is_exact = previous.exact and (previous.message.text == message.text or 0 < previous.needed <= room)
        if is_exact or not exact:
            used = previous.tokens_used + counter.count(message.text) - counter.count(previous.message.text)
            return replace(
                previous,
                message=message,
                resolved=outcomes,
                mentions=tuple(moved),
                tokens_used=used,
                exact=is_exact,
                texts=resolution.texts,
            )
    renderer = Renderer(counter, context.snapshot.label, omit_notes=True, line_numbers=options.line_numbers)
    items = [*collect_items(outcomes), *active]
    candidates, unreadable = explicit.packing_candidates(items, (), context, renderer)
    needed = sum(_full_tokens(candidate) + ITEM_TOKENS for candidate in candidates)
    fits = needed <= room
    if not fits and (exact or frame >= options.budget):
        return _built(resolution, active, frame, frame + needed, options, context)
    packed = pack(candidates, [], room if fits else options.budget - frame)
    assembled = assemble(message.text, packed, budget=options.budget, renderer=renderer, layout=layout)
    final = tuple(explicit.final_outcome(outcome, assembled, unreadable, candidates) for outcome in outcomes)
    used = assembled.tokens_used
    full_tokens = frame + needed
    needed = max(needed, 1) if fits else 0
    return DryRun(
        message, options, outcomes, final, active, assembled.items, used, needed, full_tokens, fits, resolution.texts
    )


def _certain_room(frame: int, options: PromptOptions) -> int:
    """Return the tokens that are left for mentions if sections and earlier turns take all that they may."""
    sections = [section for section in options.profile.sections if options.includes(section.name)]
    share = sum(section.share for section in sections)
    left = options.budget - frame - int(share * options.budget) - SECTION_TOKENS * len(sections)
    room = int(left * (1 - HISTORY_SHARE if options.history else 1))
    reserve = options.profile.packing.explicit_reserve
    return min(room, reserve) if reserve else room


def _full_tokens(candidate: PackingCandidate) -> int:
    full = candidate.forms.full() or candidate.forms.outline()
    return full.tokens if full is not None else 0


def _are_same(
    previous: DryRun, outcomes: tuple[MentionOutcome, ...], active: tuple[Item, ...], options: PromptOptions
) -> bool:
    """Return whether a run had the same mentions, apart from their offsets, and the same options."""
    without_offsets = [[_without_offsets(o) for o in run] for run in (previous.resolved, outcomes)]
    return without_offsets[0] == without_offsets[1] and (previous.active, previous.options) == (active, options)


def _built(
    resolution: Resolution,
    active: tuple[Item, ...],
    frame: int,
    full_tokens: int,
    options: PromptOptions,
    context: ResolveContext,
) -> DryRun:
    """Return the outcomes of the built prompt; nothing is in it if the message alone exceeds the budget."""
    message = resolution.message
    try:
        result = build(message, replace(options, language_model=None), context, resolution)
    except BudgetTooSmall as error:
        reason = f"The message alone needs {error.needed:,} tokens; the budget is {error.budget:,}."
        final = tuple(
            replace(o, status="omitted", reason=reason) if o.status in ("included", "partial") and o.targets else o
            for o in resolution.outcomes
        )
        return DryRun(
            message, options, resolution.outcomes, final, active, (), frame, 0, full_tokens, True, resolution.texts
        )
    items = tuple(item for item in result.assembled.items if item.explicit)
    used = frame + sum(item.rendered.tokens for item in items)
    return DryRun(
        message,
        options,
        resolution.outcomes,
        result.mentions,
        active,
        items,
        used,
        0,
        full_tokens,
        True,
        resolution.texts,
    )


def _without_offsets(outcome: MentionOutcome) -> MentionOutcome:
    return replace(outcome, mention=replace(outcome.mention, start=0, end=0))

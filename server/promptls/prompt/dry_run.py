"""The outcome of a message's mentions without a prompt, for the editor features of prompt documents."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import collect_items, resolve_message
from promptls.model import MentionOutcome
from promptls.prompt import explicit
from promptls.prompt.assemble import PromptItem, assemble, frame_tokens
from promptls.prompt.pack import pack
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.tokens import Counter


class DryRun(Struct, frozen=True):
    """A message with the items of its mentions, without retrieval."""

    message: str
    resolved: tuple[MentionOutcome, ...]  # as returned by the resolvers
    mentions: tuple[MentionOutcome, ...]  # with the status in the prompt
    items: tuple[PromptItem, ...]
    tokens_used: int  # by the message and the items of its mentions
    texts: tuple[MentionOutcome, ...] = ()  # what only resembles a mention


def dry_run(
    message: str,
    context: ResolveContext,
    budget: int,
    counter: Counter,
    previous: DryRun | None = None,
    *,
    line_numbers: bool = False,
) -> DryRun:
    """Return the outcome of a message's mentions: `build` without retrieval and without sections.

    `previous` is the run for an earlier text of the message on the same snapshot.  If the mentions are the same apart
    from their offsets, its items are reused.
    """
    budget = max(budget, 4 * len(message) + 200)
    resolution = resolve_message(message, context)
    outcomes, texts = resolution.outcomes, resolution.texts
    if previous is not None and [_without_offsets(o) for o in outcomes] == [
        _without_offsets(o) for o in previous.resolved
    ]:
        moved = [replace(old, mention=o.mention) for old, o in zip(previous.mentions, outcomes, strict=True)]
        tokens_used = previous.tokens_used + counter.count(message) - counter.count(previous.message)
        return DryRun(message, outcomes, tuple(moved), previous.items, tokens_used, texts)
    renderer = Renderer(counter, context.snapshot.label, omit_notes=True, line_numbers=line_numbers)
    candidates, unreadable = explicit.packing_candidates(collect_items(outcomes), (), context, renderer)
    packed = pack(candidates, [], budget - frame_tokens(message, "baseline", "text", counter))
    assembled = assemble(message, packed, budget=budget, renderer=renderer)
    final = tuple(explicit.final_outcome(outcome, assembled, unreadable, candidates) for outcome in outcomes)
    return DryRun(message, outcomes, final, assembled.items, assembled.tokens_used, texts)


def _without_offsets(outcome: MentionOutcome) -> MentionOutcome:
    return replace(outcome, mention=replace(outcome.mention, start=0, end=0))

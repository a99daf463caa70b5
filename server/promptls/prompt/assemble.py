"""The finished prompt: laid out, counted as a whole, and made smaller until it is within the budget.

Order, headings and markup are the layout's; wording lives in variants/*.md.  Only layouts put text outside
of fences, and that text is ours or the user's own.  Knows nothing of how blocks were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Block, Item
from promptls.prompt import fences
from promptls.prompt.layouts import LAYOUTS, Chat, Draft, Facts, Layout, Message, Parts, Section
from promptls.prompt.pack import Kept, Omitted, Packed
from promptls.prompt.render import SEPARATOR, Renderer
from promptls.prompt.sanitize import clean
from promptls.prompt.tokens import Counter, UnknownName
from promptls.prompt.variants import VARIANTS

NO_FACTS = Facts()
OUTPUTS = ("messages", "text")

MESSAGE_COST = 4
"""Tokens that chat formats put around one message: role, start and end; the largest of those in use."""


DRAWS = 32
"""Boundaries that are tried; of two one costs no more than was counted on."""


class BudgetTooSmall(ValueError):
    """The message alone is over the budget."""

    def __init__(self, needed: int, budget: int) -> None:
        self.needed = needed
        self.budget = budget
        super().__init__(f"the message alone needs {needed} tokens, the budget is {budget}")


class Placed(Struct, frozen=True):
    """A block that is in the prompt."""

    block: Block
    sources: tuple[Item, ...]  # the candidates that it stands for
    citation: str  # "P1"; shown in the prompt by the variant "citation"
    explicit: bool


class Assembled(Struct, frozen=True):
    """A prompt and what is in it."""

    prompt: str  # "" for output "messages"
    messages: tuple[Message, ...]  # () for output "text"
    budget: int
    used: int  # the finished text counted as a whole; with messages, `MESSAGE_COST` each included
    sections: dict[str, int]  # tokens by section; with "frame" (headings, separators) they add up to `used`
    items: tuple[Placed, ...]  # in prompt order
    omitted: tuple[Omitted, ...]
    dropped: tuple[str, ...]  # sections that did not fit; "history" once for each earlier turn
    warnings: tuple[str, ...]


def frame_tokens(
    message: str,
    variant: str,
    output: str,
    counter: Counter,
    sections: Sequence[Section] = (),
    history: Sequence[Message] = (),
    layout: str = "default",
    facts: Facts = NO_FACTS,
) -> int:
    """Tokens of a prompt without blocks, the message included: the rest of the budget is for blocks."""
    draft = _draft(message, variant, output, sections, history, facts)
    return _used(_chat(draft, _layout(layout), fences.SPECIMEN, None), output, counter)


def assemble(
    message: str,
    packed: Packed,
    *,
    variant: str = "baseline",
    output: str = "text",
    budget: int,
    renderer: Renderer,
    sections: Sequence[Section] = (),
    history: Sequence[Message] = (),
    layout: str = "default",
    facts: Facts = NO_FACTS,
    absence: str = "",
    complete: float = 1.0,
    secret: bytes | None = None,
) -> Assembled:
    """The prompt for a message, at most `budget` tokens.

    `packed` should come from `pack` with the budget that `frame_tokens` leaves; if the result is over all the
    same (joints of an estimate, another budget), what is worth least is trimmed, then left out: implicit blocks,
    earlier turns, sections, explicit blocks, the frame.  `absence` is the sentence that stands where no block
    does; without one it is made from what was left out and from `complete`, the share of the workspace that
    was indexed (0 to 1).  `secret` fixes the boundary for tests.  Raises `BudgetTooSmall` and `UnknownName`.
    """
    counter, lay_out = renderer.counter, _layout(layout)
    draft = _draft(message, variant, output, sections, history, facts)
    needed = _used(_chat(replace(draft, bare=True), lay_out, "", None), output, counter)
    if needed > budget:
        raise BudgetTooSmall(needed, budget)
    state = _State(replace(draft, kept=packed.kept, empty=absence or _empty(packed, budget, complete)))
    while True:  # what stands in a prompt must not hang on which boundary is drawn
        used = _used(_chat(state.draft, lay_out, fences.SPECIMEN, renderer), output, counter)
        if used <= budget:
            chat, used = _fenced(state.draft, lay_out, renderer, budget, secret)
            if used <= budget:
                break
        state = _smaller(state, used - budget)
    draft = state.draft
    text = "" if output == "messages" else _join(chat[0][1])
    messages = tuple(Message(role, _join(parts)) for role, parts in chat) if output == "messages" else ()
    return Assembled(
        prompt=text,
        messages=messages,
        budget=budget,
        used=used,
        sections=_ledger(chat, used, counter),
        items=tuple(Placed(k.block, k.sources, f"P{i}", k.explicit) for i, k in enumerate(draft.kept, 1)),
        omitted=packed.omitted + state.omitted,
        dropped=state.dropped,
        warnings=(*_lost(state.dropped, budget), *_warnings(draft.kept, renderer)),
    )


def _layout(name: str) -> Layout:
    try:
        return LAYOUTS[name]
    except KeyError:
        raise UnknownName("layout", name, LAYOUTS) from None


# ---------------------------------------------------------------- drafts


class _State(Struct, frozen=True):
    """A draft on its way to the budget, and what it has lost so far."""

    draft: Draft
    omitted: tuple[Omitted, ...] = ()
    dropped: tuple[str, ...] = ()


def _draft(
    message: str, variant: str, output: str, sections: Sequence[Section], history: Sequence[Message], facts: Facts
) -> Draft:
    if variant not in VARIANTS:
        raise UnknownName("variant", variant, VARIANTS)
    if output not in OUTPUTS:
        raise UnknownName("output", output, OUTPUTS)
    cleaned = tuple(replace(s, text="\n".join(clean(s.text.replace("\r\n", "\n")).lines)) for s in sections if s.text)
    return Draft(message, variant, output, cleaned, tuple(history), facts=facts)


def _chat(draft: Draft, layout: Layout, boundary: str, renderer: Renderer | None) -> Chat:
    """The messages as parts; `renderer` None leaves the blocks out."""
    if draft.bare:
        return [("user", [("question", "", draft.message)])]
    return layout(draft, boundary, renderer)


def _join(parts: Parts) -> str:
    return SEPARATOR.join(heading + text for _, heading, text in parts)


def _fenced(draft: Draft, layout: Layout, renderer: Renderer, budget: int, secret: bytes | None) -> tuple[Chat, int]:
    """The messages with a boundary, and their tokens: one that costs too many of them is drawn again."""
    texts = [section.text for section in draft.sections] + [turn.content for turn in draft.history]
    for kept in draft.kept:
        texts += [kept.block.body, renderer.label(kept.block.item.path), kept.block.item.symbol]
    chat, used = [], budget + 1
    for boundary in islice(fences.boundaries(draft.message, texts, secret), DRAWS):
        chat = _chat(draft, layout, boundary, renderer)
        used = _used(chat, draft.output, renderer.counter)
        if used <= budget:
            break
    return chat, used


def _empty(packed: Packed, budget: int, complete: float) -> str:
    """Why there is no code, as one sentence."""
    if packed.kept or packed.omitted:
        why = f"the budget of {budget} tokens leaves no room for it"
    elif complete < 1:
        why = f"nothing was found, and the index is not complete yet ({int(100 * complete)} %)"
    else:
        why = "nothing was found that belongs to the question"
    return f"No code from the workspace is included: {why}."


# ---------------------------------------------------------------- counting


def _used(chat: Chat, output: str, counter: Counter) -> int:
    around = MESSAGE_COST if output == "messages" else 0
    return sum(counter.count(_join(parts)) + around for _, parts in chat)


def _ledger(chat: Chat, used: int, counter: Counter) -> dict[str, int]:
    ledger: dict[str, int] = {}
    for _, parts in chat:
        for name, _, text in parts:
            if name != "frame":
                ledger[name] = ledger.get(name, 0) + counter.count(text)
    rest = used - sum(ledger.values())
    while rest < 0:  # parts counted one by one are rounded up more often than the whole
        largest = max(ledger, key=lambda name: ledger[name])
        less = min(-rest, ledger[largest])
        ledger[largest] -= less
        rest += less
    return {**ledger, "frame": rest}


def _smaller(state: _State, excess: int) -> _State:
    """The draft with what is worth least made smaller by about `excess` tokens, or left out."""
    draft = state.draft
    by_rank = sorted(draft.kept, key=lambda kept: kept.rank)
    found = [kept for kept in by_rank if not kept.explicit]
    if found:
        return _without(state, found[-1], excess, least=3)
    if draft.history:
        return replace(state, draft=replace(draft, history=draft.history[1:]), dropped=(*state.dropped, "history"))
    for place in ("context", "instructions", "task"):
        for section in reversed(draft.sections):
            if section.place == place:
                left = tuple(s for s in draft.sections if s is not section)
                return replace(state, draft=replace(draft, sections=left), dropped=(*state.dropped, section.name))
    if by_rank:
        return _without(state, by_rank[-1], excess, least=1)
    return replace(state, draft=replace(draft, bare=True))


def _without(state: _State, kept: Kept, excess: int, least: int) -> _State:
    """The draft with a block trimmed to what `excess` leaves of it; explicit ones end as a reference line."""
    block = kept.forms.trimmed(kept.block, kept.block.tokens - excess)
    if block is not None and block.spans and sum(map(len, block.spans)) < least:
        block = None
    if block is None and kept.explicit and kept.block.form != "reference":
        line = kept.forms.reference("asked for, does not fit")
        block = line if line.tokens < kept.block.tokens else None
    draft = state.draft
    if block is not None:
        smaller = replace(kept, block=block)
        return replace(state, draft=replace(draft, kept=tuple(smaller if k is kept else k for k in draft.kept)))
    gone = tuple(Omitted(item, "over the budget in the final count", kept.block.tokens) for item in kept.sources)
    left = replace(draft, kept=tuple(k for k in draft.kept if k is not kept))
    return replace(state, draft=left, omitted=state.omitted + gone)


def _lost(dropped: Sequence[str], budget: int) -> Iterator[str]:
    """One sentence on the sections and turns that did not fit."""
    called = {"task": "the task of the recipe", "history": "earlier turns"}
    names = ", ".join(called.get(name, f"the section {name}") for name in dict.fromkeys(dropped))
    if names:
        yield f"The budget of {budget:,} tokens leaves no room for {names}; raise it to have them in the prompt."


def _warnings(kept: Sequence[Kept], renderer: Renderer) -> Iterator[str]:
    """One sentence a file on what was redacted, on what was made visible, on what poses as instructions."""
    found: dict[str, dict[str, int]] = {}
    secret: dict[str, dict[str, int]] = {}
    orders: dict[str, dict[str, int]] = {}
    for entry in kept:
        told = [(secret if f.secret else found, f) for f in entry.forms.findings(entry.block)]
        for table, finding in [*told, *((orders, f) for f in entry.forms.orders(entry.block))]:
            by_name = table.setdefault(entry.block.item.path, {})
            by_name[finding.name] = by_name.get(finding.name, 0) + 1
    for verb, by_path in (("redacted", secret), ("made visible", found), ("reads like instructions", orders)):
        for path in sorted(by_path):
            names = ", ".join(f"{n} x {name}" for name, n in sorted(by_path[path].items()))
            yield f"{verb} in {renderer.label(path)}: {names}"

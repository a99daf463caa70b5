"""The finished prompt: instructions, context, question; counted as a whole and never over the budget.

Order serves caches and readers: what stays the same comes first, the question comes last, verbatim.
Wording lives in variants/*.md; `clause.md` goes with every variant.  Only this module puts text
outside fences, and that text is ours or the user's own.  Knows nothing of how blocks were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Block, Item
from promptls.prompt import fences
from promptls.prompt.pack import Kept, Omitted, Packed
from promptls.prompt.render import SEPARATOR, Renderer, element
from promptls.prompt.sanitize import clean
from promptls.prompt.tokens import Counter, UnknownName

VARIANTS = ("anti_prior", "baseline", "citation", "strict")
OUTPUTS = ("messages", "text")

MESSAGE_COST = 4
"""Tokens that chat formats put around one message: role, start and end; the largest of those in use."""


class BudgetTooSmall(ValueError):
    """The message alone is over the budget."""

    def __init__(self, needed: int, budget: int) -> None:
        self.needed = needed
        self.budget = budget
        super().__init__(f"the message alone needs {needed} tokens, the budget is {budget}")


class Section(Struct, frozen=True):
    """A part of the prompt that is no code: rules, memory, architecture notes, a recipe."""

    name: str
    text: str
    place: Literal["instructions", "context", "task"] = "context"
    """"context" is fenced as data; the others are the user's own words and stand as they are."""


class Message(Struct, frozen=True):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


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
) -> int:
    """Tokens of a prompt without blocks, the message included: the rest of the budget is for blocks."""
    draft = _draft(message, variant, output, sections, history)
    return _used(_chat(draft, fences.SPECIMEN, None), output, counter)


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
    absence: str = "",
    complete: float = 1.0,
    secret: bytes | None = None,
) -> Assembled:
    """The prompt for a message, at most `budget` tokens.

    `packed` should come from `pack` with the budget that `room` gives; if the result is over all the same
    (joints of an estimate, another budget), what is worth least is trimmed, then left out: implicit blocks,
    earlier turns, sections, explicit blocks, the frame.  `absence` is the sentence that stands where no block
    does; without one it is made from what was left out and from `complete`, the share of the workspace that
    was indexed (0 to 1).  `secret` fixes the boundary for tests.  Raises `BudgetTooSmall` and `UnknownName`.
    """
    counter = renderer.counter
    draft = _draft(message, variant, output, sections, history)
    needed = _used(_chat(replace(draft, bare=True), "", None), output, counter)
    if needed > budget:
        raise BudgetTooSmall(needed, budget)
    draft = replace(draft, kept=packed.kept, empty=absence or _empty(packed, budget, complete))
    while True:
        boundary = _boundary(draft, renderer, secret)
        chat = _chat(draft, boundary, renderer)
        used = _used(chat, output, counter)
        if used <= budget:
            break
        draft = _smaller(draft, used - budget)
    text = "" if output == "messages" else _join(chat[0][1])
    messages = tuple(Message(role, _join(parts)) for role, parts in chat) if output == "messages" else ()
    return Assembled(
        prompt=text,
        messages=messages,
        budget=budget,
        used=used,
        sections=_ledger(chat, used, counter),
        items=tuple(Placed(k.block, k.sources, f"P{i}", k.explicit) for i, k in enumerate(draft.kept, 1)),
        omitted=packed.omitted + draft.omitted,
        dropped=draft.dropped,
        warnings=tuple(_warnings(draft.kept, renderer)),
    )


# ---------------------------------------------------------------- layout

_Parts = list[tuple[str, str, str]]
"""(name in the ledger, heading with its line end or "", text)"""


class _Draft(Struct, frozen=True):
    message: str
    variant: str
    output: str
    sections: tuple[Section, ...]
    history: tuple[Message, ...]
    kept: tuple[Kept, ...] = ()
    empty: str = ""  # said where no block is kept
    bare: bool = False  # nothing but the message
    omitted: tuple[Omitted, ...] = ()
    dropped: tuple[str, ...] = ()


def _draft(message: str, variant: str, output: str, sections: Sequence[Section], history: Sequence[Message]) -> _Draft:
    if variant not in VARIANTS:
        raise UnknownName("variant", variant, VARIANTS)
    if output not in OUTPUTS:
        raise UnknownName("output", output, OUTPUTS)
    cleaned = tuple(replace(s, text="\n".join(clean(s.text.replace("\r\n", "\n")).lines)) for s in sections if s.text)
    return _Draft(message, variant, output, cleaned, tuple(history))


@cache
def _wording(name: str) -> str:
    return files(__package__).joinpath("variants").joinpath(f"{name}.md").read_text("utf-8").strip()


def _chat(
    draft: _Draft, boundary: str, renderer: Renderer | None
) -> list[tuple[Literal["system", "user", "assistant"], _Parts]]:
    """The messages as parts; text output is one message.  `renderer` None leaves the blocks out."""
    question: _Parts = [("question", "", draft.message)]
    if draft.bare:
        return [("user", question)]
    first: _Parts = [("instructions", "", f"{_wording(draft.variant)}\n{_wording('clause')}")]
    first += [(s.name, _heading(s.name), s.text) for s in draft.sections if s.place == "instructions"]
    last = _context(draft, boundary, renderer)
    last += [(s.name, _heading(s.name), s.text) for s in draft.sections if s.place == "task"]
    last += [("question", _heading("question"), draft.message)]
    if draft.output == "messages":
        turns = [(turn.role, [("history", "", turn.content)]) for turn in draft.history]
        return [("system", first), *turns, ("user", last)]
    return [("user", first + last)]


def _context(draft: _Draft, boundary: str, renderer: Renderer | None) -> _Parts:
    """The fenced parts, the boundary stated with the first of them."""
    parts: _Parts = []
    for section in draft.sections:
        if section.place == "context":
            parts.append((section.name, "", fences.fence([("section", section.name)], section.text, boundary)))
    if draft.output == "text":
        for turn in draft.history:
            parts.append(("history", "", fences.fence([("turn", turn.role)], turn.content, boundary)))
    if renderer is None or draft.kept:
        cites = draft.variant == "citation"
        elements = [
            element(kept.block, renderer.label, boundary, f"P{i}" if cites else "")
            for i, kept in enumerate(draft.kept, 1)
            if renderer is not None
        ]
        parts.append(("context", "", SEPARATOR.join(elements)))
    heading = f"# Context\nBoundary: {boundary}\n\n" if parts else "# Context\n"
    if draft.empty and not draft.kept:
        parts.append(("context", "", draft.empty))
    return [(name, heading if i == 0 else "", text) for i, (name, _, text) in enumerate(parts)]


def _heading(name: str) -> str:
    return f"# {name[:1].upper()}{name[1:]}\n"


def _join(parts: _Parts) -> str:
    return SEPARATOR.join(heading + text for _, heading, text in parts)


def _boundary(draft: _Draft, renderer: Renderer, secret: bytes | None) -> str:
    texts = [section.text for section in draft.sections] + [turn.content for turn in draft.history]
    for kept in draft.kept:
        texts += [kept.block.body, renderer.label(kept.block.item.path), kept.block.item.symbol]
    return fences.boundary(draft.message, texts, secret)


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


def _used(chat: Sequence[tuple[str, _Parts]], output: str, counter: Counter) -> int:
    around = MESSAGE_COST if output == "messages" else 0
    return sum(counter.count(_join(parts)) + around for _, parts in chat)


def _ledger(chat: Sequence[tuple[str, _Parts]], used: int, counter: Counter) -> dict[str, int]:
    ledger: dict[str, int] = {}
    for _, parts in chat:
        for name, _, text in parts:
            ledger[name] = ledger.get(name, 0) + counter.count(text)
    rest = used - sum(ledger.values())
    while rest < 0:  # parts counted one by one are rounded up more often than the whole
        largest = max(ledger, key=lambda name: ledger[name])
        less = min(-rest, ledger[largest])
        ledger[largest] -= less
        rest += less
    return {**ledger, "frame": rest}


def _smaller(draft: _Draft, excess: int) -> _Draft:
    """The draft with what is worth least made smaller by about `excess` tokens, or left out."""
    by_rank = sorted(draft.kept, key=lambda kept: kept.rank)
    found = [kept for kept in by_rank if not kept.explicit]
    if found:
        return _without(draft, found[-1], excess, least=3)
    if draft.history:
        return replace(draft, history=draft.history[1:], dropped=(*draft.dropped, "history"))
    for place in ("context", "instructions", "task"):
        for section in reversed(draft.sections):
            if section.place == place:
                left = tuple(s for s in draft.sections if s is not section)
                return replace(draft, sections=left, dropped=(*draft.dropped, section.name))
    if by_rank:
        return _without(draft, by_rank[-1], excess, least=1)
    return replace(draft, bare=True)


def _without(draft: _Draft, kept: Kept, excess: int, least: int) -> _Draft:
    """The draft with a block trimmed to what `excess` leaves of it; explicit ones end as a reference line."""
    block = kept.forms.trimmed(kept.block, kept.block.tokens - excess)
    if block is not None and block.spans and sum(map(len, block.spans)) < least:
        block = None
    if block is None and kept.explicit and kept.block.form != "reference":
        line = kept.forms.reference("asked for, does not fit")
        block = line if line.tokens < kept.block.tokens else None
    if block is not None:
        smaller = replace(kept, block=block)
        return replace(draft, kept=tuple(smaller if k is kept else k for k in draft.kept))
    gone = tuple(Omitted(item, "over the budget in the final count", kept.block.tokens) for item in kept.sources)
    left = tuple(k for k in draft.kept if k is not kept)
    return replace(draft, kept=left, omitted=draft.omitted + gone)


def _warnings(kept: Sequence[Kept], renderer: Renderer) -> Iterator[str]:
    """One sentence a file on what was redacted, one on what was made visible."""
    found: dict[str, dict[str, int]] = {}
    secret: dict[str, dict[str, int]] = {}
    for entry in kept:
        for finding in entry.forms.findings(entry.block):
            by_name = (secret if finding.secret else found).setdefault(entry.block.item.path, {})
            by_name[finding.name] = by_name.get(finding.name, 0) + 1
    for verb, by_path in (("redacted", secret), ("made visible", found)):
        for path in sorted(by_path):
            names = ", ".join(f"{n} x {name}" for name, n in sorted(by_path[path].items()))
            yield f"{verb} in {renderer.label(path)}: {names}"

"""Assembly of the finished prompt: laid out, counted as a whole, and reduced until it is within the budget.

Order, headings and markup are those of the layout; the text of variants is in variants/*.md.  Only layouts put text
outside of fences, and that text is written by promptls or by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Item, RenderedItem, Span
from promptls.prompt.errors import UnknownName
from promptls.prompt.layouts import (
    VARIANTS,
    Chat,
    Layout,
    Message,
    MessageParts,
    PromptContent,
    PromptMetadata,
    Section,
    context_layout,
    default_layout,
)
from promptls.prompt.packing.pack import OmittedItem, PackedItem, PackResult
from promptls.prompt.packing.packer import REFERENCE, Part, allot_tokens, render_parts, sources_of
from promptls.prompt.rendering import fences
from promptls.prompt.rendering.renderer import SEPARATOR, Renderer
from promptls.prompt.sanitize import clean
from promptls.prompt.tokens import Counter, count_all

NO_METADATA = PromptMetadata()
OUTPUTS = ("context", "messages", "text")
"""Valid outputs: the context alone, chat messages, or the prompt as one text."""

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat format adds to a message: role, start and end; the largest of the common formats."""

MAX_BOUNDARY_ATTEMPTS = 32
"""Maximum number of boundaries that are tried; every second one costs no more tokens than counted."""

_MIN_IMPLICIT_LINES = 3
_MIN_EXPLICIT_LINES = 1
"""Minimum number of lines of a trimmed block."""


class BudgetTooSmall(ValueError):
    """The message alone exceeds the budget."""

    def __init__(self, needed: int, budget: int) -> None:
        self.needed = needed
        self.budget = budget
        super().__init__(f"the message alone needs {needed} tokens, the budget is {budget}")


class PromptItem(Struct, frozen=True):
    """A block in the prompt."""

    rendered: RenderedItem
    parts: tuple[Part, ...]  # what it shows of each candidate
    citation: str  # "P1"; shown in the prompt by the variant "citation"
    explicit: bool

    @property
    def sources(self) -> tuple[Item, ...]:
        """The candidates that it shows, by rank."""
        return sources_of(self.parts)

    @property
    def joined(self) -> list[tuple[Item, int]]:
        """The candidates beside the item itself, in the order of the file, with their shares of the tokens."""
        shares = allot_tokens(self.rendered, self.parts)
        item = self.rendered.item
        out = [
            (source, share.tokens if n == 0 else 0)
            for share, part in zip(shares, self.parts, strict=True)
            for n, (_, source) in enumerate(part.sources)
            if (source.span, source.symbol) != (item.span, item.symbol)
        ]
        return sorted(out, key=lambda one: one[0].span)

    @property
    def lines(self) -> Span | None:
        """First to last line of the candidates; None if no lines are shown."""
        spans = [span for part in self.parts for span in part.rendered.spans]
        return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None

    def parts_showing(self, is_source: Callable[[Item], bool]) -> list[RenderedItem]:
        """Return the parts for some of the candidates, each with its share of the tokens."""
        shares = allot_tokens(self.rendered, self.parts)
        return [
            share
            for share, part in zip(shares, self.parts, strict=True)
            if any(is_source(source) for _, source in part.sources)
        ]


class AssembledPrompt(Struct, frozen=True):
    """A prompt, its token counts, and what it contains."""

    prompt: str  # "" for output "messages"
    messages: tuple[Message, ...]  # () for the other outputs
    cacheable_characters: int  # of the last message: those before the first one that depends on the question
    budget: int
    tokens_used: int  # of the finished text; of messages, with `TOKENS_PER_MESSAGE` each
    section_tokens: dict[str, int]  # with "frame" (headings, separators) they add up to `tokens_used`
    items: tuple[PromptItem, ...]  # in prompt order
    omitted: tuple[OmittedItem, ...]
    warnings: tuple[str, ...]


def frame_tokens(
    message: str,
    variant: str,
    output: str,
    counter: Counter,
    sections: Sequence[Section] = (),
    history: Sequence[Message] = (),
    layout: Layout = default_layout,
    metadata: PromptMetadata = NO_METADATA,
) -> int:
    """Return the tokens of a prompt without blocks, the message included; the rest of the budget is for blocks."""
    content = _content(message, variant, output, sections, history, metadata)
    return _count(_lay_out(content, layout, fences.SPECIMEN, None), output, counter)


def assemble(
    message: str,
    packed: PackResult,
    *,
    variant: str = "baseline",
    output: str = "text",
    budget: int,
    renderer: Renderer,
    sections: Sequence[Section] = (),
    history: Sequence[Message] = (),
    layout: Layout = default_layout,
    metadata: PromptMetadata = NO_METADATA,
    empty_text: str = "",
    map_text: str = "",
    index_completeness: float = 1.0,
    boundary_key: bytes | None = None,
) -> AssembledPrompt:
    """Assemble the prompt for a message, at most `budget` tokens.

    The blocks should be packed with the budget that `frame_tokens` leaves.  If the prompt is still too long, because
    counts are estimates or the budget differs, it is reduced: the map, implicit blocks, earlier turns, sections, explicit
    blocks, and the frame, in this order.

    Args:
        message: the user's message.
        packed: the packed blocks.
        variant: one of `VARIANTS`.
        output: one of `OUTPUTS`.
        budget: in tokens.
        renderer: the renderer of the blocks.
        sections: sections without code.
        history: earlier turns, oldest first.
        layout: the layout function.
        metadata: facts that the layout may show.
        empty_text: the notice of a prompt without blocks; by default it gives the reason.
        map_text: list of regions that are not shown; it is left out first.
        index_completeness: share of the workspace that is indexed, 0 to 1.
        boundary_key: prompts with the same key share their boundary; by default, all of this process do.

    Raises:
        BudgetTooSmall: the message alone exceeds the budget.
        UnknownName: the variant or the output is unknown.
    """
    counter = renderer.counter
    content = _content(message, variant, output, sections, history, metadata)
    needed = _count(_lay_out(replace(content, message_only=True), layout, "", None), output, counter)
    if needed > budget:
        raise BudgetTooSmall(needed, budget)
    notice = empty_text or _empty_notice(packed, budget, index_completeness)
    state = _State(replace(content, items=packed.items, empty_notice=notice, map=map_text))
    while True:
        # First with the specimen: the content of a prompt must not depend on the boundary.
        tokens = _count(_lay_out(state.content, layout, fences.SPECIMEN, renderer), output, counter)
        if tokens <= budget:
            chat, tokens, boundary = _fence(state.content, layout, renderer, budget, boundary_key)
            if tokens <= budget:
                break
        state = _reduce(state, tokens - budget)
    blocks = state.content.items
    text = "" if output == "messages" else _join(chat[0][1])
    messages = tuple(Message(role, _join(parts)) for role, parts in chat) if output == "messages" else ()
    return AssembledPrompt(
        prompt=text,
        messages=messages,
        cacheable_characters=_cacheable_characters(messages, state.content, layout, boundary, renderer),
        budget=budget,
        tokens_used=tokens,
        section_tokens=_section_tokens(chat, tokens, counter),
        items=tuple(PromptItem(b.rendered, b.parts, f"P{i}", b.explicit) for i, b in enumerate(blocks, 1)),
        omitted=packed.omitted + state.omitted,
        warnings=(
            *dropped_warnings(state.dropped, budget),
            *encoding_warnings(blocks, renderer),
            *sanitizer_warnings(blocks, renderer),
        ),
    )


# ---------------------------------------------------------------- content


class _State(Struct, frozen=True):
    """The content of a prompt while it is reduced, and what was removed from it."""

    content: PromptContent
    omitted: tuple[OmittedItem, ...] = ()
    dropped: tuple[str, ...] = ()  # names of sections; "history" once for each earlier turn


def _content(
    message: str,
    variant: str,
    output: str,
    sections: Sequence[Section],
    history: Sequence[Message],
    metadata: PromptMetadata,
) -> PromptContent:
    if variant not in VARIANTS:
        raise UnknownName("variant", variant, VARIANTS)
    if output not in OUTPUTS:
        raise UnknownName("output", output, OUTPUTS)
    cleaned = tuple(replace(s, text="\n".join(clean(s.text.replace("\r\n", "\n")).lines)) for s in sections if s.text)
    return PromptContent(message, variant, output, cleaned, tuple(history), metadata=metadata)


def _lay_out(content: PromptContent, layout: Layout, boundary: str, renderer: Renderer | None) -> Chat:
    """Return the messages as parts; without a renderer, blocks are left out."""
    if content.output == "context":
        return context_layout(content, boundary, renderer)
    if content.message_only:
        return [("user", [("question", "", content.message)])]
    return layout(content, boundary, renderer)


def _join(parts: MessageParts) -> str:
    return SEPARATOR.join(heading + text for _, heading, text in parts)


def _fence(
    content: PromptContent, layout: Layout, renderer: Renderer, budget: int, boundary_key: bytes | None
) -> tuple[Chat, int, str]:
    """Return the messages with a boundary, their tokens, and it; a boundary that exceeds the budget is drawn again."""
    texts = [content.map, *(section.text for section in content.sections), *(turn.content for turn in content.history)]
    for packed in content.items:
        texts += [packed.rendered.body, renderer.label(packed.rendered.item.path), packed.rendered.item.symbol]
    chat, tokens, boundary = [], budget + 1, ""
    for boundary in islice(fences.boundaries(content.message, texts, boundary_key), MAX_BOUNDARY_ATTEMPTS):
        chat = _lay_out(content, layout, boundary, renderer)
        tokens = _count(chat, content.output, renderer.counter)
        if tokens <= budget:
            break
    return chat, tokens, boundary


def _cacheable_characters(
    messages: Sequence[Message], content: PromptContent, layout: Layout, boundary: str, renderer: Renderer
) -> int:
    """Return how many characters of the last message another question with the same mentions has in common."""
    if not messages:
        return 0
    explicit = tuple(packed for packed in content.items if packed.explicit)
    sections = tuple(section for section in content.sections if section.placement == "context")
    other = replace(
        content,
        message="another question",
        items=explicit,
        sections=sections,
        empty_notice="",
        map="",
        metadata=NO_METADATA,
    )
    rest = _join(_lay_out(other, layout, boundary, renderer)[-1][1])
    pairs = enumerate(zip(messages[-1].content, rest, strict=False))
    common = next((i for i, (a, b) in pairs if a != b), min(len(messages[-1].content), len(rest)))
    end = rest.rfind(SEPARATOR, 0, common)
    return end + len(SEPARATOR) if end >= 0 else 0


def _empty_notice(packed: PackResult, budget: int, index_completeness: float) -> str:
    """Return the reason why the prompt contains no code."""
    if packed.items or packed.omitted:
        why = f"the budget of {budget} tokens leaves no room for it"
    elif index_completeness < 1:
        why = f"nothing was found, and the index is not complete yet ({int(100 * index_completeness)} %)"
    else:
        why = "nothing was found that belongs to the question"
    return f"No code from the workspace is included: {why}."


# ---------------------------------------------------------------- counting


def _count(chat: Chat, output: str, counter: Counter) -> int:
    per_message = TOKENS_PER_MESSAGE if output == "messages" else 0
    return sum(counter.count(_join(parts)) + per_message for _, parts in chat)


def _section_tokens(chat: Chat, total: int, counter: Counter) -> dict[str, int]:
    """Return the tokens by section, so that with "frame" they add up to `total`."""
    by_section: dict[str, int] = {}
    counted = [(name, text) for _, parts in chat for name, _, text in parts if name != "frame"]
    for (name, _), tokens in zip(counted, count_all(counter, [text for _, text in counted]), strict=True):
        by_section[name] = by_section.get(name, 0) + tokens
    rest = total - sum(by_section.values())
    while rest < 0:  # each part is rounded up, the whole text only once
        largest = max(by_section, key=lambda name: by_section[name])
        excess = min(-rest, by_section[largest])
        by_section[largest] -= excess
        rest += excess
    return {**by_section, "frame": rest}


# ---------------------------------------------------------------- reduction


def _reduce(state: _State, excess: int) -> _State:
    """Reduce the content of lowest priority by about `excess` tokens, or remove it."""
    content = state.content
    if content.map:
        return replace(state, content=replace(content, map=""))
    implicit = [packed for packed in content.items if not packed.explicit]
    if implicit:
        lowest = max(implicit, key=lambda packed: packed.worst_part.rank)
        return _reduce_block(state, lowest, excess, _MIN_IMPLICIT_LINES)
    if content.history:
        shorter = replace(content, history=content.history[1:])
        return replace(state, content=shorter, dropped=(*state.dropped, "history"))
    for placement in ("context", "instructions", "task"):
        for section in reversed(content.sections):
            if section.placement == placement:
                remaining = tuple(s for s in content.sections if s is not section)
                shorter = replace(content, sections=remaining)
                return replace(state, content=shorter, dropped=(*state.dropped, section.name))
    if content.items:
        lowest = max(content.items, key=lambda packed: packed.worst_part.rank)
        return _reduce_block(state, lowest, excess, _MIN_EXPLICIT_LINES)
    return replace(state, content=replace(content, message_only=True))


def _reduce_block(state: _State, packed: PackedItem, excess: int, min_lines: int) -> _State:
    """Trim the worst part of a block by `excess` tokens, or remove it; an explicit part ends as a reference line."""
    by_rank = sorted(packed.parts, key=lambda part: part.rank)
    worst = by_rank[-1]
    whole = packed.complete and not packed.explicit
    trimmed = _trim(worst, worst.rendered.tokens - excess, min_lines, whole_definitions=whole)
    if trimmed is not None and (shorter := _with_parts(state, packed, (*by_rank[:-1], trimmed))) is not None:
        return _replace_item(state, packed, (shorter,))
    rest, count = None, len(by_rank)  # a part may show lines of another one; then more than one is removed
    while rest is None and count > 0:
        count -= 1
        rest = _with_parts(state, packed, tuple(by_rank[:count])) if count else None
    kept = (rest,) if rest is not None else ()
    removed = tuple(source for part in by_rank[count:] for source in part.sources)
    if packed.explicit and worst.rendered.form != "reference":
        reference = worst.forms.reference("asked for, does not fit")
        named = PackedItem(reference, worst.forms, (Part(REFERENCE, reference, worst.forms, removed),), True)
        if reference.tokens + sum(item.rendered.tokens for item in kept) < packed.rendered.tokens:
            return _replace_item(state, packed, (*kept, named))
    reason = "over the budget in the final count"
    tokens = packed.rendered.tokens - sum(item.rendered.tokens for item in kept)
    omitted = tuple(OmittedItem(item, reason, tokens) for _, item in removed)
    return _replace_item(replace(state, omitted=state.omitted + omitted), packed, kept)


def _trim(part: Part, max_tokens: int, min_lines: int, *, whole_definitions: bool) -> Part | None:
    """Return a part cut to `max_tokens`; None if less than `min_lines` lines are left.

    With `whole_definitions`, a definition is replaced by its signature.
    """
    if whole_definitions and part.forms.is_definition and part.rendered.spans:
        block = part.forms.signature() if part.rendered.form != "signature" else None
        return replace(part, rendered=block) if block is not None and block.tokens <= max_tokens else None
    block = part.forms.trim(part.rendered, max_tokens)
    if block is None or (block.spans and sum(map(len, block.spans)) < min_lines):
        return None
    return replace(part, rendered=block)


def _with_parts(state: _State, packed: PackedItem, parts: tuple[Part, ...]) -> PackedItem | None:
    """Return a block with other parts; None if that costs no less."""
    path = packed.rendered.item.path
    others = [item.rendered for item in state.content.items if item is not packed and item.rendered.item.path == path]
    fence = render_parts(parts, sorted(s for other in others for s in other.spans), packed.complete)
    if fence.rendered.tokens >= packed.rendered.tokens:
        return None
    return replace(packed, rendered=fence.rendered, forms=fence.forms, parts=parts)


def _replace_item(state: _State, packed: PackedItem, new: Sequence[PackedItem]) -> _State:
    """Return the state with a block replaced by others, which may be none."""
    at = state.content.items.index(packed)
    items = (*state.content.items[:at], *new, *state.content.items[at + 1 :])
    return replace(state, content=replace(state.content, items=items))


# ---------------------------------------------------------------- warning texts


def dropped_warnings(dropped: Sequence[str], budget: int) -> Iterator[str]:
    """Yield a warning about the sections and turns that did not fit."""
    labels = {"task": "the task of the recipe", "history": "earlier turns"}
    names = ", ".join(labels.get(name, f"the section {name}") for name in dict.fromkeys(dropped))
    if names:
        yield f"The budget of {budget:,} tokens leaves no room for {names}; increase it to include them."


def encoding_warnings(blocks: Sequence[PackedItem], renderer: Renderer) -> Iterator[str]:
    """Yield a warning for each file of which some characters may be wrong."""
    notes = {b.rendered.item.path: b.forms.file.encoding_note for b in blocks if b.rendered.spans and b.forms.file}
    for path, note in notes.items():
        if note:
            yield f"{renderer.label(path)} {note}; save it as UTF-8."


def sanitizer_warnings(blocks: Sequence[PackedItem], renderer: Renderer) -> Iterator[str]:
    """Yield one warning per file and class of finding: secrets, invisible characters, injections."""
    secrets: dict[str, dict[str, int]] = {}
    invisible: dict[str, dict[str, int]] = {}
    injections: dict[str, dict[str, int]] = {}
    for packed in blocks:
        block, forms = packed.rendered, packed.forms
        findings = [(secrets if f.secret else invisible, f) for f in forms.findings(block)]
        findings += [(injections, f) for f in forms.injections(block)]
        for by_path, finding in findings:
            counts = by_path.setdefault(block.item.path, {})
            counts[finding.name] = counts.get(finding.name, 0) + 1
    for prefix, by_path in (
        ("redacted", secrets),
        ("made visible", invisible),
        ("reads like instructions", injections),
    ):
        for path in sorted(by_path):
            names = ", ".join(f"{n} x {name}" for name, n in sorted(by_path[path].items()))
            yield f"{prefix} in {renderer.label(path)}: {names}"

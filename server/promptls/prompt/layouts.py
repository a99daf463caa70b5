"""Layouts of prompts: order, headings and markup of the parts, and the instructions of the variants.

A layout is a function of a prompt's content; `default_layout` is that of the default profile, others come from
profile hooks.  `assemble` counts the result and reduces the content until it fits the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from promptls.prompt.packing.pack import PackedItem
from promptls.prompt.rendering import fences
from promptls.prompt.rendering.renderer import SEPARATOR, Renderer, render_element

SectionPlacement = Literal["instructions", "context", "task"]
Role = Literal["system", "user", "assistant"]
MessagePart = tuple[str, str, str]
"""(section name for the token counts, heading with its line end or "", text)"""
MessageParts = list[MessagePart]
Chat = list[tuple[Role, MessageParts]]
"""Messages as (role, parts); output "text" is one message."""


MAP_INTRODUCTION = "More regions of the workspace, not shown; name them to get them:"


class Section(Struct, frozen=True):
    """A part of the prompt without code: rules, memory, architecture notes, the task of a recipe."""

    name: str
    text: str
    placement: SectionPlacement = "context"
    """"context" is fenced as data; the other two are text of promptls or the user and are not fenced."""


class Message(Struct, frozen=True):
    """One chat message."""

    role: Role
    content: str


class PromptMetadata(Struct, frozen=True):
    """Facts about the question and the budget that a layout may show."""

    question_types: tuple[str, ...] = ()
    action: str = "other"
    budget: int = 0  # tokens
    omitted_count: int = 0  # number of items that the budget left out
    unresolved: tuple[str, ...] = ()  # mentions without a target, as written in the message
    notice: str = ""  # what the question asks for and the code does not contain


class PromptContent(Struct, frozen=True):
    """The content of a prompt before layout."""

    message: str
    variant: str
    output: str  # "context", "messages" or "text"
    sections: tuple[Section, ...] = ()
    history: tuple[Message, ...] = ()
    items: tuple[PackedItem, ...] = ()
    metadata: PromptMetadata = PromptMetadata()
    empty_notice: str = ""  # shown if the prompt has no items
    map: str = ""  # list of regions that the prompt does not show
    message_only: bool = False  # whether the prompt is reduced to the message

    def sections_named(self, *names: str) -> list[Section]:
        """Return the sections with these names, in the order of the names."""
        return [s for name in names for s in self.sections if s.name == name]

    def sections_except(self, *names: str) -> list[Section]:
        """Return the sections with other names, in prompt order."""
        return [s for s in self.sections if s.name not in names]

    def labelled_items(self) -> list[tuple[PackedItem, str]]:
        """Return each item with its citation label, such as "P1"; with "" unless the variant is "citation"."""
        cites = self.variant == "citation"
        return [(packed, f"P{i}" if cites else "") for i, packed in enumerate(self.items, 1)]


Layout = Callable[[PromptContent, str, "Renderer | None"], Chat]
"""Function of (content, boundary, renderer); without a renderer, items are left out to count the frame."""


def heading(name: str) -> str:
    """Return a top-level heading with its line end, such as "# Rules"."""
    return f"# {name[:1].upper()}{name[1:]}\n"


def arrange_messages(content: PromptContent, prefix: MessageParts, rest: MessageParts) -> Chat:
    """Return one message for output "text", else a system message (the stable prefix), the history and the rest."""
    if content.output == "text":
        return [("user", [*prefix, *rest])]
    turns: Chat = [(turn.role, [("history", "", turn.content)]) for turn in content.history]
    system: Chat = [("system", prefix)] if prefix else []
    return [*system, *turns, ("user", rest)]


def default_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out a prompt in the default format."""
    instructions = [variant_text(content.variant), variant_text("clause")]
    if content.sections_named("rules", "memory"):
        instructions.append(variant_text("conventions"))
    first: MessageParts = [("instructions", "", "\n".join(instructions))]
    last = _context(content, boundary, renderer)
    for placement in ("instructions", "task"):
        last += [(s.name, heading(s.name), s.text) for s in content.sections if s.placement == placement]
    if content.message.strip():
        last.append(("question", heading("question"), content.message))
    return arrange_messages(content, first, last)


def context_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out the fenced context without instructions, earlier turns and the question, for output "context"."""
    return [("user", [] if content.message_only else _context(content, boundary, renderer))]


def message_only_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out a message that needs no context: the message and nothing else, after the earlier turns of a chat."""
    return arrange_messages(content, [], [("question", "", content.message)])


def _context(content: PromptContent, boundary: str, renderer: Renderer | None) -> MessageParts:
    """Return the fenced parts; the heading of the first one states the boundary."""
    parts: MessageParts = []
    for section in content.sections:
        if section.placement == "context":
            parts.append((section.name, "", fences.fence([("section", section.name)], section.text, boundary)))
    elements = [
        (packed.explicit, render_element(packed.rendered, renderer.label, boundary, citation))
        for packed, citation in content.labelled_items()
        if renderer is not None
    ]
    if mentioned := [text for explicit, text in elements if explicit]:
        parts.append(("context", "", SEPARATOR.join(mentioned)))
    if content.output == "text":
        for turn in content.history:
            parts.append(("history", "", fences.fence([("turn", turn.role)], turn.content, boundary)))
    if content.metadata.notice:
        parts.append(("context", "", content.metadata.notice))
    retrieved = [text for explicit, text in elements if not explicit]
    if renderer is None or retrieved:
        parts.append(("context", "", SEPARATOR.join(retrieved)))
    head = f"# Context\nBoundary: {boundary}\n\n" if parts else "# Context\n"
    if content.empty_notice and not content.items and not content.metadata.notice:
        parts.append(("context", "", content.empty_notice))
    if unresolved := content.metadata.unresolved:
        parts.append(("context", "", f"Not included, because it could not be resolved: {', '.join(unresolved)}."))
    if content.map:
        parts.append(("map", "", f"{MAP_INTRODUCTION}\n{fences.fence([('section', 'map')], content.map, boundary)}"))
    return [(name, head if i == 0 else "", text) for i, (name, _, text) in enumerate(parts)]


# ---------------------------------------------------------------- variants


VARIANTS = ("anti_prior", "baseline", "citation", "strict")
"""Names of all variants."""


@cache
def variant_text(name: str) -> str:
    """Return the text of variants/NAME.md: a variant, or "clause" or "conventions" of the default layout."""
    return files(__package__).joinpath("variants").joinpath(f"{name}.md").read_text("utf-8").strip()

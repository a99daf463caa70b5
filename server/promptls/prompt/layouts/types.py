"""Types of layouts: the content of a prompt before layout, and the chat messages a layout returns.

A layout decides order, headings and markup, and nothing else.  Text from the workspace is always enclosed in
fences or sentinels that it cannot close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from promptls.prompt.packing.pack import PackedItem
from promptls.prompt.rendering.renderer import Renderer

SectionPlacement = Literal["instructions", "context", "task"]
Role = Literal["system", "user", "assistant"]
MessagePart = tuple[str, str, str]
"""(section name for the token counts, heading with its line end or "", text)"""
MessageParts = list[MessagePart]
Chat = list[tuple[Role, MessageParts]]
"""Messages as (role, parts); output "text" is one message."""


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

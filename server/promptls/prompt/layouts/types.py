"""What goes into a layout and what comes out: the pieces of a prompt, and the messages made of them.

A layout is a function of a draft; it decides order, headings and markup, and nothing else.  Text that is not
ours or the user's own stands inside fences or sentinels that the text cannot close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from promptls.prompt.pack import Kept
from promptls.prompt.render import Renderer

Place = Literal["instructions", "context", "task"]
Role = Literal["system", "user", "assistant"]
Part = tuple[str, str, str]
"""(name in the ledger, heading with its line end or "", text)"""
Parts = list[Part]
Chat = list[tuple[Role, Parts]]
"""Messages; output "text" is one message."""


class Section(Struct, frozen=True):
    """A part of the prompt that is no code: rules, memory, architecture notes, a recipe."""

    name: str
    text: str
    place: Place = "context"
    """"context" is fenced as data; the others are ours or the user's own words and stand as they are."""


class Message(Struct, frozen=True):
    """One chat message."""

    role: Role
    content: str


class Facts(Struct, frozen=True):
    """What a layout may say of the question and of the budget."""

    types: tuple[str, ...] = ()  # of the question
    action: str = "other"
    budget: int = 0  # tokens
    omitted: int = 0  # regions that the budget left out


class Draft(Struct, frozen=True):
    """A prompt before it is laid out."""

    message: str
    variant: str
    output: str  # "text" or "messages"
    sections: tuple[Section, ...] = ()
    history: tuple[Message, ...] = ()
    kept: tuple[Kept, ...] = ()
    facts: Facts = Facts()
    empty: str = ""  # said where no block is kept
    bare: bool = False  # nothing but the message

    def named(self, *names: str) -> list[Section]:
        """The sections of these names, in this order."""
        return [s for name in names for s in self.sections if s.name == name]

    def unnamed(self, *names: str) -> list[Section]:
        """The sections of all other names, in their order."""
        return [s for s in self.sections if s.name not in names]

    def cited(self) -> list[tuple[Kept, str]]:
        """Each block with its label, "P1", where the variant cites, else with ""."""
        cites = self.variant == "citation"
        return [(kept, f"P{i}" if cites else "") for i, kept in enumerate(self.kept, 1)]


Layout = Callable[[Draft, str, "Renderer | None"], Chat]
"""(draft, boundary, renderer); without a renderer the blocks are left out, so that the frame can be counted."""


def heading(name: str) -> str:
    """ "# Rules" with its line end."""
    return f"# {name[:1].upper()}{name[1:]}\n"


def one_message(draft: Draft, first: Parts, last: Parts) -> Chat:
    """Everything as one text; or the stable beginning as the system's message, the history, and the rest."""
    if draft.output == "text":
        return [("user", [*first, *last])]
    turns: Chat = [(turn.role, [("history", "", turn.content)]) for turn in draft.history]
    return [("system", first), *turns, ("user", last)]

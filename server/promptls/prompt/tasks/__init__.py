"""Context by task: code that a kind of request needs whatever its words are, such as the tests of a changed function.

Each module recognizes one task and returns its items, most important first, with the origin `Origin.TASK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from promptls.mentions.context import ResolveContext
from promptls.model import Item, MentionOutcome
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Message

Retrieval = Literal["all", "related", "none"]
"""Retrieved code that is added: with the map of further regions, without it next to other code, or none."""

SCORE = 0.9
"""Score of the items of a task: below that of mentioned items, above that of most retrieved ones."""


class TaskRequest(Struct, frozen=True):
    """A message, and what is known about it before retrieval."""

    message: str
    question: str  # the message without its mentions
    intent: Intent
    outcomes: Sequence[MentionOutcome]
    explicit_items: Sequence[Item]  # of mentions, selection, active document and recipe
    recipe: str  # name of the recipe, "" without one
    history: Sequence[Message]  # earlier turns, oldest first
    context: ResolveContext
    about_project: bool  # whether the question is about the project as a whole


class TaskContext(Struct, frozen=True):
    """The context that a task needs besides the mentioned code."""

    items: tuple[Item, ...] = ()  # most important first
    retrieval: Retrieval = "all"
    instructions: tuple[str, ...] = ()  # names of templates of the instructions, for a message without a recipe
    absent: tuple[str, ...] = ()  # names that the question asks for and no code contains; no code is added
    as_outlines: bool = False  # whether the prompt shows outlines of the items instead of their code, in this order

"""Model hints for clients: temperature, maximum answer length, and the practices that the prompt follows.

The practices are derived from the content of the finished prompt.  Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

TEMPERATURES = {"fix": 0.3, "modify": 0.3, "refactor": 0.4, "create": 0.5, "other": 0.5, "explain": 0.7}
"""Temperature by action: lower if there is only one right answer."""

MAX_TOKENS = 16_384
"""Maximum length of the answer in tokens, for all actions: long enough for a whole file."""

_FIXED_TEMPERATURE = re.compile(r"(?:^|[/.:])(?:o[1-9](?:-|$)|gpt-5)")
"""Model families with a fixed temperature."""

_ALWAYS_PRESENT = frozenset({"context", "frame", "question"})
"""Entries of `AssembledPrompt.section_tokens` that every prompt has."""


class PromptContents(Struct, frozen=True):
    """Summary of a prompt's content."""

    variant: str = "baseline"
    recipe: str = ""
    sections: tuple[str, ...] = ()  # in prompt order
    has_type_instructions: bool = False  # whether there are instructions for the question types
    explicit_count: int = 0  # explicit items
    implicit_count: int = 0  # retrieved items
    reduced_count: int = 0  # items that are not shown in full
    redacted: bool = False
    messages: bool = False  # whether the prompt is chat messages with a stable prefix, not one text


class ModelHints(Struct, frozen=True):
    """Optional hints for the client."""

    temperature: float | None  # None if the model has a fixed one
    max_tokens: int
    practices: tuple[str, ...]


def model_hints(action: str, types: Iterable[str], model: str, contents: PromptContents) -> ModelHints:
    """Return the hints for a question's action and types, and for its prompt."""
    temperature = (
        None if _FIXED_TEMPERATURE.search(model.strip().lower()) else TEMPERATURES.get(action, TEMPERATURES["other"])
    )
    return ModelHints(temperature, MAX_TOKENS, tuple(_practices(tuple(types), contents)))


def _practices(types: Collection[str], contents: PromptContents) -> Iterable[str]:
    yield from (name for name in dict.fromkeys(contents.sections) if name not in _ALWAYS_PRESENT)
    if contents.has_type_instructions:
        yield f"for questions of type: {', '.join(types) or 'general'}"
    if contents.recipe:
        yield f"recipe: {contents.recipe}"
    yield f"variant: {contents.variant}"
    if contents.variant == "citation":
        yield "citations"
    if contents.explicit_count:
        yield "mentioned context"
    if contents.implicit_count:
        yield "gathered context"
    if contents.explicit_count or contents.implicit_count:
        yield "fenced data"
    if contents.reduced_count:
        yield "shortened code"
    if contents.redacted:
        yield "secrets redacted"
    if contents.messages:
        yield "stable beginning"

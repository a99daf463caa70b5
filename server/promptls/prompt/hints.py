"""What a client may tell its model: temperature, room for the answer, and which practices the prompt follows.

prompto's numbers.  The practices are read off what the prompt really contains.  Pure; knows no request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

TEMPERATURES = {"fix": 0.3, "modify": 0.3, "refactor": 0.4, "create": 0.5, "other": 0.5, "explain": 0.7}
"""prompto's, by action: the more there is one right answer, the lower."""

MAX_TOKENS = 16_384
"""prompto's, for every action."""

_FIXED = re.compile(r"(?:^|[/.:])(?:o[1-9](?:-|$)|gpt-5)")
"""Families that take no temperature but their own."""

_NO_PRACTICE = frozenset({"context", "frame", "question"})
"""Entries of a prompt's ledger that every prompt has."""


class Contents(Struct, frozen=True):
    """What is in a prompt, as far as it has a name."""

    variant: str = "baseline"
    recipe: str = ""
    sections: tuple[str, ...] = ()  # in prompt order, as the ledger calls them
    typed: bool = False  # whether there are instructions for the type of question
    mentioned: int = 0  # blocks that were asked for
    found: int = 0  # blocks that were found
    reduced: int = 0  # blocks that are shown by a part, a signature or an outline
    redacted: bool = False
    messages: bool = False  # chat messages with a stable beginning, instead of one text


class ModelHints(Struct, frozen=True):
    """For the client: none of it is needed to use the prompt."""

    temperature: float | None  # None where the model takes none
    max_tokens: int
    practices: tuple[str, ...]


def hints(action: str, types: Iterable[str], model: str, contents: Contents) -> ModelHints:
    """The hints for a question of this action and these types, and the prompt that was made of it."""
    temperature = None if _FIXED.search(model.strip().lower()) else TEMPERATURES.get(action, TEMPERATURES["other"])
    return ModelHints(temperature, MAX_TOKENS, tuple(_practices(tuple(types), contents)))


def _practices(types: Collection[str], contents: Contents) -> Iterable[str]:
    yield from (name for name in dict.fromkeys(contents.sections) if name not in _NO_PRACTICE)
    if contents.typed:
        yield f"for questions of type: {', '.join(types) or 'general'}"
    if contents.recipe:
        yield f"recipe: {contents.recipe}"
    yield f"variant: {contents.variant}"
    if contents.variant == "citation":
        yield "citations"
    if contents.mentioned:
        yield "mentioned context"
    if contents.found:
        yield "gathered context"
    if contents.mentioned or contents.found:
        yield "fenced data"
    if contents.reduced:
        yield "shortened code"
    if contents.redacted:
        yield "secrets redacted"
    if contents.messages:
        yield "stable beginning"

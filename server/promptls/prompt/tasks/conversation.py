"""Context of a conversation: the code that earlier turns of the user mention, and what a follow-up question is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.extent import find_mentions
from promptls.mentions.resolve import collect_items, parse_message, resolve_message
from promptls.mentions.syntax.grammar import strip_mentions
from promptls.model import Item, Origin
from promptls.prompt.layouts import Message
from promptls.prompt.tasks.types import SCORE, TaskRequest

MAX_TURNS, MAX_TURN_CHARACTERS, MAX_ITEMS = 6, 4_000, 8
"""Maximum number of turns that are examined, the latest first; of their characters; and of items."""

MAX_FOLLOW_UP_WORDS = 12
"""Maximum number of words of a question that is understood together with the one before it."""

_REFERS_BACK = re.compile(
    r"^\W*(?:and|but|so|also|then|what about|how about|why|why not|how so|where exactly|und|aber|warum|y|pero|et|mais|pourquoi)\b"
    r"|\b(?:it|its|that|this|these|those|they|them|their|there|one|ones|same|the (?:former|latter|other|second|first))\b",
    re.I,
)
"""Words that refer to what was said before."""

KINDS = frozenset({"file", "symbol"})
"""Kinds of mentions that are kept: the others describe a state that has changed since."""


def items_of_earlier_turns(request: TaskRequest) -> list[Item]:
    """Return the files, lines and symbols that earlier turns mention, those of the latest turn first."""
    turns = [turn.content for turn in request.history if turn.role == "user"]
    items: list[Item] = []
    for text in turns[::-1][:MAX_TURNS]:
        if len(text) > MAX_TURN_CHARACTERS:
            continue  # a built prompt, whose fences quote code
        message = parse_message(text, request.context)
        message = replace(message, mentions=tuple(m for m in message.mentions if m.kind in KINDS))
        items += collect_items(resolve_message(message, request.context).outcomes)
    return [replace(item, origin=Origin.TASK, score=SCORE, mention=-1) for item in items][:MAX_ITEMS]


def earlier_question(question: str, history: Sequence[Message], context: ResolveContext) -> str:
    """Return the last question of the user if a question refers to it, without mentions; "" if it does not."""
    last = next((turn.content for turn in reversed(history) if turn.role == "user"), "")
    is_short = len(question.split()) <= MAX_FOLLOW_UP_WORDS
    if not last or len(last) > MAX_TURN_CHARACTERS or not is_short or not _REFERS_BACK.search(question[:1000]):
        return ""
    return strip_mentions(last, find_mentions(last, context)).strip()

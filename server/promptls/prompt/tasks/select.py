"""Selects the tasks of a request, among them the continuation of a conversation, and returns their context."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from msgspec.structs import replace

from promptls.index import STOP_WORDS, find_words, is_virtual
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.extent import find_mentions
from promptls.mentions.resolve import collect_items, parse_message, resolve_message
from promptls.mentions.syntax.grammar import strip_mentions
from promptls.model import Item, Origin, Span
from promptls.prompt.layouts import Message
from promptls.prompt.tasks import SCORE, Retrieval, TaskContext, TaskRequest
from promptls.prompt.tasks.absent_names import absent_names, documents_with
from promptls.prompt.tasks.changes import asks_for_review, items_of_changes
from promptls.prompt.tasks.existing_tests import asks_for_tests, items_of_tests
from promptls.prompt.tasks.overview import overview_items
from promptls.prompt.tasks.trace_items import mask_mentions, stack_trace_items
from promptls.util.decode import parse_toml

MAX_TYPE_LINES = 120
"""Maximum number of lines of a type that is shown around mentioned lines."""


def task_context(request: TaskRequest) -> TaskContext:
    """Return the items of the tasks of a request, and which retrieved code to add.

    - a question about the project as a whole: outlines of its central definitions
    - something that no code contains: the documents that mention it; the prompt says so
    - a stack trace or error message: the code of its frames, and the place that raises the error
    - selected lines, and mentioned ones in a question: the definition around them
    - changes (`@diff`, `@staged`, `@commit`, `@branch`): the changed definitions, their tests and callers
    - tests to be written: the existing tests of the code
    - a conversation: what earlier turns mention
    """
    if request.about_project:
        return TaskContext(tuple(overview_items(request.context)), "none", ("architectural",), as_outlines=True)
    has_files_only = all(item.kind in ("file", "folder") for item in request.explicit_items)
    if has_files_only and (absent := absent_names(request)):
        return TaskContext(documents_with(absent, request), absent=absent)
    mentioned = [outcome.mention for outcome in request.outcomes if outcome.targets]
    trace = stack_trace_items(mask_mentions(request.message, mentioned), request.context)
    items = [*trace.items]
    is_instruction = is_instruction_only(_without_mentions(request))
    # Lines that are named are what is asked for; a selection stands for the code around it.
    ranges = [i for i in request.explicit_items if not is_instruction or i.origin is Origin.SELECTION]
    items += _enclosing_definitions(ranges, request.context)
    changes = [item for item in request.explicit_items if item.subject]
    if changes:
        items += items_of_changes(changes, request.context)
    instructions: list[str] = []
    if changes and not request.recipe and asks_for_review(request.question):
        instructions.append("review")
    if trace.items and trace.errors and not request.recipe:
        instructions.append("debugging")
    if asks_for_tests(request):
        items += items_of_tests(request)
        instructions += [] if request.recipe else ["tests"]
    items += items_of_earlier_turns(request)
    return TaskContext(
        _distinct(items, request.explicit_items),
        _retrieval(request, is_instruction, bool(items) and (bool(trace.frames) or not trace.items)),
        tuple(instructions),
    )


def _retrieval(request: TaskRequest, is_instruction: bool, has_items: bool) -> Retrieval:
    if not request.explicit_items:
        return "related" if has_items else "all"
    has_folder = any(item.kind == "folder" and not is_virtual(item.path) for item in request.explicit_items)
    return "none" if is_instruction and not has_folder else "related"


def _without_mentions(request: TaskRequest) -> str:
    """Return the message without its mentions; the question keeps the names of mentioned symbols."""
    parts, at = list[str](), 0
    for outcome in request.outcomes:
        parts += [request.message[at : outcome.mention.start], " "]
        at = max(at, outcome.mention.end)
    return "".join(parts) + request.message[at:]


def _enclosing_definitions(explicit: Sequence[Item], context: ResolveContext) -> list[Item]:
    """Return the innermost function, or short type, around each range of lines that is mentioned or selected."""
    found: list[Item] = []
    for item in explicit:
        if item.kind != "text" or is_virtual(item.path):
            continue
        outline = context.snapshot.outline(item.path)
        around = [
            symbol
            for symbol in (outline.symbols if outline is not None else ())
            if symbol.span.contains(item.span)
            and (symbol.kind in CALLABLE_KINDS or (symbol.kind in TYPE_KINDS and len(symbol.span) <= MAX_TYPE_LINES))
        ]
        if around:
            inner = min(around, key=lambda symbol: len(symbol.span))
            at = (item.span.start,)
            found.append(Item(item.path, inner.span, inner.kind, Origin.TASK, SCORE, inner.qualified, call_sites=at))
    return found


def _distinct(items: Sequence[Item], explicit: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items without those that are mentioned; of equal regions, the first."""
    mentioned = {(item.path, item.span) for item in explicit}
    distinct: dict[tuple[str, Span], Item] = {}
    for item in items:
        if (item.path, item.span) not in mentioned:
            distinct.setdefault((item.path, item.span), item)
    return tuple(distinct.values())


# ---------------------------------------------------------------- conversation


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


# ---------------------------------------------------------------- instructions without a question


@cache
def instruction_words() -> frozenset[str]:
    """Return the words that say what to do with mentioned code, and not what it is about."""
    text = files(__package__).joinpath("instruction_words.toml").read_text("utf-8")
    return STOP_WORDS.union(*(words.split() for words in parse_toml(text).values()))


def is_instruction_only(question: str) -> bool:
    """Return whether a message without its mentions says only what to do with the mentioned code."""
    known = instruction_words()
    return len(question) < 1000 and all(
        word.lower() in known or word.isdigit() or len(word) == 1 for word in find_words(question)
    )

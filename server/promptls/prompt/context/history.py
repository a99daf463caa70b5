"""Selection of earlier turns for a prompt, without outdated copies of files.

Turns are selected newest first, a question together with its answers.  A copy of a file in an earlier turn is outdated
after the next edit, and a model may trust it more than the current text.  Items of earlier prompts are therefore
replaced by a line that names them.  Pure functions.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import Counter as Multiset
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from promptls.prompt.layouts import Message, variant_text
from promptls.prompt.rendering.fences import BOUNDARY_LENGTH, SPECIMEN, fence
from promptls.prompt.rendering.renderer import SEPARATOR
from promptls.prompt.rendering.spans import largest_fitting
from promptls.prompt.sanitize import escape_invisible
from promptls.prompt.tokens import Counter, fair_limit
from promptls.redaction.secrets import redact

MIN_TURN_TOKENS = 60
"""Minimum tokens of a truncated turn; less is not worth showing."""

_MAX_CHARACTERS_PER_TOKEN = 12  # more than any text has


class SelectedTurns(Struct, frozen=True):
    """Earlier turns for a prompt, oldest first."""

    turns: tuple[Message, ...]
    dropped_count: int  # number of turns that the budget leaves out
    tokens: int  # of the turns in the prompt, fences included; at most the budget
    removed_copies: int  # number of copies of files that were removed from the turns
    truncated: bool  # whether the oldest selected turns are shortened


def redact_turns(turns: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return earlier turns with secrets redacted, and a warning; the message itself is never rewritten."""
    redacted = [(turn.role, *redact(turn.content)) for turn in turns]
    counts = Multiset(finding.name for _, _, findings in redacted for finding in findings)
    names = ", ".join(f"{n} x {name}" for name, n in sorted(counts.items()))
    warnings = (f"redacted in earlier turns: {names}",) if names else ()
    return tuple(Message(role, text) for role, text, _ in redacted), warnings


def select_turns(history: Sequence[Message], budget: int, counter: Counter, quoted: bool = False) -> SelectedTurns:
    """Select the newest turns that cost at most `budget` tokens.

    A question is kept together with its answers.  Selection ends at the first exchange that does not fit; if it is the
    newest one, its longest turns are truncated in the middle instead.

    Args:
        history: earlier turns, oldest first.
        budget: in tokens.
        counter: the token counter of the prompt.
        quoted: whether the layout shows turns as Markdown quotations, which cost more than fences.
    """
    selected: list[Message] = []
    left, removed_copies, truncated = budget, 0, False
    cost = _TurnCost(counter, quoted)
    exchanges = _exchanges([turn for turn in history if turn.content.strip()])
    while exchanges and not truncated:
        cleaned = [(turn.role, *_remove_elements(turn.content)) for turn in exchanges[-1]]
        copies = sum(count for _, _, count in cleaned)
        exchange = tuple(Message(role, text) for role, text, _ in cleaned if text.strip())
        if sum(cost(turn) for turn in exchange) > left:
            exchange = () if selected else _truncate_exchange(exchange, left, cost)
            if not exchange:
                break
            truncated = True
        exchanges.pop()
        removed_copies += copies
        selected = [*exchange, *selected]
        left -= sum(cost(turn) for turn in exchange)
    return SelectedTurns(tuple(selected), sum(map(len, exchanges)), budget - left, removed_copies, truncated)


def _exchanges(turns: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Group the turns into exchanges that start with a user's turn; turns before the first one are a group too."""
    groups: list[list[Message]] = []
    for turn in turns:
        if turn.role == "user" or not groups:
            groups.append([])
        groups[-1].append(turn)
    return [tuple(group) for group in groups]


class _TurnCost(Struct, frozen=True):
    """Tokens of a turn as a part of one text, which is more than as a chat message; one more for the separator."""

    counter: Counter
    quoted: bool

    def __call__(self, turn: Message) -> int:
        if self.quoted:
            lines = "\n".join(f"> {line}" for line in turn.content.split("\n"))
            return self.counter.count(f"## Earlier, {turn.role}:\n{lines}{SEPARATOR}") + 1
        return self.counter.count(fence([("turn", turn.role)], turn.content, SPECIMEN) + SEPARATOR) + 1


# ---------------------------------------------------------------- truncation


def _truncate_exchange(exchange: Sequence[Message], max_tokens: int, cost: _TurnCost) -> tuple[Message, ...]:
    """Truncate the longest turns in the middle so that all fit; () if too little would be left of them."""
    costs = [cost(turn) for turn in exchange]
    limit = fair_limit(costs, max_tokens)
    if limit < MIN_TURN_TOKENS:
        return ()
    turns = [
        turn if tokens <= limit else _truncate(turn, limit, cost) for turn, tokens in zip(exchange, costs, strict=True)
    ]
    return tuple(turn for turn in turns if turn is not None) if all(turns) else ()


def _truncate(turn: Message, max_tokens: int, cost: _TurnCost) -> Message | None:
    """Return the start and the end of a turn (two thirds and one third), with a mark of the omission between them."""
    lines = turn.content.split("\n")
    sizes = [0, *accumulate(len(line) + 1 for line in lines)]

    def shortened(count: int) -> Message | None:
        head = -(-2 * count // 3)
        tail = len(lines) - (count - head)
        if sizes[head] + sizes[-1] - sizes[tail] > _MAX_CHARACTERS_PER_TOKEN * max_tokens:
            return None  # does not fit, without counting tokens
        start, end = "\n".join(lines[:head]).strip("\n"), "\n".join(lines[tail:]).strip("\n")
        marker = f"… {len(lines) - count} lines left out …"
        shorter = Message(turn.role, "\n".join(filter(None, [start, marker, end])))
        return shorter if cost(shorter) <= max_tokens else None

    return largest_fitting(1, len(lines) - 1, shortened)


# ---------------------------------------------------------------- copies of files


_BOUNDARY = rf"[0-9a-f]{{{BOUNDARY_LENGTH}}}"
_OPEN = re.compile(rf'^<((?:context|file)-{_BOUNDARY})((?: [a-z]+="[^"<>\n]*")*)(/?)>$', re.MULTILINE)
_CLOSE = re.compile(rf"^</((?:context|file)-{_BOUNDARY})>$", re.MULTILINE)
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
_CITATION_LINE = re.compile(r"(?m)^\[P\d+\] \S[^\n]*\n\Z")
_BOUNDARY_LINE = re.compile(rf"(?m)^Boundary: ({_BOUNDARY})$")
_QUESTION = "\n# Question\n"


def _remove_elements(text: str) -> tuple[str, int]:
    """Replace each element of an earlier prompt by a line that names it, and return the number of elements.

    A whole earlier prompt is reduced to these lines and its question: its instructions mention an outdated boundary.
    """
    text = escape_invisible(text.replace("\r\n", "\n"))[0]
    if "<context-" not in text and "<file-" not in text:  # the instructions of a prompt contain the first one
        return text, 0
    closing_tags: dict[str, list[tuple[int, int]]] = {}
    for close in _CLOSE.finditer(text):
        closing_tags.setdefault(close[1], []).append(close.span())
    out: list[str] = []
    lines: list[str] = []
    boundaries: set[str] = set()
    at = count = 0
    for opening in _OPEN.finditer(text):
        if opening.start() < at:
            continue  # quoted inside of an element
        end = opening.end()
        if not opening[3]:
            ends = closing_tags.get(opening[1], [])
            i = bisect_left(ends, (end, 0))
            if i == len(ends):
                continue
            end = ends[i][1]
        attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(opening[2])}
        line = _element_line(attributes)
        before = _CITATION_LINE.sub("", text[at : opening.start()])
        out += [before, line]
        boundaries.add(opening[1].partition("-")[2])
        lines += [line] if line else []
        count += 1
        at = end
    if not count:  # possibly an earlier prompt without items
        return (text.split(_QUESTION, 1)[1] if variant_text("clause") in text and _QUESTION in text else text), 0
    rest = text[at:]
    text_before = "".join(out)
    boundary_line = _BOUNDARY_LINE.search(text_before)
    if boundary_line and boundary_line[1] in boundaries and _QUESTION in rest:
        return "\n".join([*lines, rest.split(_QUESTION, 1)[1]]), count
    return text_before + rest, count


def _element_line(attributes: Mapping[str, str]) -> str:
    """Return "[src/a.py:3-9 was shown here]"; "" for a section, a turn or a reference."""
    path, lines = attributes.get("path", ""), attributes.get("lines", "")
    return f"[{path}{':' if lines else ''}{lines} was shown here]" if path else ""

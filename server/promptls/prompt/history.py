"""Which earlier turns go into a prompt, and what is left of them.

Newest first, a question and its answers together; the oldest go first (Cody's order, CodeBuddy's numbers).
Copies of files in earlier turns are out of date as soon as the file is edited, and a model may trust the
older one: blocks of our own earlier prompts give way to a line that names them, and so do tagged code blocks,
but only where they clearly are copies of what the prompt shows.  Pure; reads no files.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import Counter as Multiset
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from promptls.prompt.fences import BOUNDARY_LENGTH, SPECIMEN, fence
from promptls.prompt.layouts.types import Message
from promptls.prompt.render import SEPARATOR
from promptls.prompt.sanitize import visible
from promptls.prompt.tokens import Counter
from promptls.prompt.variants import wording

COPY_LINES = 8
"""A tagged block is a copy of what is shown of a file if at least so many of its lines stand there …"""
COPY_SHARE = 0.8
"""… and they are at least this share of it; of an answer's block all, for what differs is a proposal."""

LEAST = 60
"""Tokens below which a turn is not worth being cut to."""

WARN, COMPACT, KEPT = 0.8, 0.9, 4
"""CodeBuddy: warns at 80 % of the window, compacts at 90 %, keeps the last four messages."""

_CHARACTERS_PER_TOKEN = 12  # more than any text has


class Chosen(Struct, frozen=True):
    """Earlier turns for a prompt, oldest first."""

    turns: tuple[Message, ...]
    dropped: int  # turns that the budget leaves out
    tokens: int  # at most the budget; what the turns cost in the prompt, fences included
    superseded: int  # copies of files that were taken out of them
    cut: bool  # whether the oldest turns kept are shortened


def choose(
    history: Sequence[Message], budget: int, counter: Counter, current: Mapping[str, str], quoted: bool = False
) -> Chosen:
    """The newest turns that cost at most `budget` tokens.

    `current` has what the prompt shows of each file, by the path as it shows it.
    `quoted`: the layout shows turns as Markdown quotations, which cost more than fences.
    A question stays together with its answers.  The first pair that does not fit ends the choice; if it is
    the newest one, its longest turns are cut in their middle instead.
    """
    kept: list[Message] = []
    left, superseded, cut = budget, 0, False
    price = _Price(counter, quoted)
    pairs = _pairs([turn for turn in history if turn.content.strip()])
    while pairs and not cut:
        pair, copies = _cleaned(pairs[-1], current)
        if sum(price(turn) for turn in pair) > left:
            pair = () if kept else _shortened(pair, left, price)
            if not pair:
                break
            cut = True
        pairs.pop()
        superseded += copies
        kept = [*pair, *kept]
        left -= sum(price(turn) for turn in pair)
    return Chosen(tuple(kept), sum(map(len, pairs)), budget - left, superseded, cut)


def _cleaned(pair: Sequence[Message], current: Mapping[str, str]) -> tuple[tuple[Message, ...], int]:
    """The turns without copies of files; those of which nothing is left are gone."""
    cleaned: list[Message] = []
    superseded = 0
    for turn in pair:
        content, copies = _without_copies(turn, current)
        superseded += copies
        if content.strip():
            cleaned.append(Message(turn.role, content))
    return tuple(cleaned), superseded


def _pairs(turns: Sequence[Message]) -> list[tuple[Message, ...]]:
    """The turns in groups that begin with a user's turn; what comes before the first is a group as well."""
    groups: list[list[Message]] = []
    for turn in turns:
        if turn.role == "user" or not groups:
            groups.append([])
        groups[-1].append(turn)
    return [tuple(group) for group in groups]


class _Price(Struct, frozen=True):
    """Tokens of a turn as a part of one text, which is more than as a chat message; one more for the joint."""

    counter: Counter
    quoted: bool

    def __call__(self, turn: Message) -> int:
        if self.quoted:
            lines = "\n".join(f"> {line}" for line in turn.content.split("\n"))
            return self.counter.count(f"## Earlier, {turn.role}:\n{lines}{SEPARATOR}") + 1
        return self.counter.count(fence([("turn", turn.role)], turn.content, SPECIMEN) + SEPARATOR) + 1


# ---------------------------------------------------------------- shortening


def _shortened(pair: Sequence[Message], room: int, price: _Price) -> tuple[Message, ...]:
    """The turns cut in their middle so that they fit, the longest first; () if too little would be left."""
    costs = [price(turn) for turn in pair]
    ceiling = _ceiling(costs, room)
    if ceiling < LEAST:
        return ()
    turns = [turn if cost <= ceiling else _cut(turn, ceiling, price) for turn, cost in zip(pair, costs, strict=True)]
    return tuple(turn for turn in turns if turn is not None) if all(turns) else ()


def _ceiling(costs: Sequence[int], room: int) -> int:
    """The largest cost that every turn may have so that all together fit."""
    ordered = sorted(costs)
    for i, cost in enumerate(ordered):
        share = room // (len(ordered) - i)
        if cost > share:
            return share
        room -= cost
    return max(ordered, default=0)


def _cut(turn: Message, room: int, price: _Price) -> Message | None:
    """The turn's beginning and end (two thirds and one) around a line that says how much is left out."""
    lines = turn.content.split("\n")
    return _cut_between(turn, lines, "\n", "lines", room, price) or _cut_between(
        turn, re.findall(r"\S+\s*|\s+", turn.content), "", "words", room, price
    )


def _cut_between(
    turn: Message, parts: Sequence[str], joint: str, what: str, room: int, price: _Price
) -> Message | None:
    sizes = [0, *accumulate(len(part) + len(joint) for part in parts)]
    low, high, best = 1, len(parts) - 1, None
    while low <= high:
        middle = (low + high) // 2
        head = -(-2 * middle // 3)
        tail = len(parts) - (middle - head)
        shorter = None
        if sizes[head] + sizes[-1] - sizes[tail] <= _CHARACTERS_PER_TOKEN * room:  # else it need not be counted
            ends = joint.join(parts[:head]).strip("\n"), joint.join(parts[tail:]).strip("\n")
            marker = f"… {len(parts) - middle} {what} left out …"
            shorter = Message(turn.role, "\n".join(filter(None, [ends[0], marker, ends[1]])))
        if shorter is not None and price(shorter) <= room:
            best, low = shorter, middle + 1
        else:
            high = middle - 1
    return best


# ---------------------------------------------------------------- superseded copies


def _without_copies(turn: Message, current: Mapping[str, str]) -> tuple[str, int]:
    """The turn without copies of files, and how many there were."""
    text = visible(turn.content.replace("\r\n", "\n"))[0]
    text, shown = _without_blocks(text)
    if not current:
        return text, shown
    out: list[str] = []
    at = copies = 0
    for start, end, path, body in _tagged(text, current):
        if _is_copy(body, current[path], whole=turn.role == "assistant"):
            out += [text[at:start], f"[an earlier copy of {path} stood here]"]
            at = end
            copies += 1
    return "".join([*out, text[at:]]), shown + copies


_NAME = rf"[0-9a-f]{{{BOUNDARY_LENGTH}}}"
_OPEN = re.compile(rf'^<((?:context|file)-{_NAME})((?: [a-z]+="[^"<>\n]*")*)(/?)>$', re.MULTILINE)
_CLOSE = re.compile(rf"^</((?:context|file)-{_NAME})>$", re.MULTILINE)
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
_LABEL = re.compile(r"(?m)^\[P\d+\] \S[^\n]*\n\Z")
_FRAME = re.compile(rf"(?m)^Boundary: ({_NAME})$")
_QUESTION = "\n# Question\n"


def _without_blocks(text: str) -> tuple[str, int]:
    """The text with each element of one of our prompts (prompto's layout included) replaced by a line that names it.

    A whole prompt of ours is reduced to these lines and its question: its instructions speak of a
    boundary that is no longer true.
    """
    if "<context-" not in text and "<file-" not in text:  # the clause has the first
        return text, 0
    closers: dict[str, list[tuple[int, int]]] = {}
    for close in _CLOSE.finditer(text):
        closers.setdefault(close[1], []).append(close.span())
    out: list[str] = []
    named: list[str] = []
    names: set[str] = set()
    at = count = 0
    for opening in _OPEN.finditer(text):
        if opening.start() < at:
            continue  # inside an element: quoted
        end = opening.end()
        if not opening[3]:
            ends = closers.get(opening[1], [])
            i = bisect_left(ends, (end, 0))
            if i == len(ends):
                continue
            end = ends[i][1]
        attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(opening[2])}
        line = _was_shown(attributes)
        before = _LABEL.sub("", text[at : opening.start()])
        out += [before, line]
        names.add(opening[1].partition("-")[2])
        named += [line] if line else []
        count += 1
        at = end
    if not count:  # perhaps one of our prompts for which nothing was found
        return (text.split(_QUESTION, 1)[1] if wording("clause") in text and _QUESTION in text else text), 0
    rest = text[at:]
    whole = "".join(out)
    frame = _FRAME.search(whole)
    if frame and frame[1] in names and _QUESTION in rest:
        return "\n".join([*named, rest.split(_QUESTION, 1)[1]]), count
    return whole + rest, count


def _was_shown(attributes: Mapping[str, str]) -> str:
    """ "[src/a.py:3-9 was shown here]"; "" for a section, a turn or a reference, which have no text worth naming."""
    path, lines = attributes.get("path", ""), attributes.get("lines", "")
    return f"[{path}{':' if lines else ''}{lines} was shown here]" if path else ""


_FENCE = re.compile(r"^(`{3,}|~{3,})([^\n`]{0,300})$", re.MULTILINE)
_IN_TAG = re.compile(r"""\b(?:path|file|filename|title|source)=["']?([^"'\s]+)""")


def _tagged(text: str, paths: Container[str]) -> Iterator[tuple[int, int, str, str]]:
    """(start, end, path, code) of each code block whose opening line names one of `paths`."""
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening is None:
            opening = line
        elif line[1].startswith(opening[1]) and not line[2].strip():
            path = next((p for p in _paths(opening[2]) if p in paths), None)
            if path is not None:
                yield opening.start(), line.end(), path, text[opening.end() + 1 : line.start()]
            opening = None


def _paths(tag: str) -> Iterator[str]:
    """What the opening line of a block may call its file: `py:src/a.py:3-9`, `py src/a.py`, `py title="src/a.py"`."""
    named = _IN_TAG.search(tag)
    word = named[1] if named else (tag.split() or [""])[-1]
    word = re.sub(r":\d+(?:-\d+)?$", "", word)
    for path in (word, word.partition(":")[2]):
        yield path.removeprefix("./")


def _is_copy(body: str, current: str, whole: bool) -> bool:
    """Whether a block is what is shown of the file, or was: enough of its lines stand in it; all of them if `whole`."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    there = Multiset(line.strip() for line in current.split("\n"))
    equal = sum(min(n, there[line]) for line, n in Multiset(lines).items())
    return equal >= COPY_LINES and equal >= (len(lines) if whole else COPY_SHARE * len(lines))


# ---------------------------------------------------------------- CodeBuddy's compaction


def compact(
    history: Sequence[Message], window: int, counter: Counter
) -> tuple[tuple[Message, ...], Literal["fits", "nearly full", "compacted"]]:
    """The history as CodeBuddy keeps it: all of it below 90 % of the window, else the last four messages."""
    used = sum(counter.count(turn.content) for turn in history)
    if used >= COMPACT * window:
        return tuple(history[-KEPT:]), "compacted"
    return tuple(history), "nearly full" if used >= WARN * window else "fits"

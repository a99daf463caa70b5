"""The sections of a prompt that are no code: instructions, architecture, memory, team, rules.

Each has its share of the budget; what one leaves unused rolls over to the next, and in the end to the
code.  A section that is too long is cut between notes, then between lines, and says so.  Where the notes
come from is the business of `context`; how sections look in the prompt is the layout's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from promptls.model import Note
from promptls.prompt.assemble import Section
from promptls.prompt.sanitize import clean, header_text
from promptls.prompt.tokens import Counter

STRETCH = 2
"""A section may grow by what others leave, up to this many times its own share."""

LEAST = 24
"""Tokens below which a section is not worth its heading."""


class Part(Struct, frozen=True):
    """What could stand in one section, and how much of the budget it may take."""

    name: str
    notes: tuple[Note, ...]  # most important first
    share: float  # of the budget, 0..1
    cap: int = 1 << 30  # tokens, whatever the budget
    place: Literal["instructions", "context", "task"] = "context"


class Fitted(Struct, frozen=True):
    """Sections within their shares, and those that had to be cut."""

    sections: tuple[Section, ...]
    cut: tuple[str, ...]  # names of sections that lost some or all of their notes


def fit(parts: Sequence[Part], budget: int, counter: Counter) -> Fitted:
    """Sections of at most their share of `budget` tokens each, in the order given.

    Unused shares roll over to the following parts, which may grow to `STRETCH` times their own.
    """
    sections: list[Section] = []
    cut: list[str] = []
    spare = 0.0
    for part in parts:
        own = part.share * budget
        room = min(own + spare, STRETCH * own, part.cap)
        text, whole = _fill(part.notes, int(room), counter)
        if not whole:
            cut.append(part.name)
        if text:
            sections.append(Section(part.name, text, part.place))
        spare = max(0.0, spare + own - counter.count(text))
    return Fitted(tuple(sections), tuple(cut))


def _fill(notes: Sequence[Note], room: int, counter: Counter) -> tuple[str, bool]:
    """As many notes as fit, the last one cut between its lines; and whether that is all of them."""
    kept: list[Note] = []
    for note in notes:
        note = Note("\n".join(clean(note.text).lines).strip(), note.source, note.score)
        if not note.text or counter.count(_text([*kept, note])) <= room:
            kept += [note] if note.text else []
            continue
        lines = note.text.split("\n")
        while lines := lines[:-1]:
            shorter = Note("\n".join(lines).rstrip() + "\n…", note.source, note.score)
            text = _text([*kept, shorter])
            if counter.count(text) <= room and counter.count(text) >= LEAST:
                return text, False
        return _text(kept), False
    return _text(kept), True


def _text(notes: Sequence[Note]) -> str:
    """Notes one after the other, those of one source under its name."""
    groups = []
    for source, group in groupby(notes, key=lambda note: note.source):
        texts = [note.text for note in group]
        joint = "\n" if all("\n" not in text for text in texts) else "\n\n"
        groups.append((f"[{header_text(source)}]\n" if source else "") + joint.join(texts))
    return "\n\n".join(groups)

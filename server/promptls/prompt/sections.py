"""The sections of a prompt that are no code: instructions, rules, architecture, memory, team, graph.

Each has its share of the budget; what one leaves unused rolls over to the next, and in the end to the
code.  A section that is too long is cut between notes, then between lines, and says so.  Where the notes
come from is the business of `context`; how sections look in the prompt is the layout's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from promptls import git
from promptls.graph import markdown, queries
from promptls.knowledge import project, rules, team
from promptls.knowledge.memory import ranked, relevant
from promptls.knowledge.memory.relevance import codebuddy_block
from promptls.mentions.context import Request
from promptls.model import Note, Problem
from promptls.prompt.instructions import instructions_for, response_format
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Place, Section
from promptls.prompt.profile import Profile
from promptls.prompt.sanitize import clean, header_text
from promptls.prompt.services import Surroundings
from promptls.prompt.tokens import Counter

STRETCH = 2
"""A section may grow by what others leave, up to this many times its own share."""

LEAST = 24
"""Tokens below which a section is not worth its heading."""


class Gathered(Struct, frozen=True):
    """The sections of one prompt."""

    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    shown: frozenset[str] = frozenset()  # paths of files whose whole text stands in a section


class Part(Struct, frozen=True):
    """What could stand in one section, and how much of the budget it may take."""

    name: str
    notes: tuple[Note, ...]  # most important first
    share: float  # of the budget, 0..1
    cap: int = 1 << 30  # tokens, whatever the budget
    place: Place = "context"
    files: tuple[str, ...] = ()  # path of the file that each note is a piece of; () where they are of none


class Fitted(Struct, frozen=True):
    """Sections within their shares, and those that had to be cut."""

    sections: tuple[Section, ...]
    cut: tuple[str, ...]  # names of sections that lost some or all of their notes
    shown: frozenset[str] = frozenset()  # files of which nothing was lost


def fit(parts: Sequence[Part], budget: int, counter: Counter) -> Fitted:
    """Sections of at most their share of `budget` tokens each, in the order given.

    Unused shares roll over to the following parts, which may grow to `STRETCH` times their own.
    """
    sections: list[Section] = []
    cut: list[str] = []
    shown: set[str] = set()
    spare = 0.0
    for part in parts:
        own = part.share * budget
        room = min(own + spare, STRETCH * own, part.cap)
        text, whole = _fill(part.notes, int(room), counter)
        if whole < len(part.notes):
            cut.append(part.name)
        shown |= {*part.files[:whole]}.difference(part.files[whole:])
        if text:
            sections.append(Section(part.name, text, part.place))
        spare = max(0.0, spare + own - counter.count(text))
    return Fitted(tuple(sections), tuple(cut), frozenset(shown))


def _fill(notes: Sequence[Note], room: int, counter: Counter) -> tuple[str, int]:
    """As many notes as fit, the last one cut between its lines; and how many there are as a whole."""
    kept: list[Note] = []
    for whole, note in enumerate(notes):
        note = Note("\n".join(clean(note.text).lines).strip(), note.source, note.score)
        if not note.text or counter.count(_text([*kept, note])) <= room:
            kept += [note] if note.text else []
            continue
        lines = note.text.split("\n")
        while lines := lines[:-1]:
            shorter = Note("\n".join(lines).rstrip() + "\n…", note.source, note.score)
            text = _text([*kept, shorter])
            if counter.count(text) <= room and counter.count(text) >= LEAST:
                return text, whole
        return _text(kept), whole
    return _text(kept), len(notes)


def _text(notes: Sequence[Note]) -> str:
    """Notes one after the other, those of one source under its name."""
    groups = []
    for source, group in groupby(notes, key=lambda note: note.source):
        texts = [note.text for note in group]
        joint = "\n" if all("\n" not in text for text in texts) else "\n\n"
        groups.append((f"[{header_text(source)}]\n" if source else "") + joint.join(texts))
    return "\n\n".join(groups)


# ---------------------------------------------------------------- where the notes come from


class _Need(Struct, frozen=True):
    """What the producers look at."""

    profile: Profile
    intent: Intent
    files: tuple[str, ...]  # absolute paths in play, most important first
    request: Request
    around: Surroundings
    asked: frozenset[str]  # paths of files that are asked for as a whole
    empty: bool  # nothing was found for the question


class _Made(Struct, frozen=True):
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()  # as in `Part`


def gather(
    profile: Profile,
    intent: Intent,
    files: Sequence[str],
    wants: Callable[[str], bool],
    budget: int,
    counter: Counter,
    request: Request,
    around: Surroundings,
    asked: frozenset[str] = frozenset(),
    empty: bool = False,
) -> Gathered:
    """The sections that the profile names and the request wants, each within its share of `budget` tokens.

    `files`: absolute paths in play, most important first.  `asked`: those that are asked for as a whole, and so stand
    in the prompt anyway.  `empty`: nothing was found for the question.
    """
    need = _Need(profile, intent, tuple(dict.fromkeys(filter(None, files))), request, around, asked, empty)
    parts: list[Part] = []
    warnings: list[str] = []
    for share in profile.sections:
        if not wants(share.name):
            continue
        request.token.check()
        made = _PRODUCERS[share.name](need)
        cap = min(share.cap, around.rules_tokens) if share.name == "rules" else share.cap
        parts.append(Part(share.name, made.notes, share.share, cap, _PLACES.get(share.name, "context"), made.files))
        warnings += [problem.message for problem in made.problems]
    fitted = fit(parts, budget, counter)
    return Gathered(fitted.sections, tuple(warnings), fitted.shown)


def _instructions(need: _Need) -> _Made:
    return _Made((Note(instructions_for(need.intent.types, need.around.templates)),))


def _format(need: _Need) -> _Made:
    return _Made((Note(response_format(need.intent.types, need.around.templates)),))


def _rules(need: _Need) -> _Made:
    found = rules.gather(need.request.sources, need.files)
    asked = {need.request.snapshot.label(path) for path in need.asked}
    notes = [(note, rule.path) for rule in found.held for note in rule.notes if note.source not in asked]
    return _Made(tuple(note for note, _ in notes), found.problems, tuple(path for _, path in notes))


def _memory(need: _Need) -> _Made:
    memory, snapshot = need.around.memory, need.request.snapshot
    content = memory.load(snapshot.roots)
    if not content.entries:
        return _Made((), content.problems)
    names = [entry.name for path in need.files if (entry := snapshot.files.get(path)) is not None]
    asked = content.entries, need.intent.query.terms, names, memory.clock()
    if need.profile.layout == "codebuddy":
        return _Made((Note(codebuddy_block([hit.entry for hit in ranked(*asked)])),), content.problems)
    return _Made(relevant(*asked), content.problems)


def _architecture(need: _Need) -> _Made:
    """Facts of the projects, for questions about the whole; CodeBuddy has them always."""
    if not (_about_the_whole(need) or need.profile.layout == "codebuddy"):
        return _Made()
    facts = need.around.projects.at(need.request.sources, need.around.complete)
    notes = project.architecture_notes(facts, _topics(need), need.files)
    return _Made(notes, tuple(_freshness(need)))


def _topics(need: _Need) -> tuple[str, ...]:
    return (*need.intent.types, *(c.name for c in need.intent.categories))


def _about_the_whole(need: _Need) -> bool:
    told = not {"architectural", "architecture"}.isdisjoint(_topics(need))
    return told or project.is_overview(need.intent.query.text)


def _freshness(need: _Need) -> Iterator[Problem]:
    """What facts of the whole may be wrong about: a working tree that is behind what others have."""
    for root in need.request.snapshot.roots:
        note = git.freshness_note(need.around.history.freshness(root.path))
        if note is not None:
            yield Problem(note.text)


def _overview(need: _Need) -> _Made:
    """README and the like, when the question is about the whole or nothing else was found.

    Facts of the projects are among them where the section of the architecture does not tell them.
    """
    general = project.is_overview(need.intent.query.text)
    if not need.intent.codebase or not (general or need.empty):
        return _Made()
    if need.profile.layout == "codebuddy":
        return _Made(project.codebuddy_overview(need.request.sources))
    facts = () if _about_the_whole(need) else need.around.projects.at(need.request.sources, need.around.complete)
    return _Made(project.overview(need.request.sources, facts))


def _team(need: _Need) -> _Made:
    """Who knows the code in play, and what changes together with it."""
    snapshot, sources = need.request.snapshot, need.request.sources
    past = need.around.history.at([root.path for root in snapshot.roots])
    problems = [one.problem for one in past if one.problem is not None]
    if need.profile.layout == "codebuddy":
        return _Made(team.codebuddy_team(past), tuple(problems))
    people, wrong = team.find_people(sources)
    notes = team.team_notes(snapshot, past, team.find_owners(sources), need.files, time.time(), people)
    return _Made(notes, (*problems, *wrong))


def _graph(need: _Need) -> _Made:
    view = need.around.graph(need.request)
    facts = need.around.projects.at(need.request.sources, need.around.complete)
    header = project.header_of(facts[0]) if len(facts) == 1 else queries.NAMELESS
    seeds = need.profile.gathering.considered
    result = queries.of_query(view, need.intent.query.text, header, seeds, parity=True, token=need.request.token)
    return _Made((Note(markdown.markdown(result)),))


_PRODUCERS: dict[str, Callable[[_Need], _Made]] = {
    "instructions": _instructions,
    "format": _format,
    "rules": _rules,
    "memory": _memory,
    "architecture": _architecture,
    "overview": _overview,
    "team": _team,
    "graph": _graph,
}
"""By the name of the section."""

_PLACES: dict[str, Place] = {"instructions": "instructions", "format": "instructions"}
"""Where a section stands that is not fenced as data."""

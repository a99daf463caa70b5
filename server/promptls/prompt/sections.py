"""Sections of a prompt without code: instructions, rules, memory, architecture, overview, team.

A producer writes the notes of a section; `fit_sections` fits them into the section's share of the budget.  What a
section leaves unused rolls over to the next one.  A section that is too long is truncated between notes, then between
lines.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from promptls.git.history_cache import freshness_warning
from promptls.index import tokenize
from promptls.knowledge import code_owners, rule_files
from promptls.knowledge.memory_requests import relevant_entries
from promptls.knowledge.project import project_overview
from promptls.knowledge.project.facts import ProjectFacts
from promptls.mentions.context import ResolveContext
from promptls.model import Problem, SectionEntry
from promptls.prompt.instructions import is_own_template, render_instructions, render_response_format
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Section, SectionPlacement
from promptls.prompt.options import PromptOptions
from promptls.prompt.profile import SectionContext, SectionNotes, SectionProducer
from promptls.prompt.sanitize import clean, header_text
from promptls.prompt.tokens import Counter

MAX_SHARE_FACTOR = 2
"""Maximum size of a section as a multiple of its own share, with what other sections leave unused."""

MAX_WHOLE_RULES = 1_200
"""Maximum number of characters of rules that are shown for every question."""
MIN_SHARED_TERMS = 2
"""Minimum number of search terms that a section of longer rules has in common with a question that it concerns."""
MAX_TERM_SHARE, MAX_RARE_CHUNKS = 0.02, 10
"""Maximum share of the chunks that contain such a term, and their number in a small workspace; others say nothing."""
CHANGES = frozenset({"create", "modify", "fix", "refactor"})
"""Actions that change code, for which all rules count, unless the message asks a question as well."""
_QUESTION = re.compile(
    r"(?:^|[.?!,:;\n(]\s*|\s-\s+|\b(?:and|but|so|ok)\s+)(?:how|why|what|where|which|who|when|is|are|does|do|did)\b"
    r"[^.?!\n]{0,200}\?",
    re.I,
)
_ASKS_FOR_COMMAND = re.compile(
    r"\W*how (?:do|can|should|would|to) (?:i |we |you |one )?(?:run|build|test|lint|format|install|start|launch|release|publish)"
    r" (?:\w+ ){0,3}?(?:tests?|suite|app|project|server|docs|linters?|benchmarks?|locally|source)\b",
    re.I,
)
"""A question for a command of the project, which the facts about the project list."""

MIN_SECTION_TOKENS = 24
"""Minimum size of a truncated section in tokens; a smaller one is not worth its heading."""


class GatheredSections(Struct, frozen=True):
    """The sections of one prompt."""

    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    shown: frozenset[str] = frozenset()  # paths of files whose whole text is in a section


class SectionContent(Struct, frozen=True):
    """Candidate content for one section, and its share of the budget."""

    name: str
    notes: tuple[SectionEntry, ...]  # most important first
    share: float  # of the budget, 0..1
    max_tokens: int = 1 << 30
    placement: SectionPlacement = "context"
    files: tuple[str, ...] = ()  # path of the file that each note comes from; () if they come from no file


class FittedSections(Struct, frozen=True):
    """Sections within their shares."""

    sections: tuple[Section, ...]
    truncated: tuple[str, ...]  # names of sections that lost some or all of their notes
    shown: frozenset[str] = frozenset()  # files that lost none of their notes


def fit_sections(contents: Sequence[SectionContent], budget: int, counter: Counter) -> FittedSections:
    """Fit each section into its share of `budget` tokens, in the order given.

    Unused shares roll over to the following sections, up to `MAX_SHARE_FACTOR` times their own share.
    """
    sections: list[Section] = []
    truncated: list[str] = []
    shown: set[str] = set()
    spare = 0.0
    for content in contents:
        own = content.share * budget
        limit = min(own + spare, MAX_SHARE_FACTOR * own, content.max_tokens)
        text, complete = _fill(content.notes, int(limit), counter)
        if complete < len(content.notes):
            truncated.append(content.name)
        shown |= {*content.files[:complete]}.difference(content.files[complete:])
        if text:
            sections.append(Section(content.name, text, content.placement))
        spare = max(0.0, spare + own - counter.count(text))
    return FittedSections(tuple(sections), tuple(truncated), frozenset(shown))


def _fill(notes: Sequence[SectionEntry], limit: int, counter: Counter) -> tuple[str, int]:
    """Return the text of the notes that fit, and how many are complete; the last note is cut between lines."""
    fitting: list[SectionEntry] = []
    for complete, note in enumerate(notes):
        note = SectionEntry("\n".join(clean(note.text).lines).strip(), note.source, note.score)
        if not note.text or counter.count(_text([*fitting, note])) <= limit:
            fitting += [note] if note.text else []
            continue
        lines = note.text.split("\n")
        while lines := lines[:-1]:
            shorter = SectionEntry("\n".join(lines).rstrip() + "\n…", note.source, note.score)
            text = _text([*fitting, shorter])
            if counter.count(text) <= limit and counter.count(text) >= MIN_SECTION_TOKENS:
                return text, complete
        return _text(fitting), complete
    return _text(fitting), len(notes)


def _text(notes: Sequence[SectionEntry]) -> str:
    """Join the notes; those of one source are grouped under its name."""
    groups = []
    for source, group in groupby(notes, key=lambda note: note.source):
        texts = [note.text for note in group]
        separator = "\n" if all("\n" not in text for text in texts) else "\n\n"
        groups.append((f"[{header_text(source)}]\n" if source else "") + separator.join(texts))
    return "\n\n".join(groups)


# ---------------------------------------------------------------- producers


def gather_sections(
    options: PromptOptions,
    intent: Intent,
    files: Sequence[str],
    context: ResolveContext,
    *,
    exclude: Callable[[str], bool] = lambda section: False,
    full_files: frozenset[str] = frozenset(),
    tasks: tuple[str, ...] = (),
    retrieval_empty: bool = False,
    about_project: bool = False,
) -> GatheredSections:
    """Return the sections of the profile that the options include, each within its share of the budget.

    Args:
        options: the options of the prompt.
        intent: the intent of the question.
        files: absolute paths of the files in the prompt, most important first; "" is ignored.
        context: the sources and services of the request.
        exclude: whether a section is left out, by its name.
        full_files: paths of files that are mentioned as a whole, and hence in the prompt already.
        tasks: names of templates of the instructions that come before those of the question types.
        retrieval_empty: whether nothing is mentioned and retrieval found nothing.
        about_project: whether the question is about the project as a whole.
    """
    paths = tuple(dict.fromkeys(filter(None, files)))
    section_context = SectionContext(
        intent, paths, context, options.templates, full_files, tasks, retrieval_empty, about_project
    )
    contents: list[SectionContent] = []
    warnings: list[str] = []
    for share in options.profile.sections:
        if not options.includes(share.name) or exclude(share.name):
            continue
        context.token.check()
        produce = options.profile.hooks.sections.get(share.name) or _PRODUCERS[share.name]
        produced = produce(section_context)
        max_tokens = min(share.max_tokens, options.rules_tokens) if share.name == "rules" else share.max_tokens
        placement = _PLACEMENTS.get(share.name, "context")
        contents.append(SectionContent(share.name, produced.notes, share.share, max_tokens, placement, produced.files))
        warnings += [problem.message for problem in produced.problems]
    fitted = fit_sections(contents, options.budget, options.counter)
    return GatheredSections(fitted.sections, tuple(warnings), fitted.shown)


def _instructions(section: SectionContext) -> SectionNotes:
    """Return the instructions of the tasks, which are certain, and the user's own ones of the likely question types."""
    own = [name for name in section.intent.types if is_own_template(name, section.templates)]
    names = (*section.tasks, *own)
    if not names and _is_change(section) and not is_own_template("general", section.templates):
        return SectionNotes()  # the built-in general instruction is for questions
    return _points(names, section)


def instructions_by_type(section: SectionContext) -> SectionNotes:
    """Return the instructions of the tasks and of all likely question types."""
    return _points((*section.tasks, *section.intent.types), section)


def _points(names: Sequence[str], section: SectionContext) -> SectionNotes:
    """Return one note for each point, so that every point is complete or left out."""
    points = render_instructions(names, section.templates)
    return SectionNotes(tuple(SectionEntry(point) for point in points.split("\n") if point))


def _format(section: SectionContext) -> SectionNotes:
    return SectionNotes((SectionEntry(render_response_format(section.intent.types, section.templates)),))


def _rules(section: SectionContext) -> SectionNotes:
    """Rules that apply to the files in the prompt, except rule files that are mentioned as a whole.

    Of long ones, the sections that concern the question, and the others if the answer changes code.
    """
    collected = rule_files.collect_rules(section.context.sources, section.files)
    full_files = {section.context.snapshot.label(path) for path in section.full_files}
    notes = [(note, rule.path) for rule in collected.active for note in rule.entries if note.source not in full_files]
    if sum(len(note.text) for note, _ in notes) > MAX_WHOLE_RULES:
        terms = _rare_terms(section)
        concerning = [n for n in notes if len(terms.intersection(tokenize(n[0].text))) >= MIN_SHARED_TERMS]
        others = [n for n in notes if n not in concerning] if _is_change(section) else []
        notes = [*concerning, *others]
    return SectionNotes(tuple(note for note, _ in notes), collected.problems, tuple(path for _, path in notes))


def _is_change(section: SectionContext) -> bool:
    """Return whether the message asks for a change of code, and nothing else."""
    return section.intent.action in CHANGES and not _QUESTION.search(section.intent.query.text)


def _rare_terms(section: SectionContext) -> set[str]:
    """Return the terms of the question that few chunks contain."""
    reader, terms = section.context.index.reader(), section.intent.query.terms
    counts = reader.document_frequencies(terms)
    limit = max(MAX_RARE_CHUNKS, MAX_TERM_SHARE * reader.live_count)
    return {term for term, count in zip(terms, counts.tolist(), strict=True) if count <= limit}


def _memory(section: SectionContext) -> SectionNotes:
    """Memory entries that are relevant to the question and the files."""
    memory, snapshot = section.context.services.memory, section.context.snapshot
    if memory is None:
        return SectionNotes()
    content = memory.load(snapshot.roots)
    if not content.entries:
        return SectionNotes((), content.problems)
    names = [entry.name for path in section.files if (entry := snapshot.files.get(path)) is not None]
    notes = relevant_entries(content.entries, section.intent.query.terms, names, memory.clock())
    return SectionNotes(notes, content.problems)


def _architecture(section: SectionContext) -> SectionNotes:
    """Facts about the projects, if the question is about the whole project or asks for a command."""
    asks_for_command = _ASKS_FOR_COMMAND.match(section.intent.query.text) and not section.intent.has_mentions
    is_wanted = section.about_project or asks_for_command
    return architecture_section(section) if is_wanted else SectionNotes()


def architecture_section(section: SectionContext) -> SectionNotes:
    """Return facts about the projects, for any question."""
    notes = project_overview.project_entries(_project_facts(section), section.files)
    return SectionNotes(notes, tuple(_freshness_problems(section)))


def _project_facts(section: SectionContext) -> tuple[ProjectFacts, ...]:
    return section.context.services.projects.get(section.context.sources, section.context.index_complete)


def _freshness_problems(section: SectionContext) -> Iterator[Problem]:
    """Yield a problem for each root whose working tree is behind its upstream."""
    for root in section.context.snapshot.roots:
        note = freshness_warning(section.context.services.git_history.freshness(root.path))
        if note is not None:
            yield Problem(note.text)


def _overview(section: SectionContext) -> SectionNotes:
    """Purpose and design of the project, if the question is about the whole project or retrieval found nothing.

    Facts about the projects are included unless the section "architecture" has them.
    """
    if not section.about_project and not (section.intent.about_codebase and section.retrieval_empty):
        return SectionNotes()
    facts = () if section.about_project else _project_facts(section)
    return SectionNotes(project_overview.overview_entries(section.context.sources, facts))


def _team(section: SectionContext) -> SectionNotes:
    """Owners and authors of the files in the prompt, and files that change together with them."""
    snapshot = section.context.snapshot
    histories = section.context.services.git_history.histories([root.path for root in snapshot.roots])
    problems = [history.problem for history in histories if history.problem is not None]
    owners = code_owners.load_codeowners(section.context.sources)
    notes = code_owners.team_entries(snapshot, histories, owners, section.files, time.time())
    return SectionNotes(notes, tuple(problems))


_PRODUCERS: dict[str, SectionProducer] = {
    "instructions": _instructions,
    "format": _format,
    "rules": _rules,
    "memory": _memory,
    "architecture": _architecture,
    "overview": _overview,
    "team": _team,
}
"""Default producers by section name; hooks of the profile override them."""

_PLACEMENTS: dict[str, SectionPlacement] = {"instructions": "instructions", "format": "instructions"}
"""Placement of the sections that are not fenced as data."""

"""Sections of CodeBuddy: memory by scope, the project's facts, common files, team summary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone

from promptls.git.commit_history import History
from promptls.index import SourceReader
from promptls.knowledge.memory_requests import rank_entries
from promptls.knowledge.memory_store import MemoryEntry
from promptls.knowledge.project import project_overview
from promptls.model import SectionEntry
from promptls.prompt.profile import SectionContext, SectionNotes
from promptls.util.text.display import plural

MAX_PEOPLE = 20
"""Maximum number of people in the team summary, by date of the last commit."""
MAX_COLLABORATIONS = 5

COMMON_FILES = ("README.md", "package.json", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md")
COMMON_FILE_CHARACTERS = 5_000
"""Maximum characters of each common file."""
COMMON_FILE_SCORE = 1.0


def memory_section(section: SectionContext) -> SectionNotes:
    """Section "memory": ranked entries, grouped by scope."""
    memory, snapshot = section.context.services.memory, section.context.snapshot
    if memory is None:
        return SectionNotes()
    content = memory.load(snapshot.roots)
    if not content.entries:
        return SectionNotes((), content.problems)
    names = [entry.name for path in section.files if (entry := snapshot.files.get(path)) is not None]
    hits = rank_entries(content.entries, section.intent.query.terms, names, memory.clock())
    return SectionNotes((SectionEntry(memory_list([hit.entry for hit in hits])),), content.problems)


def memory_list(entries: Sequence[MemoryEntry]) -> str:
    """Return entries grouped by scope, one line "- [category] title: content" each."""
    groups = []
    for scope, heading in (("user", "User memory"), ("workspace", "Project memory")):
        lines = [
            f"- [{entry.category.capitalize()}] {entry.title}: {entry.content}".replace("\n", "\n  ")
            for entry in entries
            if entry.scope == scope
        ]
        if lines:
            groups.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join(groups)


def overview_section(section: SectionContext) -> SectionNotes:
    """Section "overview": common files for a question about the whole project, or if retrieval finds nothing."""
    general = project_overview.is_overview_question(section.intent.query.text)
    if not section.intent.about_codebase or not (general or section.retrieval_empty):
        return SectionNotes()
    return SectionNotes(common_files(section.context.sources))


def common_files(sources: SourceReader) -> tuple[SectionEntry, ...]:
    """Return the first 5,000 characters of each existing common file."""
    notes: list[SectionEntry] = []
    for root in sources.snapshot.roots:
        for name in COMMON_FILES:
            path = f"{root.path.rstrip('/')}/{name}"
            if path not in sources.snapshot.files:
                continue
            text = sources.read_text(path)
            if isinstance(text, str):
                notes.append(
                    SectionEntry(text[:COMMON_FILE_CHARACTERS], sources.snapshot.label(path), COMMON_FILE_SCORE)
                )
    return tuple(notes)


def team_section(section: SectionContext) -> SectionNotes:
    """Section "team": people and collaborations from the git history."""
    history = section.context.services.git_history.histories([root.path for root in section.context.snapshot.roots])
    problems = [one.problem for one in history if one.problem is not None]
    return SectionNotes(team_summary(history), tuple(problems))


def team_summary(history: Sequence[History]) -> tuple[SectionEntry, ...]:
    """Return up to 20 people by last commit, and the 5 strongest collaborations.

    CodeBuddy takes both from stand-ups.  Here two people collaborate on each file that both have changed.
    """
    last: dict[str, int] = {}
    on: dict[tuple[str, str], set[str]] = defaultdict(set)
    for past in history:
        for index, commit in enumerate(past.commits):
            if not commit.is_bot and commit.author:
                last[commit.author] = max(last.get(commit.author, 0), commit.time)
                for name in past.changed_files[index]:
                    on[past.root, name].add(commit.author)
    people = sorted(last, key=lambda name: (-last[name], name))[:MAX_PEOPLE]
    shared = Counter((a, b) for who in on.values() for a in who if a in people for b in who if b in people and a < b)
    strongest = sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:MAX_COLLABORATIONS]
    notes: list[SectionEntry] = []
    if people:
        lines = [f"- {name}, last seen {_month(last[name])}" for name in people]
        notes.append(SectionEntry("Team:\n" + "\n".join(lines), "git history"))
    if strongest:
        lines = [f"- {a} and {b}: {plural(n, 'file')}" for (a, b), n in strongest]
        notes.append(SectionEntry("Strongest collaborations:\n" + "\n".join(lines), "git history"))
    return tuple(notes)


def _month(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m")
    except (OverflowError, OSError, ValueError):
        return "an unknown month"

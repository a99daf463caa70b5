"""Prompt entries about a project: its architecture from facts, and an overview from readme, facts and design documents.

Unknown facts are omitted, without empty lines or headings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from promptls.index import Snapshot, SourceReader, split_lines
from promptls.knowledge.project.facts import EntryPoint, ProjectCommand, ProjectFacts, outermost
from promptls.knowledge.project.folder_tree import TreeFolder
from promptls.knowledge.project.readme import is_readme, read_purpose, read_summary, readme_order
from promptls.model import Root, SectionEntry
from promptls.util.text.display import plural

SOURCE = "project"
MAX_ROOTS = 4
"""Maximum number of workspace folders in the section."""
_BUILD_FOLDER = re.compile(r"(?:^|/)(?:dist|build|out|output|es\d*|esm\d*|cjs|umd|lib-\w+)/")
MAX_EQUAL_ENTRIES = 3
"""Maximum number of entry points of the same kind and file name that have a line of their own."""
MAX_EXPORTS = 24
"""Maximum number of names listed for the public interface of a library."""
MAX_NEEDS = 6
"""Maximum number of packages of the project that are listed as needed by another one."""
MAX_SHOWN_COMMANDS = 5
"""Maximum number of commands in the section."""


def project_entries(facts: Sequence[ProjectFacts], files: Sequence[str] = ()) -> tuple[SectionEntry, ...]:
    """Return the prompt entries for project facts: summary, folder tree, entry points, dependencies, commands.

    The workspace folders of the active files (absolute paths, most important first) come first.
    """
    entries: list[SectionEntry] = []
    for root_facts in sorted(facts, key=lambda one: (_root_order(one, files), -one.files))[:MAX_ROOTS]:
        commands = [_command_text(command) for command in root_facts.commands[:MAX_SHOWN_COMMANDS]]
        texts = (
            _summary(root_facts),
            "\n".join(["Main folders:", *map(_tree_line, root_facts.tree)]) if root_facts.tree else "",
            _bullet_list("Entry points", _entry_point_lines(root_facts.entry_points)),
            _bullet_list("Requires", [", ".join(root_facts.dependencies)] if root_facts.dependencies else []),
            _bullet_list("Commands", [", ".join(commands)] if commands else []),
        )
        source = f"{SOURCE} {root_facts.label}" if len(facts) > 1 else SOURCE
        shown = filter(None, texts)
        entries += [SectionEntry(text, source, round(1.0 - 0.05 * i, 2)) for i, text in enumerate(shown)]
    return tuple(entries)


def _root_order(facts: ProjectFacts, files: Sequence[str]) -> int:
    base = facts.root.rstrip("/") + "/"
    return next((i for i, path in enumerate(files) if path.startswith(base)), len(files))


def _tree_line(folder: TreeFolder) -> str:
    what = f"{'  ' * folder.depth}- {folder.path or '.'}/ ({plural(folder.files, 'file')})"
    needs = (
        f"needs {', '.join(folder.needs[:MAX_NEEDS])}{', …' if len(folder.needs) > MAX_NEEDS else ''}"
        if folder.needs
        else ""
    )
    more = f"{folder.omitted} more folders" if folder.omitted else ""
    details = [folder.purpose, ", ".join(folder.names), needs, more]
    about = "; ".join(filter(None, details))
    return f"{what}: {about}" if about else what


def _is_built(entry: EntryPoint) -> bool:
    """Return true for a file of an npm package that its build creates."""
    is_file = entry.kind in ("main", "module", "browser", "exports")
    return is_file and (entry.target.startswith("../") or _BUILD_FOLDER.search(entry.target) is not None)


def _entry_point_lines(entries: Sequence[EntryPoint]) -> list[str]:
    """Return a line for each entry point, and one for all those of packages that have the same kind and file name."""
    groups: dict[tuple[str, str], list[EntryPoint]] = {}
    for entry in entries:
        if not _is_built(entry):
            name = entry.target if entry.exports else entry.target.rpartition("/")[2]
            groups.setdefault((entry.kind, name), []).append(entry)
    lines: list[str] = []
    for (kind, name), group in groups.items():
        if len(group) > MAX_EQUAL_ENTRIES:
            lines.append(f"{kind}: {name} in {len(group)} folders, such as {group[0].target}")
        else:
            lines += map(_entry_point_text, group)
    return lines


def _entry_point_text(entry: EntryPoint) -> str:
    text = f"{entry.kind}: {entry.target}"
    if not entry.exports:
        return text
    more = len(entry.exports) - MAX_EXPORTS
    return f"{text} exports {', '.join(entry.exports[:MAX_EXPORTS])}{f', … {more} more' if more > 0 else ''}"


def _command_text(command: ProjectCommand) -> str:
    is_named = command.name in command.command_line
    return command.command_line if is_named else f"{command.name}: {command.command_line}"


def _summary(facts: ProjectFacts) -> str:
    name = facts.name or facts.label
    lines = [f"{name}: {facts.description}" if facts.description else f"Project {name}"]
    if facts.languages:
        versions = f" ({', '.join(facts.versions)})" if facts.versions else ""
        lines.append(
            f"Languages: {', '.join(f'{one.name} {100 * one.share:.0f} %' for one in facts.languages)}{versions}"
        )
    if facts.frameworks:
        lines.append(f"Frameworks: {', '.join(f'{used.label} ({used.role})' for used in facts.frameworks)}")
    if facts.files:
        lines.append(f"Size: {plural(facts.files, 'file')}, {plural(facts.lines, 'line')}")
    return "\n".join(lines) if len(lines) > 1 or facts.description else ""


def _bullet_list(title: str, lines: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


# ---- overview

_OVERVIEW_WORDS = re.compile(
    r"\b(?:overview|architecture|structure|stack|codebase|project|scaffold|how does the app work)\b", re.IGNORECASE
)

README_CHARACTERS = 900
"""Maximum number of characters quoted from a readme: its first paragraphs."""
GUIDE_CHARACTERS = 1_200
"""Maximum number of characters quoted from a guide."""

MAX_GUIDES = 2
"""Maximum number of design documents in an overview."""

_GUIDES = re.compile(
    r"(?:docs?/)?(?:\w+/)?(?:architecture|design|overview)\.(?:md|rst|txt)",
    re.IGNORECASE,
)


def is_overview_question(question: str) -> bool:
    """Return true if a question contains a word of questions about the project as a whole."""
    return _OVERVIEW_WORDS.search(question) is not None


def overview_entries(sources: SourceReader, facts: Sequence[ProjectFacts] = ()) -> tuple[SectionEntry, ...]:
    """Return prompt entries about the project as a whole: its purpose, project facts and documents of its design.

    Texts are truncated after a sentence or line.
    """
    entries: list[SectionEntry] = []
    for root in sources.snapshot.roots:
        names = _candidate_names(sources.snapshot, root)
        readmes = sorted(filter(_README_PLACE.fullmatch, filter(is_readme, names)), key=readme_order)
        entries += _entries(sources, root, readmes[0], read_purpose, README_CHARACTERS) if readmes else []
        entries += project_entries([root_facts for root_facts in facts if root_facts.root == root.path])
        for name in outermost(n for n in names if _GUIDES.fullmatch(n))[:MAX_GUIDES]:
            entries += _entries(sources, root, name, read_summary, GUIDE_CHARACTERS)
    return tuple(entries)


def _candidate_names(snapshot: Snapshot, root: Root) -> list[str]:
    """Return the names, relative to the root, of possible readmes and guides."""
    base = root.path.rstrip("/") + "/"
    basenames = snapshot.basenames
    paths = (p for name in filter(_CANDIDATE_NAME.match, basenames) for p in basenames[name] if p.startswith(base))
    return [path[len(base) :] for path in paths]


_CANDIDATE_NAME = re.compile(r"readme|architecture|design|overview", re.IGNORECASE)
_README_PLACE = re.compile(r"(?:(?:\.github|docs?)/)?[^/]+", re.IGNORECASE)


def _entries(
    sources: SourceReader, root: Root, name: str, extract: Callable[[str, int], str], max_characters: int
) -> list[SectionEntry]:
    """Return what `extract` takes from a document, as at most one entry."""
    path = f"{root.path.rstrip('/')}/{name}"
    text_or_problem = sources.read_text(path)
    if not isinstance(text_or_problem, str):
        return []
    text = extract("\n".join(split_lines(text_or_problem)), max_characters)
    return [SectionEntry(text, sources.snapshot.label(path))] if text else []

"""Rule discovery: finds, filters, orders and deduplicates the rules for the active files.

Searches only the folders of active files and the folders above, so the cost does not depend on the workspace size.
Texts come from open documents, otherwise from disk; nothing is cached between requests.  The caller applies the token
budget: the most important rules come first.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from promptls.index import (
    FileContent,
    SourceReader,
    UnreadableFile,
    exclusion_reason,
    existing_names,
    find_files,
    folder_exists,
    read_convention_file,
    split_lines,
)
from promptls.knowledge.rules import frontmatter
from promptls.knowledge.rules.applicability import Applicability, RuleLocation, check_applicability
from promptls.knowledge.rules.conventions import CONVENTIONS, TOP_LEVEL_NAMES, is_convention
from promptls.knowledge.rules.filters import ActiveFile, MatchBudget
from promptls.knowledge.rules.sections import RuleSection, split_sections
from promptls.languages import language_of
from promptls.model import Problem, Root, SectionEntry

MAX_ACTIVE_FILES = 200
"""Maximum number of active files considered."""
MAX_FOLDERS = 100
"""Maximum number of folders searched for rule files."""
MAX_RULE_FILES = 100
"""Maximum number of rule files read for a request."""
MAX_RULE_BYTES = 100_000
"""Maximum size of a rule file; a prompt uses a small part of that."""


class RuleFile(Struct, frozen=True):
    """A rule file with its applicability."""

    path: str
    label: str  # as shown in the prompt: "src/api/AGENTS.md"
    convention: str  # name in `conventions.CONVENTIONS`
    reason: str  # why the rule applies: "folder src/api", "glob *.py", "always"; or why it does not
    entries: tuple[SectionEntry, ...] = ()  # () if the rule does not apply
    description: str = ""


class RuleSet(Struct, frozen=True):
    """The rules for a set of active files."""

    active: tuple[RuleFile, ...] = ()  # most important first
    inactive: tuple[RuleFile, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def entries(self) -> tuple[SectionEntry, ...]:
        """Prompt entries of all active rules, most important first."""
        return tuple(note for rule in self.active for note in rule.entries)


def collect_rules(sources: SourceReader, files: Sequence[str], requested: Collection[str] = ()) -> RuleSet:
    """Return the rules that apply to active files, and the rules that do not apply.

    Args:
        sources: Snapshot and texts.
        files: Absolute paths of files or folders, most important first; without files, only general rules apply.
        requested: Rules requested by label, file name or stem; they apply regardless of their filters.
    """
    active_files = _active_files(sources, files)
    problems: list[Problem] = []
    budget = MatchBudget()
    results: list[Applicability] = []
    for count, location in enumerate(_locations(sources, active_files)):
        if count >= MAX_RULE_FILES:
            problems.append(Problem(f"Using only the first {MAX_RULE_FILES} rule files."))
            break
        text = _read_rule(sources, location.root, location.name, problems)
        if text is not None and text.strip():
            results.append(check_applicability(location, text, active_files, requested, budget))
    return _build_rule_set(sources, results, problems)


def _active_files(sources: SourceReader, files: Sequence[str]) -> list[ActiveFile]:
    out: list[ActiveFile] = []
    for path in dict.fromkeys(files):
        root = sources.snapshot.root_of(path)
        if root is None or len(out) >= MAX_ACTIVE_FILES:
            continue
        name = path[len(root.path.rstrip("/")) + 1 :]
        entry = sources.snapshot.files.get(path)
        if entry is None and name and folder_exists(path):
            name += "/"  # the trailing slash makes it match as a path below the folder
        language = entry.outline.language if entry is not None and entry.outline is not None else language_of(path)
        out.append(ActiveFile(path, root.path, name, language, len(out)))
    return out


# ---- locations


def _locations(sources: SourceReader, active_files: Sequence[ActiveFile]) -> Iterator[RuleLocation]:
    """Yield the distinct locations of rule files, nearest folders first."""
    seen: set[tuple[str, str]] = set()
    for root, folder in _folders(sources, active_files):
        for convention, name in _rule_files_in(sources, root, folder):
            if (root.path, name) not in seen:
                seen.add((root.path, name))
                label = sources.snapshot.label(f"{root.path.rstrip('/')}/{name}")
                yield RuleLocation(root, name, folder, convention, label)


def _folders(sources: SourceReader, active_files: Sequence[ActiveFile]) -> list[tuple[Root, str]]:
    """Return the folders of the active files and the folders above, nearest to the most important file first."""
    roots = {root.path: root for root in sources.snapshot.roots}
    if not active_files:
        return [(root, "") for root in roots.values()]
    found: dict[tuple[str, str], None] = {}
    for file in active_files:
        folder = posixpath.dirname(file.name)
        while folder and (file.root, folder) not in found and len(found) < MAX_FOLDERS:
            found[file.root, folder] = None
            folder = posixpath.dirname(folder)
    found |= dict.fromkeys((file.root, "") for file in active_files)
    return [(roots[root], folder) for root, folder in found]


def _rule_files_in(sources: SourceReader, root: Root, folder: str) -> Iterator[tuple[int, str]]:
    """Yield (convention, name relative to the root) of rule files in a folder, including unsaved documents."""
    top = root.path.rstrip("/")
    base = f"{top}/{folder}/" if folder else f"{top}/"
    buffers = [path[len(base) :] for path in sources.snapshot.documents if path.startswith(base)]
    present_names = {*existing_names(top, folder, TOP_LEVEL_NAMES), *(name.split("/")[0] for name in buffers)}
    prefix = f"{folder}/" if folder else ""
    for number, convention in enumerate(CONVENTIONS):
        nested = {name for name in convention.files if name.split("/")[0] in present_names}
        for name in convention.files:
            if name in nested and (name in buffers or "/" not in name or existing_names(top, folder, [name])):
                yield number, prefix + name
        for rule_folder, extensions, max_depth in convention.folders:
            if rule_folder.split("/")[0] not in present_names:
                continue
            names = find_files(top, prefix + rule_folder, extensions, max_depth)
            opened = [
                prefix + name for name in buffers if name.startswith(f"{rule_folder}/") and name.endswith(extensions)
            ]
            for name in sorted(
                {*names, *(n for n in opened if n[len(prefix + rule_folder) + 1 :].count("/") <= max_depth)}
            ):
                yield number, name


def _read_rule(sources: SourceReader, root: Root, name: str, problems: list[Problem]) -> str | None:
    """Read a rule file; return None if it is excluded or, with a problem, unreadable."""
    top = root.path.rstrip("/")
    snapshot = sources.snapshot
    if f"{top}/{name}" not in snapshot.files and exclusion_reason(top, name, sources.limits):
        return None
    document = snapshot.documents.get(f"{top}/{name}")
    if document is not None:
        content: FileContent | UnreadableFile = FileContent(document.text, len(document.text), 0)
        if len(document.text) > MAX_RULE_BYTES:
            content = UnreadableFile(f"it is longer than the limit of {MAX_RULE_BYTES:,} characters")
    else:
        content = read_convention_file(
            top, name, sources.limits, MAX_RULE_BYTES, lambda target: _is_link_allowed(sources, top, target)
        )
    if isinstance(content, FileContent):
        return "\n".join(split_lines(content.text))
    if content.reason != _IS_FOLDER:  # .clinerules may be a folder
        label = snapshot.label(f"{top}/{name}")
        problems.append(Problem(f"Ignoring the rules in {label}: {content.reason}."))
    return None


_IS_FOLDER = "it is a folder"


def _is_link_allowed(sources: SourceReader, top: str, target: str) -> bool:
    """Return true if the target of a link may be read under its own name."""
    return f"{top}/{target}" in sources.snapshot.files or is_convention(target)


# ---- contents


def _build_rule_set(sources: SourceReader, results: Sequence[Applicability], problems: list[Problem]) -> RuleSet:
    """Return the ordered rules; a repeated text stays only in the first rule."""
    problems += [result.problem for result in results if result.problem is not None]
    active: list[RuleFile] = []
    inactive = [_rule_file(result, result.rejection) for result in results if result.rejection]
    seen: dict[str, str] = {}
    for result in sorted((result for result in results if not result.rejection), key=lambda result: result.sort_key):
        label = result.location.label
        sections, messages = _sections(sources, result)
        problems += [Problem(f"In {label}, {message}") for message in messages]
        normalized = [" ".join(section.text.split()) for section in sections]
        first = next((seen[key] for key in normalized if key in seen), "")
        new = [(key, section) for key, section in zip(normalized, sections, strict=True) if key not in seen]
        entries = tuple(SectionEntry(section.text, section.label) for section in dict(new).values())
        seen |= {key: label for key, _ in new}
        if entries:
            active.append(_rule_file(result, result.reason, entries))
        else:
            inactive.append(_rule_file(result, f"duplicate of {first}" if first else "empty"))
    return RuleSet(tuple(active), tuple(inactive), tuple(dict.fromkeys(problems)))


def _rule_file(result: Applicability, reason: str, entries: tuple[SectionEntry, ...] = ()) -> RuleFile:
    location, description = result.location, result.front_matter.fields.get("description", "")
    about = description if isinstance(description, str) else ""
    return RuleFile(location.path, location.label, CONVENTIONS[location.convention].name, reason, entries, about)


def _sections(sources: SourceReader, result: Applicability) -> tuple[list[RuleSection], list[str]]:
    """Return the sections of a rule; a title in the front matter becomes a heading."""
    title = result.front_matter.fields.get("title", "")
    body = result.front_matter.body.strip("\n")
    if isinstance(title, str) and title and body.strip() and not body.lstrip().startswith("#"):
        body = f"# {title}\n\n{body}"
    return split_sections(body, result.location.label, lambda path: _read_import(sources, result.location, path))


def _read_import(sources: SourceReader, importer: RuleLocation, path: str) -> tuple[str, str] | str:
    """Return (label, text) of an imported file, or the reason why it cannot be imported.

    The path is relative to the importing rule.  The file must be in the index of the same root, which excludes ignored
    files, or be a rule file by its name.
    """
    top = importer.root.path.rstrip("/")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(importer.name), path))
    if path.startswith(("/", "~")) or target.startswith("../") or ":" in path:
        return "the file is outside of the workspace folder"
    absolute = f"{top}/{target}"
    if absolute == importer.path:
        return "a file cannot import itself"
    if absolute in sources.snapshot.files or absolute in sources.snapshot.documents:
        text_or_problem = sources.read_text(absolute)
        if not isinstance(text_or_problem, str):
            return text_or_problem.message
        if len(text_or_problem) > MAX_RULE_BYTES:
            return f"it is longer than the limit of {MAX_RULE_BYTES:,} characters"
        return sources.snapshot.label(absolute), frontmatter.parse("\n".join(split_lines(text_or_problem))).body
    if not is_convention(target):
        return "the file does not exist in the workspace or is ignored"
    problems: list[Problem] = []
    text = _read_rule(sources, importer.root, target, problems)
    if text is None:
        return "the file does not exist in the workspace or is excluded"
    return sources.snapshot.label(absolute), frontmatter.parse(text).body

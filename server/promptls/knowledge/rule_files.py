"""Rule files of a workspace: AGENTS.md, CLAUDE.md, .cursor/rules, .promptls/rules and similar conventions.

`collect_rules` finds, filters, orders and deduplicates the rules for the active files.  It searches only the folders of
active files and the folders above, so the cost does not depend on the workspace size.  Texts come from open documents,
otherwise from disk; nothing is cached between requests.  The caller applies the token budget: the most important rules
come first.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

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
from promptls.knowledge.rule_filters import (
    ActiveFile,
    FrontMatter,
    MatchBudget,
    MatchBudgetExceeded,
    matching_files,
    parse_filter,
    parse_front_matter,
)
from promptls.languages import language_of
from promptls.model import Problem, Root, SectionEntry
from promptls.util.text.regex import RegexError

MAX_RULE_DEPTH = 2
"""Maximum depth of subfolders in folders for rules."""


class RuleConvention(Struct, frozen=True):
    """Locations of one tool's rule files, relative to a folder."""

    files: tuple[str, ...] = ()
    folder: str = ""
    extensions: tuple[str, ...] = (".md",)  # of the files in `folder`
    requires_filter: bool = False  # a file in `folder` without a filter does not apply


CONVENTIONS: tuple[RuleConvention, ...] = (  # order breaks ties between rules
    RuleConvention((".promptls/rules.md",), ".promptls/rules"),
    RuleConvention(("AGENTS.md",)),
    RuleConvention(("CLAUDE.local.md", "CLAUDE.md", ".claude/CLAUDE.md"), ".claude/rules"),
    RuleConvention(("GEMINI.md",)),
    RuleConvention((".cursorrules",), ".cursor/rules", (".mdc", ".md")),
    RuleConvention(
        (".github/copilot-instructions.md",), ".github/instructions", (".instructions.md",), requires_filter=True
    ),
    RuleConvention((".windsurfrules",), ".windsurf/rules"),
    RuleConvention((".clinerules",), ".clinerules", (".md", ".txt")),
    RuleConvention((), ".sourcegraph", (".rule.md",)),
    RuleConvention(("CODEBUDDY.md", ".codebuddyrules", ".codebuddy/rules.md"), ".codebuddy/rules"),
)

_AGENTS, _CLAUDE, _GEMINI = (
    next(number for number, convention in enumerate(CONVENTIONS) if name in convention.files)
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
)
_WITHOUT_AGENTS = frozenset({_CLAUDE, _GEMINI})
"""Conventions of the tools that do not read AGENTS.md by default."""

TOP_LEVEL_NAMES = tuple(
    dict.fromkeys(name.split("/")[0] for family in CONVENTIONS for name in (*family.files, family.folder) if name)
)
"""First path segments of all conventions; checking these few names is cheaper than listing a folder."""

_FILE_NAMES = frozenset(name.rsplit("/", 1)[-1] for family in CONVENTIONS for name in family.files) - {"rules.md"}


def is_convention(name: str) -> bool:
    """Return true if the name (relative to a root) alone identifies a rule file, such as AGENTS.md."""
    return name.rsplit("/", 1)[-1] in _FILE_NAMES


# ---- sections

MAX_UNSPLIT_CHARACTERS = 1_200
"""Maximum length in characters of a text that is not split."""
MERGE_CHARACTERS = 800
"""Length in characters up to which consecutive sections of a longer text are merged."""
MAX_IMPORTS = 8
"""Maximum number of imports of a rule file."""

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_IMPORT = re.compile(r"\s*(?:[-*+]\s+)?@([^\s`@]+\.(?:md|mdc|markdown|txt|rst))\s*", re.IGNORECASE)

Importer = Callable[[str], "tuple[str, str] | str"]
"""Maps an import path to (label, text), or to the reason why it cannot be imported."""


def split_sections(text: str, label: str, importer: Importer) -> tuple[list[SectionEntry], list[str]]:
    """Return the sections of a rule file, and messages about failed imports.

    An import is a line with only "@docs/style.md", optionally as a list item, outside of code.  The text of the file
    replaces the line; imports in that text are not resolved.
    """
    out: list[SectionEntry] = []
    messages: list[str] = []
    lines: list[str] = []
    count = 0
    for line, code in _lines_with_fences(strip_comments(text)):
        imported = None if code else _IMPORT.fullmatch(line)
        if imported is None:
            lines.append(line)
            continue
        count += 1
        content = importer(imported[1]) if count <= MAX_IMPORTS else f"only {MAX_IMPORTS} imports are resolved"
        if isinstance(content, str):
            messages.append(f"cannot import @{imported[1]}: {content}.")
            lines.append(line)
            continue
        out += [SectionEntry(piece, label) for piece in split_text("\n".join(lines))]
        lines = []
        out += [SectionEntry(piece, content[0]) for piece in split_text(strip_comments(content[1]))]
    return [*out, *(SectionEntry(piece, label) for piece in split_text("\n".join(lines)))], messages


def split_text(text: str) -> list[str]:
    """Split a long text before headings; a heading stays together with its text."""
    text = text.strip("\n").rstrip()
    if len(text) <= MAX_UNSPLIT_CHARACTERS:
        return [text] if text.strip() else []
    parts: list[list[str]] = [[]]
    for line, code in _lines_with_fences(text):
        if not code and _HEADING.match(line):
            parts.append([])
        parts[-1].append(line)
    out: list[str] = []
    headings = ""  # headings without text so far
    for part in parts:
        body = "\n".join(part).strip("\n").rstrip()
        if "\n" not in body and _HEADING.match(body):
            headings += body + "\n\n"
            continue
        body, headings = headings + body, ""
        if out and len(out[-1]) + len(body) < MERGE_CHARACTERS:
            out[-1] += "\n\n" + body
        elif body:
            out.append(body)
    return [*out, headings.rstrip()] if headings else out


def strip_comments(text: str) -> str:
    """Remove HTML comments that begin a line, "<!-- … -->"; readers of the rendered text do not see them."""
    if "<!--" not in text:
        return text
    out: list[str] = []
    inside = False
    for line, code in _lines_with_fences(text):
        if not inside and (code or not line.lstrip().startswith("<!--")):
            out.append(line)
            continue
        _, closed, rest = (line if inside else line.lstrip()[4:]).partition("-->")
        inside = not closed
        if rest.strip():
            out.append(rest.lstrip())
    return "\n".join(out)


def _lines_with_fences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a fenced code block."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)


# ---- applicability


class RuleLocation(Struct, frozen=True):
    """Location of a rule file."""

    root: Root
    name: str  # relative to the root
    folder: str  # relative to the root; the rule applies to files in it and below
    convention: int  # index in CONVENTIONS
    label: str  # as shown in the prompt

    @property
    def path(self) -> str:
        """Absolute path."""
        return f"{self.root.path.rstrip('/')}/{self.name}"

    @property
    def in_rule_folder(self) -> bool:
        """True if the file is in a folder for rules, where files have front matter."""
        name = self.name[len(self.folder) + 1 :] if self.folder else self.name
        rule_folder = CONVENTIONS[self.convention].folder
        return bool(rule_folder) and name.startswith(f"{rule_folder}/")


class ApplicableRule(Struct, frozen=True):
    """A rule file that applies to active files."""

    location: RuleLocation
    front_matter: FrontMatter
    is_limited: bool  # has a filter
    position: int  # position of the most important active file that the rule applies to

    @property
    def sort_key(self) -> tuple[bool, int, int, bool, int, str]:
        """Sort key: general rules last, position of the active file, nearest folder, rules with filter first."""
        folder = self.location.folder
        general = not folder and not self.is_limited
        return (
            general,
            0 if general else self.position,
            -(folder.count("/") + 1) if folder else 0,
            not self.is_limited,
            self.location.convention,
            self.location.name,
        )


def check_applicability(
    location: RuleLocation, text: str, active_files: Sequence[ActiveFile], budget: MatchBudget | None = None
) -> ApplicableRule | Problem | None:
    """Match the filter of a rule file against the active files; return None if the rule does not apply.

    Args:
        active_files: Active files, most important first.
        budget: Limits the time for all filters of a request.
    """
    front_matter = parse_front_matter(text)
    requires_filter = CONVENTIONS[location.convention].requires_filter and location.in_rule_folder
    rule_filter = parse_filter(front_matter, requires_filter)
    error = rule_filter.error
    if front_matter.is_unterminated and location.in_rule_folder:
        error = 'its front matter is invalid or does not end with a line "---"'
    candidates = [
        file
        for file in active_files
        if file.root == location.root.path and (not location.folder or file.name.startswith(f"{location.folder}/"))
    ]
    matching = candidates
    if rule_filter.is_limited and not error:
        try:
            matching = matching_files(rule_filter, candidates, location.folder, budget or MatchBudget())
        except RegexError as regex_error:
            error = f"invalid path filter: {regex_error}"
        except MatchBudgetExceeded:
            error = "its filters take too long to match"
    if error:
        return Problem(f"Ignoring the rule {location.label}: {error}.", 'Write globs as: globs: "src/**, *.py"')
    if rule_filter.on_request or (rule_filter.is_limited and not matching):
        return None
    return ApplicableRule(location, front_matter, rule_filter.is_limited, matching[0].position if matching else 0)


# ---- discovery

MAX_ACTIVE_FILES = 200
"""Maximum number of active files considered."""
MAX_FOLDERS = 100
"""Maximum number of folders searched for rule files."""
MAX_RULE_FILES = 100
"""Maximum number of rule files read for a request."""
MAX_RULE_BYTES = 100_000
"""Maximum size of a rule file; a prompt uses a small part of that."""


class RuleFile(Struct, frozen=True):
    """A rule file that applies."""

    path: str
    label: str  # as shown in the prompt: "src/api/AGENTS.md"
    entries: tuple[SectionEntry, ...]


class RuleSet(Struct, frozen=True):
    """The rules for a set of active files."""

    active: tuple[RuleFile, ...] = ()  # most important first
    problems: tuple[Problem, ...] = ()

    @property
    def entries(self) -> tuple[SectionEntry, ...]:
        """Prompt entries of all active rules, most important first."""
        return tuple(note for rule in self.active for note in rule.entries)


def collect_rules(sources: SourceReader, files: Sequence[str]) -> RuleSet:
    """Return the rules that apply to files or folders (absolute paths, most important first).

    Without files, only general rules apply.  A repeated text stays only in the first rule.
    """
    active_files = _active_files(sources, files)
    problems: list[Problem] = []
    budget = MatchBudget()
    applicable: list[ApplicableRule] = []
    locations: dict[str, RuleLocation] = {}  # by path, nearest folders first
    for root, folder in _folders(sources, active_files):
        for convention, name in _rule_files_in(sources, root, folder):
            path = f"{root.path.rstrip('/')}/{name}"
            locations.setdefault(path, RuleLocation(root, name, folder, convention, sources.snapshot.label(path)))
    if len(locations) > MAX_RULE_FILES:
        problems.append(Problem(f"Using only the first {MAX_RULE_FILES} rule files."))
    for location in list(locations.values())[:MAX_RULE_FILES]:
        text = _read_rule(sources, location.root, location.name, problems)
        if text is not None and text.strip():
            rule = check_applicability(location, text, active_files, budget)
            if isinstance(rule, Problem):
                problems.append(rule)
            elif rule is not None:
                applicable.append(rule)
    active: list[RuleFile] = []
    seen: set[str] = set()
    for rule in sorted(applicable, key=lambda rule: rule.sort_key):
        label = rule.location.label
        title, body = rule.front_matter.fields.get("title", ""), rule.front_matter.body.strip("\n")
        if isinstance(title, str) and title and body.strip() and not body.lstrip().startswith("#"):
            body = f"# {title}\n\n{body}"
        sections, messages = split_sections(body, label, partial(_read_import, sources, rule.location))
        problems += [Problem(f"In {label}, {message}") for message in messages]
        entries: list[SectionEntry] = []
        for section in sections:
            normalized = " ".join(section.text.split())
            if normalized not in seen:
                seen.add(normalized)
                entries.append(section)
        if entries:
            active.append(RuleFile(rule.location.path, label, tuple(entries)))
    return RuleSet(tuple(active), tuple(dict.fromkeys(problems)))


def rule_location(path: str, sources: SourceReader) -> RuleLocation | None:
    """Return the location of a rule file by its path, None for other files."""
    root = sources.snapshot.root_of(path)
    name = path[len(root.path.rstrip("/")) + 1 :] if root is not None else ""
    parts = name.split("/")
    for depth in range(len(parts)):
        folder, inner = "/".join(parts[:depth]), "/".join(parts[depth:])
        for number, convention in enumerate(CONVENTIONS):
            inside = convention.folder and inner.startswith(f"{convention.folder}/")
            if root is not None and (inner in convention.files or (inside and inner.endswith(convention.extensions))):
                return RuleLocation(root, name, folder, number, sources.snapshot.label(path))
    return None


def rules_of_tool(location: RuleLocation, text: str, sources: SourceReader) -> tuple[str, tuple[RuleFile, ...]] | None:
    """Return the files that a rule file applies to, in words, and what its tool loads for one of them.

    None if it applies to no file of the workspace.  Tools read AGENTS.md beside their own files, apart from Claude Code
    and Gemini CLI.
    """
    rule_filter = parse_filter(parse_front_matter(text))
    names = (p for p, e in sources.snapshot.files.items() if e.root == location.root.path)
    below = (p for p in names if not location.folder or p.startswith(f"{location.root.path}/{location.folder}/"))
    candidates = _active_files(sources, list(islice(below, MAX_ACTIVE_FILES * 10)))
    try:
        matching = matching_files(rule_filter, candidates, location.folder, MatchBudget())
    except (RegexError, MatchBudgetExceeded):
        return None
    if rule_filter.on_request or rule_filter.error or not matching:
        return None
    scope = ", ".join(rule_filter.globs) or (f"{location.folder}/**" if location.folder else "every file")
    family = {location.convention} | (set() if location.convention in _WITHOUT_AGENTS else {_AGENTS})
    loaded = collect_rules(sources, [matching[0].path]).active
    places = ((rule, rule_location(rule.path, sources)) for rule in loaded)
    return scope, tuple(rule for rule, place in places if place is not None and place.convention in family)


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
        for name in (name for name in convention.files if name.split("/")[0] in present_names):
            if name in buffers or "/" not in name or existing_names(top, folder, [name]):
                yield number, prefix + name
        rule_folder = convention.folder
        if not rule_folder or rule_folder.split("/")[0] not in present_names:
            continue
        names = find_files(top, prefix + rule_folder, convention.extensions, MAX_RULE_DEPTH)
        opened = [
            prefix + name
            for name in buffers
            if name.startswith(f"{rule_folder}/")
            and name.endswith(convention.extensions)
            and name.count("/") <= rule_folder.count("/") + 1 + MAX_RULE_DEPTH
        ]
        for name in sorted({*names, *opened}):
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
            top,
            name,
            sources.limits,
            MAX_RULE_BYTES,
            lambda target: f"{top}/{target}" in snapshot.files or is_convention(target),  # may be read by its own name
        )
    if isinstance(content, FileContent):
        return "\n".join(split_lines(content.text))
    if content.reason != "it is a folder":  # .clinerules may be a folder
        label = snapshot.label(f"{top}/{name}")
        problems.append(Problem(f"Ignoring the rules in {label}: {content.reason}."))
    return None


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
        return sources.snapshot.label(absolute), parse_front_matter("\n".join(split_lines(text_or_problem))).body
    if not is_convention(target):
        return "the file does not exist in the workspace or is ignored"
    problems: list[Problem] = []
    text = _read_rule(sources, importer.root, target, problems)
    if text is None:
        return "the file does not exist in the workspace or is excluded"
    return sources.snapshot.label(absolute), parse_front_matter(text).body

"""The rules that hold for the files in play: found, judged, ordered, each text once.

Looks only into the folders of those files and the ones above, so the cost does not grow with the workspace.
Texts come from the open buffer, else from the disk as of now; nothing is kept between two requests.
Knows nothing of budgets: what comes first survives the cap.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from promptls.index import files as disk
from promptls.index.files.convention_files import files_in, kept_out, present, read_named
from promptls.index.snapshot import Sources, split_lines
from promptls.knowledge.rules import frontmatter
from promptls.knowledge.rules.applicability import Judged, Place, judge
from promptls.knowledge.rules.conventions import ENTRIES, FAMILIES, is_convention
from promptls.knowledge.rules.filters import Played
from promptls.knowledge.rules.regexes import Effort
from promptls.knowledge.rules.sections import Passage, passages
from promptls.languages.table import language_of
from promptls.model import Note, Problem, Root

MOST_FILES = 200
"""Files in play that are looked at."""
MOST_FOLDERS = 100
"""Folders that are looked into."""
MOST_RULES = 100
"""Rules files that are read."""
MOST_BYTES = 100_000
"""Of one rules file; what goes into a prompt is a small part of that."""


class Rule(Struct, frozen=True):
    """A rules file that was looked at."""

    path: str
    label: str  # as the prompt shows it: "src/api/AGENTS.md"
    family: str  # name in `places.FAMILIES`
    reason: str  # why it holds: "folder src/api", "glob *.py", "always"; or why it does not
    notes: tuple[Note, ...] = ()  # () if it does not hold
    description: str = ""


class Rules(Struct, frozen=True):
    """What was found for some files."""

    held: tuple[Rule, ...] = ()  # most important first
    left_out: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """The passages of all that hold, most important first."""
        return tuple(note for rule in self.held for note in rule.notes)


def gather(sources: Sources, files: Sequence[str], named: Collection[str] = ()) -> Rules:
    """The rules for these files or folders (absolute paths, most important first), and those that were left out.

    `named`: rules that were asked for, by label, file name or name without ending; they hold whatever their
    heads say.  Without files, what holds everywhere.
    """
    played = _played(sources, files)
    problems: list[Problem] = []
    effort = Effort()
    judged: list[Judged] = []
    for count, place in enumerate(_places(sources, played)):
        if count >= MOST_RULES:
            problems.append(Problem(f"Only {MOST_RULES} rules files are looked at; there are more."))
            break
        text = _text(sources, place.root, place.name, problems)
        if text is not None and text.strip():
            judged.append(judge(place, text, played, named, effort))
    return _ordered(sources, judged, problems)


def _played(sources: Sources, files: Sequence[str]) -> list[Played]:
    out: list[Played] = []
    for path in dict.fromkeys(files):
        root = sources.snapshot.root_of(path)
        if root is None or len(out) >= MOST_FILES:
            continue
        name = path[len(root.path.rstrip("/")) + 1 :]
        entry = sources.snapshot.files.get(path)
        if entry is None and name and disk.is_folder(path):
            name += "/"  # a folder counts as something inside of it
        spoken = entry.outline.language if entry is not None and entry.outline is not None else language_of(path)
        out.append(Played(path, root.path, name, spoken, len(out)))
    return out


# ---- where rules may be


def _places(sources: Sources, played: Sequence[Played]) -> Iterator[Place]:
    """The files that may hold rules, each once, those of the nearest folders first."""
    seen: set[tuple[str, str]] = set()
    for root, folder in _folders(sources, played):
        for family, name in _in_folder(sources, root, folder):
            if (root.path, name) not in seen:
                seen.add((root.path, name))
                label = sources.snapshot.label(f"{root.path.rstrip('/')}/{name}")
                yield Place(root, name, folder, family, label)


def _folders(sources: Sources, played: Sequence[Played]) -> list[tuple[Root, str]]:
    """The folders of the files and those above, the nearest to the most important file first."""
    roots = {root.path: root for root in sources.snapshot.roots}
    if not played:
        return [(root, "") for root in roots.values()]
    found: dict[tuple[str, str], None] = {}
    for file in played:
        folder = posixpath.dirname(file.name)
        while folder and (file.root, folder) not in found and len(found) < MOST_FOLDERS:
            found[file.root, folder] = None
            folder = posixpath.dirname(folder)
    found |= dict.fromkeys((file.root, "") for file in played)
    return [(roots[root], folder) for root, folder in found]


def _in_folder(sources: Sources, root: Root, folder: str) -> Iterator[tuple[int, str]]:
    """(family, name relative to the root) of what a folder has of each family; buffers count as files."""
    top = root.path.rstrip("/")
    base = f"{top}/{folder}/" if folder else f"{top}/"
    buffers = [path[len(base) :] for path in sources.snapshot.documents if path.startswith(base)]
    there = {*present(top, folder, ENTRIES), *(name.split("/")[0] for name in buffers)}
    way = f"{folder}/" if folder else ""
    for number, family in enumerate(FAMILIES):
        nested = {name for name in family.files if name.split("/")[0] in there}
        for name in family.files:
            if name in nested and (name in buffers or "/" not in name or present(top, folder, [name])):
                yield number, way + name
        for inner, endings, deep in family.folders:
            if inner.split("/")[0] not in there:
                continue
            names = files_in(top, way + inner, endings, deep)
            opened = [way + name for name in buffers if name.startswith(f"{inner}/") and name.endswith(endings)]
            for name in sorted({*names, *(n for n in opened if n[len(way + inner) + 1 :].count("/") <= deep)}):
                yield number, name


def _text(sources: Sources, root: Root, name: str, problems: list[Problem]) -> str | None:
    """The text of a rules file as of now; None if it is kept from us, or with a problem."""
    top = root.path.rstrip("/")
    snapshot = sources.snapshot
    if f"{top}/{name}" not in snapshot.files and kept_out(top, name, sources.limits):
        return None
    document = snapshot.documents.get(f"{top}/{name}")
    if document is not None:
        got: disk.ReadText | disk.Skipped = disk.ReadText(document.text, len(document.text), 0)
        if len(document.text) > MOST_BYTES:
            got = disk.Skipped(f"it has more than the {MOST_BYTES:,} characters that are read of such a file")
    else:
        got = read_named(top, name, sources.limits, MOST_BYTES, lambda target: _may_be_shown(sources, top, target))
    if isinstance(got, disk.ReadText):
        return "\n".join(split_lines(got.text))
    if got.reason != _FOLDER:  # .clinerules may be one
        label = snapshot.label(f"{top}/{name}")
        problems.append(Problem(f"The rules in {label} are left out: {got.reason}."))
    return None


_FOLDER = "it is a folder"


def _may_be_shown(sources: Sources, top: str, target: str) -> bool:
    """Whether what a link leads to may be shown under its own name too."""
    return f"{top}/{target}" in sources.snapshot.files or is_convention(target)


# ---- what they say


def _ordered(sources: Sources, judged: Sequence[Judged], problems: list[Problem]) -> Rules:
    """The rules in order, every text once: where it comes first."""
    problems += [one.problem for one in judged if one.problem is not None]
    held: list[Rule] = []
    left_out = [_rule(one, one.refusal) for one in judged if one.refusal]
    seen: dict[str, str] = {}
    for one in sorted((one for one in judged if not one.refusal), key=lambda one: one.order):
        label = one.place.label
        said, troubles = _passages(sources, one)
        problems += [Problem(f"In {label}, {trouble}") for trouble in troubles]
        keys = [" ".join(passage.text.split()) for passage in said]
        first = next((seen[key] for key in keys if key in seen), "")
        new = [(key, passage) for key, passage in zip(keys, said, strict=True) if key not in seen]
        notes = tuple(Note(passage.text, passage.label) for passage in dict(new).values())
        seen |= {key: label for key, _ in new}
        if notes:
            held.append(_rule(one, one.reason, notes))
        else:
            left_out.append(_rule(one, f"the same text as {first}" if first else "it says nothing"))
    return Rules(tuple(held), tuple(left_out), tuple(dict.fromkeys(problems)))


def _rule(judged: Judged, reason: str, notes: tuple[Note, ...] = ()) -> Rule:
    place, description = judged.place, judged.head.fields.get("description", "")
    about = description if isinstance(description, str) else ""
    return Rule(place.path, place.label, FAMILIES[place.family].name, reason, notes, about)


def _passages(sources: Sources, judged: Judged) -> tuple[list[Passage], list[str]]:
    """What a rule says, with a heading made of its title where only its head has one."""
    title = judged.head.fields.get("title", "")
    body = judged.head.body.strip("\n")
    if isinstance(title, str) and title and body.strip() and not body.lstrip().startswith("#"):
        body = f"# {title}\n\n{body}"
    return passages(body, judged.place.label, lambda path: _import(sources, judged.place, path))


def _import(sources: Sources, of: Place, path: str) -> tuple[str, str] | str:
    """(label, text) of a file that a rule imports by a path relative to itself; or why not.

    It must be a file of the same root that the index knows, so that nothing ignored comes in this way, or
    a rules file by its name.
    """
    top = of.root.path.rstrip("/")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(of.name), path))
    if path.startswith(("/", "~")) or target.startswith("../") or ":" in path:
        return "only files of the same workspace folder are imported"
    place = f"{top}/{target}"
    if place == of.path:
        return "it is the file itself"
    if place in sources.snapshot.files or place in sources.snapshot.documents:
        found = sources.text(place)
        if not isinstance(found, str):
            return found.message
        if len(found) > MOST_BYTES:
            return f"it has more than {MOST_BYTES:,} characters"
        return sources.snapshot.label(place), frontmatter.parse("\n".join(split_lines(found))).body
    if not is_convention(target):
        return "there is no such file in the workspace, or it is ignored"
    problems: list[Problem] = []
    text = _text(sources, of.root, target, problems)
    if text is None:
        return "there is no such file in the workspace, or it is kept out"
    return sources.snapshot.label(place), frontmatter.parse(text).body

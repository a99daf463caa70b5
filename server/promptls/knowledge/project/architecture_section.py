"""What the prompt says of the project when somebody asks about its architecture.

Facts that are not known are not spoken of: no empty line, no empty heading.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from promptls.graph.layers import layer_of
from promptls.knowledge.project.facts import Language, ProjectFacts
from promptls.model import Note

SOURCE = "project"
MOST_ROOTS = 4
_FIRST = {
    "testing": "commands",
    "deployment": "commands",
    "configuration": "commands",
    "database": "libraries",
    "authentication": "libraries",
    "performance": "hubs",
    "implementation": "entries",
    "feature": "layers",
    "api": "entries",
    "frontend": "libraries",
    "backend": "entries",
}
"""Category or type of a question → the fact that it needs first after the head."""


def architecture_notes(
    facts: Sequence[ProjectFacts], types: Collection[str] = (), files: Sequence[str] = ()
) -> tuple[Note, ...]:
    """The project as passages, most important first: what it is, where it begins, how it is layered, its hubs …

    `types`: categories and types of the question, which move what they need to the front.  `files`: absolute
    paths in play, most important first; the workspace folders that hold them come first.
    """
    ordered = sorted(facts, key=lambda one: _place(one, files))[:MOST_ROOTS]
    several = len(facts) > 1
    return tuple(note for one in ordered for note in _notes(one, types, files, several))


def _place(facts: ProjectFacts, files: Sequence[str]) -> int:
    return next((i for i, path in enumerate(files) if _inside(facts, path)), len(files))


def _inside(facts: ProjectFacts, path: str) -> bool:
    return path.startswith(facts.root.rstrip("/") + "/")


def _notes(facts: ProjectFacts, types: Collection[str], files: Sequence[str], several: bool) -> list[Note]:
    said = {
        "head": _head(facts),
        "entries": _list("Entry points", [f"{e.what}: {e.target}" for e in facts.entries]),
        "layers": _layers(facts, files),
        "hubs": _list("Files that many others import", [f"{h.label} ({h.importers} files)" for h in facts.hubs]),
        "folders": _list("Folders", [_named(f"{o.name}/ ({_count(o.files, 'file')})", o.role) for o in facts.folders]),
        "commands": _list("Commands", [c.run if c.name in c.run else f"{c.name}: {c.run}" for c in facts.commands]),
        "libraries": _libraries(facts),
    }
    wanted = [_FIRST[type] for type in types if type in _FIRST]
    order = dict.fromkeys(["head", *wanted, *said])
    source = f"{SOURCE} {facts.label}" if several else SOURCE
    return [Note(said[key], source, round(1.0 - 0.05 * i, 2)) for i, key in enumerate(order) if said[key]]


def _head(facts: ProjectFacts) -> str:
    name = facts.name or facts.label
    lines = [f"{name}: {facts.description}" if facts.description else f"Project {name}"]
    if facts.languages:
        lines.append(f"Languages: {', '.join(map(_share, facts.languages))}")
    if facts.frameworks:
        lines.append(f"Frameworks: {', '.join(f'{used.label} ({used.role})' for used in facts.frameworks)}")
    if facts.files:
        lines.append(f"Size: {_count(facts.files, 'file')}, {_count(facts.lines, 'line')}")
    return "\n".join(lines) if len(lines) > 1 or facts.description else ""


def _share(language: Language) -> str:
    return f"{language.name} {100 * language.share:.0f} %" if language.share >= 0.005 else language.name


def _layers(facts: ProjectFacts, files: Sequence[str]) -> str:
    if len(facts.layers) < 2:
        return ""
    lines = [
        _named(f"{layer.name} ({_count(layer.files, 'file')})", ", ".join(f"{o}/" for o in layer.folders if o))
        for layer in facts.layers
    ]
    base = facts.root.rstrip("/") + "/"
    played = [path[len(base) :] for path in files if _inside(facts, path)][:5]
    lines += [f"in play: {name} is of layer {layer_of(name)}" for name in played]
    return _list("Layers", lines)


def _libraries(facts: ProjectFacts) -> str:
    by_role: dict[str, list[str]] = {}
    for used in facts.libraries:
        by_role.setdefault(used.role, []).append(used.label)
    others = by_role.pop("", [])
    lines = [f"{role}: {', '.join(labels)}" for role, labels in by_role.items()]
    return _list("Libraries", lines + ([f"others: {', '.join(others)}"] if others else []))


def _list(title: str, lines: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _named(what: str, about: str) -> str:
    return f"{what}: {about}" if about else what


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"

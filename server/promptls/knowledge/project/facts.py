"""What is known of a project as a whole: the value, and how it follows from the tallies of its files.

Pure: knows no text but what manifests said, and nothing of questions or prompts.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from msgspec import Struct

from promptls.graph.layers import TEST, is_test
from promptls.graph.nodes import ProjectHeader
from promptls.knowledge.project.libraries import Library, library_of
from promptls.knowledge.project.manifest import Manifest

MOST_FRAMEWORKS = 10
MOST_LIBRARIES = 25
MOST_COMMANDS = 10
MOST_ENTRIES = 15
MOST_HUBS = 8
MOST_FOLDERS = 15
MOST_LANGUAGES = 8
LEAST_IMPORTERS = 3
"""A file that fewer import is no hub."""

PROSE = frozenset({"markdown", "json", "yaml", "toml", "text", "html", "make", "dockerfile"})
"""What most projects have and none is written in."""

_PURPOSES = (
    ("build", re.compile(r"build|compile|bundle|package|dist", re.IGNORECASE)),
    ("test", re.compile(r"(?:unit-?)?tests?|check|spec", re.IGNORECASE)),
    ("lint", re.compile(r"lint|types|typecheck|mypy|format|fmt", re.IGNORECASE)),
    ("run", re.compile(r"start|dev|serve|run|watch", re.IGNORECASE)),
)

_ROLES = {
    "src": "source code",
    "lib": "source code",
    "app": "the application",
    "apps": "applications",
    "packages": "packages of a monorepo",
    "crates": "crates of a workspace",
    "pkg": "packages",
    "internal": "packages for this project alone",
    "cmd": "programs",
    "bin": "programs",
    "server": "the server",
    "backend": "the back end",
    "client": "the client",
    "frontend": "the front end",
    "web": "the web front end",
    "api": "the interface for others",
    "test": "tests",
    "tests": "tests",
    "spec": "tests",
    "e2e": "end-to-end tests",
    "docs": "documentation",
    "doc": "documentation",
    "examples": "examples",
    "example": "examples",
    "scripts": "scripts for development",
    "tools": "tools for development",
    "benchmarks": "benchmarks",
    "bench": "benchmarks",
    "fixtures": "test data",
    "migrations": "database migrations",
    "config": "configuration",
    "public": "static files",
    "static": "static files",
    "assets": "static files",
    "templates": "templates",
    "locales": "translations",
    "deploy": "deployment",
    "infra": "infrastructure",
    "terraform": "infrastructure",
    "k8s": "deployment",
    "docker": "containers",
    "vendor": "copies of other projects",
    "third_party": "copies of other projects",
    "proto": "protocol definitions",
    ".github": "continuous integration and GitHub settings",
    ".gitlab": "GitLab settings",
    ".circleci": "continuous integration",
    ".vscode": "editor settings",
    "editors": "editor clients",
}

_ENTRY_FILES = (
    (re.compile(r"(?:.*/)?__main__\.py"), "python -m"),
    (re.compile(r"manage\.py"), "Django's command line"),
    (re.compile(r"(?:[^/]+/)?(?:wsgi|asgi)\.py"), "web server interface"),
    (re.compile(r"(?:(?:.*/)?cmd/[^/]+/)?main\.go"), "Go program"),
    (re.compile(r"(?:.*/)?src/main\.rs"), "Rust program"),
    (re.compile(r"(?:.*/)?src/bin/[^/]+\.rs"), "Rust program"),
    (re.compile(r"(?:.*/)?src/(?:index|main)\.[jt]sx?"), "JavaScript entry"),
    (re.compile(r"(?:index|main|server|app)\.[jt]s"), "JavaScript entry"),
    (re.compile(r"(?:.*/)?src/main\.(?:c|cc|cpp|zig)|main\.(?:c|cc|cpp|zig)"), "program"),
    (re.compile(r"(?:.*/)?Program\.cs"), "C# program"),
    (
        re.compile(r"(?:.*/)?src/main/(?:java|kotlin|scala)/.*/(?:Main|App|\w+Application)\.(?:java|kt|scala)"),
        "main class",
    ),
    (re.compile(r"config\.ru"), "Rack application"),
    (re.compile(r"public/index\.php"), "web entry"),
    (re.compile(r"lib/main\.dart"), "Flutter application"),
)


class Language(Struct, frozen=True):
    """A language and its part of the lines that are code."""

    name: str
    lines: int
    share: float


class Used(Struct, frozen=True):
    """A dependency that a manifest names."""

    label: str
    role: str  # "" if it is not well known
    source: str  # label of the manifest


class Command(Struct, frozen=True):
    """What to type."""

    name: str
    run: str
    source: str


class Entry(Struct, frozen=True):
    """Where the program begins."""

    what: str
    target: str  # a path as people write it, a module, or a command line
    source: str = ""  # the manifest that says so, "" if the file's name or text does


class LayerShare(Struct, frozen=True):
    """A layer: how many files, and the folders that hold most of them."""

    name: str
    files: int
    folders: tuple[str, ...]


class Hub(Struct, frozen=True):
    """A file, in Go a package, that many others import."""

    label: str
    importers: int


class Folder(Struct, frozen=True):
    """A top-level folder."""

    name: str
    files: int
    role: str


class ProjectFacts(Struct, frozen=True):
    """What is known of one workspace folder; whatever is not known is empty."""

    root: str
    label: str  # the root's name
    name: str = ""
    description: str = ""
    files: int = 0
    lines: int = 0
    languages: tuple[Language, ...] = ()  # most lines first
    frameworks: tuple[Used, ...] = ()
    libraries: tuple[Used, ...] = ()
    commands: tuple[Command, ...] = ()
    layers: tuple[LayerShare, ...] = ()  # most files first
    entries: tuple[Entry, ...] = ()
    hubs: tuple[Hub, ...] = ()  # most importers first
    folders: tuple[Folder, ...] = ()  # most files first
    manifests: tuple[str, ...] = ()  # the outermost first


class Tally(Struct):
    """What is counted of a root's files; only `projects` changes it."""

    files: int
    lines: Counter[str]  # by language
    layers: Counter[tuple[str, str]]  # (layer, folder) → files
    folders: Counter[tuple[str, str]]  # (top folder, language) → files
    importers: Counter[str]  # name → files that import it


def header_of(facts: ProjectFacts) -> ProjectHeader:
    """What a view of the graph shows of the project."""
    return ProjectHeader(
        facts.name or facts.label,
        facts.description,
        tuple(language.name for language in facts.languages),
        tuple(dict.fromkeys(used.label for used in facts.frameworks)),
    )


def languages_of(lines: Mapping[str, int]) -> tuple[Language, ...]:
    """Languages by their part of the lines; prose and data count only where there is nothing else."""
    code = {name: n for name, n in lines.items() if n > 0 and name not in PROSE}
    code = code or {name: n for name, n in lines.items() if n > 0 and name != "text"}
    total = sum(code.values())
    ordered = sorted(code.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Language(name, n, n / total) for name, n in ordered if n >= total / 200)[:MOST_LANGUAGES]


def naming(manifests: Sequence[tuple[str, Manifest]], names: Collection[str]) -> tuple[Manifest, Manifest]:
    """(the manifest that names the whole, one that names most of it); empty ones where there are none.

    The first is the first in the root that has a name.  The second stands alone at its depth, and at least half of
    the files (`names`) are in its folder: what lies among tests, or as one of many, speaks for itself only.
    """
    named = [(label, m) for label, m in manifests if m.name]
    whole = next((m for label, m in named if "/" not in label), Manifest())
    inner = [(label, m) for label, m in named if "/" in label and not aside(label)]
    depth = min((label.count("/") for label, _ in inner), default=0)
    outer = {posixpath.dirname(label): m for label, m in reversed(inner) if label.count("/") == depth}
    if whole.name or len(outer) != 1:
        return whole, Manifest()
    ((folder, most),) = outer.items()
    return whole, most if 2 * sum(name.startswith(f"{folder}/") for name in names) >= len(names) else Manifest()


def used_of(manifests: Sequence[tuple[str, Manifest]]) -> tuple[tuple[Used, ...], tuple[Used, ...]]:
    """(frameworks, libraries) that the manifests name, those of the outermost first; tests and examples left out."""
    known: dict[str, Used] = {}
    framework: dict[str, Used] = {}
    others: dict[str, Used] = {}
    for label, manifest in manifests:
        if aside(label):
            continue
        needed = len(manifest.dependencies)
        for at, dependency in enumerate((*manifest.dependencies, *manifest.development)):
            library: Library | None = library_of(manifest.ecosystem, dependency)
            if library is None:
                others.setdefault(dependency, Used(dependency, "", label))
            elif library.is_framework and at < needed:
                framework.setdefault(library.label, Used(library.label, library.role, label))
            else:
                known.setdefault(library.label, Used(library.label, library.role, label))
    libraries = [*known.values(), *others.values()]
    return tuple(framework.values())[:MOST_FRAMEWORKS], tuple(libraries)[:MOST_LIBRARIES]


_ASIDE = re.compile(
    r"(?:^|/)_?(?:examples?|samples?|fixtures?|testdata|templates?|demos?|benchmarks?|docs?|vendor|deps|third[_-]?party)/"
)


def aside(label: str) -> bool:
    """Whether a file serves the project without being a part of it: a test, an example, a guide, a copy of others' code."""
    return is_test(label) or _ASIDE.search(label) is not None


def commands_of(manifests: Sequence[tuple[str, Manifest]]) -> tuple[Command, ...]:
    """How to build, test, check and run from the root, of the outermost manifests; what is named so comes first."""
    own = [(label, m) for label, m in manifests if m.commands and not aside(label)]
    depth = min((label.count("/") for label, _ in own), default=0)
    found: dict[str, Command] = {}
    for label, manifest in own:
        if label.count("/") == depth:
            there = f"cd {shlex.quote(posixpath.dirname(label))} && " if depth else ""
            for name, run in manifest.commands:
                found.setdefault(there + run, Command(name, there + run, label))
    return tuple(sorted(found.values(), key=lambda command: _purpose(command.name)))[:MOST_COMMANDS]


def _purpose(name: str) -> tuple[bool, int]:
    """Order of a command: one that is called like a purpose, then one that begins so, then the rest."""
    for at, (_, pattern) in enumerate(_PURPOSES):
        if pattern.fullmatch(name):
            return False, at
    begins = next((at for at, (_, pattern) in enumerate(_PURPOSES) if pattern.match(name)), len(_PURPOSES))
    return True, begins


def entries_of(
    manifests: Sequence[tuple[str, Manifest]], names: Iterable[str], guarded: Iterable[str], files: Container[str]
) -> tuple[Entry, ...]:
    """Where programs begin: what manifests say, files that are called so, scripts that guard their main part.

    What a manifest says of a file is relative to its own folder.
    """
    said: list[Entry] = []
    for label, manifest in manifests:
        for what, target in manifest.entries if not aside(label) else ():
            there = posixpath.normpath(posixpath.join(posixpath.dirname(label), target))
            said.append(Entry(what, there if there in files else target, label))
    named = sorted(
        ((name, what) for name in names if (what := entry_file(name)) and not aside(name)),
        key=lambda found: (found[0].count("/"), found[0]),
    )
    seen = [Entry(what, name) for name, what in named]
    seen += [Entry("script", name) for name in sorted(guarded, key=lambda n: (n.count("/"), n)) if not aside(name)]
    once: dict[str, Entry] = {}
    for entry in (*said, *seen):
        once.setdefault(entry.target.removeprefix("./"), entry)
    return tuple(once.values())[:MOST_ENTRIES]


def entry_file(name: str) -> str:
    """What begins in a file of this name (relative to the root), "" for nothing."""
    return next((what for pattern, what in _ENTRY_FILES if pattern.fullmatch(name)), "")


def layers_of(counts: Mapping[tuple[str, str], int]) -> tuple[LayerShare, ...]:
    """Layers by number of files, tests last, each with the folders that hold most of it."""
    files: Counter[str] = Counter()
    folders: dict[str, list[tuple[int, str]]] = {}
    for (layer, folder), count in counts.items():
        if count > 0:
            files[layer] += count
            folders.setdefault(layer, []).append((-count, folder))
    ordered = sorted(files.items(), key=lambda item: (item[0] == TEST, -item[1], item[0]))
    return tuple(
        LayerShare(layer, count, tuple(folder for _, folder in sorted(folders[layer])[:3])) for layer, count in ordered
    )


def hubs_of(importers: Mapping[str, int]) -> tuple[Hub, ...]:
    """The files that most others import."""
    most = sorted((-count, name) for name, count in importers.items() if count >= LEAST_IMPORTERS)
    return tuple(Hub(name, -count) for count, name in most[:MOST_HUBS])


def folders_of(counts: Mapping[tuple[str, str], int]) -> tuple[Folder, ...]:
    """The top-level folders, what they hold and what they are for."""
    files: Counter[str] = Counter()
    spoken: dict[str, list[tuple[int, str]]] = {}
    for (folder, language), count in counts.items():
        if count > 0:
            files[folder] += count
            spoken.setdefault(folder, []).append((-count, language))
    ordered = sorted(files.items(), key=lambda item: (-item[1], item[0]))[:MOST_FOLDERS]
    return tuple(Folder(name, count, _role(name, sorted(spoken[name]))) for name, count in ordered)


def _role(folder: str, spoken: Sequence[tuple[int, str]]) -> str:
    role = _ROLES.get(folder.lower())
    main = next((language for _, language in spoken if language != "text"), "")
    return role or (f"mostly {main}" if main else "")


def outermost(labels: Iterable[str]) -> list[str]:
    """Paths in the order in which they speak for the whole: fewest folders first, then by name."""
    return sorted(labels, key=lambda label: (label.count("/"), posixpath.dirname(label), label))

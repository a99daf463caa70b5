"""Project facts: languages, frameworks, commands, entry points and folders of one workspace folder.

Pure functions from manifests and tallies of files to `ProjectFacts`.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources

from msgspec import Struct

from promptls.knowledge.project.file_kind import is_peripheral
from promptls.knowledge.project.folder_tree import TreeFolder, is_obsolete
from promptls.knowledge.project.manifests import ProjectManifest
from promptls.util.decode import tomllib


class Framework(Struct, frozen=True):
    """A well-known framework, which determines the structure of a project."""

    label: str
    role: str


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[tuple[str, str], Framework], dict[tuple[str, str], Framework]]:
    """Load the frameworks by (ecosystem, name) and by (ecosystem, prefix of the name)."""
    data = tomllib.loads(resources.files(__package__).joinpath("frameworks.toml").read_text("utf-8"))
    exact: dict[tuple[str, str], Framework] = {}
    by_prefix: dict[tuple[str, str], Framework] = {}
    for ecosystem, roles in data.items():
        for role, words in roles.items():
            for word in words.split():
                name, _, label = word.rpartition("=")
                table = by_prefix if name.endswith("*") else exact
                table[ecosystem, name.removesuffix("*")] = Framework(label.replace("_", " "), role)
    return exact, by_prefix


@lru_cache(maxsize=1 << 12)
def find_framework(ecosystem: str, dependency: str) -> Framework | None:
    """Return the framework of a dependency, or None if it is not a well-known framework."""
    exact, by_prefix = _tables()
    if ecosystem == "go":
        dependency = re.sub(r"/v\d+$", "", dependency)  # a major version of the same module
    prefixes = [key for key in by_prefix if key[0] == ecosystem and dependency.startswith(key[1])]
    by_longest_prefix = by_prefix[max(prefixes, key=lambda key: len(key[1]))] if prefixes else None
    return exact.get((ecosystem, dependency), by_longest_prefix)


# ---- facts

MAX_FRAMEWORKS = 10
"""Maximum number of frameworks; this and the following limits keep the architecture section short."""
MAX_DEPENDENCIES = 15
MAX_COMMANDS = 10
MAX_ENTRY_POINTS = 15
MAX_LANGUAGES = 8

PROSE_AND_DATA_LANGUAGES = frozenset({"markdown", "json", "yaml", "toml", "text", "code", "html", "make", "dockerfile"})
"""Languages that do not characterize a project, because most projects contain them."""

_COMMAND_PURPOSES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"build|compile|bundle|package|dist",
        r"(?:unit-?)?tests?|check|spec",
        r"lint|types|typecheck|mypy|format|fmt",
        r"start|dev|serve|run|watch",
    )
)

_ENTRY_POINT_FILES = (
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


class LanguageShare(Struct, frozen=True):
    """A language and its share of the lines of code."""

    name: str
    share: float


class ProjectCommand(Struct, frozen=True):
    """A command line for a task such as build or test."""

    name: str
    command_line: str


class EntryPoint(Struct, frozen=True):
    """An entry point of a program."""

    kind: str
    target: str  # a path relative to the root, a module, or a command line
    exports: tuple[str, ...] = ()  # of a library: the names of its public interface


class ProjectFacts(Struct, frozen=True):
    """Facts about one workspace folder; unknown facts are empty."""

    root: str
    label: str  # name of the root
    name: str = ""
    description: str = ""
    files: int = 0
    lines: int = 0
    languages: tuple[LanguageShare, ...] = ()  # most lines first
    frameworks: tuple[Framework, ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    versions: tuple[str, ...] = ()  # required versions of languages
    dependencies: tuple[str, ...] = ()  # names of the libraries that the program needs at run time
    tree: tuple[TreeFolder, ...] = ()  # main folders, parents before children


class FileTally(Struct):
    """Counters over the files of a root, updated by `projects`."""

    files: int
    lines: Counter[str]  # by language
    folders: Counter[tuple[str, str]]  # (folder, language) → files


class ProjectHeader(Struct, frozen=True):
    """Summary of a project shown with a graph; empty fields are omitted."""

    name: str = ""
    description: str = ""
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()


def project_header(facts: ProjectFacts) -> ProjectHeader:
    """Return the summary of a project."""
    return ProjectHeader(
        facts.name or facts.label,
        facts.description,
        tuple(language.name for language in facts.languages),
        tuple(dict.fromkeys(used.label for used in facts.frameworks)),
    )


def language_shares(lines: Mapping[str, int]) -> tuple[LanguageShare, ...]:
    """Return languages by share of lines; prose and data count only in projects without code."""
    code = {name: n for name, n in lines.items() if n > 0 and name not in PROSE_AND_DATA_LANGUAGES}
    code = code or {name: n for name, n in lines.items() if n > 0 and name != "text"}
    total = sum(code.values())
    ordered = sorted(code.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LanguageShare(name, n / total) for name, n in ordered if n >= total / 200)[:MAX_LANGUAGES]


def naming_manifest(manifests: Sequence[tuple[str, ProjectManifest]]) -> ProjectManifest:
    """Return the manifest that names the project, the first named one in the root; an empty one if there is none."""
    return next((m for label, m in manifests if m.name and "/" not in label), ProjectManifest())


def project_frameworks(manifests: Sequence[tuple[str, ProjectManifest]]) -> tuple[Framework, ...]:
    """Return the frameworks among the dependencies, outermost manifests first, except in tests and examples."""
    by_label: dict[str, Framework] = {}
    for label, manifest in manifests:
        for dependency in manifest.dependencies if not is_peripheral(label) else ():
            framework = find_framework(manifest.ecosystem, dependency)
            if framework is not None:
                by_label.setdefault(framework.label, framework)
    return tuple(by_label.values())[:MAX_FRAMEWORKS]


def project_commands(manifests: Sequence[tuple[str, ProjectManifest]]) -> tuple[ProjectCommand, ...]:
    """Return commands from the outermost manifests, well-known purposes (build, test, lint, run) first."""
    usable = [(label, m) for label, m in manifests if m.commands and not is_peripheral(label)]
    depth = min((label.count("/") for label, _ in usable), default=0)
    found: dict[str, ProjectCommand] = {}
    for label, manifest in usable:
        if label.count("/") == depth:
            prefix = f"cd {shlex.quote(posixpath.dirname(label))} && " if depth else ""
            for name, run in manifest.commands:
                found.setdefault(prefix + run, ProjectCommand(name, prefix + run))
    return tuple(sorted(found.values(), key=lambda command: _purpose_rank(command.name)))[:MAX_COMMANDS]


def _purpose_rank(name: str) -> tuple[bool, int]:
    """Return the sort key of a command: named by a purpose, beginning with a purpose, others."""
    exact = next((i for i, pattern in enumerate(_COMMAND_PURPOSES) if pattern.fullmatch(name)), None)
    prefix = next((i for i, pattern in enumerate(_COMMAND_PURPOSES) if pattern.match(name)), len(_COMMAND_PURPOSES))
    return exact is None, prefix if exact is None else exact


def entry_points(
    manifests: Sequence[tuple[str, ProjectManifest]],
    names: Iterable[str],
    guarded: Iterable[str],
    files: Container[str],
) -> tuple[EntryPoint, ...]:
    """Return the entry points: declared in manifests, conventional file names, scripts with a main guard.

    Paths in a manifest are relative to its folder.  `names` may be conventional entry points, `guarded` are scripts
    with a main guard, and `files` are all files.
    """
    declared: list[EntryPoint] = []
    for label, manifest in manifests:
        for what, target in manifest.entry_points if not (is_peripheral(label) or is_obsolete(label)) else ():
            path = posixpath.normpath(posixpath.join(posixpath.dirname(label), target))
            declared.append(EntryPoint(what, path if path in files else target))
    kinds = [(name, entry_point_kind(name)) for name in sorted(names, key=lambda name: (name.count("/"), name))]
    kinds += [(name, "script") for name in sorted(guarded, key=lambda name: (name.count("/"), name))]
    recognized = [
        EntryPoint(kind, name) for name, kind in kinds if kind and not (is_peripheral(name) or is_obsolete(name))
    ]
    unique: dict[str, EntryPoint] = {}
    for entry in (*declared, *recognized):
        unique.setdefault(entry.target.removeprefix("./"), entry)
    return tuple(unique.values())[:MAX_ENTRY_POINTS]


def entry_point_kind(name: str) -> str:
    """Return the kind of entry point by file name (relative to the root), or "" if it is not one."""
    return next((what for pattern, what in _ENTRY_POINT_FILES if pattern.fullmatch(name)), "")


def main_dependencies(manifests: Sequence[tuple[str, ProjectManifest]]) -> tuple[str, ...]:
    """Return the names of the libraries that the outermost manifests require at run time."""
    names: dict[str, None] = {}
    for label, manifest in manifests:
        if not is_peripheral(label):
            names |= dict.fromkeys(manifest.dependencies if manifest.runtime is None else manifest.runtime)
    return tuple(names)[:MAX_DEPENDENCIES]


def needed_packages(manifests: Sequence[tuple[str, ProjectManifest]]) -> dict[str, tuple[str, ...]]:
    """Return the names of other packages of the project that a package requires, by the folder of its manifest."""
    names = {name.lower().replace("_", "-"): name for label, one in manifests if (name := one.name) and "/" in label}
    return {
        posixpath.dirname(label): tuple(
            names[key] for dependency in manifest.dependencies if (key := dependency.replace("_", "-")) in names
        )
        for label, manifest in manifests
    }


def required_versions(manifests: Sequence[tuple[str, ProjectManifest]]) -> tuple[str, ...]:
    """Return the versions of languages that the outermost manifests require, one for each language."""
    versions: dict[str, str] = {}
    for label, manifest in manifests:
        for version in manifest.versions if not is_peripheral(label) else ():
            versions.setdefault(version.rpartition(" ")[0] or version, version)
    return tuple(versions.values())[:3]


def outermost(labels: Iterable[str]) -> list[str]:
    """Sort paths: fewest folders first, then by name."""
    return sorted(labels, key=lambda label: (label.count("/"), posixpath.dirname(label), label))

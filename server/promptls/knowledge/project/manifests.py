"""What a manifest says of a project: name, description, dependencies, commands, entry points.

Nothing is run, resolved or fetched; what is malformed or too long is left out.  Must not know roots, or which
libraries are well known.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable

from promptls.knowledge.project import manifest_parsers
from promptls.knowledge.project.manifest import Manifest, line_of

MOST_CHARACTERS = 300_000
"""A longer one is generated; nothing is read of it."""
MOST_DEPENDENCIES = 500
MOST_COMMANDS = 40
MOST_ENTRIES = 20

Reader = Callable[[str], Manifest]


def reader_of(name: str) -> Reader | None:
    """What reads a file of this base name, None if it is no manifest."""
    base = name.rsplit("/", 1)[-1].lower()
    found = _BY_NAME.get(base)
    if found is None:
        found = next((reader for ending, reader in _BY_ENDING if base.endswith(ending)), None)
    if found is None and base.startswith("requirements") and base.endswith(".txt"):
        found = manifest_parsers.requirements
    return found


def read_manifest(name: str, text: str) -> Manifest:
    """What a manifest says, by its file name; an empty one if it is malformed, too long or none at all."""
    reader = reader_of(name)
    if reader is None or len(text) > MOST_CHARACTERS:
        return Manifest()
    try:
        found = reader(text)
    except (ValueError, RecursionError, configparser.Error):  # TOML and JSON errors are ValueErrors
        return Manifest()
    return Manifest(
        found.ecosystem,
        line_of(found.name, 100),
        line_of(found.description, 400),
        _names(found.dependencies),
        tuple(dict.fromkeys((line_of(n, 60), line_of(c, 160)) for n, c in found.commands if c))[:MOST_COMMANDS],
        tuple(dict.fromkeys((line_of(n, 60), line_of(t, 160)) for n, t in found.entries if t))[:MOST_ENTRIES],
        _names(found.development),
    )


def _names(dependencies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line_of(name, 120) for name in dependencies))[:MOST_DEPENDENCIES]


_BY_NAME: dict[str, Reader] = {
    "pyproject.toml": manifest_parsers.pyproject,
    "setup.cfg": manifest_parsers.setup_cfg,
    "setup.py": manifest_parsers.setup_py,
    "pipfile": manifest_parsers.pipfile,
    "tox.ini": manifest_parsers.tox,
    "noxfile.py": manifest_parsers.noxfile,
    "package.json": manifest_parsers.package_json,
    "deno.json": manifest_parsers.deno,
    "deno.jsonc": manifest_parsers.deno,
    "cargo.toml": manifest_parsers.cargo,
    "go.mod": manifest_parsers.go_mod,
    "pom.xml": manifest_parsers.pom,
    "build.gradle": manifest_parsers.gradle,
    "build.gradle.kts": manifest_parsers.gradle,
    "settings.gradle": manifest_parsers.gradle,
    "settings.gradle.kts": manifest_parsers.gradle,
    "build.sbt": manifest_parsers.sbt,
    "composer.json": manifest_parsers.composer,
    "gemfile": manifest_parsers.gemfile,
    "pubspec.yaml": manifest_parsers.pubspec,
    "mix.exs": manifest_parsers.mix,
    "makefile": manifest_parsers.makefile,
    "gnumakefile": manifest_parsers.makefile,
    "justfile": manifest_parsers.justfile,
    ".justfile": manifest_parsers.justfile,
    "taskfile.yml": manifest_parsers.taskfile,
    "taskfile.yaml": manifest_parsers.taskfile,
    "dockerfile": manifest_parsers.dockerfile,
    "containerfile": manifest_parsers.dockerfile,
    "cmakelists.txt": manifest_parsers.cmake,
}
_BY_ENDING: tuple[tuple[str, Reader], ...] = (
    (".gemspec", manifest_parsers.gemspec),
    (".csproj", manifest_parsers.csproj),
    (".fsproj", manifest_parsers.csproj),
    (".vbproj", manifest_parsers.csproj),
)

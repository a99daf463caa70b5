"""What a manifest says of a project: name, description, dependencies, commands, entry points.

Nothing is run, resolved or fetched; what is malformed or too long is left out.  Must not know roots, or which
libraries are well known.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable

from promptls.context.project import formats
from promptls.context.project.reading import Manifest, line_of

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
        found = formats.requirements
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
    "pyproject.toml": formats.pyproject,
    "setup.cfg": formats.setup_cfg,
    "setup.py": formats.setup_py,
    "pipfile": formats.pipfile,
    "tox.ini": formats.tox,
    "noxfile.py": formats.noxfile,
    "package.json": formats.package_json,
    "deno.json": formats.deno,
    "deno.jsonc": formats.deno,
    "cargo.toml": formats.cargo,
    "go.mod": formats.go_mod,
    "pom.xml": formats.pom,
    "build.gradle": formats.gradle,
    "build.gradle.kts": formats.gradle,
    "settings.gradle": formats.gradle,
    "settings.gradle.kts": formats.gradle,
    "build.sbt": formats.sbt,
    "composer.json": formats.composer,
    "gemfile": formats.gemfile,
    "pubspec.yaml": formats.pubspec,
    "mix.exs": formats.mix,
    "makefile": formats.makefile,
    "gnumakefile": formats.makefile,
    "justfile": formats.justfile,
    ".justfile": formats.justfile,
    "taskfile.yml": formats.taskfile,
    "taskfile.yaml": formats.taskfile,
    "dockerfile": formats.dockerfile,
    "containerfile": formats.dockerfile,
    "cmakelists.txt": formats.cmake,
}
_BY_ENDING: tuple[tuple[str, Reader], ...] = (
    (".gemspec", formats.gemspec),
    (".csproj", formats.csproj),
    (".fsproj", formats.csproj),
    (".vbproj", formats.csproj),
)
